#include "core/io/hf_config.h"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/io/hf_rope.h"
#include "core/io/json_reader.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxLayers = 512;
constexpr std::int64_t kMaxHeads = 65536;
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

// One row for each model_type: the values that transformers assumes where config.json is silent, and the
// points in which the kinds differ. 0 in a size: config.json must name it.
struct Family {
    std::string_view model_type;
    std::string_view architecture;
    std::int64_t context = 2048;
    double eps = 1e-6;
    bool tied = false;
    bool may_bias_attention = false;  // reads attention_bias
    bool input_bias = false;          // q, k and v have biases whatever config.json says
    bool may_bias_mlp = false;        // reads mlp_bias
    bool gemma = false;
    bool asks_for_window = false;  // use_sliding_window must be true
    bool no_window = false;        // has none, whatever config.json holds
    std::int64_t window = 0;       // where sliding_window is absent (null is none)
    std::int64_t pattern = 1;      // see WindowPattern
    double theta = 10000.0;
    double local_theta = 0.0;
    std::int64_t head_dim = 0;
    double attention_softcap = 0.0;
    double logit_softcap = 0.0;
    // Only folders of pictures-and-text models leave these out of their text_config.
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t vocab = 0;
};

constexpr std::array kFamilies = {
    Family{.model_type = "llama",
           .architecture = "llama",
           .may_bias_attention = true,
           .may_bias_mlp = true,
           .no_window = true},
    Family{
        .model_type = "mistral", .architecture = "llama", .context = 131072, .window = 4096, .kv_heads = 8},
    Family{.model_type = "qwen2",
           .architecture = "qwen2",
           .context = 32768,
           .input_bias = true,
           .asks_for_window = true,
           .window = 4096},
    Family{.model_type = "qwen3",
           .architecture = "qwen3",
           .context = 32768,
           .may_bias_attention = true,
           .asks_for_window = true,
           .window = 4096,
           .head_dim = 128},
    Family{.model_type = "gemma2",
           .architecture = "gemma2",
           .context = 8192,
           .tied = true,
           .may_bias_attention = true,
           .gemma = true,
           .window = 4096,
           .pattern = 2,
           .head_dim = 256,
           .attention_softcap = 50.0,
           .logit_softcap = 30.0,
           .kv_heads = 4},
    Family{.model_type = "gemma3_text",
           .architecture = "gemma3",
           .context = 131072,
           .tied = true,
           .may_bias_attention = true,
           .gemma = true,
           .window = 4096,
           .pattern = 6,
           .theta = 1e6,
           .local_theta = 1e4,
           .head_dim = 256,
           .heads = 8,
           .kv_heads = 4,
           .vocab = 262208},
    Family{.model_type = "phi3", .architecture = "phi3", .context = 4096, .eps = 1e-5},
};

const Family* find_family(std::string_view model_type) {
    for (const Family& family : kFamilies)
        if (family.model_type == model_type) return &family;
    return nullptr;
}

std::optional<std::int64_t> known(std::int64_t value) {
    return value > 0 ? std::optional<std::int64_t>(value) : std::nullopt;
}

void read_sizes(JsonReader& c, const Family& family, ModelConfig& out) {
    out.layers = static_cast<std::int32_t>(c.integer("num_hidden_layers", 1, kMaxLayers, {}));
    out.embedding = static_cast<std::int32_t>(c.integer("hidden_size", 1, kMaxWidth, {}));
    out.feed_forward = static_cast<std::int32_t>(c.integer("intermediate_size", 1, kMaxWidth, {}));
    out.vocab = static_cast<std::int32_t>(c.integer("vocab_size", 1, kMaxInt, known(family.vocab)));
    out.context = static_cast<std::int32_t>(c.integer("max_position_embeddings", 1, kMaxInt, family.context));
    out.heads =
        static_cast<std::int32_t>(c.integer("num_attention_heads", 1, kMaxHeads, known(family.heads)));
    out.kv_heads = static_cast<std::int32_t>(
        c.integer("num_key_value_heads", 1, kMaxHeads, family.kv_heads > 0 ? family.kv_heads : out.heads));
    if (out.heads % out.kv_heads != 0) {
        c.fail(ErrorKind::BadFile, "'num_attention_heads' is " + std::to_string(out.heads) +
                                       ", which is not divisible by 'num_key_value_heads' (" +
                                       std::to_string(out.kv_heads) +
                                       "): query heads share key heads evenly.");
    }
    const std::int64_t head = c.integer("head_dim", 1, kMaxHeads, family.head_dim);
    if (head == 0 && out.embedding % out.heads != 0) {
        c.fail(ErrorKind::BadFile, "'hidden_size' is " + std::to_string(out.embedding) +
                                       ", which is not divisible by 'num_attention_heads' (" +
                                       std::to_string(out.heads) + "), and no 'head_dim' is given.");
    }
    out.head_dim = head > 0 ? static_cast<std::int32_t>(head) : out.embedding / out.heads;
    if (out.head_dim < 1 || std::int64_t{out.head_dim} * out.heads > kMaxWidth) {
        c.fail(ErrorKind::BadFile, std::to_string(out.heads) + " heads of " + std::to_string(out.head_dim) +
                                       " elements: all heads together must have from 1 to " +
                                       std::to_string(kMaxWidth) + " elements.");
        out.head_dim = 2;
    }
}

void read_activation(JsonReader& c, const Family& family, ModelConfig& out) {
    // Gemma files name "gelu" or the tanh form in hidden_act from a time before hidden_activation, which
    // decides.
    const char* name = family.gemma ? "hidden_activation" : "hidden_act";
    const std::string act = c.text(name).value_or(family.gemma ? "gelu_pytorch_tanh" : "silu");
    if (act == "silu" || act == "swish") {
        out.activation = Activation::SiLU;
    } else if (act == "gelu_pytorch_tanh" || act == "gelu_new" || act == "gelu_fast") {
        out.activation = Activation::GeluTanh;
    } else {
        c.fail(ErrorKind::Unsupported,
               "the activation " + in_quotes(act) + " (" + in_quotes(std::string(name)) +
                   ") is not one that this version can run; it runs silu and gelu_pytorch_tanh.");
    }
}

void read_norms_and_caps(JsonReader& c, const Family& family, ModelConfig& out) {
    const double eps = c.real("rms_norm_eps").value_or(family.eps);
    if (eps < 0.0 || eps > 1.0) c.fail(ErrorKind::BadFile, "'rms_norm_eps' must be from 0 to 1.");
    out.norm_eps = static_cast<float>(eps);
    out.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(out.head_dim)));
    if (!family.gemma) return;
    out.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(out.embedding)));
    const double scalar = c.real("query_pre_attn_scalar").value_or(256.0);
    if (!(scalar > 0.0)) c.fail(ErrorKind::BadFile, "'query_pre_attn_scalar' must be greater than 0.");
    out.attention_scale = static_cast<float>(1.0 / std::sqrt(scalar));
}

// A soft cap; null turns it off, absent leaves the family's.
float read_cap(JsonReader& c, const Json& config, const char* name, double fallback) {
    const double cap = config.contains(name) ? c.real(name).value_or(0.0) : fallback;
    if (cap < 0.0) c.fail(ErrorKind::BadFile, in_quotes(name) + " must not be negative.");
    return static_cast<float>(cap);
}

// Which layers slide: layer_types where it is there, else the rule of the family.
void read_windows(JsonReader& c, const Json& config, const Family& family, ModelConfig& out) {
    std::int64_t window = c.integer("sliding_window", 0, std::numeric_limits<std::uint32_t>::max(),
                                    config.contains("sliding_window") ? 0 : family.window);
    if (family.no_window || (family.asks_for_window && !c.flag("use_sliding_window", false))) window = 0;
    const bool cuts = window > 0 && window < out.context;  // a wider one never does
    std::int64_t pattern = c.integer("sliding_window_pattern", 1, kMaxLayers,
                                     c.integer("_sliding_window_pattern", 1, kMaxLayers, family.pattern));
    const std::int64_t first = family.asks_for_window ? c.integer("max_window_layers", 0, kMaxInt, 28) : 0;
    if (!family.gemma) pattern = 1;
    const WindowPattern rule{.window = static_cast<std::int32_t>(cuts ? window : 0),
                             .pattern = static_cast<std::int32_t>(pattern)};
    const Json* types = c.find("layer_types");
    if (types != nullptr && (!types->is_array() || types->size() < static_cast<std::size_t>(out.layers))) {
        c.fail(ErrorKind::BadFile, "'layer_types' must be a list with one kind for each of " +
                                       std::to_string(out.layers) + " layers.");
    }
    if (!c.status().ok()) return;
    out.layer.resize(static_cast<std::size_t>(out.layers));
    for (std::int32_t i = 0; i < out.layers; ++i) {
        const auto at = static_cast<std::size_t>(i);
        bool slides = i >= first && rule.slides(i);
        if (types != nullptr && !family.no_window) {
            const Json& type = (*types)[at];
            const std::string kind = type.is_string() ? type.get<std::string>() : std::string();
            slides = kind == "sliding_attention";
            if (!slides && kind != "full_attention") {
                c.fail(ErrorKind::Unsupported, "layer " + std::to_string(i) + " is of kind " +
                                                   json_what(type) +
                                                   " ('layer_types'), which this version cannot run; it runs "
                                                   "full_attention and sliding_attention.");
                return;
            }
        }
        out.layer[at].window = slides ? rule.window : 0;
        out.layer[at].rope = slides && family.local_theta > 0.0 ? 1 : 0;
    }
}

void read_ropes(JsonReader& c, const std::string& where, const Family& family, ModelConfig& out) {
    auto part = c.real("partial_rotary_factor");
    if (const Json* parameters = c.object("rope_parameters"); parameters != nullptr && !part) {
        JsonReader inner(*parameters, where, "rope_parameters.");
        part = inner.real("partial_rotary_factor");
        c.take(inner.status());
    }
    const double share = part.value_or(1.0);
    if (!(share > 0.0) || share > 1.0) {
        c.fail(ErrorKind::BadFile, "'partial_rotary_factor' must be greater than 0 and at most 1.");
        return;
    }
    if (share < 1.0 && family.architecture != "phi3") {
        c.fail(ErrorKind::Unsupported,
               "a rotary embedding of part of a head ('partial_rotary_factor') is not something "
               "that this version can run in a model of type " +
                   in_quotes(family.model_type) + ".");
        return;
    }
    const auto rotary = static_cast<std::int64_t>(static_cast<double>(out.head_dim) * share);
    if (!c.status().ok()) return;
    read_hf_ropes(c, where, {.theta = family.theta, .local_theta = family.local_theta, .rotary_dim = rotary},
                  out);
}

}  // namespace

std::string hf_model_types() {
    std::string names;
    for (const Family& family : kFamilies)
        names += (names.empty() ? "" : ", ") + std::string(family.model_type);
    return names;
}

std::vector<std::int64_t> read_hf_ids(const Json& config, const char* name) {
    std::vector<std::int64_t> out;
    if (!config.is_object() || !config.contains(name)) return out;
    const auto add = [&](const Json& value) {
        if (!value.is_number_integer()) return;
        const bool fits =
            !value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxInt);
        out.push_back(fits ? value.get<std::int64_t>() : kMaxInt + 1);
    };
    const Json& value = config[name];
    if (value.is_array()) {
        for (const Json& one : value) add(one);
    } else {
        add(value);
    }
    return out;
}

Result<HfConfig> read_hf_config(const Json& config, const std::string& where) {
    JsonReader root(config, where);
    const std::string outer_type = root.text("model_type").value_or("");
    const Json* inner = root.object("text_config");
    VITRINE_CHECK(root.status());
    // Models of pictures and text hold the language model's configuration inside.
    const bool nested = inner != nullptr && find_family(outer_type) == nullptr;
    const Json& text = nested ? *inner : config;
    JsonReader c(text, where, nested ? "text_config." : "");
    std::string model_type = c.text("model_type").value_or("");
    if (nested && model_type.empty() && outer_type == "gemma3") model_type = "gemma3_text";
    VITRINE_CHECK(c.status());
    if (model_type.empty()) {
        return Error{ErrorKind::BadFile,
                     where + "'model_type' is missing, so the folder does not say what model it holds."};
    }
    const Family* family = find_family(model_type);
    if (family == nullptr) {
        const std::string shown =
            nested ? in_quotes(outer_type) + " with a language model of type " + in_quotes(model_type)
                   : in_quotes(model_type);
        return Error{ErrorKind::Unsupported, where + "the folder holds a model of type " + shown +
                                                 "; this version runs: " + hf_model_types() + "."};
    }

    HfConfig out;
    VITRINE_TRY(out.quantization, read_hf_quantization(config, where));
    out.architecture = find_architecture(family->architecture);
    out.model.architecture = family->architecture;
    read_sizes(c, *family, out.model);
    read_activation(c, *family, out.model);
    read_norms_and_caps(c, *family, out.model);
    if (family->gemma) {
        // Gemma 3 has head norms instead: `transformers` reads its cap and does not apply it.
        const float cap = read_cap(c, text, "attn_logit_softcapping", family->attention_softcap);
        out.model.attention_softcap = family->attention_softcap > 0 ? cap : 0.0F;
        out.model.logit_softcap = read_cap(c, text, "final_logit_softcapping", family->logit_softcap);
        if (c.flag("use_bidirectional_attention", false))
            c.fail(ErrorKind::Unsupported,
                   "the model sees the whole text at once ('use_bidirectional_attention'): it "
                   "makes embeddings, not answers.");
    }
    read_windows(c, text, *family, out.model);
    read_ropes(c, where, *family, out.model);
    out.tied = c.flag("tie_word_embeddings", root.flag("tie_word_embeddings", family->tied));
    out.attention_bias = family->may_bias_attention && c.flag("attention_bias", false);
    out.input_bias = family->input_bias || out.attention_bias;
    out.mlp_bias = family->may_bias_mlp && c.flag("mlp_bias", false);
    out.one_added_to_norms = family->gemma;
    for (const char* name : {"num_experts", "num_local_experts"}) {
        if (c.integer(name, 0, kMaxInt, 0) > 1)
            c.fail(ErrorKind::Unsupported, std::string("the model is a mixture of experts ('") + name +
                                               "'), which this version cannot run.");
    }
    VITRINE_CHECK(root.status());
    VITRINE_CHECK(c.status());
    out.eos = read_hf_ids(text, "eos_token_id");
    for (const std::int64_t id : nested ? read_hf_ids(config, "eos_token_id") : std::vector<std::int64_t>())
        out.eos.push_back(id);
    if (const auto ids = read_hf_ids(text, "bos_token_id"); !ids.empty()) out.bos = ids.front();
    return out;
}

}  // namespace vitrine
