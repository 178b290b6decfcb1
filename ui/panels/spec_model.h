// Speculation in figures, from the engine's records: what was proposed, accepted and refused, what a step
// gives and what it costs against plain decoding. Plain values, no widgets.
//
//   acceptance    accepted / read, where read are the proposed tokens up to and with the first refused one:
//                 the α of Leviathan et al. 2023, "Fast inference from transformers via speculative decoding"
//   tokens a step accepted + 1 (the model's own token in place of the refused one, or the bonus after all)
//   cost          duration of an iteration / duration of an iteration of as many sequences without drafts,
//   the
//                 latter measured: by the engine where its records say so, else the median of the last such
//                 iterations that the records show
//   speed-up      tokens a step / cost, over the same iterations
//   break-even    the α at which (1 − α^(K+1)) / (1 − α) = cost: equation 1 of that paper set to the cost
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/telemetry/records.h"
#include "ui/panels/latency_model.h"

namespace vitrine::ui {

struct SpecStep {
    std::int64_t sequence = -1;
    std::int64_t iteration = 0;
    std::int32_t index = 0;  // of its first token in the answer
    int proposed = 0;
    int accepted = 0;
    DraftEnd end = DraftEnd::Bonus;
    DrafterKind drafter = DrafterKind::Lookup;

    int read() const { return accepted + (end == DraftEnd::Corrected ? 1 : 0); }
    bool own_token() const { return end == DraftEnd::Corrected || end == DraftEnd::Bonus; }
    int tokens() const { return accepted + (own_token() ? 1 : 0); }
};

// Sums over iterations that did nothing but decode, some of it speculatively.
struct SpecTimes {
    double draft = 0;  // seconds
    double verify = 0;
    double other = 0;
    double all() const { return draft + verify + other; }
};

struct SpecFigures {
    std::size_t steps = 0;  // that they are of
    double acceptance = 0;  // the others are NaN where they are not known
    double tokens_a_step = 0;
    double cost = 0;
    double speed_up = 0;
    double break_even = 0;  // acceptance
    double length = 0;      // proposed tokens a step
    SpecTimes times;
};

class SpecModel {
  public:
    SpecModel();
    void append(const Record& record);
    void clear() { *this = SpecModel(); }

    const LastOf<SpecStep>& steps() const { return steps_; }
    bool empty() const { return steps_.size() == 0; }
    // Over the last `window` steps, and for times over as many iterations.
    SpecFigures figures(std::size_t window = 64) const;
    // Acceptance of the first, second … proposed token where it was read; NaN where none was.
    std::vector<double> by_position(std::size_t window = 256) const;
    static constexpr std::size_t fewest = 16;  // steps below which no verdict is given

  private:
    struct Iteration {
        int sequences = 0;
        int tokens = 0;
        double draft = 0, verify = 0, plain = 0, duration = 0;
    };
    // Median duration of the last plain iterations of so many sequences; 0: none was seen.
    double baseline(int sequences) const;

    LastOf<SpecStep> steps_;
    LastOf<Iteration> iterations_;
    std::map<int, LastOf<float>> plain_;  // seconds, by number of sequences
    Iteration open_;                      // of the iteration whose record has not come yet
    std::int64_t open_index_ = -1;
    int open_rows_ = 0;
    int open_steps_ = 0;
};

// The α at which `length` proposed tokens a step give `cost` tokens on average; 0 where any does, 1 where
// none.
double break_even_acceptance(double cost, double length);

}  // namespace vitrine::ui
