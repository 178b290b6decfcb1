// Unicode normalization form C (Unicode Standard Annex #15) for valid UTF-8, in time that grows with the
// text alone.
#pragma once

#include <string>
#include <string_view>

namespace vitrine {

// `text` must be valid UTF-8. Where normalization is not possible (no memory), the text as it is.
std::string to_nfc(std::string_view text);

}  // namespace vitrine
