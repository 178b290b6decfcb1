// Values to text as Python prints them, and to truth.
#pragma once

#include <string>

#include "core/text/template/value.h"

namespace vitrine::jinja {

// type(x).__name__
std::string type_name(const Value& value);
// How an undefined attribute's error calls the object: "dict object".
std::string object_name(const Value& value);
bool truthy(const Value& value);
// str(x) and repr(x). Failed machine: whatever was there.
Text to_text(Machine& machine, const Value& value);
Text repr(Machine& machine, const Value& value);
// repr(), with characters beyond ASCII escaped too.
Text ascii(Machine& machine, const Value& value);
// repr of a text, all ASCII where asked for.
std::string quote(std::string_view text, bool ascii_only = false);
std::string float_repr(double value);
std::string integer_text(std::int64_t value);
// Digits behind the point ("%.3f"); letter is one of e f g and their capitals.
std::string format_float(double value, char letter, int precision, bool alternate = false);

}  // namespace vitrine::jinja
