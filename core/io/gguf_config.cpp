#include "core/io/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/io/architecture.h"
#include "core/io/gguf_keys.h"
#include "core/io/printable.h"
#include "core/io/rope.h"

namespace vitrine {

namespace {

constexpr std::int64_t kMaxLayers = 512;
constexpr std::int64_t kMaxWidth =
    1 << 20;  // of the embedding, of all heads together, of the feed-forward part
// What the key for "no window" holds in some files.
constexpr std::int64_t kAnyWindow = std::numeric_limits<std::uint32_t>::max();

RopeScaling read_scaling(KeyReader& keys, const GgufRopeTensors& tensors) {
    RopeScaling s;
    s.divisors = tensors.divisors;
    s.short_factors = tensors.short_factors;
    s.long_factors = tensors.long_factors;
    const auto stated = keys.text("rope.scaling.type");
    const std::string type = stated.value_or("none");
    const auto kind = rope_scaling_kind(type);
    if (!kind || *kind == RopeScaling::Kind::Llama3) {
        keys.fail(
            ErrorKind::Unsupported,
            "the file stretches its context by the method " + in_quotes(type) + " (key " +
                in_quotes(keys.key("rope.scaling.type")) +
                "), which this version cannot run; it runs: none, linear, yarn, longrope, and the factors "
                "of Llama 3.1 (tensor 'rope_freqs.weight').");
        return s;
    }
    s.kind = *kind;
    // Phi-3 files have the two lists of factors with and without the name of the method.
    if (!s.short_factors.empty() || !s.long_factors.empty()) s.kind = RopeScaling::Kind::LongRope;
    if (s.kind == RopeScaling::Kind::LongRope && s.short_factors.empty() && s.long_factors.empty()) {
        keys.fail(ErrorKind::BadFile,
                  "the file stretches its context by the method 'longrope' but lacks the tensors "
                  "'rope_factors_short.weight' and 'rope_factors_long.weight'.");
        return s;
    }
    s.factor = keys.real("rope.scaling.factor");
    if (s.kind == RopeScaling::Kind::Yarn && !s.factor)
        keys.fail(ErrorKind::BadFile, "the file stretches its context by the method 'yarn' but lacks key " +
                                          in_quotes(keys.key("rope.scaling.factor")) + ".");
    const auto older = keys.real("rope.scale_linear");  // what the factor was called first
    if (!s.factor) s.factor = older;
    // Files from before the type was stored have the factor alone; a stated "none" means it.
    if (s.kind == RopeScaling::Kind::None && !stated && s.factor) s.kind = RopeScaling::Kind::Linear;
    if (s.kind == RopeScaling::Kind::None) s.factor.reset();
    if (s.kind == RopeScaling::Kind::Linear) s.factor = s.factor.value_or(1.0);
    s.original_context = static_cast<double>(
        keys.integer("rope.scaling.original_context_length", 0, std::numeric_limits<std::int32_t>::max(), 0));
    s.beta_fast = keys.real("rope.scaling.yarn_beta_fast").value_or(s.beta_fast);
    s.beta_slow = keys.real("rope.scaling.yarn_beta_slow").value_or(s.beta_slow);
    s.attention_factor = keys.real("rope.scaling.attn_factor");
    if (s.kind == RopeScaling::Kind::Yarn) {
        // In these files it multiplies what the method gives; elsewhere it replaces it.
        if (const auto more = keys.real("rope.scaling.yarn_attn_factor")) s.attention_factor = more;
        if (s.attention_factor && s.factor && *s.factor > 1.0)
            s.attention_factor = *s.attention_factor * (0.1 * std::log(*s.factor) + 1.0);
    }
    return s;
}

void read_rope(KeyReader& keys, const Architecture& architecture, const GgufRopeTensors& tensors,
               ModelConfig& out) {
    const bool two_bases = out.architecture == "gemma3";
    RopeBase base;
    base.style = architecture.gguf_rope;
    base.theta = keys.real("rope.freq_base").value_or(two_bases ? 1e6 : 10000.0);
    base.rotary_dim =
        static_cast<std::int32_t>(keys.integer("rope.dimension_count", 2, out.head_dim, out.head_dim));
    std::vector<RopeRequest> requests = {{base, read_scaling(keys, tensors)}};
    if (two_bases) {  // of the layers that slide; published files do not name it
        base.theta = keys.real("rope.freq_base_swa").value_or(10000.0);
        requests.push_back({base, {}});
    }
    if (!(base.theta > 1.0))
        keys.fail(ErrorKind::BadFile,
                  "key " + in_quotes(keys.key("rope.freq_base")) + " must be greater than 1.");
    if (!tensors.divisors.empty() && tensors.divisors.size() != static_cast<std::size_t>(base.rotary_dim / 2))
        keys.fail(ErrorKind::BadFile, "tensor 'rope_freqs.weight' has " +
                                          std::to_string(tensors.divisors.size()) + " elements; " +
                                          number(base.rotary_dim / 2) +
                                          " are needed, one for each rotated pair.");
    if (!keys.status().ok()) return;
    if (const Status status = set_ropes(requests, out.context, out); !status.ok())
        keys.fail(ErrorKind::BadFile,
                  "keys " + in_quotes(keys.key("rope.*")) + ": " + status.error().message);
}

// Which layers slide, and with which rotary embedding.
void read_windows(KeyReader& keys, ModelConfig& out) {
    WindowPattern windows;
    const std::int64_t fallback = out.architecture == "gemma2" ? 4096 : 0;
    const std::int64_t window = keys.integer("attention.sliding_window", 0, kAnyWindow, fallback);
    // A wider one never cuts anything.
    windows.window = window >= out.context ? 0 : static_cast<std::int32_t>(window);
    if (out.architecture == "gemma2") windows.pattern = 2;
    if (out.architecture == "gemma3") windows.pattern = 6;
    const auto listed = keys.flags("attention.sliding_window_pattern", out.layers);
    if (!listed)
        windows.pattern = static_cast<std::int32_t>(
            keys.integer("attention.sliding_window_pattern", 1, kMaxLayers, windows.pattern));
    out.layer.resize(static_cast<std::size_t>(out.layers));
    for (std::int32_t i = 0; i < out.layers; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool slides = listed ? (*listed)[at] : windows.slides(i);
        out.layer[at].window = slides ? windows.window : 0;
        // The kind of layer chooses the embedding, also where the context is too short for the window to cut.
        out.layer[at].rope = slides && out.architecture == "gemma3" ? 1 : 0;
    }
}

// Points in which the Gemma family differs that files do not say in full.
void read_gemma(KeyReader& keys, ModelConfig& out) {
    const bool second = out.architecture == "gemma2";
    // The 27B models divide by the square root of D / H; all others by that of the head size.
    if (out.layers == (second ? 46 : 62) && out.heads > 0)
        out.attention_scale =
            static_cast<float>(1.0 / std::sqrt(static_cast<double>(out.embedding) / out.heads));
    // Gemma 3 has head norms instead; its configurations still name the cap, which its programs do not apply.
    const auto cap = keys.real("attn_logit_softcapping");
    out.attention_softcap = second ? static_cast<float>(cap.value_or(50.0)) : 0.0F;
    out.logit_softcap =
        static_cast<float>(keys.real("final_logit_softcapping").value_or(second ? 30.0 : 0.0));
    if (out.attention_softcap < 0.0F || out.logit_softcap < 0.0F)
        keys.fail(ErrorKind::BadFile, "the soft caps must not be negative.");
}

void read_attention(KeyReader& keys, ModelConfig& out) {
    out.heads = static_cast<std::int32_t>(keys.integer("attention.head_count", 1, 65536, {}));
    out.kv_heads = static_cast<std::int32_t>(keys.integer("attention.head_count_kv", 1, 65536, out.heads));
    if (out.heads % out.kv_heads != 0) {
        keys.fail(ErrorKind::BadFile, "key " + in_quotes(keys.key("attention.head_count")) + " is " +
                                          number(out.heads) + ", which is not divisible by " +
                                          in_quotes(keys.key("attention.head_count_kv")) + " (" +
                                          number(out.kv_heads) + "): query heads share key heads evenly.");
    }
    const std::int64_t key_length = keys.integer("attention.key_length", 1, 65536, 0);
    if (key_length == 0 && out.embedding % out.heads != 0) {
        keys.fail(ErrorKind::BadFile, "key " + in_quotes(keys.key("embedding_length")) + " is " +
                                          number(out.embedding) + ", which is not divisible by " +
                                          in_quotes(keys.key("attention.head_count")) + " (" +
                                          number(out.heads) + "), and no head length is given.");
    }
    out.head_dim = key_length > 0 ? static_cast<std::int32_t>(key_length) : out.embedding / out.heads;
    if (out.head_dim < 1 || static_cast<std::int64_t>(out.head_dim) * out.heads > kMaxWidth) {
        keys.fail(ErrorKind::BadFile, number(out.heads) + " heads of " + number(out.head_dim) +
                                          " elements: all heads together must have from 1 to " +
                                          number(kMaxWidth) + " elements.");
        out.head_dim = std::max(out.head_dim, 2);
    }
    const std::int64_t value_length = keys.integer("attention.value_length", 1, 65536, out.head_dim);
    if (value_length != out.head_dim) {
        keys.fail(ErrorKind::Unsupported, "values of " + number(value_length) + " elements beside keys of " +
                                              number(out.head_dim) +
                                              " cannot be run by this version: both must be equal.");
    }
    out.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(out.head_dim)));
    if (const auto scale = keys.real("attention.scale"); scale && *scale != 0.0)
        out.attention_scale = static_cast<float>(*scale);

    const auto epsilon = keys.real("attention.layer_norm_rms_epsilon");
    if (!epsilon) {
        keys.fail(ErrorKind::BadFile, "key " + in_quotes(keys.key("attention.layer_norm_rms_epsilon")) +
                                          " is missing; the model cannot be run without it.");
    } else if (*epsilon < 0.0 || *epsilon > 1.0) {
        keys.fail(ErrorKind::BadFile,
                  "key " + in_quotes(keys.key("attention.layer_norm_rms_epsilon")) + " must be from 0 to 1.");
    }
    out.norm_eps = static_cast<float>(epsilon.value_or(0.0));
}

// 0 and numbers beyond int32 happen in files; neither stops a model from running.
void read_context(KeyReader& keys, ModelConfig& out, std::vector<std::string>& warnings) {
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    constexpr std::int32_t kAssumed = 2048;
    const std::int64_t stored =
        keys.integer("context_length", 0, std::numeric_limits<std::int64_t>::max(), 0);
    if (stored == 0) {
        out.context = kAssumed;
        warnings.push_back("The file does not say for how many tokens the model was trained (key " +
                           in_quotes(keys.key("context_length")) + "); " + number(kAssumed) +
                           " are assumed.");
    } else if (stored > kLargest) {
        out.context = static_cast<std::int32_t>(kLargest);
        warnings.push_back("The context length of the file (" + number(stored) +
                           " tokens) is not plausible; the memory for it is "
                           "planned by what is free.");
    } else {
        out.context = static_cast<std::int32_t>(stored);
    }
}

}  // namespace

Status check_gguf_kind(const GgufFile& file) {
    const auto refuse = [&](ErrorKind kind, const std::string& message) {
        return Error{kind, display_path(file.path()) + ": " + message};
    };
    VITRINE_TRY(const auto type, file.string("general.type"));
    VITRINE_TRY(const auto architecture, file.string("general.architecture"));
    if (type && (*type == "adapter" || *type == "lora" || *type == "control_vector")) {
        return refuse(ErrorKind::Unsupported,
                      "This file is an adapter (general.type " + in_quotes(*type) +
                          "), which changes a model but is none; open the model itself.");
    }
    if ((type && (*type == "mmproj" || *type == "projector")) || (architecture && *architecture == "clip")) {
        return refuse(ErrorKind::Unsupported,
                      "This file is the image part of a model (a projector for pictures, architecture " +
                          in_quotes(architecture.value_or("?")) + "); open the language model itself.");
    }
    if (type && *type != "model" && *type != "vocab" && !type->empty()) {
        return refuse(ErrorKind::Unsupported,
                      "This file is no model: its general.type is " + in_quotes(*type) + ".");
    }
    if (!architecture) {
        return refuse(ErrorKind::BadFile,
                      "key 'general.architecture' is missing, so the file does not say what model it holds.");
    }
    if (find_architecture(*architecture) == nullptr) {
        return refuse(ErrorKind::Unsupported, "This file holds a model of architecture " +
                                                  in_quotes(*architecture) +
                                                  "; this version runs: " + architecture_names() + ".");
    }
    return {};
}

Result<ModelConfig> read_gguf_config(const GgufFile& file, const GgufRopeTensors& rope_tensors,
                                     std::vector<std::string>& warnings) {
    ModelConfig out;
    VITRINE_TRY(const auto name_of_architecture, file.string("general.architecture"));
    VITRINE_TRY(const auto name, file.string("general.name"));
    out.architecture = name_of_architecture.value_or("");
    out.name = name.value_or("");
    KeyReader keys(file, out.architecture + ".");
    const Architecture* architecture = find_architecture(out.architecture);
    if (architecture == nullptr) {
        keys.fail(ErrorKind::Unsupported, "architecture " + in_quotes(out.architecture) + " is not one of " +
                                              architecture_names() + ".");
        return keys.status().error();
    }

    out.layers = static_cast<std::int32_t>(keys.integer("block_count", 1, kMaxLayers, {}));
    out.embedding = static_cast<std::int32_t>(keys.integer("embedding_length", 1, kMaxWidth, {}));
    out.feed_forward = static_cast<std::int32_t>(keys.integer("feed_forward_length", 1, kMaxWidth, {}));
    out.activation = architecture->activation;
    if (architecture->scaled_embedding)
        out.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(out.embedding)));
    read_context(keys, out, warnings);
    read_attention(keys, out);
    if (architecture->scaled_embedding) read_gemma(keys, out);
    read_rope(keys, *architecture, rope_tensors, out);
    read_windows(keys, out);

    if (keys.integer("expert_count", 0, 65536, 0) > 0) {
        keys.fail(ErrorKind::Unsupported, "the model is a mixture of experts (key " +
                                              in_quotes(keys.key("expert_count")) +
                                              "), which this version cannot run.");
    }
    VITRINE_TRY(const auto causal, file.boolean(keys.key("attention.causal")));
    if (!causal.value_or(true)) {
        keys.fail(ErrorKind::Unsupported,
                  "the model sees the whole text at once (attention.causal is false): it makes embeddings, "
                  "not answers.");
    }
    VITRINE_CHECK(keys.status());
    return out;
}

ModelConfig read_config_leniently(const GgufFile& file) {
    ModelConfig out;
    if (auto text = file.string("general.architecture"); text.ok()) out.architecture = text->value_or("");
    if (auto text = file.string("general.name"); text.ok()) out.name = text->value_or("");
    const auto read = [&](std::string_view name, std::int64_t high) {
        KeyReader keys(file, out.architecture + ".");
        const std::int64_t found = keys.integer(name, 0, high, 0);
        return static_cast<std::int32_t>(keys.status().ok() ? found : 0);
    };
    out.context = read("context_length", std::numeric_limits<std::int32_t>::max());
    out.layers = read("block_count", kMaxLayers);
    out.embedding = read("embedding_length", kMaxWidth);
    out.feed_forward = read("feed_forward_length", kMaxWidth);
    out.heads = read("attention.head_count", 65536);
    out.kv_heads = read("attention.head_count_kv", 65536);
    if (out.kv_heads == 0) out.kv_heads = out.heads;
    out.head_dim = read("attention.key_length", 65536);
    if (out.head_dim == 0 && out.heads > 0) out.head_dim = out.embedding / out.heads;
    return out;
}

}  // namespace vitrine
