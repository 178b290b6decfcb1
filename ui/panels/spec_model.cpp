#include "ui/panels/spec_model.h"

#include <algorithm>
#include <cmath>

#include "ui/plot/figure_format.h"

namespace vitrine::ui {
namespace {

constexpr std::size_t remembered = 32;   // plain iterations of each number of sequences
constexpr std::size_t most_counts = 64;  // numbers of sequences

}  // namespace

SpecModel::SpecModel() : steps_(512), iterations_(256) {}

void SpecModel::append(const Record& record) {
    if (record.kind == RecordKind::Speculation) {
        const SpeculationRecord& r = record.speculation;
        if (r.end == DraftEnd::Failed || r.accepted > r.proposed) return;
        SpecStep step;
        step.sequence = r.sequence;
        step.iteration = r.iteration;
        step.index = r.index;
        step.proposed = r.proposed;
        step.accepted = r.accepted;
        step.end = r.end;
        step.drafter = r.drafter;
        steps_.push(step);
        if (r.iteration != open_index_) {
            open_ = {};
            open_index_ = r.iteration;
            open_rows_ = open_steps_ = 0;
        }
        // Times are the iteration's, the same in each of its records.
        open_.draft = std::isfinite(r.draft) ? std::max(0.0F, r.draft) : 0;
        open_.verify = std::isfinite(r.verify) ? std::max(0.0F, r.verify) : 0;
        open_.plain = std::isfinite(r.plain) ? std::max(0.0F, r.plain) : 0;
        open_.tokens += step.tokens();
        open_rows_ += 1 + step.proposed;
        ++open_steps_;
    } else if (record.kind == RecordKind::Iteration) {
        const IterationRecord& r = record.iteration;
        if (!std::isfinite(r.duration) || r.duration <= 0 || r.sequences <= 0) return;
        if (r.index != open_index_) {
            // Decoding and nothing else: what a step is compared with.
            if (r.tokens != r.sequences) return;
            if (plain_.size() >= most_counts && plain_.count(r.sequences) == 0) plain_.clear();
            plain_.try_emplace(r.sequences, remembered).first->second.push(r.duration);
            return;
        }
        open_index_ = -1;
        const int plain = r.sequences - open_steps_;
        // A chunk of somebody's prompt in it is another cost.
        if (plain < 0 || r.tokens != open_rows_ + plain) return;
        open_.sequences = r.sequences;
        open_.tokens += plain;
        open_.duration = r.duration;
        if (open_.plain <= 0) open_.plain = baseline(r.sequences);
        iterations_.push(open_);
    }
}

double SpecModel::baseline(int sequences) const {
    const auto known = plain_.find(sequences);
    if (known == plain_.end()) return 0;
    std::vector<float> values;
    for (std::size_t i = 0; i < known->second.size(); ++i) values.push_back(known->second[i]);
    return nearest_rank(values, 50);
}

double break_even_acceptance(double cost, double length) {
    if (!std::isfinite(cost) || !std::isfinite(length) || length <= 0) return unknown;
    if (cost <= 1) return 0;
    if (cost >= length + 1) return 1;
    const auto tokens = [length](double a) {
        return a > 1 - 1e-9 ? length + 1 : (1 - std::pow(a, length + 1)) / (1 - a);
    };
    double low = 0;
    double high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (tokens(middle) < cost ? low : high) = middle;
    }
    return high;
}

SpecFigures SpecModel::figures(std::size_t window) const {
    SpecFigures f;
    f.acceptance = f.tokens_a_step = f.cost = f.speed_up = f.break_even = f.length = unknown;
    f.steps = std::min(window, steps_.size());
    if (f.steps == 0) return f;
    double accepted = 0, read = 0, tokens = 0, proposed = 0;
    for (std::size_t i = steps_.size() - f.steps; i < steps_.size(); ++i) {
        accepted += steps_[i].accepted;
        read += steps_[i].read();
        tokens += steps_[i].tokens();
        proposed += steps_[i].proposed;
    }
    const auto n = static_cast<double>(f.steps);
    f.tokens_a_step = tokens / n;
    f.length = proposed / n;
    if (read > 0) f.acceptance = accepted / read;

    double duration = 0, plain = 0, given = 0, sequences = 0;
    const std::size_t count = std::min(window, iterations_.size());
    for (std::size_t i = iterations_.size() - count; i < iterations_.size(); ++i) {
        const Iteration& it = iterations_[i];
        f.times.draft += it.draft;
        f.times.verify += it.verify;
        f.times.other += std::max(0.0, it.duration - it.draft - it.verify);
        if (it.plain <= 0 || it.sequences <= 0) continue;
        duration += it.duration;
        plain += it.plain;
        // A plain iteration would have given a token to each sequence, in `plain` seconds.
        given += it.tokens * it.plain / it.sequences;
        sequences += 1;
    }
    if (sequences > 0 && plain > 0 && duration > 0) {
        f.cost = duration / plain;
        f.speed_up = given / duration;
        f.break_even = break_even_acceptance(f.cost, f.length);
    }
    return f;
}

std::vector<double> SpecModel::by_position(std::size_t window) const {
    std::vector<double> accepted, read;
    const std::size_t count = std::min(window, steps_.size());
    for (std::size_t i = steps_.size() - count; i < steps_.size(); ++i) {
        const SpecStep& step = steps_[i];
        if (read.size() < static_cast<std::size_t>(step.proposed)) {
            read.resize(static_cast<std::size_t>(step.proposed), 0.0);
            accepted.resize(read.size(), 0.0);
        }
        for (int p = 0; p < step.read(); ++p) {
            read[static_cast<std::size_t>(p)] += 1;
            if (p < step.accepted) accepted[static_cast<std::size_t>(p)] += 1;
        }
    }
    for (std::size_t p = 0; p < read.size(); ++p) accepted[p] = read[p] > 0 ? accepted[p] / read[p] : unknown;
    return accepted;
}

}  // namespace vitrine::ui
