// json.dumps, for the tojson filter.
#pragma once

#include <optional>
#include <string>

#include "core/text/template/value.h"

namespace vitrine::jinja {

struct JsonStyle {
    std::optional<std::string> indent;  // one level; none: all on one line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool ascii_only = false;
    bool sort_keys = false;
};

Text to_json(Machine& machine, const Value& value, const JsonStyle& style);

}  // namespace vitrine::jinja
