#include "core/io/llama_tensors.h"

namespace vitrine {

std::vector<TensorDemand> llama_tensors(const ModelConfig& config) {
    const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    const std::uint64_t d = size(config.embedding);
    const std::uint64_t v = size(config.vocab);
    const std::uint64_t f = size(config.feed_forward);
    const std::uint64_t c = size(config.head_dim);
    const std::uint64_t q = size(config.heads) * c;
    const std::uint64_t kv = size(config.kv_heads) * c;

    std::vector<TensorDemand> all = {
        {"token_embd.weight", {d, v}, true},
        {"output_norm.weight", {d}, true},
        {"output.weight", {d, v}, false},
    };
    // One factor for each rotated pair; checked where the rotary embedding is made.
    if (!config.ropes.empty()) all.push_back({"rope_freqs.weight", {config.ropes[0].inv_freq.size()}, false});
    for (std::int32_t i = 0; i < config.layers; ++i) {
        const std::string block = "blk." + std::to_string(i) + ".";
        const TensorDemand layer[] = {
            {block + "attn_norm.weight", {d}, true},      {block + "attn_q.weight", {d, q}, true},
            {block + "attn_k.weight", {d, kv}, true},     {block + "attn_v.weight", {d, kv}, true},
            {block + "attn_output.weight", {q, d}, true}, {block + "ffn_norm.weight", {d}, true},
            {block + "ffn_gate.weight", {d, f}, true},    {block + "ffn_up.weight", {d, f}, true},
            {block + "ffn_down.weight", {f, d}, true},    {block + "attn_q.bias", {q}, false},
            {block + "attn_k.bias", {kv}, false},         {block + "attn_v.bias", {kv}, false},
            {block + "attn_output.bias", {d}, false},     {block + "ffn_gate.bias", {f}, false},
            {block + "ffn_up.bias", {f}, false},          {block + "ffn_down.bias", {d}, false},
            {block + "attn_q_norm.weight", {c}, false},   {block + "attn_k_norm.weight", {c}, false},
        };
        all.insert(all.end(), std::begin(layer), std::end(layer));
    }
    return all;
}

}  // namespace vitrine
