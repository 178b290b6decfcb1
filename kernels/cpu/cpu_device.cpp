#include "kernels/device.h"

namespace vitrine {

Result<std::unique_ptr<Device>> make_cpu_device(int threads) { return make_reference_device(threads); }

}  // namespace vitrine
