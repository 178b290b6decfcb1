// Remembers on disk which model is being loaded, so that a model that takes the program down is not loaded
// by itself at every start.
#pragma once

#include <QString>

namespace vitrine::ui {

class LoadMarker {
  public:
    explicit LoadMarker(const QString& folder);

    // The model that a program which is gone was loading when it ended; empty: none.
    QString unfinished() const;
    void begin(const QString& model);
    void end();  // loaded, refused or cancelled: the program survived it

  private:
    QString path_;
};

}  // namespace vitrine::ui
