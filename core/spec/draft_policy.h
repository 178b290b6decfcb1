// Whether drafts pay, and how long they should be: from what steps cost and how often proposals stay, both as
// measured while the program runs. Speculation is no gain everywhere: with quantized weights on a processor a
// step of five rows takes far longer than one of one row.
//
// Costs are medians of the latest steps, so that a neighbour process that held a core for a moment does not
// decide. What is not known yet is tried with a careful guess; trying may cost one part in a hundred of the
// time at most. A plain step now and then keeps the yardstick fresh.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/spec/draft.h"

namespace vitrine {

// How often something came out well, lately: old trials fade.
class Rate {
  public:
    void add(std::int32_t good, std::int32_t tried);
    // With `prior` counted as so many trials.
    double value(double prior, double weight = 4.0) const {
        return (good_ + prior * weight) / (tried_ + weight);
    }
    double tried() const { return tried_; }

  private:
    double good_ = 0;
    double tried_ = 0;
};

// The median of the latest few.
class Typical {
  public:
    void add(double value);
    double value() const;  // 0: nothing yet
    bool known() const { return count_ > 0; }

  private:
    static constexpr std::size_t kKept = 7;
    std::array<double, kKept> latest_{};
    std::size_t next_ = 0;
    std::size_t count_ = 0;
};

// How often proposals stayed, of those whose predecessors stayed: of one sequence, or of all.
struct DraftRates {
    static constexpr std::size_t kMatches = 6;  // lookup: by the length of the ending that was found again
    std::array<Rate, kMatches> lookup;
    Rate model;

    static std::size_t match_class(std::int32_t match);
};

// A sequence that leaves it to the policy.
struct DraftWish {
    std::int32_t most = 0;   // tokens at most
    std::int32_t found = 0;  // looked up: so many
    std::int32_t match = 0;  // after an ending of so many
    bool sampled = false;    // tokens are drawn: how sure the draft model is of one says little
    bool model = false;      // the draft model could be asked
    const DraftRates* rates = nullptr;

    // What the policy says.
    Drafting drafting = Drafting::Off;
    std::int32_t length = 0;
    float doubt = 0;  // see DraftTask
};

class DraftPolicy {
  public:
    // Decides for the sequences of an iteration with `rows` rows besides their drafts. Calls move time on.
    void choose(std::span<DraftWish> wishes, std::int32_t rows);

    // An iteration in which every sequence had one row and drafts behind it. rows: all of them; seconds:
    // without drafting; draft_seconds for `draft_steps` steps of the draft model; tokens: that came out.
    struct Step {
        std::int32_t sequences = 0;
        std::int32_t rows = 0;
        std::int32_t tokens = 0;
        double seconds = 0;
        double draft_seconds = 0;
        std::int32_t draft_steps = 0;
    };
    void observe(const Step& step);
    // accepted of the proposed ones; `refused`: the next one was looked at and did not stay.
    void observe(const Draft& draft, std::int32_t accepted, bool refused, DraftRates& own);

    // Seconds of an iteration with so many rows: measured, between or beyond measured ones estimated; 0 where
    // nothing was measured.
    double cost(std::int32_t rows) const;
    double measured(std::int32_t rows) const;
    double draft_cost() const { return draft_.value(); }
    double lookup_rate(std::int32_t match, const DraftRates* own = nullptr) const;
    double model_rate(const DraftRates* own = nullptr) const;
    // Tokens per second with such a draft, as a multiple of those without; 0: not known.
    double gain(const DraftWish& wish, Drafting drafting, std::int32_t length, std::int32_t rows) const;

    // What it would do now for a single sequence of up to `most` proposals, without and beyond look-ups.
    DraftWish outlook(std::int32_t most, bool model) const;

  private:
    bool may_try();
    void best_of(DraftWish& wish, std::int32_t rows) const;

    static constexpr std::size_t kRows = 96;
    std::array<Typical, kRows> costs_;
    Typical draft_;
    DraftRates all_;
    std::int64_t steps_ = 0;
    std::int64_t last_plain_ = 0;
    std::int64_t last_try_ = 0;
    std::int64_t pause_ = 8;  // steps between tries
    bool trying_ = false;
    double spent_ = 0;  // seconds, of all steps
    double lost_ = 0;   // of these, by trying in vain
};

}  // namespace vitrine
