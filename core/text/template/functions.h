// The functions that every template can call: range, namespace, dict, cycler, joiner, raise_exception,
// strftime_now.
#pragma once

#include <string>
#include <string_view>

#include "core/text/template/machine.h"

namespace vitrine {
struct CivilTime;
}

namespace vitrine::jinja {

Value call_function(Machine& machine, Function function, const Arguments& arguments);
// strftime with English names; what it does not know stays as it is.
std::string format_time(std::string_view format, const CivilTime& time);

}  // namespace vitrine::jinja
