// What the tokens of the answers are coloured by, as four words to choose from, and what the colours mean.
#pragma once

#include <vector>

#include <QWidget>

#include "ui/chat/token_coloring.h"

class QButtonGroup;
class QToolButton;

namespace vitrine::ui {

class ColoringBar : public QWidget {
    Q_OBJECT

  public:
    explicit ColoringBar(QWidget* parent = nullptr);

    Coloring coloring() const { return coloring_; }
    void set_coloring(Coloring coloring);
    void step();  // to the next, for a shortcut
    QToolButton* button(Coloring coloring);
    QString legend_text() const;

  signals:
    void coloring_changed(vitrine::ui::Coloring coloring);

  private:
    class Legend;
    QButtonGroup* group_;
    Legend* legend_;
    Coloring coloring_ = Coloring::None;
};

}  // namespace vitrine::ui
