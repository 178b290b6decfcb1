// JSON as RFC 8259 has it, from people and programs that may be wrong or hostile: valid UTF-8, no byte after
// the value, no key twice in an object, bounded nesting, bounded count of values, no number beyond double.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/result.h"
#include "core/text/chat_template.h"

namespace vitrine::cli {

struct JsonLimits {
    std::size_t depth = 512;
    std::size_t values = 4'000'000;  // of all kinds together, keys not counted
};

// InvalidArgument with the byte and what was wrong there; TooLarge beyond a limit.
Result<OrderedJson> parse_strict(std::string_view text, JsonLimits limits = {});

}  // namespace vitrine::cli
