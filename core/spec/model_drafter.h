// Drafts of a small model with the same vocabulary (Leviathan et al. 2023). One for an engine: it drafts for
// all sequences at once, a row each.
//
// Its keys and values lie in the blocks of the model that it drafts for: the same tables, another storage
// beside. So prefixes that sequences share are shared here too, and what is copied, given back or evicted
// there goes along here. A block's draft keys may lag behind (nobody drafted while it was written); how many
// of its leading tokens have theirs is kept by block, and a sequence catches up before it is drafted for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/kv/kv_manager.h"
#include "core/model/forward.h"
#include "core/sample/sampler.h"
#include "core/spec/draft.h"

namespace vitrine {

// One sequence that wants a draft.
struct DraftTask {
    std::span<const TokenId> tokens;    // accepted ones, prompt first
    const BlockTable* table = nullptr;  // covers tokens and `most` more, writable behind `tokens`
    const SamplingParams* params = nullptr;
    std::int32_t vocab = 0;   // rows that are tokens
    std::uint64_t index = 0;  // tokens generated so far
    std::int32_t most = 0;    // proposals wanted
    // No further proposal where the chance that all so far stay falls below this; 0: go on.
    float doubt = 0;
    Draft* draft = nullptr;  // filled; empty where the sequence has not caught up yet
};

class ModelDrafter {
  public:
    struct Options {
        std::int32_t blocks = 0;
        std::int32_t block_size = 16;
        DType kv_dtype = DType::F16;
        std::int32_t rows = 256;  // most rows of a step, for catching up
        std::int32_t sequences = 32;
    };
    // Device, configuration and weights outlive the drafter.
    static Result<std::unique_ptr<ModelDrafter>> make(Device& device, const ModelConfig& config,
                                                      const Weights& weights, const Options& options);
    // KV and workspace, without the weights.
    static std::uint64_t bytes(const ModelConfig& config, const Options& options);

    // An error of the device leaves the drafts empty and what the blocks hold unchanged.
    Status draft(std::span<DraftTask> tasks);
    // Most tokens of text and draft that it can take in.
    std::int32_t context() const;

    // The block's content is another from now on.
    void forget(BlockId block) { filled_[static_cast<std::size_t>(block.value)] = 0; }
    void copy(std::span<const BlockCopy> copies);
    // Of the table's tokens only the first `count` were accepted.
    void keep(const BlockTable& table, std::int32_t count);
    // How many leading tokens of the table have their keys.
    std::int32_t known(const BlockTable& table, std::int32_t limit) const;
    std::int64_t steps() const { return steps_; }

  private:
    ModelDrafter(Device& device, const ModelConfig& config, const Weights& weights, const Options& options,
                 KvCache storage, Workspace workspace)
        : device_(device),
          config_(config),
          weights_(weights),
          options_(options),
          storage_(std::move(storage)),
          workspace_(std::move(workspace)),
          filled_(static_cast<std::size_t>(options.blocks), 0) {}

    // Rows of one task in a step.
    struct Rows {
        DraftTask* task = nullptr;
        std::int32_t start = 0;
        std::int32_t count = 0;
        bool output = false;  // of the last one
    };
    Status run(std::span<const Rows> rows);
    Status choose(std::span<const Rows> rows);
    Status propose(DraftTask& task, std::size_t output);
    void mark(const BlockTable& table, std::int32_t first, std::int32_t count);

    Device& device_;
    const ModelConfig& config_;
    const Weights& weights_;
    Options options_;
    KvCache storage_;
    Workspace workspace_;
    Sampler sampler_;
    std::vector<std::int32_t> filled_;  // by block: leading tokens that have their keys
    std::int64_t steps_ = 0;

    // Reused from step to step.
    std::vector<std::int32_t> tokens_, positions_, output_rows_, tables_;
    std::vector<SequenceSlice> slices_;
    std::vector<SampleRow> samples_;
    std::vector<TokenId> history_;
    std::vector<float> sure_;  // by task: that all so far stay
};

}  // namespace vitrine
