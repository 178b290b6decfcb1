// The methods of strings, lists, tuples, dictionaries and numbers that templates may call.
#pragma once

#include <string_view>

#include "core/text/template/machine.h"

namespace vitrine::jinja {

struct MethodEntry {
    std::string_view name;
    Value (*call)(Machine& machine, const Value& self, const Arguments& arguments);
};

// Null where the type of self has no such method.
const MethodEntry* find_method(const Value& self, std::string_view name);
const MethodEntry* find_string_method(std::string_view name);
// Does Python's type have a method of this name that changes the object?
bool is_changing_method(const Value& self, std::string_view name);
Value call_method(Machine& machine, const MethodObject& method, const Arguments& arguments);

}  // namespace vitrine::jinja
