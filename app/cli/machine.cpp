#include "app/cli/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace vitrine::cli {

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with("model name") && !line.starts_with("Model")) continue;
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        if (begin != std::string::npos) return line.substr(begin);
    }
    return {};
}

std::uint64_t last_level_cache_bytes() {
    std::uint64_t most = 0;
    for (int index = 0; index < 8; ++index) {
        std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
        std::string text;
        if (!(file >> text)) continue;
        std::uint64_t value = 0;
        const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
        if (end.ec != std::errc() || value > (1ULL << 30)) continue;
        const std::string_view unit(end.ptr, text.data() + text.size());
        const std::uint64_t factor = unit == "K" ? 1ULL << 10 : unit == "M" ? 1ULL << 20 : 1;
        most = std::max(most, value * factor);
    }
    return most;
}

}  // namespace vitrine::cli
