#include "app/cli/output.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <unistd.h>

#include "core/io/printable.h"
#include "core/text/utf8_stream.h"

namespace vitrine::cli {

namespace {

int failed_write = 0;  // errno of the first failed write to standard output

// 0, or the errno that stopped it.
int write_fd(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t wrote = ::write(fd, text.data(), text.size());
        if (wrote < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return 0;
}

bool reorders(char32_t c) {
    return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F ||
           c == 0x061C;
}

void append_hex(std::string& out, char32_t c) {
    std::array<char, 8> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::uint32_t>(c), 16);
    out += "<U+";
    for (auto length = end.ptr - digits.data(); length < 4; ++length) out += '0';
    for (const char* p = digits.data(); p != end.ptr; ++p) out += static_cast<char>(*p >= 'a' ? *p - 32 : *p);
    out += '>';
}

}  // namespace

void ignore_sigpipe() {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

bool write_out(std::string_view text) {
    if (failed_write == 0) failed_write = write_fd(STDOUT_FILENO, text);
    return failed_write == 0;
}

void note(std::string_view sentence) {
    const std::string line = terminal_text(sentence) + "\n";
    static_cast<void>(write_fd(STDERR_FILENO, line));
}

void note_inline(std::string_view text) { static_cast<void>(write_fd(STDERR_FILENO, terminal_text(text))); }

bool output_alive() { return failed_write == 0; }

int output_status() {
    if (failed_write == 0) return 0;
    if (failed_write != EPIPE)
        note(std::string("Standard output could not be written: ") + std::strerror(failed_write) + ".");
    return 1;
}

std::string terminal_text(std::string_view text) {
    const std::string valid = to_valid_utf8(text);
    std::string out;
    out.reserve(valid.size());
    for (std::size_t i = 0; i < valid.size();) {
        const Utf8Step step = utf8_step(std::string_view(valid).substr(i));
        const char32_t c = step.code;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
            // The control pictures U+2400 to U+2421.
            const unsigned picture = c == 0x7F ? 0x21U : static_cast<unsigned>(c);
            out += "\xE2\x90";
            out += static_cast<char>(0x80U + picture);
        } else if ((c >= 0x80 && c < 0xA0) || reorders(c) || c == 0x2028 || c == 0x2029) {
            append_hex(out, c);
        } else {
            out.append(valid, i, step.length);
        }
        i += step.length;
    }
    return out;
}

std::string to_line(const OrderedJson& value) {
    return value.dump(-1, ' ', true, OrderedJson::error_handler_t::replace) + "\n";
}

std::string fixed(double value, int digits) {
    std::array<char, 400> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits);
    return {text.data(), end.ptr};
}

}  // namespace vitrine::cli
