// Result<T>, Status and Error for the core. They are defined on the floor below, because the kernels report
// failed allocations in the same way.
#pragma once

#include "kernels/error.h"
