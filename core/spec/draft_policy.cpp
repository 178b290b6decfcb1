#include "core/spec/draft_policy.h"

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

// A draft is worth it from here on: what a measurement can tell apart from nothing.
constexpr double kWorth = 1.03;
// Trials that count in full; older ones fade.
constexpr double kMemory = 48;
constexpr std::int64_t kPlainEvery = 64;
constexpr std::int64_t kLongestPause = 512;
constexpr double kTryShare = 0.01;
// Of a plain step, for each further row, as long as nothing is known.
constexpr double kRowGuess = 0.1;
constexpr std::array<double, DraftRates::kMatches> kLookupGuess{0.1, 0.3, 0.45, 0.55, 0.7, 0.85};
constexpr double kModelGuess = 0.55;
constexpr std::int32_t kTryLength = 3;

}  // namespace

void Rate::add(std::int32_t good, std::int32_t tried) {
    good_ += good;
    tried_ += tried;
    if (tried_ > kMemory) {
        good_ *= kMemory / tried_;
        tried_ = kMemory;
    }
}

void Typical::add(double value) {
    latest_[next_] = value;
    next_ = (next_ + 1) % kKept;
    count_ = std::min(count_ + 1, kKept);
}

double Typical::value() const {
    if (count_ == 0) return 0;
    std::array<double, kKept> sorted = latest_;
    for (std::size_t i = 1; i < count_; ++i)
        for (std::size_t j = i; j > 0 && sorted[j] < sorted[j - 1]; --j) std::swap(sorted[j], sorted[j - 1]);
    return count_ % 2 == 1 ? sorted[count_ / 2] : (sorted[count_ / 2 - 1] + sorted[count_ / 2]) / 2;
}

std::size_t DraftRates::match_class(std::int32_t match) {
    return match <= 1 ? 0 : match == 2 ? 1 : match == 3 ? 2 : match <= 5 ? 3 : match <= 9 ? 4 : 5;
}

double DraftPolicy::lookup_rate(std::int32_t match, const DraftRates* own) const {
    const std::size_t c = DraftRates::match_class(match);
    const double prior = all_.lookup[c].value(kLookupGuess[c]);
    return own == nullptr ? prior : own->lookup[c].value(prior);
}

double DraftPolicy::model_rate(const DraftRates* own) const {
    const double prior = all_.model.value(kModelGuess);
    return own == nullptr ? prior : own->model.value(prior);
}

double DraftPolicy::measured(std::int32_t rows) const {
    return rows > 0 && static_cast<std::size_t>(rows) < kRows ? costs_[static_cast<std::size_t>(rows)].value()
                                                              : 0;
}

double DraftPolicy::cost(std::int32_t rows) const {
    const auto wanted =
        static_cast<std::size_t>(std::clamp<std::int32_t>(rows, 1, static_cast<std::int32_t>(kRows) - 1));
    // The nearest measured ones below and above.
    std::size_t below = wanted;
    while (below > 0 && !costs_[below].known()) --below;
    std::size_t above = wanted;
    while (above < kRows && !costs_[above].known()) ++above;
    if (below == wanted) return costs_[wanted].value();
    if (below == 0) return above < kRows ? costs_[above].value() : 0;
    const double low = costs_[below].value();
    const auto away = static_cast<double>(wanted - below);
    if (above < kRows) {
        const double high = std::max(low, costs_[above].value());
        return low + (high - low) * away / static_cast<double>(above - below);
    }
    // Beyond all: as steep as it was so far, at least the guess.
    std::size_t first = 1;
    while (!costs_[first].known()) ++first;
    double slope = kRowGuess * costs_[first].value();
    if (below > first)
        slope = std::max(0.5 * slope, (low - costs_[first].value()) / static_cast<double>(below - first));
    return low + slope * away;
}

double DraftPolicy::gain(const DraftWish& wish, Drafting drafting, std::int32_t length,
                         std::int32_t rows) const {
    const double plain = cost(rows);
    if (!(plain > 0)) return 0;
    const bool model = drafting == Drafting::Model;
    const double p = model ? model_rate(wish.rates) : lookup_rate(wish.match, wish.rates);
    double tokens = 0;
    double stays = 1;
    for (std::int32_t i = 0; i < length; ++i) {
        stays *= p;
        tokens += stays;
    }
    const double drafting_cost = model ? draft_.value() * length : 0;
    // The other rows of the iteration give a token each, whatever this sequence does.
    const double all = static_cast<double>(rows);
    return (all + tokens) / (cost(rows + length) + drafting_cost) * plain / all;
}

void DraftPolicy::best_of(DraftWish& wish, std::int32_t rows) const {
    double best = kWorth;
    wish.drafting = Drafting::Off;
    wish.length = 0;
    for (std::int32_t length = 1; length <= std::min(wish.most, wish.found); ++length)
        if (const double g = gain(wish, Drafting::Lookup, length, rows); g > best) {
            best = g;
            wish.drafting = Drafting::Lookup;
            wish.length = length;
        }
    if (!wish.model) return;
    std::int32_t length = 0;
    for (std::int32_t l = 1; l <= wish.most; ++l)
        if (const double g = gain(wish, Drafting::Model, l, rows); g > best) {
            best = g;
            length = l;
        }
    if (length == 0) return;
    wish.drafting = Drafting::Model;
    wish.length = length;
    if (wish.sampled) return;
    // As long as the draft model is sure of itself it may go on beyond the best fixed length: a further token
    // is worth its time while its chance to stay exceeds what the time would give otherwise.
    wish.length = std::min(wish.most, 2 * length + 1);
    const double all = static_cast<double>(rows);
    const double rate = best * all / cost(rows);
    const double more = cost(rows + length + 1) - cost(rows + length) + draft_.value();
    wish.doubt = static_cast<float>(std::clamp(more * rate, 0.05, 0.9));
}

DraftWish DraftPolicy::outlook(std::int32_t most, bool model) const {
    DraftWish wish;
    wish.most = most;
    wish.model = model;
    if (measured(1) > 0) best_of(wish, 1);
    return wish;
}

// Whether a draft that does not look worth it is tried all the same.
bool DraftPolicy::may_try() {
    if (steps_ - last_try_ < pause_ || lost_ > kTryShare * spent_) return false;
    last_try_ = steps_;
    return true;
}

void DraftPolicy::choose(std::span<DraftWish> wishes, std::int32_t rows) {
    ++steps_;
    trying_ = false;
    for (DraftWish& w : wishes) {
        w.drafting = Drafting::Off;
        w.length = 0;
        w.doubt = 0;
    }
    if (wishes.empty()) return;
    // The yardstick: first, and again from time to time.
    if (!(measured(rows) > 0) || steps_ - last_plain_ >= kPlainEvery) return;
    std::int32_t drafts = 0;
    for (DraftWish& w : wishes) {
        best_of(w, rows + drafts);
        drafts += w.length;
    }
    if (drafts > 0 || !may_try()) return;
    // Nothing looks worth it: does it still?
    trying_ = true;
    for (DraftWish& w : wishes) {
        const std::int32_t length = std::min(w.most, kTryLength);
        if (length < 1) continue;
        if (w.model && (w.found == 0 || steps_ % 2 == 0)) {
            w.drafting = Drafting::Model;
            w.length = length;
            return;
        }
        if (w.found > 0) {
            w.drafting = Drafting::Lookup;
            w.length = std::min(length, w.found);
            return;
        }
    }
}

void DraftPolicy::observe(const Step& s) {
    if (s.rows < 1 || !(s.seconds > 0)) return;
    if (static_cast<std::size_t>(s.rows) < kRows) costs_[static_cast<std::size_t>(s.rows)].add(s.seconds);
    if (s.draft_steps > 0) draft_.add(s.draft_seconds / s.draft_steps);
    spent_ += s.seconds + s.draft_seconds;
    if (s.rows == s.sequences) last_plain_ = steps_;
    if (!trying_) return;
    trying_ = false;
    const double plain = cost(s.sequences) * s.tokens / std::max(1, s.sequences);
    const double lost = s.seconds + s.draft_seconds - plain;
    lost_ += std::max(0.0, lost);
    pause_ = lost > 0 ? std::min(2 * pause_, kLongestPause) : 8;
}

void DraftPolicy::observe(const Draft& draft, std::int32_t accepted, bool refused, DraftRates& own) {
    const std::int32_t tried = accepted + (refused ? 1 : 0);
    if (tried == 0) return;
    for (DraftRates* r : {&own, &all_}) {
        if (draft.origin == Drafting::Model)
            r->model.add(accepted, tried);
        else
            r->lookup[DraftRates::match_class(draft.match)].add(accepted, tried);
    }
}

}  // namespace vitrine
