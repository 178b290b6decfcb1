#include "ui/models/token_traces.h"

#include <algorithm>

namespace vitrine::ui {

const TokenTrace* TokenTraces::find(qint64 message, bool ask) {
    const auto known = traces_.constFind(message);
    if (known != traces_.constEnd()) return known->get();
    if (ask && !asked_.contains(message)) {
        asked_.insert(message);
        emit wanted(message);
    }
    return nullptr;
}

void TokenTraces::begin(qint64 message, const TokenTrace::Origin& origin) {
    auto trace = std::make_shared<TokenTrace>();
    trace->set_origin(origin);
    traces_.insert(message, std::move(trace));
    asked_.insert(message);
    touch(message);
}

TokenTrace* TokenTraces::edit(qint64 message) {
    const auto known = traces_.constFind(message);
    return known == traces_.constEnd() ? nullptr : known->get();
}

void TokenTraces::put(qint64 message, TokenTrace trace) {
    traces_.insert(message, std::make_shared<TokenTrace>(std::move(trace)));
    asked_.insert(message);
    touch(message);
    emit changed(message);
}

void TokenTraces::loaded(qint64 message, const QByteArray& blob) {
    if (traces_.contains(message) || blob.isEmpty()) return;
    if (auto trace = TokenTrace::from_blob(blob)) {
        traces_.insert(message, std::make_shared<TokenTrace>(std::move(*trace)));
        touch(message);
        emit changed(message);
    }
}

void TokenTraces::forget(qint64 message) {
    traces_.remove(message);
    asked_.remove(message);
    live_.remove(message);
    order_.remove(message);
}

void TokenTraces::set_live(qint64 message, bool live) {
    if (live) {
        live_.insert(message);
    } else {
        live_.remove(message);
    }
}

void TokenTraces::touch(qint64 message) {
    order_.remove(message);
    order_.push_back(message);
    for (auto it = order_.begin(); static_cast<int>(order_.size()) > most_kept && it != order_.end();) {
        if (live_.contains(*it)) {
            ++it;
            continue;
        }
        traces_.remove(*it);
        asked_.remove(*it);
        it = order_.erase(it);
    }
}

}  // namespace vitrine::ui
