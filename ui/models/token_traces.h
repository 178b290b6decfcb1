// The traces of the messages that are shown: filled by whoever hears the engine and the store, read by the
// chat.
#pragma once

#include <list>
#include <memory>

#include <QObject>
#include <QSet>

#include "ui/models/token_trace.h"

namespace vitrine::ui {

class TokenTraces : public QObject {
    Q_OBJECT

  public:
    using QObject::QObject;

    // Null: not here. With `ask` the store is asked for it, once; changed() follows where it has it.
    const TokenTrace* find(qint64 message, bool ask = true);
    void begin(qint64 message, const TokenTrace::Origin& origin);
    TokenTrace* edit(qint64 message);
    void put(qint64 message, TokenTrace trace);
    void announce(qint64 message) { emit changed(message); }
    // From the store; empty where it has none.
    void loaded(qint64 message, const QByteArray& blob);
    void forget(qint64 message);
    // Being written: never dropped for want of room.
    void set_live(qint64 message, bool live);

    // So many messages that are not being written are kept; the store has the others.
    static constexpr int most_kept = 200;

  signals:
    void wanted(qint64 message);
    void changed(qint64 message);

  private:
    void touch(qint64 message);

    QHash<qint64, std::shared_ptr<TokenTrace>> traces_;
    QSet<qint64> asked_;
    QSet<qint64> live_;
    std::list<qint64> order_;  // oldest use first
};

}  // namespace vitrine::ui
