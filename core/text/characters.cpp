#include "core/text/characters.h"

#include <cstdint>

#include <unicode/uchar.h>

namespace vitrine {

bool is_white_space(char32_t character) { return u_isUWhiteSpace(static_cast<UChar32>(character)) != 0; }

bool is_word_character(char32_t character) {
    const auto point = static_cast<UChar32>(character);
    constexpr std::uint32_t kMarksAndMore = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
    return (static_cast<std::uint32_t>(U_GET_GC_MASK(point)) & kMarksAndMore) != 0 ||
           u_hasBinaryProperty(point, UCHAR_ALPHABETIC) != 0 ||
           u_hasBinaryProperty(point, UCHAR_JOIN_CONTROL) != 0;
}

}  // namespace vitrine
