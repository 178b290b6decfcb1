// The filters and tests by name.
#pragma once

#include <string_view>

#include "core/text/template/machine.h"

namespace vitrine::jinja {

struct FilterEntry {
    std::string_view name;
    Value (*apply)(Machine& machine, const Value& value, const Arguments& arguments);
};

struct TestEntry {
    std::string_view name;
    // The answer; unspecified where the machine has failed.
    bool (*holds)(Machine& machine, const Value& value, const Arguments& arguments);
};

// Null where there is none.
const FilterEntry* find_filter(std::string_view name);
const TestEntry* find_test(std::string_view name);

Value apply_filter(Machine& machine, std::string_view name, const Value& value, const Arguments& arguments);
bool apply_test(Machine& machine, std::string_view name, const Value& value, const Arguments& arguments);

}  // namespace vitrine::jinja
