#include "ui/window/throughput.h"

#include <cmath>

namespace vitrine::ui {

void Throughput::append(const std::vector<Record>& records) {
    for (const Record& record : records) {
        if (record.kind != RecordKind::Iteration) continue;
        const IterationRecord& i = record.iteration;
        if (!std::isfinite(i.duration) || i.duration <= 0) continue;
        // A chunk of a prompt reads the weights once for many rows: its speed is another figure.
        if (i.tokens > i.sequences) continue;
        last_.push_back({i.duration, i.tokens, i.sequences});
        seconds_ += i.duration;
        while (last_.size() > 4 && seconds_ - last_.front().duration > 1.0) {
            seconds_ -= last_.front().duration;
            last_.pop_front();
        }
    }
}

void Throughput::clear() {
    last_.clear();
    seconds_ = 0;
}

std::optional<double> Throughput::tok_s() const {
    if (last_.size() < 4 || seconds_ <= 0) return std::nullopt;
    double tokens = 0;
    for (const Iteration& i : last_) tokens += i.sequences;
    return tokens / seconds_;
}

std::optional<double> Throughput::steps_s() const {
    if (last_.size() < 4 || seconds_ <= 0) return std::nullopt;
    return static_cast<double>(last_.size()) / seconds_;
}

}  // namespace vitrine::ui
