#include <algorithm>

#include "core/engine/engine_impl.h"
#include "core/spec/vocabulary_match.h"

namespace vitrine {
namespace {

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

constexpr std::int32_t kProcessorBudget = 256;
constexpr std::int32_t kGpuBudget = 2048;

Status check(const EngineOptions& o) {
    if (o.block_size < 8 || o.block_size > 256 || o.block_size % 8 != 0)
        return invalid_request("The KV block size must be a multiple of 8 from 8 to 256, not " +
                               std::to_string(o.block_size) + ".");
    if (o.kv_dtype != DType::F32 && o.kv_dtype != DType::F16 && o.kv_dtype != DType::BF16)
        return invalid_request("The KV cache can be F32, F16 or BF16, not " +
                               std::string(info_of(o.kv_dtype).name) + ".");
    if (o.token_budget < 0 || o.token_budget > 65536)
        return invalid_request(
            "The token budget of an iteration must be 1 to 65536, or 0 for what the device likes.");
    if (o.max_running < 1 || o.max_running > 4096)
        return invalid_request("The number of running sequences must be 1 to 4096.");
    if (o.context < 0 || o.blocks < 0)
        return invalid_request("Context length and number of KV blocks must not be negative.");
    return {};
}

// A row for each sequence, and some for proposed tokens.
std::int32_t max_outputs(const EngineOptions& o) { return o.max_running + 32; }

KvShape kv_shape(const ModelConfig& c, const EngineOptions& o) {
    return {.layers = c.layers,
            .kv_heads = c.kv_heads,
            .head_dim = c.head_dim,
            .block_size = o.block_size,
            .blocks = o.blocks,
            .dtype = o.kv_dtype};
}

StepNeeds step_needs(const ModelConfig& c, const EngineOptions& o) {
    return {.rows = o.token_budget,
            .outputs = max_outputs(o),
            .embedding = c.embedding,
            .heads = c.heads,
            .kv_heads = c.kv_heads,
            .head_dim = c.head_dim,
            .feed_forward = c.feed_forward,
            .vocab = c.vocab,
            .ropes = static_cast<std::int32_t>(c.ropes.size()) / c.rope_sets()};
}

}  // namespace

std::int32_t common_window(const ModelConfig& c) {
    std::int32_t widest = 0;
    for (const ModelConfig::Layer& layer : c.layer) {
        if (layer.window <= 0) return 0;
        widest = std::max(widest, layer.window);
    }
    return widest;
}

std::int32_t default_token_budget(const DeviceInfo& device) {
    return device.name == "cuda" ? kGpuBudget : kProcessorBudget;
}

Result<MemoryPlan> plan_memory(const ModelConfig& c, const EngineOptions& wanted, std::uint64_t weights,
                               std::uint64_t free, const Device* device) {
    VITRINE_CHECK(check(wanted));
    if (const std::uint64_t budget = wanted.memory_budget; budget != 0) {
        if (budget <= weights)
            return Error{ErrorKind::OutOfMemory, "The weights take " + mebibytes(weights) +
                                                     ", and the memory budget is " + mebibytes(budget) +
                                                     ". Choose a larger budget or a smaller model."};
        free = free == 0 ? budget - weights : std::min(free, budget - weights);
    }
    MemoryPlan plan;
    plan.options = wanted;
    EngineOptions& o = plan.options;
    if (o.context == 0) o.context = c.context;
    if (o.token_budget == 0)
        o.token_budget = device == nullptr ? kProcessorBudget : default_token_budget(device->info());
    plan.weights = weights;
    plan.free = free;
    plan.workspace = Workspace::bytes(c, o.token_budget, max_outputs(o));
    if (device != nullptr) plan.workspace += device->step_bytes(step_needs(c, o));
    KvShape shape = kv_shape(c, o);
    shape.blocks = 1;
    const std::uint64_t block_bytes = std::max<std::uint64_t>(1, shape.bytes());
    if (o.blocks == 0) {
        // One full context, and for small models room for several conversations; at most half of what is
        // free.
        constexpr std::uint64_t roomy = 64ULL << 20;
        const auto context_blocks = static_cast<std::uint64_t>(
            (static_cast<std::int64_t>(o.context) + o.block_size - 1) / o.block_size);
        std::uint64_t blocks = std::max(context_blocks, std::min<std::uint64_t>(256, roomy / block_bytes));
        if (free != 0) blocks = std::min(blocks, free / 2 / block_bytes);
        o.blocks = static_cast<std::int32_t>(std::clamp<std::uint64_t>(blocks, 2, 1U << 24));
    }
    shape.blocks = o.blocks;
    plan.kv = shape.bytes();
    if (free != 0 && plan.kv + plan.workspace > free)
        return Error{ErrorKind::OutOfMemory,
                     "The KV cache of " + std::to_string(o.blocks) + " blocks needs " + mebibytes(plan.kv) +
                         " and the workspace " + mebibytes(plan.workspace) + ", and " + mebibytes(free) +
                         " of memory are free. Choose a shorter context, fewer blocks or a smaller KV type."};
    o.context = static_cast<std::int32_t>(std::min<std::int64_t>(
        o.context, static_cast<std::int64_t>(o.blocks) * static_cast<std::int64_t>(o.block_size)));
    return plan;
}

Status Engine::Impl::set_draft(std::shared_ptr<Model> draft) {
    std::unique_ptr<ModelDrafter> made;
    std::uint64_t bytes = 0;
    if (draft) {
        if (!draft->has_weights()) return invalid_request("A draft model needs its weights.");
        VITRINE_CHECK(same_vocabulary(model->tokenizer().vocabulary(), draft->tokenizer().vocabulary()));
        const ModelDrafter::Options o{.blocks = options.blocks,
                                      .block_size = options.block_size,
                                      .kv_dtype = options.kv_dtype,
                                      .rows = std::max(options.token_budget, options.max_running),
                                      .sequences = options.max_running};
        bytes = ModelDrafter::bytes(draft->config(), o);
        const std::uint64_t free = draft->device().info().memory_free;
        if (free != 0 && bytes > free)
            return Error{ErrorKind::OutOfMemory,
                         "The draft model needs " + mebibytes(bytes) + " for its part of the KV cache, and " +
                             mebibytes(free) +
                             " of memory are free. Choose a shorter context or fewer blocks, or none."};
        VITRINE_TRY(made, ModelDrafter::make(draft->device(), draft->config(), draft->weights(), o));
        bytes += draft->weights().bytes;
        const std::uint64_t all = memory.weights + memory.kv + memory.workspace + bytes;
        if (options.memory_budget != 0 && all > options.memory_budget)
            return Error{ErrorKind::OutOfMemory,
                         "With the draft model's " + mebibytes(bytes) + " the memory budget of " +
                             mebibytes(options.memory_budget) + " is exceeded: " + mebibytes(all) +
                             " are needed. Choose a larger budget, a shorter context or no draft model."};
    }
    drafter = std::move(made);
    draft_model = std::move(draft);
    memory.draft = bytes;
    // A draft model that sees further than the model needs blocks that the model does not.
    std::int32_t window = common_window(model->config());
    if (draft_model && window > 0) {
        const std::int32_t own = common_window(draft_model->config());
        window = own == 0 ? 0 : std::max(window, own);
    }
    scheduler.set_window(window);
    return {};
}

Result<std::unique_ptr<Engine>> Engine::make(std::shared_ptr<Model> model, const EngineOptions& wanted) {
    VITRINE_CHECK(check(wanted));
    if (!model || !model->has_weights())
        return invalid_request("An engine needs a model whose weights are loaded.");
    const ModelConfig& c = model->config();
    const DeviceInfo device = model->device().info();
    VITRINE_TRY(const MemoryPlan plan,
                plan_memory(c, wanted, model->weights().bytes, device.memory_free, &model->device()));
    const EngineOptions& o = plan.options;
    VITRINE_TRY(auto storage, model->device().make_kv(kv_shape(c, o)));
    VITRINE_TRY(auto workspace, Workspace::make(model->device(), c, o.token_budget, max_outputs(o)));
    VITRINE_CHECK(model->device().reserve(step_needs(c, o)));
    return std::unique_ptr<Engine>(new Engine(
        std::make_unique<Impl>(std::move(model), o, plan, std::move(storage), std::move(workspace))));
}

}  // namespace vitrine
