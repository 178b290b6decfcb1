// What a request asks of speculative decoding (Leviathan et al. 2023, Chen et al. 2023): somebody cheap
// proposes the next tokens, the model computes all of them in one step and keeps those that it would have
// said itself.
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace vitrine {

inline constexpr std::int32_t kLongestDraft = 16;

enum class Drafting : std::uint8_t {
    Off,
    Lookup,  // what followed when the text last ended like this
    Model,   // a small model with the same vocabulary
    Auto,    // whichever pays, as measured while it runs; nothing where neither does
};
const char* name_of(Drafting drafting);  // "off", "lookup", "model", "auto"

struct Speculation {
    Drafting drafting = Drafting::Off;
    // Tokens proposed in a step, 1 to kLongestDraft. With Auto the most.
    std::int32_t length = 4;

    friend bool operator==(const Speculation&, const Speculation&) = default;
};

// InvalidArgument for a length out of range.
Status validate(const Speculation& speculation);

}  // namespace vitrine
