// One sequence of tokens on its way through the engine, as the scheduler sees it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/ids.h"
#include "core/kv/kv_manager.h"

namespace vitrine {

enum class SequencePhase : std::uint8_t {
    Waiting,  // owns no blocks
    Running,  // owns blocks, gets tokens computed
    Held,     // finished; keeps its blocks until memory is needed
    Dropped,  // was held, and its blocks were needed: the scheduler knows it no more
};

struct Sequence {
    SequenceId id;
    std::int32_t priority = 0;  // higher first
    std::uint64_t arrival = 0;  // earlier first; kept over preemption
    SequencePhase phase = SequencePhase::Waiting;
    std::vector<TokenId> tokens;  // prompt and what was generated: never lost
    std::int32_t prompt_length = 0;
    // Most tokens that it can come to have: what contiguous tables reserve. 0: not known, only for paged
    // ones.
    std::int32_t max_length = 0;
    std::int32_t computed = 0;  // leading tokens whose keys and values are written
    BlockTable table;
    std::int32_t cached_tokens =
        -1;  // found in the prefix cache at the first admission; −1: not admitted yet
    std::int32_t preemptions = 0;
    std::int64_t last_served = 0;  // iteration in which it last had tokens computed
    // Positions from here on need a row of logits each (scoring); all others only where the next token is
    // due.
    std::int32_t logits_from = std::numeric_limits<std::int32_t>::max();

    std::int32_t length() const { return static_cast<std::int32_t>(tokens.size()); }
    std::int32_t pending() const { return length() - computed; }
};

}  // namespace vitrine
