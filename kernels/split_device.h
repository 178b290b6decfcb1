// One model on two devices: the first layers and everything outside the layers on one, the remaining layers
// on the other. For models that are larger than a GPU's memory.
//
// A step goes through the devices in turn. What an operation reads is carried over when it was written on the
// other device: between two layers that is one row of activations for each token.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/device.h"

namespace vitrine {

// Layers from `first_layers` on run on `second`.
std::unique_ptr<Device> make_split_device(std::unique_ptr<Device> first, std::unique_ptr<Device> second,
                                          std::int32_t first_layers, std::int32_t layers);

}  // namespace vitrine
