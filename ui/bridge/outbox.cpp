#include "ui/bridge/outbox.h"

#include <algorithm>

namespace vitrine::ui {

AnswerText& Outbox::append_text(Batch& batch, Ticket ticket, const std::string& text) {
    const auto known = std::find_if(batch.text.begin(), batch.text.end(),
                                    [ticket](const AnswerText& t) { return t.ticket == ticket; });
    if (known == batch.text.end()) {
        batch.text.push_back({ticket, text, 1, {}});
        return batch.text.back();
    }
    known->text += text;
    ++known->tokens;
    return *known;
}

void Outbox::append_records(Batch& batch, std::vector<Record>& records) {
    if (batch.records.empty()) {
        batch.records.swap(records);
    } else {
        batch.records.insert(batch.records.end(), records.begin(), records.end());
        records.clear();
    }
    // Dropped in large pieces, so that a window that stays away costs a move now and then and no more.
    if (batch.records.size() > 2 * record_limit) {
        const auto surplus = static_cast<std::ptrdiff_t>(batch.records.size() - record_limit);
        batch.records.erase(batch.records.begin(), batch.records.begin() + surplus);
    }
}

Batch Outbox::take() {
    Batch batch;
    const std::scoped_lock lock(mutex_);
    std::swap(batch, batch_);
    filled_ = false;
    return batch;
}

}  // namespace vitrine::ui
