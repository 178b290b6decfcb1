#include "core/telemetry/metrics.h"

#include <algorithm>
#include <cmath>

namespace vitrine {

double percentile(std::span<const double> ascending, double q) {
    const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, ascending.size() - 1);
    const double part = place - static_cast<double>(below);
    return ascending[below] + part * (ascending[above] - ascending[below]);
}

Spread spread_of(std::vector<double> values) {
    Spread s;
    if (values.empty()) return s;
    std::sort(values.begin(), values.end());
    for (const double v : values) s.mean += v;
    s.count = values.size();
    s.mean /= static_cast<double>(s.count);
    s.p50 = percentile(values, 0.50);
    s.p95 = percentile(values, 0.95);
    s.p99 = percentile(values, 0.99);
    s.least = values.front();
    s.most = values.back();
    return s;
}

void Metrics::end(std::int64_t request, double time) {
    const auto at = open_.find(request);
    if (at == open_.end()) return;
    const Open o = at->second;
    open_.erase(at);
    ++ended_;
    tokens_ += o.tokens;
    last_ = std::max(last_, time);
    const double whole = time - o.submitted;
    end_to_end_.push_back(whole);
    if (o.tokens > 1) tpot_.push_back((whole - (o.first - o.submitted)) / static_cast<double>(o.tokens - 1));
    if (whole > 0) user_rates_ += static_cast<double>(o.tokens) / whole;
}

void Metrics::add(const Record& record) {
    if (record.kind == RecordKind::Token) {
        const TokenRecord& t = record.token;
        const auto at = open_.find(t.request);
        if (at == open_.end()) return;
        if (at->second.first < 0) {
            at->second.first = t.time;
            ttft_.push_back(static_cast<double>(t.interval));
        } else {
            itl_.push_back(static_cast<double>(t.interval));
        }
        ++at->second.tokens;
    } else if (record.kind == RecordKind::Request) {
        const RequestRecord& r = record.request;
        switch (r.event) {
            case RequestEvent::Submitted:
                open_[r.request] = {.submitted = r.time};
                begin_ = std::min(begin_, r.time);
                break;
            case RequestEvent::Finished:
            case RequestEvent::Cancelled:
            case RequestEvent::Failed: end(r.request, r.time); break;
            case RequestEvent::Admitted:
            case RequestEvent::PrefillChunk:
            case RequestEvent::FirstToken:
            case RequestEvent::Preempted: break;
        }
    }
}

MetricsSummary Metrics::summary() const {
    MetricsSummary s;
    s.requests = ended_;
    s.tokens = tokens_;
    s.ttft = spread_of(ttft_);
    s.itl = spread_of(itl_);
    s.tpot = spread_of(tpot_);
    s.end_to_end = spread_of(end_to_end_);
    if (ended_ == 0) return s;
    s.seconds = last_ - begin_;
    s.user_tok_s = user_rates_ / static_cast<double>(ended_);
    if (s.seconds > 0) s.system_tok_s = static_cast<double>(tokens_) / s.seconds;
    return s;
}

}  // namespace vitrine
