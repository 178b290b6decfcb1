#include "core/io/rope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace vitrine {
namespace {

using Kind = RopeScaling::Kind;

Error bad(const std::string& message) { return Error{ErrorKind::InvalidArgument, message}; }

bool positive(double v) { return std::isfinite(v) && v > 0.0; }

// Below a wavelength of L / high_freq_factor a dimension is left alone, above L / low_freq_factor it is
// slowed by the whole factor, between them something between.
double llama3_frequency(double frequency, const RopeScaling& s) {
    const double turns = s.original_context * frequency / (2.0 * std::numbers::pi);  // within L tokens
    if (turns > s.high_freq_factor) return frequency;
    if (turns < s.low_freq_factor) return frequency / *s.factor;
    const double smooth = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
    return (1.0 - smooth) * frequency / *s.factor + smooth * frequency;
}

// The dimension that makes `turns` turns within the original context.
double yarn_dimension(double turns, const RopeBase& base, const RopeScaling& s) {
    return base.rotary_dim * std::log(s.original_context / (turns * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(base.theta));
}

// How much of dimension pair i is slowed: 0 for fast ones, 1 for slow ones, a ramp between.
double yarn_share(std::int32_t i, const RopeBase& base, const RopeScaling& s) {
    double low = yarn_dimension(s.beta_fast, base, s);
    double high = yarn_dimension(s.beta_slow, base, s);
    if (s.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, base.rotary_dim - 1.0);
    if (low == high) high += 0.001;
    return std::clamp((i - low) / (high - low), 0.0, 1.0);
}

double yarn_magnitude(const RopeScaling& s) {
    if (s.attention_factor) return *s.attention_factor;
    const auto scale = [&](double m) { return *s.factor <= 1.0 ? 1.0 : 0.1 * m * std::log(*s.factor) + 1.0; };
    if (s.mscale.value_or(0.0) != 0.0 && s.mscale_all_dim.value_or(0.0) != 0.0)
        return scale(*s.mscale) / scale(*s.mscale_all_dim);
    return scale(1.0);
}

double longrope_magnitude(const RopeScaling& s, double max_context) {
    if (s.attention_factor) return *s.attention_factor;
    const double stretch = s.factor.value_or(max_context / s.original_context);
    return stretch <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(stretch) / std::log(s.original_context));
}

Status check_list(const std::vector<double>& list, std::int32_t pairs, const std::string& what) {
    if (list.size() != static_cast<std::size_t>(pairs))
        return bad(what + " has " + std::to_string(list.size()) + " elements; " + std::to_string(pairs) +
                   " are needed, one for each rotated pair.");
    if (!std::all_of(list.begin(), list.end(), positive))
        return bad(what + " holds a value that is not a number greater than 0.");
    return {};
}

Status check(const RopeBase& base, const RopeScaling& s, double max_context) {
    if (!std::isfinite(base.theta) || base.theta <= 1.0)
        return bad("the base of the rotary embedding must be greater than 1.");
    if (base.rotary_dim < 2 || base.rotary_dim % 2 != 0)
        return bad(
            "the rotary embedding turns " + std::to_string(base.rotary_dim) +
            " elements of a head; they are turned in pairs, so the number must be even and at least 2.");
    if (!s.divisors.empty())
        VITRINE_CHECK(check_list(s.divisors, base.rotary_dim / 2, "the list of rotary divisors"));
    if (s.kind == Kind::None) return {};
    if (s.kind != Kind::LongRope && !s.factor) return bad("the stretching of the context has no factor.");
    if (s.factor && !positive(*s.factor))
        return bad("the factor by which the context is stretched must be greater than 0.");
    if (s.attention_factor && !positive(*s.attention_factor))
        return bad("the attention factor of the rotary embedding must be greater than 0.");
    if (s.kind == Kind::Linear) return {};
    if (!std::isfinite(s.original_context) || s.original_context < 2.0 ||
        s.original_context > static_cast<double>(std::numeric_limits<std::int32_t>::max()))
        return bad("the context length before stretching must be at least 2 tokens.");
    if (s.kind == Kind::Llama3 && !(positive(s.low_freq_factor) && positive(s.high_freq_factor) &&
                                    s.high_freq_factor > s.low_freq_factor))
        return bad("high_freq_factor must be greater than low_freq_factor, and both greater than 0.");
    if (s.kind == Kind::Yarn &&
        !(positive(s.beta_fast) && positive(s.beta_slow) && s.beta_fast >= s.beta_slow))
        return bad("beta_fast must be at least beta_slow, and both greater than 0.");
    if (s.kind == Kind::LongRope) {
        VITRINE_CHECK(check_list(s.short_factors, base.rotary_dim / 2, "the list of short factors"));
        VITRINE_CHECK(check_list(s.long_factors, base.rotary_dim / 2, "the list of long factors"));
        if (!positive(max_context)) return bad("the context length must be at least 1 token.");
    }
    return {};
}

}  // namespace

std::optional<RopeScaling::Kind> rope_scaling_kind(std::string_view name) {
    if (name.empty() || name == "none" || name == "default") return Kind::None;
    if (name == "linear") return Kind::Linear;
    if (name == "llama3") return Kind::Llama3;
    if (name == "yarn") return Kind::Yarn;
    if (name == "longrope" || name == "su") return Kind::LongRope;
    return std::nullopt;
}

Result<RopeSpec> make_rope(const RopeBase& base, const RopeScaling& s, double max_context, RopeSet set) {
    VITRINE_CHECK(check(base, s, max_context));
    RopeSpec rope;
    rope.style = base.style;
    rope.rotary_dim = base.rotary_dim;
    for (std::int32_t i = 0; i < base.rotary_dim / 2; ++i) {
        const auto at = static_cast<std::size_t>(i);
        double frequency = std::pow(base.theta, -2.0 * i / base.rotary_dim);
        switch (s.kind) {
            case Kind::None: break;
            case Kind::Linear: frequency /= *s.factor; break;
            case Kind::Llama3: frequency = llama3_frequency(frequency, s); break;
            case Kind::Yarn: {
                const double share = yarn_share(i, base, s);
                frequency = frequency / *s.factor * share + frequency * (1.0 - share);
                break;
            }
            case Kind::LongRope:
                frequency /= (set == RopeSet::Long ? s.long_factors : s.short_factors)[at];
                break;
        }
        if (!s.divisors.empty()) frequency /= s.divisors[at];
        rope.inv_freq.push_back(frequency);
    }
    if (s.kind == Kind::Yarn) rope.magnitude = static_cast<float>(yarn_magnitude(s));
    if (s.kind == Kind::LongRope) rope.magnitude = static_cast<float>(longrope_magnitude(s, max_context));
    return rope;
}

Status set_ropes(const std::vector<RopeRequest>& requests, double max_context, ModelConfig& config) {
    config.ropes.clear();
    config.rope_switch = 0;
    for (const RopeSet set : {RopeSet::Short, RopeSet::Long}) {
        for (const RopeRequest& r : requests) {
            VITRINE_TRY(auto rope, make_rope(r.base, r.scaling, max_context, set));
            config.ropes.push_back(std::move(rope));
            if (r.scaling.kind == Kind::LongRope)
                config.rope_switch = static_cast<std::int32_t>(r.scaling.original_context);
        }
        if (config.rope_switch == 0) break;
    }
    return {};
}

}  // namespace vitrine
