#include "core/spec/model_drafter.h"

#include <algorithm>
#include <cmath>

#include "core/spec/verify.h"

namespace vitrine {
namespace {

KvShape shape_of(const ModelConfig& c, const ModelDrafter::Options& o) {
    return {.layers = c.layers,
            .kv_heads = c.kv_heads,
            .head_dim = c.head_dim,
            .block_size = o.block_size,
            .blocks = o.blocks,
            .dtype = o.kv_dtype};
}

bool plain(const SamplingParams& p) {
    return p.greedy() && p.logit_bias.empty() && p.repetition_penalty == 1.0F &&
           p.frequency_penalty == 0.0F && p.presence_penalty == 0.0F;
}

}  // namespace

std::uint64_t ModelDrafter::bytes(const ModelConfig& config, const Options& o) {
    return shape_of(config, o).bytes() + Workspace::bytes(config, o.rows, o.sequences);
}

Result<std::unique_ptr<ModelDrafter>> ModelDrafter::make(Device& device, const ModelConfig& config,
                                                         const Weights& weights, const Options& options) {
    VITRINE_TRY(auto storage, device.make_kv(shape_of(config, options)));
    VITRINE_TRY(auto workspace, Workspace::make(device, config, options.rows, options.sequences));
    return std::unique_ptr<ModelDrafter>(
        new ModelDrafter(device, config, weights, options, std::move(storage), std::move(workspace)));
}

std::int32_t ModelDrafter::context() const {
    // Beyond the switch its keys would have to be computed anew for every sequence.
    return config_.rope_switch > 0 ? std::min(config_.context, config_.rope_switch) : config_.context;
}

void ModelDrafter::copy(std::span<const BlockCopy> copies) {
    device_.copy_blocks(*storage_, copies);
    for (const BlockCopy& c : copies)
        filled_[static_cast<std::size_t>(c.to)] = filled_[static_cast<std::size_t>(c.from)];
}

std::int32_t ModelDrafter::known(const BlockTable& table, std::int32_t limit) const {
    if (table.given_back > 0) return 0;
    std::int32_t tokens = 0;
    for (const BlockId b : table.blocks) {
        const std::int32_t filled = filled_[static_cast<std::size_t>(b.value)];
        tokens += filled;
        if (filled < options_.block_size || tokens >= limit) break;
    }
    return std::min(tokens, limit);
}

void ModelDrafter::keep(const BlockTable& table, std::int32_t count) {
    for (std::size_t i = static_cast<std::size_t>(count / options_.block_size); i < table.blocks.size();
         ++i) {
        if (!table.blocks[i].valid()) continue;
        std::int32_t& filled = filled_[static_cast<std::size_t>(table.blocks[i].value)];
        filled = std::min(filled, std::max(0, count - static_cast<std::int32_t>(i) * options_.block_size));
    }
}

void ModelDrafter::mark(const BlockTable& table, std::int32_t first, std::int32_t count) {
    const std::int32_t size = options_.block_size;
    for (std::int32_t i = first / size; i * size < first + count; ++i) {
        std::int32_t& filled =
            filled_[static_cast<std::size_t>(table.blocks[static_cast<std::size_t>(i)].value)];
        filled = std::max(filled, std::min(size, first + count - i * size));
    }
}

// Computes rows of several sequences; those with an output get their next proposal.
Status ModelDrafter::run(std::span<const Rows> rows) {
    tokens_.clear();
    positions_.clear();
    output_rows_.clear();
    tables_.clear();
    slices_.clear();
    samples_.clear();
    std::size_t table_size = 0;
    for (const Rows& r : rows) table_size += r.task->table->blocks.size();
    tables_.reserve(table_size);  // spans into it must stay
    for (const Rows& r : rows) {
        const DraftTask& task = *r.task;
        const std::size_t first_block = tables_.size();
        for (const BlockId b : task.table->blocks) tables_.push_back(b.value);
        const auto first_row = static_cast<std::int32_t>(tokens_.size());
        for (std::int32_t i = r.start; i < r.start + r.count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            tokens_.push_back(at < task.tokens.size() ? task.tokens[at].value
                                                      : task.draft->tokens[at - task.tokens.size()].value);
            positions_.push_back(i);
        }
        slices_.push_back({.first_row = first_row,
                           .rows = r.count,
                           .start = r.start,
                           .blocks = std::span<const std::int32_t>(tables_).subspan(
                               first_block, task.table->blocks.size())});
        if (!r.output) continue;
        if (plain(*task.params)) {
            SampleRow sample;
            sample.output = static_cast<std::int32_t>(output_rows_.size());
            sample.vocab = std::min(config_.vocab, task.vocab);
            if (device_.can_sample(sample, config_.vocab)) samples_.push_back(sample);
        }
        output_rows_.push_back(first_row + r.count - 1);
    }
    // All drawn by the device, or none: the order of the answers is that of the rows.
    if (samples_.size() != output_rows_.size()) samples_.clear();
    static constexpr double unused[1] = {0.0};
    for (SampleRow& s : samples_) s.uniforms = unused;
    ++steps_;
    VITRINE_CHECK(forward(device_, config_, weights_, *storage_, workspace_,
                          {.tokens = tokens_,
                           .positions = positions_,
                           .sequences = slices_,
                           .output_rows = output_rows_,
                           .ropes = config_.ropes,
                           .rope_sets = config_.rope_sets()},
                          samples_));
    for (const Rows& r : rows) mark(*r.task->table, r.start, r.count);
    return choose(rows);
}

Status ModelDrafter::choose(std::span<const Rows> rows) {
    std::size_t output = 0;
    for (const Rows& r : rows) {
        if (!r.output) continue;
        const std::size_t own = output++;
        if (!samples_.empty()) {
            const SampleOutcome outcome = device_.sampled(own);
            if (outcome.state == SampleState::Drawn && outcome.drawn.size() == 1) {
                r.task->draft->tokens.emplace_back(outcome.drawn[0].token);
                r.task->draft->confidence.push_back(std::exp(outcome.drawn[0].log_probability));
                continue;
            }
        }
        VITRINE_CHECK(propose(*r.task, own));
    }
    return {};
}

Status ModelDrafter::propose(DraftTask& task, std::size_t output) {
    const auto width = static_cast<std::size_t>(config_.vocab);
    const std::span<const float> whole = device_.read(*workspace_.logits, output * width, width);
    // A device that failed says so in the next step.
    if (whole.size() != width) {
        task.most = 0;
        return {};
    }
    const std::span<const float> row =
        whole.first(static_cast<std::size_t>(std::min(config_.vocab, task.vocab)));
    Draft& draft = *task.draft;
    const auto vocab = static_cast<std::int32_t>(row.size());
    const RowMaximum top = row_maximum(row);
    // A draft that computes nonsense proposes nothing: its sequence is answered without it.
    if (!top.finite || !std::isfinite(top.value)) {
        task.most = 0;
        return {};
    }
    const double total = sum_of_exponentials(row, top.value);
    TokenId id{top.index};
    if (!plain(*task.params)) {
        history_.assign(task.tokens.begin(), task.tokens.end());
        history_.insert(history_.end(), draft.tokens.begin(), draft.tokens.end());
        const std::uint64_t index = task.index + draft.size();
        auto processed = sampler_.processed(row, vocab, history_, *task.params);
        if (!processed.ok()) {
            task.most = 0;
            return {};
        }
        id = processed->draw(chance(*task.params, index, Chance::Proposal));
        if (!task.params->greedy()) draft.distributions.push_back(std::move(processed).value());
    }
    draft.tokens.push_back(id);
    draft.confidence.push_back(
        static_cast<float>(std::exp(static_cast<double>(row[static_cast<std::size_t>(id.value)]) -
                                    static_cast<double>(top.value)) /
                           total));
    return {};
}

Status ModelDrafter::draft(std::span<DraftTask> tasks) {
    const auto fail = [&](const Status& s) {
        for (DraftTask& t : tasks) t.draft->clear();
        return s;
    };
    std::vector<Rows> rows;
    std::int32_t left = options_.rows;
    sure_.assign(tasks.size(), 1.0F);
    for (DraftTask& t : tasks) {
        t.draft->clear();
        t.draft->origin = Drafting::Model;
        const auto length = static_cast<std::int32_t>(t.tokens.size());
        t.most = std::min(t.most, context() - length);
        if (t.most < 1 || t.table->given_back > 0) {
            t.most = 0;
            continue;
        }
        // The last token is always computed: its row is what the first proposal comes from.
        const std::int32_t start = std::min(known(*t.table, length), length - 1);
        const std::int32_t count = std::min(length - start, left);
        const bool caught_up = start + count == length;
        if (count > 0 && static_cast<std::int32_t>(rows.size()) < options_.sequences)
            rows.push_back({&t, start, count, caught_up});
        else
            t.most = 0;
        if (!caught_up) t.most = 0;
        left -= std::max(0, count);
    }
    while (!rows.empty()) {
        if (const Status ran = run(rows); !ran.ok()) return fail(ran);
        std::vector<Rows> next;
        for (const Rows& r : rows) {
            DraftTask& t = *r.task;
            const auto made = static_cast<std::int32_t>(t.draft->size());
            if (made == 0 || made >= t.most) continue;
            float& sure = sure_[static_cast<std::size_t>(&t - tasks.data())];
            sure *= t.draft->confidence.back();
            if (sure < t.doubt) continue;
            next.push_back({&t, r.start + r.count, 1, true});
        }
        rows = std::move(next);
    }
    return {};
}

}  // namespace vitrine
