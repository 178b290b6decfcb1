// Equality, order, membership and hashes as in Python.
#pragma once

#include <cstdint>

#include "core/text/template/ast.h"
#include "core/text/template/value.h"

namespace vitrine::jinja {

bool equals(Machine& machine, const Value& a, const Value& b);
// The same object, or a scalar that cannot be told from the other ("is").
bool is_same(const Value& a, const Value& b);
// One of == != < <= > >= in, not in. False where the machine fails.
bool compare(Machine& machine, Op op, const Value& a, const Value& b);
bool contains(Machine& machine, const Value& container, const Value& item);
// Equal values have equal hashes; fails for lists and dictionaries.
std::uint64_t hash_value(Machine& machine, const Value& value);

}  // namespace vitrine::jinja
