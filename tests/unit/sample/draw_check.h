// Tokens that a device draws (Ops::sample) against the Sampler of the host, on random rows in all settings.
// Free of Qt: it also runs where only the kernels are built.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/sample/sampler.h"
#include "kernels/ops.h"

namespace vitrine::test {

// A row's logits with what is asked of it, as the engine would.
struct DrawCase {
    std::int32_t vocab = 0;
    SamplingParams params;
    std::vector<TokenId> history;
    std::int32_t draws = 1;
    std::int32_t candidates = 0;
    std::vector<LogitChange> changes;
    std::vector<double> uniforms;

    void prepare() {
        changes.clear();
        for (const auto& [id, bias] : params.logit_bias) changes.push_back({id.value, 0, bias});
        for (const auto& [id, count] : seen_tokens(history, params))
            if (id.value < vocab) changes.push_back({id.value, count, 0.0F});
        std::stable_sort(changes.begin(), changes.end(),
                         [](const LogitChange& a, const LogitChange& b) { return a.token < b.token; });
        uniforms.clear();
        for (std::int32_t i = 0; i < draws; ++i)
            uniforms.push_back(uniform(params.seed, params.stream + static_cast<std::uint64_t>(i), 0));
    }
    SampleRow row(std::int32_t output) const {
        SampleRow r;
        r.output = output;
        r.vocab = vocab;
        r.changes = changes;
        r.repetition_penalty = params.repetition_penalty;
        r.frequency_penalty = params.frequency_penalty;
        r.presence_penalty = params.presence_penalty;
        r.temperature = params.temperature;
        r.top_k = params.top_k;
        r.typical_p = params.typical_p;
        r.top_p = params.top_p;
        r.min_p = params.min_p;
        r.uniforms = uniforms;
        r.candidates = candidates;
        return r;
    }
    std::string name() const {
        const auto number = [](float x) { return std::to_string(x); };
        return "vocabulary " + std::to_string(vocab) + ", temperature " + number(params.temperature) +
               ", top_k " + std::to_string(params.top_k) + ", top_p " + number(params.top_p) + ", min_p " +
               number(params.min_p) + ", " + std::to_string(changes.size()) + " changes, " +
               std::to_string(draws) + " draws, " + std::to_string(candidates) + " candidates, seed " +
               std::to_string(params.seed);
    }
};

// Runs `rows` over `logits` ([rows][width]) and keeps the outcomes until the next call.
using DrawRun = std::function<std::vector<SampleOutcome>(std::span<const float> logits, std::int32_t width,
                                                         std::span<const SampleRow> rows)>;

enum class RowKind : std::uint8_t { Normal, Flat, Peaked, Ties, Banned, AllBanned, NotANumber, Infinite };

inline std::vector<float> draw_row(RowKind kind, std::int32_t vocab, std::int32_t width,
                                   std::mt19937_64& random) {
    const float spread = kind == RowKind::Flat ? 0.7F : kind == RowKind::Peaked ? 8.0F : 2.5F;
    std::normal_distribution<float> normal(1.0F, spread);
    std::vector<float> row(static_cast<std::size_t>(width));
    for (float& x : row) x = normal(random);
    const auto any = [&] { return static_cast<std::size_t>(random() % static_cast<std::uint64_t>(vocab)); };
    constexpr float infinity = std::numeric_limits<float>::infinity();
    switch (kind) {
        case RowKind::Ties:
            for (float& x : row) x = std::round(x * 2.0F) / 2.0F;
            break;
        case RowKind::Banned:
            for (float& x : row)
                if (random() % 3 == 0) x = -infinity;
            row[any()] = 2.0F;
            break;
        case RowKind::AllBanned: std::fill(row.begin(), row.end(), -infinity); break;
        case RowKind::NotANumber: row[any()] = std::numeric_limits<float>::quiet_NaN(); break;
        case RowKind::Infinite: row[any()] = infinity; break;
        default: break;
    }
    // Padding must never count.
    for (std::size_t i = static_cast<std::size_t>(vocab); i < row.size(); ++i)
        row[i] = i % 3 == 0 ? infinity : i % 3 == 1 ? std::numeric_limits<float>::quiet_NaN() : 1e30F;
    return row;
}

inline DrawCase draw_case(std::int32_t vocab, std::uint64_t seed, std::mt19937_64& random) {
    const auto one_of = [&](auto... values) {
        const std::common_type_t<decltype(values)...> all[] = {values...};
        return all[random() % sizeof...(values)];
    };
    DrawCase c;
    c.vocab = vocab;
    SamplingParams& p = c.params;
    p.seed = seed;
    p.stream = random() % 5;
    p.temperature = one_of(0.0F, 0.05F, 0.3F, 0.7F, 1.0F, 1.0F, 1.5F);
    p.top_k = one_of(0, 0, 0, 1, 5, 40, 500, 5000);
    p.top_p = one_of(1.0F, 1.0F, 0.95F, 0.9F, 0.5F, 0.1F, 0.0F);
    p.min_p = one_of(0.0F, 0.0F, 0.0F, 0.02F, 0.1F, 0.6F, 1.0F, 1e-8F);
    const auto any = [&] {
        return TokenId{static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocab))};
    };
    if (random() % 3 == 0) {
        for (std::uint64_t i = random() % 8; i > 0; --i)
            p.logit_bias.emplace_back(any(),
                                      one_of(-std::numeric_limits<float>::infinity(), 3.0F, -2.0F, 0.1F));
    }
    if (random() % 3 == 0) {
        p.repetition_penalty = one_of(1.0F, 1.1F, 1.7F, 0.8F);
        p.frequency_penalty = one_of(0.0F, 0.3F, -0.2F);
        p.presence_penalty = one_of(0.0F, 0.5F);
        p.penalty_window = one_of(0, 0, 16);
        const TokenId favourite = any();
        for (std::uint64_t i = random() % 300; i > 0; --i)
            c.history.push_back(random() % 2 == 0 ? favourite : any());
    }
    c.draws = one_of(1, 1, 1, 4);
    c.candidates = one_of(0, 0, 1, 5, 64);
    c.prepare();
    return c;
}

// Do all borders that a draw depends on lie this far from what decides them? Where they do not, rounding may
// decide otherwise on another device.
inline bool near_a_border(const DrawCase& c, std::span<const float> logits, TokenId other, double u) {
    constexpr double near = 2e-6;
    Sampler sampler;
    SamplingParams walk = c.params;
    const bool filters = walk.top_k > 0 || walk.top_p < 1.0F || walk.min_p > 0.0F;
    if (!filters) walk.min_p = std::numeric_limits<float>::min();
    auto all = sampler.distribution(logits, c.vocab, c.history, walk);
    if (!all.ok()) return false;
    if (!filters) std::sort(all->begin(), all->end());
    double reached = 0;
    for (const auto& [id, probability] : *all) {
        if (id == other && u > reached - near && u < reached + probability + near) return true;
        reached += probability;
    }
    if (c.params.top_p < 1.0F) {
        // Would the nucleus end elsewhere a little to either side?
        for (const double shift : {-near, near}) {
            SamplingParams moved = c.params;
            moved.top_p = static_cast<float>(static_cast<double>(moved.top_p) * (1 + shift));
            const auto d = sampler.distribution(logits, c.vocab, c.history, moved);
            if (d.ok() && d->size() != all->size()) return true;
        }
    }
    return false;
}

struct DrawReport {
    int rows = 0;
    int draws = 0;
    int undecided = 0;
    int at_borders = 0;  // another token, with a border within rounding
    std::vector<std::string> failures;
};

inline bool about(float a, float b) {
    if (a == b) return true;  // both -infinity
    return std::abs(a - b) <= 3e-6F + 2e-7F * std::abs(b);
}

inline void compare_draws(const DrawCase& c, std::span<const float> logits, const SampleOutcome& outcome,
                          DrawReport& report) {
    const auto fail = [&](const std::string& what) {
        if (report.failures.size() < 20) report.failures.push_back(c.name() + ": " + what);
    };
    ++report.rows;
    if (outcome.state == SampleState::Undecided) {
        ++report.undecided;
        if (c.vocab <= 4096) fail("undecided");
        return;
    }
    Sampler sampler;
    for (std::int32_t i = 0; i < c.draws; ++i) {
        SamplingParams p = c.params;
        p.stream += static_cast<std::uint64_t>(i);
        const auto expected = sampler.sample(logits, c.vocab, c.history, p, 0, c.candidates);
        ++report.draws;
        if (expected.ok() != (outcome.state == SampleState::Drawn)) {
            fail(expected.ok() ? "not finite, says the device"
                               : "the row is not finite, and a token was drawn");
            return;
        }
        if (!expected.ok()) return;
        const auto index = static_cast<std::size_t>(i);
        if (outcome.drawn.size() != c.uniforms.size()) return fail("another number of draws");
        const DrawnToken& got = outcome.drawn[index];
        if (got.token != expected->id.value) {
            const bool inside = got.token >= 0 && got.token < c.vocab;
            if (!inside || c.params.greedy() ||
                !near_a_border(c, logits, TokenId{got.token}, c.uniforms[index]))
                fail("token " + std::to_string(got.token) + " instead of " +
                     std::to_string(expected->id.value) + ", u " + std::to_string(c.uniforms[index]));
            else
                ++report.at_borders;
            continue;
        }
        if (!about(got.log_probability, expected->log_probability))
            fail("log-probability " + std::to_string(got.log_probability) + " instead of " +
                 std::to_string(expected->log_probability));
        if (got.rank != expected->rank)
            fail("rank " + std::to_string(got.rank) + " instead of " + std::to_string(expected->rank));
        if (outcome.candidates.size() != expected->candidates.size())
            return fail("another number of candidates");
        for (std::size_t n = 0; n < outcome.candidates.size(); ++n)
            if (outcome.candidates[n].token != expected->candidates[n].id.value ||
                !about(outcome.candidates[n].log_probability, expected->candidates[n].log_probability)) {
                fail("candidate " + std::to_string(n) + " is " + std::to_string(outcome.candidates[n].token) +
                     " with " + std::to_string(outcome.candidates[n].log_probability) + " instead of " +
                     std::to_string(expected->candidates[n].id.value) + " with " +
                     std::to_string(expected->candidates[n].log_probability));
                break;
            }
    }
}

// Steps of 1 to 9 rows over each vocabulary.
inline DrawReport check_draws(const DrawRun& run, std::span<const std::int32_t> vocabularies, int steps) {
    DrawReport report;
    std::mt19937_64 random(2027);
    for (const std::int32_t vocab : vocabularies)
        for (int step = 0; step < steps; ++step) {
            const auto width = static_cast<std::int32_t>(vocab + (step % 2 == 0 ? 0 : random() % 70));
            const int count = 1 + static_cast<int>(random() % 9);
            std::vector<float> logits;
            std::vector<DrawCase> cases;
            std::vector<SampleRow> rows;
            for (int i = 0; i < count; ++i) {
                const auto kind = static_cast<RowKind>(random() % 11 % 8);
                const std::vector<float> row = draw_row(kind, vocab, width, random);
                logits.insert(logits.end(), row.begin(), row.end());
                cases.push_back(draw_case(vocab, random(), random));
            }
            // Not every output is sampled, and not in order.
            for (int i = count - 1; i >= 0; --i)
                if (count == 1 || i % 4 != 2) rows.push_back(cases[static_cast<std::size_t>(i)].row(i));
            const std::vector<SampleOutcome> outcomes = run(logits, width, rows);
            if (outcomes.size() != rows.size()) {
                report.failures.emplace_back("the step failed");
                return report;
            }
            for (std::size_t r = 0; r < rows.size(); ++r) {
                const auto output = static_cast<std::size_t>(rows[r].output);
                compare_draws(cases[output],
                              std::span<const float>(logits).subspan(output * static_cast<std::size_t>(width),
                                                                     static_cast<std::size_t>(width)),
                              outcomes[r], report);
            }
        }
    return report;
}

// How far the counts of 10 000 draws lie from the distribution: (chi^2 - d) / sqrt(2 d), d degrees of
// freedom; above 5 something is wrong.
inline double draw_deviation(const DrawRun& run, const SamplingParams& params) {
    std::mt19937_64 random(5);
    DrawCase c;
    c.vocab = 300;
    c.params = params;
    c.draws = 10'000;
    c.prepare();
    const std::vector<float> row = draw_row(RowKind::Flat, c.vocab, c.vocab, random);
    const SampleRow asked = c.row(0);
    const auto outcomes = run(row, c.vocab, std::span(&asked, 1));
    Sampler sampler;
    const auto distribution = sampler.distribution(row, c.vocab, {}, params);
    if (outcomes.size() != 1 || outcomes[0].drawn.size() != c.uniforms.size() || !distribution.ok())
        return std::numeric_limits<double>::infinity();
    std::vector<double> seen(static_cast<std::size_t>(c.vocab));
    for (const DrawnToken& d : outcomes[0].drawn) seen[static_cast<std::size_t>(d.token)] += 1;
    double chi = 0;
    for (const auto& [id, probability] : *distribution) {
        const double expected = probability * c.draws;
        double& count = seen[static_cast<std::size_t>(id.value)];
        chi += (count - expected) * (count - expected) / expected;
        count = 0;
    }
    for (const double count : seen)
        if (count > 0) return std::numeric_limits<double>::infinity();  // outside the distribution
    const double freedom = std::max(1.0, static_cast<double>(distribution->size()) - 1);
    return (chi - freedom) / std::sqrt(2 * freedom);
}

}  // namespace vitrine::test
