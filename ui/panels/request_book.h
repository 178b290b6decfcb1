// Which chat a request of the engine belongs to, and what it is called on screen.
#pragma once

#include <QHash>
#include <QString>

#include "ui/panels/kv_model.h"

namespace vitrine::ui {

class RequestBook {
  public:
    void insert(qint64 request, qint64 session);
    qint64 session_of(qint64 request) const { return sessions_.value(request, 0); }
    SequenceKey key_of_request(qint64 request) const { return key_of(session_of(request), request); }
    void set_names(const QHash<qint64, QString>& names) { names_ = names; }
    // The chat's title, "chat 3" or "request 7".
    QString name_of(qint64 request) const;
    // The same in a sentence: titles in quotation marks, at most about 32 letters of them.
    QString quoted(qint64 request) const;
    void clear() { sessions_.clear(); }

  private:
    QHash<qint64, qint64> sessions_;
    QHash<qint64, QString> names_;
    qint64 newest_ = 0;
};

}  // namespace vitrine::ui
