// Unicode normalization forms (Unicode Standard Annex #15) for valid UTF-8, in time that grows with the text
// alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine {

enum class NormalForm : std::uint8_t { C, D, KC, KD };

// `text` must be valid UTF-8. Where normalization is not possible (no memory), the text as it is.
std::string to_normal_form(std::string_view text, NormalForm form);

inline std::string to_nfc(std::string_view text) { return to_normal_form(text, NormalForm::C); }

}  // namespace vitrine
