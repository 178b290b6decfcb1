#include "core/sample/params.h"

#include <cmath>
#include <string>

namespace vitrine {
namespace {

Error refused(std::string what) { return Error{ErrorKind::InvalidArgument, "Sampler: " + std::move(what)}; }

}  // namespace

Status validate(const SamplingParams& p, std::int32_t vocab) {
    for (const auto& [id, bias] : p.logit_bias) {
        if (id.value < 0 || id.value >= vocab)
            return refused("logit_bias names token " + std::to_string(id.value) +
                           ", but the vocabulary has ids 0 to " + std::to_string(vocab - 1) + ".");
        if (std::isnan(bias) || bias == INFINITY)
            return refused("the logit bias of token " + std::to_string(id.value) +
                           " must be a finite number or −infinity.");
    }
    if (!(p.repetition_penalty > 0) || !std::isfinite(p.repetition_penalty))
        return refused("repetition_penalty must be a number above 0 (1 turns it off).");
    if (!std::isfinite(p.frequency_penalty))
        return refused("frequency_penalty must be a finite number (0 turns it off).");
    if (!std::isfinite(p.presence_penalty))
        return refused("presence_penalty must be a finite number (0 turns it off).");
    if (p.penalty_window < 0) return refused("penalty_window must be 0 (all tokens) or more.");
    if (!(p.temperature >= 0) || !std::isfinite(p.temperature))
        return refused("temperature must be a finite number, 0 (greedy) or more.");
    if (p.top_k < 0) return refused("top_k must be 0 (off) or more.");
    if (std::isnan(p.typical_p)) return refused("typical_p must be a number (1 turns it off).");
    if (std::isnan(p.top_p)) return refused("top_p must be a number (1 turns it off).");
    if (std::isnan(p.min_p)) return refused("min_p must be a number (0 turns it off).");
    return {};
}

}  // namespace vitrine
