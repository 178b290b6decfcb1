// What Highway's targets do not say about the processor.
#pragma once

namespace vitrine::cpu {

// The 8-bit integer dot product: wide, in AVX-512 form (AVX512_VNNI), else in the form of AVX (AVX-VNNI).
bool has_dot_extension(bool wide);

// For tests: false hides the extension from has_dot_extension().
void allow_dot_extension(bool allowed);

}  // namespace vitrine::cpu
