#include "ui/panels/latency_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

LatencyModel::LatencyModel(std::size_t points)
    : points_(points), bars_(512), marks_(256), iterations_(4096) {}

void LatencyModel::clear() {
    points_.clear();
    bars_.clear();
    marks_.clear();
    iterations_.clear();
    last_iteration_end_ = -1;
    slice_iteration_ = -1;
    gap_ = 0;
    evicted_ = 0;
    draft_iteration_ = -1;
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
        // A standstill on purpose is not the engine's.
        const bool discount = (standing_ || resumed_) && token.iteration == slice_iteration_;
        const auto interval =
            discount ? std::max(0.0F, token.interval - static_cast<float>(gap_)) : token.interval;
        const double at = advance(token.time - interval, token.time);
        if (token.index > 0) {
            points_.push({at, interval, token.request, token.iteration, token.index});
        } else {
            marks_.push({at, MarkKind::FirstToken, token.request, token.interval, 0, {}});
        }
    } else if (record.kind == RecordKind::Slice) {
        const SliceRecord& slice = record.slice;
        if (slice.iteration == slice_iteration_ || !std::isfinite(slice.start)) return;
        slice_iteration_ = slice.iteration;
        gap_ = last_iteration_end_ < 0 ? 0 : std::max(0.0, slice.start - last_iteration_end_);
    } else if (record.kind == RecordKind::Iteration) {
        append_iteration(record.iteration);
    } else if (record.kind == RecordKind::Speculation) {
        draft_iteration_ = record.speculation.iteration;
        draft_ = record.speculation.draft;
    } else if (record.kind == RecordKind::Block) {
        if (record.block.event == BlockEvent::Evict) ++evicted_;
    } else if (record.kind == RecordKind::Request) {
        const RequestRecord& request = record.request;
        if (!std::isfinite(request.time)) return;
        const auto mark = [&](MarkKind kind) {
            marks_.push({advance(request.time, request.time), kind, request.request, 0, 0, {}});
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

void LatencyModel::append_iteration(const IterationRecord& r) {
    if (!std::isfinite(r.start) || !std::isfinite(r.duration) || r.duration < 0) return;
    const double end = advance(r.start, r.start + r.duration);
    IterationPoint p;
    p.begin = std::max(0.0, end - r.duration);
    p.end = end;
    p.index = r.index;
    p.rows = r.tokens;
    p.sequences = r.sequences;
    p.evicted = std::exchange(evicted_, 0);
    const bool known = last_iteration_end_ >= 0 && !standing_ && !resumed_;
    p.gap = known ? static_cast<float>(std::max(0.0, r.start - last_iteration_end_)) : 0;
    const auto set = [&](Phase phase, float seconds) {
        p.seconds[static_cast<std::size_t>(phase)] =
            std::isfinite(seconds) && seconds > 0 ? std::min(seconds, r.duration) : 0;
    };
    set(Phase::Schedule, r.schedule);
    if (draft_iteration_ == r.index) set(Phase::Draft, draft_);
    set(Phase::Embed, r.embed);
    set(Phase::Matrix, r.matrix);
    set(Phase::Attention, r.attention);
    set(Phase::Sample, r.sample);
    float sum = 0;
    for (const float s : p.seconds) sum += s;
    set(Phase::Other, r.duration - sum);
    // Iterations are numbered upwards; an older number is another engine's.
    if (iterations_.size() > 0 && iterations_[iterations_.size() - 1].index >= p.index) iterations_.clear();
    iterations_.push(p);
    last_iteration_end_ = r.start + r.duration;
    if (p.evicted > 0) marks_.push({p.end, MarkKind::Evicted, -1, 0, p.evicted, {}});
    if (!standing_) resumed_ = false;
}

void LatencyModel::set_standing(bool standing) {
    if (standing_ && !standing) resumed_ = true;
    standing_ = standing;
}

void LatencyModel::note_format(const std::string& label) {
    marks_.push({now_, MarkKind::Format, -1, 0, 0, label});
}

const IterationPoint* LatencyModel::iteration(std::int64_t index) const {
    std::size_t low = 0;
    std::size_t high = iterations_.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (iterations_[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < iterations_.size() && iterations_[low].index == index ? &iterations_[low] : nullptr;
}

double LatencyModel::all_tokens_per_second(double seconds) const {
    const double from = now_ - seconds;
    int count = 0;
    double first = now_;
    for (std::size_t i = points_.size(); i-- > 0 && points_[i].at > from;) {
        ++count;
        first = std::min(first, points_[i].at - points_[i].interval);
    }
    if (count < 4) return unknown;
    const double span = now_ - std::max(first, from);
    return span > 0 ? count / span : unknown;
}

std::vector<int> LatencyModel::histogram(int bins, double high, std::size_t window) const {
    std::vector<int> out(static_cast<std::size_t>(std::max(bins, 1)), 0);
    if (!(high > 0)) return out;
    const std::size_t count = std::min(window, points_.size());
    for (std::size_t i = points_.size() - count; i < points_.size(); ++i) {
        const double place = points_[i].interval / high * static_cast<double>(out.size());
        ++out[std::min(out.size() - 1, static_cast<std::size_t>(std::max(0.0, place)))];
    }
    return out;
}

std::optional<Outlier> LatencyModel::last_outlier(std::size_t window) const {
    const Percentiles p = percentiles(window);
    if (p.count < 20) return std::nullopt;
    for (std::size_t i = points_.size(); i-- > points_.size() - p.count;) {
        if (points_[i].interval < 2 * p.p50) continue;
        Outlier out;
        out.point = points_[i];
        out.usual = p.p50;
        explain(out);
        return out;
    }
    return std::nullopt;
}

void LatencyModel::explain(Outlier& out) const {
    const double excess = out.point.interval - out.usual;
    for (std::size_t i = bars_.size(); i-- > 0;) {
        const PrefillBar& bar = bars_[i];
        if (bar.iteration < out.point.iteration) break;
        if (bar.iteration != out.point.iteration || bar.request == out.point.request) continue;
        out.cause = Cause::Prompt;
        out.other = bar.request;
        out.rows += bar.rows;
    }
    if (out.cause == Cause::Prompt) return;
    for (std::size_t i = marks_.size(); i-- > 0;) {
        const LatencyMark& mark = marks_[i];
        if (mark.kind != MarkKind::Preempted || mark.request != out.point.request) continue;
        if (mark.at > out.point.at || mark.at < out.point.at - out.point.interval - idle_kept) continue;
        out.cause = Cause::Preempted;
        return;
    }
    const IterationPoint* it = iteration(out.point.iteration);
    if (it == nullptr) return;
    if (it->gap > 0.4 * excess) {
        out.cause = Cause::Idle;
        out.seconds = it->gap;
        return;
    }
    double most = 0;
    std::vector<float> usual;
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
        usual.clear();
        const std::size_t count = std::min<std::size_t>(iterations_.size(), 128);
        for (std::size_t i = iterations_.size() - count; i < iterations_.size(); ++i)
            if (iterations_[i].rows == it->rows) usual.push_back(iterations_[i].seconds[phase]);
        const double median = nearest_rank(usual, 50);
        const double more = it->seconds[phase] - median;
        if (!(more > most)) continue;
        most = more;
        out.phase = static_cast<Phase>(phase);
        out.seconds = it->seconds[phase];
        out.usual_seconds = median;
    }
    if (most > 0.4 * excess) {
        out.cause = Cause::Phase;
    } else if (it->evicted > 0) {
        out.cause = Cause::Evicted;
        out.rows = it->evicted;
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
