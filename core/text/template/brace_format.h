// Python's text.format(…), with the sandbox's attribute access.
#pragma once

#include "core/text/template/machine.h"

namespace vitrine::jinja {

Value brace_format(Machine& machine, const Value& text, const Arguments& arguments);

}  // namespace vitrine::jinja
