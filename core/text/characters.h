// Classes of characters as the library `tokenizers` (and Rust's regular expressions) count them, where a flag
// of a token asks for them. Unicode properties by ICU.
#pragma once

namespace vitrine {

bool is_white_space(char32_t character);  // property White_Space
// A word's character: Alphabetic, marks, decimal digits, connecting punctuation, Join_Control (UTS #18, annex
// C).
bool is_word_character(char32_t character);

}  // namespace vitrine
