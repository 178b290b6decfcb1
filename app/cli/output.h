// Standard output and standard error of the terminal program.
//
// SIGPIPE is ignored (ignore_sigpipe), so that a reader who goes away is a failed write that the commands end
// on, not a signal in the middle of a file. Numbers are printed locale-free.
#pragma once

#include <string>
#include <string_view>

#include "core/text/chat_template.h"

namespace vitrine::cli {

void ignore_sigpipe();

// Writes all of `text` to standard output at once, unbuffered. False where the reader is gone or the disk is
// full; then nothing more is written.
bool write_out(std::string_view text);

// One line on standard error, made printable. Failures are ignored: there is nobody left to tell.
void note(std::string_view sentence);

// Like note(), without the line's end: for a prompt that somebody types behind.
void note_inline(std::string_view text);

// False from the first failed write on.
bool output_alive();
// 0, or 1 where standard output could not be written; says so on standard error unless the reader left.
int output_status();

// A text as a terminal may show it: line feeds and tabs stay; other control characters, DEL, C1 and
// characters that reorder text become visible stand-ins. Invalid UTF-8 becomes U+FFFD. Whole characters in,
// so pieces of a stream can be passed one by one.
std::string terminal_text(std::string_view text);

// Compact JSON in ASCII (other characters as \u escapes): one line, whatever a reader takes for a line end.
// Invalid UTF-8 in strings becomes U+FFFD; a number that is not finite becomes null.
std::string to_line(const OrderedJson& value);

// Decimal with `digits` places, "." as the point.
std::string fixed(double value, int digits);

}  // namespace vitrine::cli
