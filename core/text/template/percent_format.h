// Python's text % values.
#pragma once

#include "core/text/template/value.h"

namespace vitrine::jinja {

// values: a tuple gives one after the other, a dictionary by name, anything else is the only one.
Value percent_format(Machine& machine, const Value& text, const Value& values);

}  // namespace vitrine::jinja
