// Attribute and item access through the sandbox: what Python would find, less everything internal, and
// less every method that changes its object.
#pragma once

#include <string_view>

#include "core/text/template/value.h"

namespace vitrine::jinja {

// object.name: an attribute or method, else the item of that name, else undefined.
Value get_attribute(Machine& machine, const Value& object, std::string_view name);
// object[key]: the item, else the attribute of that name, else undefined.
Value get_item(Machine& machine, const Value& object, const Value& key);
// An attribute only (the filter attr); Missing where there is none.
Value find_attribute(Machine& machine, const Value& object, std::string_view name);
// object[start:stop:step]; Missing bounds are left out.
Value get_slice(Machine& machine, const Value& object, const Value& start, const Value& stop,
                const Value& step);

}  // namespace vitrine::jinja
