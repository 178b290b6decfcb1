#include "core/io/architecture.h"

#include <algorithm>
#include <array>

namespace vitrine {
namespace {

constexpr std::array kArchitectures = {
    Architecture{.name = "llama", .gguf_rope = RopeStyle::Neighbours},
    Architecture{.name = "qwen2", .input_biases = true},
    Architecture{.name = "qwen3", .head_norms = true},
    Architecture{
        .name = "gemma2", .activation = Activation::GeluTanh, .scaled_embedding = true, .post_norms = true},
    Architecture{.name = "gemma3",
                 .activation = Activation::GeluTanh,
                 .scaled_embedding = true,
                 .head_norms = true,
                 .post_norms = true},
    Architecture{.name = "phi3", .fused = true},
};

std::uint64_t size(std::int64_t n) { return static_cast<std::uint64_t>(n); }

std::string block(std::int32_t layer) { return "blk." + std::to_string(layer) + "."; }

}  // namespace

const Architecture* find_architecture(std::string_view name) {
    const auto* found = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                     [&](const Architecture& a) { return a.name == name; });
    return found == kArchitectures.end() ? nullptr : found;
}

std::string architecture_names() {
    std::string names;
    for (const Architecture& a : kArchitectures) names += (names.empty() ? "" : ", ") + std::string(a.name);
    return names;
}

std::vector<TensorDemand> model_tensors(const ModelConfig& config, const Architecture& architecture,
                                        bool as_stored) {
    const std::uint64_t d = size(config.embedding);
    const std::uint64_t v = size(config.vocab);
    const std::uint64_t f = size(config.feed_forward);
    const std::uint64_t c = size(config.head_dim);
    const std::uint64_t q = size(config.heads) * c;
    const std::uint64_t kv = size(config.kv_heads) * c;
    const bool fused = architecture.fused && as_stored;

    std::vector<TensorDemand> all = {
        {"token_embd.weight", {d, v}, true},
        {"output_norm.weight", {d}, true},
        {"output.weight", {d, v}, false},
    };
    for (std::int32_t i = 0; i < config.layers; ++i) {
        const auto add = [&, at = block(i)](const char* name, std::vector<std::uint64_t> dims,
                                            bool required) {
            all.push_back({at + name, std::move(dims), required});
        };
        add("attn_norm.weight", {d}, true);
        if (fused) {
            add("attn_qkv.weight", {d, q + 2 * kv}, true);
            add("ffn_up.weight", {d, 2 * f}, true);
        } else {
            add("attn_q.weight", {d, q}, true);
            add("attn_k.weight", {d, kv}, true);
            add("attn_v.weight", {d, kv}, true);
            add("attn_q.bias", {q}, architecture.input_biases);
            add("attn_k.bias", {kv}, architecture.input_biases);
            add("attn_v.bias", {kv}, architecture.input_biases);
            add("ffn_gate.weight", {d, f}, true);
            add("ffn_up.weight", {d, f}, true);
            add("ffn_gate.bias", {f}, false);
            add("ffn_up.bias", {f}, false);
        }
        add("attn_output.weight", {q, d}, true);
        add("attn_output.bias", {d}, false);
        add("ffn_norm.weight", {d}, true);
        add("ffn_down.weight", {f, d}, true);
        add("ffn_down.bias", {d}, false);
        add("attn_q_norm.weight", {c}, architecture.head_norms);
        add("attn_k_norm.weight", {c}, architecture.head_norms);
        if (architecture.post_norms) {
            add("post_attention_norm.weight", {d}, true);
            add("post_ffw_norm.weight", {d}, true);
        }
    }
    return all;
}

FusedPlace fused_place(const ModelConfig& config, std::string_view name) {
    const std::int64_t q = std::int64_t{config.heads} * config.head_dim;
    const std::int64_t kv = std::int64_t{config.kv_heads} * config.head_dim;
    const std::int64_t f = config.feed_forward;
    const std::size_t dot = name.find('.', 4);  // behind "blk.N"
    if (!name.starts_with("blk.") || dot == std::string_view::npos) return {};
    const std::string at(name.substr(0, dot + 1));
    const std::string_view part = name.substr(dot + 1);
    if (part == "attn_q.weight") return {at + "attn_qkv.weight", 0, q};
    if (part == "attn_k.weight") return {at + "attn_qkv.weight", q, kv};
    if (part == "attn_v.weight") return {at + "attn_qkv.weight", q + kv, kv};
    if (part == "ffn_gate.weight") return {at + "ffn_up.weight", 0, f};
    if (part == "ffn_up.weight") return {at + "ffn_up.weight", f, f};
    return {};
}

}  // namespace vitrine
