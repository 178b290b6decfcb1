#include "core/io/gguf_config.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/io/printable.h"

namespace vitrine {

namespace {

constexpr std::int64_t kMaxLayers = 512;
constexpr std::int64_t kMaxWidth =
    1 << 20;  // of the embedding, of all heads together, of the feed-forward part

std::string number(std::int64_t n) { return std::to_string(n); }

// Reads the keys of one architecture; the first error is kept, so that the reading code stays a plain list.
class KeyReader {
  public:
    KeyReader(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

    Status status() const { return status_; }
    std::string key(std::string_view name) const { return prefix_ + std::string(name); }

    void fail(ErrorKind kind, const std::string& message) {
        if (status_.ok()) status_ = Error{kind, display_path(file_.path()) + ": " + message};
    }

    // An integer within [low, high], or `fallback` where the key is absent (none: the key is required).
    // Where it is an array, one value for each layer, all must be equal.
    std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback) {
        const std::string full = key(name);
        const GgufValue* value = file_.find(full);
        if (value == nullptr) {
            if (!fallback)
                fail(ErrorKind::BadFile,
                     "key " + in_quotes(full) + " is missing; the model cannot be run without it.");
            return fallback.value_or(low);
        }
        std::int64_t found = 0;
        if (value->type == GgufType::Array) {
            auto all = file_.integers(full);
            if (!all.ok()) return take_error(all.error(), low);
            const auto& numbers = **all;
            if (numbers.empty()) fail(ErrorKind::BadFile, "key " + in_quotes(full) + " is an empty array.");
            found = numbers.empty() ? low : numbers.front();
            for (const std::int64_t n : numbers) {
                if (n != found)
                    fail(ErrorKind::Unsupported,
                         "key " + in_quotes(full) +
                             " differs from layer to layer, which this version cannot run.");
            }
        } else {
            auto one = file_.unsigned_integer(full);
            if (!one.ok()) return take_error(one.error(), low);
            constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
            found = static_cast<std::int64_t>(std::min(**one, kLargest));
        }
        if (found < low || found > high) {
            fail(ErrorKind::BadFile, "key " + in_quotes(full) + " is " + number(found) +
                                         "; it must be from " + number(low) + " to " + number(high) + ".");
            return low;
        }
        return found;
    }

    // A finite number, or nothing where the key is absent.
    std::optional<double> real(std::string_view name) {
        const std::string full = key(name);
        auto found = file_.number(full);
        if (!found.ok()) {
            take_error(found.error(), 0);
            return std::nullopt;
        }
        if (*found && !std::isfinite(**found)) {
            fail(ErrorKind::BadFile, "key " + in_quotes(full) + " is not a finite number.");
            return std::nullopt;
        }
        return *found;
    }

    std::optional<std::string> text(std::string_view name) {
        auto found = file_.string(key(name));
        if (found.ok()) return *found;
        take_error(found.error(), 0);
        return std::nullopt;
    }

  private:
    std::int64_t take_error(const Error& error, std::int64_t value) {
        if (status_.ok()) status_ = error;
        return value;
    }

    const GgufFile& file_;
    std::string prefix_;
    Status status_;
};

// Rotary embedding (Su et al. 2021, "RoFormer"): inv_freq[i] = base^(−2i/n), divided by the factors that
// Llama 3.1 files store in rope_freqs.weight, or by one factor for linear position interpolation
// (Chen et al. 2023). Computed in double and rounded once.
RopeSpec make_rope(double base, std::int32_t rotary, double linear_factor,
                   const std::vector<float>& factors) {
    RopeSpec rope;
    rope.style = RopeStyle::Neighbours;
    rope.rotary_dim = rotary;
    for (std::int32_t i = 0; i < rotary / 2; ++i) {
        double frequency = std::pow(base, -2.0 * i / rotary) / linear_factor;
        if (!factors.empty()) frequency /= static_cast<double>(factors[static_cast<std::size_t>(i)]);
        rope.inv_freq.push_back(frequency);
    }
    return rope;
}

void read_rope(KeyReader& keys, const std::vector<float>& factors, ModelConfig& out) {
    const double base = keys.real("rope.freq_base").value_or(10000.0);
    if (!(base >= 1.0))
        keys.fail(ErrorKind::BadFile,
                  "key " + in_quotes(keys.key("rope.freq_base")) + " must be at least 1.");
    const auto rotary =
        static_cast<std::int32_t>(keys.integer("rope.dimension_count", 2, out.head_dim, out.head_dim));
    if (rotary % 2 != 0) {
        keys.fail(ErrorKind::BadFile, "key " + in_quotes(keys.key("rope.dimension_count")) + " is " +
                                          number(rotary) +
                                          "; elements are rotated in pairs, so it must be even.");
    }
    double factor = 1.0;
    const std::string type = keys.text("rope.scaling.type").value_or("none");
    if (type == "linear") {
        factor = keys.real("rope.scaling.factor").value_or(1.0);
    } else if (type == "none" || type.empty()) {
        // Files from before the type was stored have the factor alone.
        factor = keys.real("rope.scale_linear").value_or(1.0);
    } else {
        keys.fail(ErrorKind::Unsupported,
                  "the file stretches its context by the method " + in_quotes(type) + " (key " +
                      in_quotes(keys.key("rope.scaling.type")) +
                      "), which this version cannot run; it runs: none, linear, and Llama 3.1 factors.");
    }
    if (!(factor > 0.0)) {
        keys.fail(ErrorKind::BadFile,
                  "key " + in_quotes(keys.key("rope.scaling.factor")) + " must be greater than 0.");
    }
    if (!factors.empty() && factors.size() != static_cast<std::size_t>(rotary / 2)) {
        keys.fail(ErrorKind::BadFile, "tensor 'rope_freqs.weight' has " + std::to_string(factors.size()) +
                                          " elements; " + number(rotary / 2) +
                                          " are needed, one for each rotated pair.");
    }
    if (!keys.status().ok()) return;
    out.ropes = {make_rope(base, rotary, factor, factors)};
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

bool is_supported_architecture(std::string_view architecture) { return architecture == "llama"; }

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
    VITRINE_TRY(const auto parts, file.unsigned_integer("split.count"));
    if (parts && *parts > 1) {
        VITRINE_TRY(const auto part, file.unsigned_integer("split.no"));
        std::string advice =
            " Merge the parts with a tool for split GGUF files; joining them byte by byte does not work.";
        if (file.unused_tail_bytes() > 0) {
            advice = " It has " +
                     number(static_cast<std::int64_t>(
                         std::min<std::uint64_t>(file.unused_tail_bytes(), INT64_MAX))) +
                     " bytes behind its last tensor, as if parts had been joined byte by byte, which does "
                     "not work: download the "
                     "parts again and merge them with a tool for split GGUF files.";
        }
        return refuse(ErrorKind::Unsupported, "This is part " + std::to_string(part.value_or(0) + 1) +
                                                  " of a model split into " + std::to_string(*parts) +
                                                  " GGUF files; this version opens models in one file." +
                                                  advice);
    }
    if (!architecture) {
        return refuse(ErrorKind::BadFile,
                      "key 'general.architecture' is missing, so the file does not say what model it holds.");
    }
    if (!is_supported_architecture(*architecture)) {
        return refuse(ErrorKind::Unsupported, "This file holds a model of architecture " +
                                                  in_quotes(*architecture) + "; this version runs: llama.");
    }
    return {};
}

Result<ModelConfig> read_llama_config(const GgufFile& file, const std::vector<float>& rope_factors,
                                      std::vector<std::string>& warnings) {
    ModelConfig out;
    VITRINE_TRY(const auto architecture, file.string("general.architecture"));
    VITRINE_TRY(const auto name, file.string("general.name"));
    out.architecture = architecture.value_or("");
    out.name = name.value_or("");
    KeyReader keys(file, out.architecture + ".");

    out.layers = static_cast<std::int32_t>(keys.integer("block_count", 1, kMaxLayers, {}));
    out.embedding = static_cast<std::int32_t>(keys.integer("embedding_length", 1, kMaxWidth, {}));
    out.feed_forward = static_cast<std::int32_t>(keys.integer("feed_forward_length", 1, kMaxWidth, {}));
    read_context(keys, out, warnings);
    read_attention(keys, out);
    read_rope(keys, rope_factors, out);

    if (keys.integer("expert_count", 0, 65536, 0) > 0) {
        keys.fail(ErrorKind::Unsupported, "the model is a mixture of experts (key " +
                                              in_quotes(keys.key("expert_count")) +
                                              "), which this version cannot run.");
    }
    constexpr std::int64_t kAnyWindow = std::numeric_limits<std::uint32_t>::max();
    const std::int64_t window = keys.integer("attention.sliding_window", 0, kAnyWindow, 0);
    VITRINE_TRY(const auto causal, file.boolean(keys.key("attention.causal")));
    if (!causal.value_or(true)) {
        keys.fail(ErrorKind::Unsupported,
                  "the model sees the whole text at once (attention.causal is false): it makes embeddings, "
                  "not answers.");
    }
    VITRINE_CHECK(keys.status());

    ModelConfig::Layer layer;
    layer.window =
        window >= out.context ? 0 : static_cast<std::int32_t>(window);  // a wider one never cuts anything
    out.layer.assign(static_cast<std::size_t>(out.layers), layer);
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
