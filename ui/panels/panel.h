// What every dock is told. A panel keeps what it needs and works only while somebody can see it.
#pragma once

#include <memory>
#include <vector>

#include <QHash>

#include "core/engine/snapshot.h"
#include "core/telemetry/records.h"
#include "ui/panels/card.h"

namespace vitrine::ui {

class Panel : public Card {
    Q_OBJECT

  public:
    using Card::Card;

    // The pool and the sequences as they are now; null: no model is loaded.
    virtual void set_snapshot(std::shared_ptr<const vitrine::KvSnapshot>) {}
    // What the engine has done since the last call.
    virtual void append(const std::vector<vitrine::Record>&) {}
    // Whose a request is, and what the chats are called.
    virtual void set_request_session(qint64, qint64) {}
    virtual void set_names(const QHash<qint64, QString>&) {}
    // The chat that is shown; 0: none.
    virtual void set_selected(qint64) {}
    // While the engine is stepped, panels explain each iteration.
    virtual void set_paused(bool) {}
    // Another model: its engine counts requests, iterations and time from zero.
    virtual void clear() {}
    // Shows everything known so far at once, for screenshots. Nothing where the panel is hidden.
    virtual void bring_up_to_date() {}
};

}  // namespace vitrine::ui
