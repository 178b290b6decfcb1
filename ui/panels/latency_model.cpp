#include "ui/panels/latency_model.h"

#include <algorithm>
#include <cmath>

#include "ui/plot/figure_format.h"

namespace vitrine::ui {

double nearest_rank(std::vector<float>& values, double p) {
    if (values.empty()) return unknown;
    const double share = std::clamp(p, 0.0, 100.0) / 100.0;
    const double n = static_cast<double>(values.size());
    // The slack keeps 0.95 · 100 from being the 96th because of binary fractions.
    const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(share * n - 1e-9)));
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size()) - 1);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

LatencyModel::LatencyModel(std::size_t points) : points_(points), bars_(512), marks_(256) {}

void LatencyModel::clear() {
    points_.clear();
    bars_.clear();
    marks_.clear();
    now_ = 0;
    last_ = 0;
    started_ = false;
}

double LatencyModel::advance(double begin, double end) {
    begin = std::min(begin, end);
    // A clock that went back means another engine: what it did stands after what there is.
    if (!started_ || end < last_ - 1.0) {
        started_ = true;
        last_ = begin;
    }
    if (end <= last_) return std::max(0.0, now_ - (last_ - end));
    now_ += std::clamp(begin - last_, 0.0, idle_kept) + (end - std::max(begin, last_));
    last_ = end;
    return now_;
}

void LatencyModel::append(const Record& record) {
    if (record.kind == RecordKind::Token) {
        const TokenRecord& token = record.token;
        if (!std::isfinite(token.time) || !std::isfinite(token.interval) || token.interval < 0) return;
        const double at = advance(token.time - token.interval, token.time);
        if (token.index > 0) {
            points_.push({at, token.interval, token.request, token.iteration, token.index});
        } else {
            marks_.push({at, MarkKind::FirstToken, token.request, token.interval});
        }
    } else if (record.kind == RecordKind::Request) {
        const RequestRecord& request = record.request;
        if (!std::isfinite(request.time)) return;
        const auto mark = [&](MarkKind kind) {
            marks_.push({advance(request.time, request.time), kind, request.request, 0});
        };
        switch (request.event) {
            case RequestEvent::PrefillChunk: {
                if (!std::isfinite(request.duration) || request.duration < 0) return;
                const double end = advance(request.time - request.duration, request.time);
                bars_.push({std::max(0.0, end - request.duration), end, request.request, request.iteration,
                            request.tokens});
                break;
            }
            case RequestEvent::Submitted: advance(request.time, request.time); break;
            case RequestEvent::Preempted: mark(MarkKind::Preempted); break;
            case RequestEvent::Cancelled: mark(MarkKind::Cancelled); break;
            case RequestEvent::Failed: mark(MarkKind::Failed); break;
            case RequestEvent::Admitted:
            case RequestEvent::FirstToken:  // the token's own record has the TTFT
            case RequestEvent::Finished: break;
        }
    }
}

Percentiles LatencyModel::percentiles(std::size_t window) const {
    Percentiles out;
    out.count = std::min(window, points_.size());
    std::vector<float> values;
    values.reserve(out.count);
    for (std::size_t i = points_.size() - out.count; i < points_.size(); ++i)
        values.push_back(points_[i].interval);
    out.p50 = nearest_rank(values, 50);
    out.p95 = nearest_rank(values, 95);
    out.p99 = nearest_rank(values, 99);
    return out;
}

double LatencyModel::tokens_per_second(const std::function<bool(std::int64_t)>& belongs,
                                       std::size_t window) const {
    std::int64_t request = -1;
    std::size_t count = 0;
    double seconds = 0;
    for (std::size_t i = points_.size(); i-- > 0 && count < window;) {
        const LatencyPoint& point = points_[i];
        if (count == 0 && point.request != request && !belongs(point.request)) continue;
        if (count > 0 && point.request != request) continue;
        request = point.request;
        seconds += point.interval;
        ++count;
    }
    return count > 0 && seconds > 0 ? static_cast<double>(count) / seconds : unknown;
}

}  // namespace vitrine::ui
