// What the latency panel knows: the last tokens with the time each took, prefill chunks and events. Plain
// values, no widgets; every figure is computed when asked.
//
// Time on screen is busy time: where no request was at work, at most `idle_kept` seconds of the pause are
// kept, so that the answers of a morning stand side by side. A token's interval (and TTFT, and a chunk's
// duration) is work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/records.h"

namespace vitrine::ui {

// The last `capacity` values, oldest first.
template <class T>
class LastOf {
  public:
    explicit LastOf(std::size_t capacity) : capacity_(capacity > 0 ? capacity : 1) {}
    void push(const T& value) {
        if (values_.size() < capacity_) {
            values_.push_back(value);
        } else {
            values_[start_] = value;
            start_ = (start_ + 1) % capacity_;
        }
    }
    std::size_t size() const { return values_.size(); }
    std::size_t capacity() const { return capacity_; }
    const T& operator[](std::size_t i) const { return values_[(start_ + i) % values_.size()]; }
    void clear() {
        values_.clear();
        start_ = 0;
    }

  private:
    std::size_t capacity_;
    std::size_t start_ = 0;
    std::vector<T> values_;
};

struct LatencyPoint {
    double at = 0;       // busy seconds
    float interval = 0;  // seconds since this request's previous token
    std::int64_t request = -1;
    std::int64_t iteration = 0;
    std::int32_t index = 0;  // 1: second generated token; first tokens are marks, their interval is the TTFT
};

struct PrefillBar {
    double begin = 0;  // busy seconds
    double end = 0;
    std::int64_t request = -1;
    std::int64_t iteration = 0;
    std::int32_t rows = 0;  // tokens of the chunk
};

enum class MarkKind : std::uint8_t { FirstToken, Preempted, Cancelled, Failed, Evicted, Format };

struct LatencyMark {
    double at = 0;  // busy seconds
    MarkKind kind = MarkKind::FirstToken;
    std::int64_t request = -1;
    float seconds = 0;       // FirstToken: TTFT
    std::int32_t count = 0;  // Evicted: cached blocks whose content was forgotten
    std::string label;       // Format: "Q8_0 → Q4_0"
};

// What an iteration spends its time on.
enum class Phase : std::uint8_t { Schedule, Draft, Embed, Matrix, Attention, Sample, Other };
constexpr std::size_t phase_count = 7;

struct IterationPoint {
    double begin = 0;  // busy seconds
    double end = 0;
    std::int64_t index = 0;
    std::array<float, phase_count> seconds{};  // by phase; their sum is the duration
    std::int32_t rows = 0;
    std::int32_t sequences = 0;
    std::int32_t evicted = 0;
    float gap = 0;  // seconds that the engine stood still before it
    float duration() const { return static_cast<float>(end - begin); }
    float of(Phase phase) const { return seconds[static_cast<std::size_t>(phase)]; }
};

enum class Cause : std::uint8_t {
    Unknown,
    Prompt,     // the iteration computed part of somebody's prompt as well
    Preempted,  // its request had to be computed again
    Idle,       // the engine did something else between two iterations
    Phase,      // one phase took longer than it usually does
    Evicted     // blocks had to be taken from the cache
};

// A token that took far longer than its neighbours, and why, as far as the records tell.
struct Outlier {
    LatencyPoint point;
    double usual = 0;  // median interval, seconds
    Cause cause = Cause::Unknown;
    std::int64_t other = -1;  // Prompt: whose
    std::int32_t rows = 0;    // Prompt: how many tokens of it; Evicted: blocks
    Phase phase = Phase::Other;
    double seconds = 0;        // Phase, Idle: how long it took
    double usual_seconds = 0;  // Phase: its median
};

struct Percentiles {
    std::size_t count = 0;  // intervals they are of; 0: the others are NaN
    double p50 = 0;         // seconds
    double p95 = 0;
    double p99 = 0;
};

// Nearest rank: the smallest value with at least p % of all values at or below it. NaN for no values; p is
// clamped to 0…100. Reorders `values`.
double nearest_rank(std::vector<float>& values, double p);

class LatencyModel {
  public:
    explicit LatencyModel(std::size_t points = 8192);

    // Kinds that the panel does not show are skipped; so are times that are not finite.
    void append(const Record& record);
    // Another model, whose engine counts time and requests from zero.
    void clear();

    const LastOf<LatencyPoint>& points() const { return points_; }
    const LastOf<PrefillBar>& bars() const { return bars_; }
    const LastOf<LatencyMark>& marks() const { return marks_; }
    const LastOf<IterationPoint>& iterations() const { return iterations_; }
    // Null where it is not known (any more).
    const IterationPoint* iteration(std::int64_t index) const;
    // Somebody pauses or steps the engine: the time that it stands still is nobody's latency.
    void set_standing(bool standing);
    // The weights have another format from now on.
    void note_format(const std::string& label);
    double now() const { return now_; }  // busy seconds so far
    bool empty() const { return points_.size() == 0 && bars_.size() == 0 && marks_.size() == 0; }

    // Over the last `window` inter-token intervals of all requests.
    Percentiles percentiles(std::size_t window = 1024) const;
    // Of the newest request that `belongs` accepts: tokens per second over its last `window` intervals. NaN:
    // none.
    double tokens_per_second(const std::function<bool(std::int64_t request)>& belongs,
                             std::size_t window = 64) const;

    // Tokens of all requests a second of busy time, over the last `seconds` of it. NaN: too few yet.
    double all_tokens_per_second(double seconds = 2.0) const;
    // How many of the last `window` intervals fall into each of `bins` equal parts of 0 to `high` seconds;
    // those above are in the last one.
    std::vector<int> histogram(int bins, double high, std::size_t window = 1024) const;
    // The newest interval of the last `window` that is twice the median or more. None below 20 intervals.
    std::optional<Outlier> last_outlier(std::size_t window = 1024) const;

    static constexpr double idle_kept = 0.05;  // seconds of a pause that stay

  private:
    // Moves the clock over work that lasted from begin to end (engine seconds); returns busy time at `end`.
    double advance(double begin, double end);

    LastOf<LatencyPoint> points_;
    LastOf<PrefillBar> bars_;
    void append_iteration(const IterationRecord& record);
    void explain(Outlier& outlier) const;

    LastOf<LatencyMark> marks_;
    LastOf<IterationPoint> iterations_;
    double last_iteration_end_ = -1;  // engine seconds
    std::int64_t slice_iteration_ = -1;
    double gap_ = 0;
    std::int32_t evicted_ = 0;  // since the last iteration
    std::int64_t draft_iteration_ = -1;
    float draft_ = 0;  // seconds of drafting in it
    bool standing_ = false;
    bool resumed_ = false;  // the next iteration ends a standstill
    double now_ = 0;
    double last_ = 0;  // engine seconds that now_ stands for
    bool started_ = false;
};

}  // namespace vitrine::ui
