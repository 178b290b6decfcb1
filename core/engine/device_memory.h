// How much memory a device has for a model, asked before anything is loaded.
#pragma once

#include <cstdint>
#include <string>

namespace vitrine {

struct DeviceMemory {
    std::uint64_t total = 0;  // bytes; 0: not known
    std::uint64_t free = 0;   // bytes free now
};

// device: a name as in LoadOptions. Where there is no such device, or it cannot be asked, all is 0.
DeviceMemory device_memory(const std::string& device);

}  // namespace vitrine
