// Arithmetic and concatenation with Python's rules. Whole numbers have 64 bits: beyond, the render fails.
#pragma once

#include "core/text/template/ast.h"
#include "core/text/template/value.h"

namespace vitrine::jinja {

Value binary_operation(Machine& machine, Op op, const Value& a, const Value& b);
Value unary_operation(Machine& machine, Op op, const Value& value);
// The text with & < > " ' replaced, marked as markup.
Value escape_markup(Machine& machine, const Value& value);

}  // namespace vitrine::jinja
