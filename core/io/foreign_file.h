// Files that are often found where a model should be: web pages, pointers, archives.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/base/result.h"

namespace vitrine {

// What such a file is and what to do; none where it looks like none of them. An empty file is one.
std::optional<Error> foreign_file(std::span<const std::byte> file);

}  // namespace vitrine
