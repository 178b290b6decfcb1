#include "core/io/hf_rope.h"

#include <limits>
#include <string>

#include "core/io/printable.h"
#include "core/io/rope.h"

namespace vitrine {

namespace {

using Json = nlohmann::json;

// An object such as rope_scaling. `config` is the one around it, which holds some of its numbers in some
// files.
RopeScaling read_scaling(JsonReader& config, const Json& object, const std::string& where,
                         const std::string& inside, std::int64_t context) {
    RopeScaling s;
    JsonReader reader(object, where, inside);
    auto name = reader.text("rope_type");
    if (!name) name = reader.text("type");
    const auto kind = rope_scaling_kind(name.value_or("default"));
    if (!kind || reader.has("mrope_section")) {
        config.fail(ErrorKind::Unsupported,
                    "the model stretches its context by the method " + in_quotes(name.value_or("mrope")) +
                        " (" + in_quotes(inside + "rope_type") +
                        "), which this version cannot run; it runs: default, linear, llama3, "
                        "yarn and longrope.");
        return s;
    }
    s.kind = *kind;
    s.factor = reader.real("factor");
    auto original = reader.real("original_max_position_embeddings");
    if (!original) original = config.real("original_max_position_embeddings");
    if (original && s.kind == RopeScaling::Kind::LongRope && (*original < 2.0 || *original > 1e9)) {
        config.fail(ErrorKind::BadFile, "'original_max_position_embeddings' must be from 2 to 1000000000.");
        return s;
    }
    s.original_context = original.value_or(static_cast<double>(context));
    s.low_freq_factor = reader.real("low_freq_factor").value_or(s.low_freq_factor);
    s.high_freq_factor = reader.real("high_freq_factor").value_or(s.high_freq_factor);
    s.beta_fast = reader.real("beta_fast").value_or(s.beta_fast);
    s.beta_slow = reader.real("beta_slow").value_or(s.beta_slow);
    s.truncate = reader.flag("truncate", true);
    s.mscale = reader.real("mscale");
    s.mscale_all_dim = reader.real("mscale_all_dim");
    s.attention_factor = reader.real("attention_factor");
    s.short_factors = reader.reals("short_factor");
    s.long_factors = reader.reals("long_factor");
    config.take(reader.status());
    return s;
}

}  // namespace

void read_hf_ropes(JsonReader& config, const std::string& where, const HfRopeDefaults& defaults,
                   ModelConfig& out) {
    RopeRequest all;
    all.base.style = RopeStyle::Halves;
    all.base.rotary_dim = static_cast<std::int32_t>(defaults.rotary_dim);
    all.base.theta = config.real("rope_theta").value_or(defaults.theta);
    RopeRequest sliding = all;
    sliding.base.theta = config.real("rope_local_base_freq").value_or(defaults.local_theta);
    const bool two = defaults.local_theta > 0.0;

    const auto read = [&](const Json& object, const std::string& inside, RopeRequest& to) {
        to.scaling = read_scaling(config, object, where, inside, out.context);
        JsonReader reader(object, where, inside);
        to.base.theta = reader.real("rope_theta").value_or(to.base.theta);
        config.take(reader.status());
    };
    if (const Json* object = config.object("rope_scaling")) read(*object, "rope_scaling.", all);
    if (const Json* object = config.object("rope_parameters")) {
        JsonReader kinds(*object, where, "rope_parameters.");
        const Json* full = kinds.find("full_attention");
        const Json* slides = kinds.find("sliding_attention");
        if (full != nullptr || slides != nullptr) {
            if (full != nullptr && full->is_object()) read(*full, "rope_parameters.full_attention.", all);
            if (slides != nullptr && slides->is_object() && two)
                read(*slides, "rope_parameters.sliding_attention.", sliding);
            for (const char* name : {"full_attention", "sliding_attention"})
                static_cast<void>(kinds.object(name));
            if (slides != nullptr && !two && full != nullptr && *slides != *full)
                config.fail(ErrorKind::Unsupported,
                            "layers with rotary embeddings of different kinds ('rope_parameters') are not "
                            "something that "
                            "this version can run in a model of this kind.");
            config.take(kinds.status());
        } else {
            read(*object, "rope_parameters.", all);
        }
    }
    if (!config.status().ok()) return;
    std::vector<RopeRequest> requests = {all};
    if (two) requests.push_back(sliding);
    if (const Status status = set_ropes(requests, out.context, out); !status.ok())
        config.fail(ErrorKind::BadFile, "rotary embedding: " + status.error().message);
}

}  // namespace vitrine
