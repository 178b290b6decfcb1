#include "kernels/cpu/peak.h"

namespace vitrine {

double integer_dot_peak(int) { return 690e9; }

}  // namespace vitrine
