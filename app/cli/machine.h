// What the system tells about the machine.
#pragma once

#include <cstdint>
#include <string>

namespace vitrine::cli {

// The processor's name as the system gives it; empty where it gives none.
std::string cpu_name();

// Bytes of the largest cache of the first core; 0 where the system does not tell.
std::uint64_t last_level_cache_bytes();

}  // namespace vitrine::cli
