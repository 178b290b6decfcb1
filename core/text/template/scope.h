// Decides where each name of a template lives, after Jinja's identifier tracking: a for, with, call, filter
// or set block is a scope; an if is not; a name that a scope assigns shadows the outer one from the start of
// the scope, beginning with its value; macros see the variables around them as they are when called.
#pragma once

#include "core/base/result.h"
#include "core/text/template/ast.h"

namespace vitrine::jinja {

// Fills the slots and frames of the program. Fails where a name is misused or a filter or test is unknown.
Status resolve_names(Program& program);

}  // namespace vitrine::jinja
