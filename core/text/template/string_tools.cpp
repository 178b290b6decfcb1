#include "core/text/template/string_tools.h"

#include <algorithm>

#include "core/text/template/convert.h"
#include "core/text/template/machine.h"
#include "core/text/template/search.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

std::vector<char32_t> sorted_characters(std::string_view text) {
    std::vector<char32_t> set;
    for (std::size_t at = 0; at < text.size();) set.push_back(next_code_point(text, at));
    std::sort(set.begin(), set.end());
    return set;
}

}  // namespace

Text strip(const Text& text, Side side, const std::string* characters) {
    const std::string_view bytes = text.bytes;
    const auto set = characters == nullptr ? std::vector<char32_t>() : sorted_characters(*characters);
    const auto goes = [&](char32_t c) {
        return characters == nullptr ? is_space(c) : std::binary_search(set.begin(), set.end(), c);
    };
    std::size_t begin = 0;
    while (side != Side::Right && begin < bytes.size()) {
        std::size_t next = begin;
        if (!goes(next_code_point(bytes, next))) break;
        begin = next;
    }
    std::size_t end = bytes.size();
    while (side != Side::Left && end > begin) {
        const std::size_t before = previous_position(bytes, end);
        std::size_t next = before;
        if (!goes(next_code_point(bytes, next))) break;
        end = before;
    }
    return text.slice(begin, end);
}

Text replace(Machine& machine, const Text& text, const Text& old, const Text& fresh, std::int64_t count) {
    if (count == 0) return text;
    auto left = count < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(count);
    Text result;
    const auto add = [&] {
        result.append(fresh);
        --left;
        return machine.tick() && (result.size() <= text.size() + 4096 || machine.fits(result.size()));
    };
    std::size_t at = 0;
    if (old.size() == 0) {
        while (left > 0 && add()) {
            if (at >= text.size()) return result;
            const std::size_t begin = at;
            next_code_point(text.bytes, at);
            result.append(text, begin, at);
        }
    } else {
        while (left > 0) {
            const std::size_t found = find_text(text.bytes, old.bytes, at);
            if (found == std::string::npos) break;
            result.append(text, at, found);
            at = found + old.size();
            if (!add()) return result;
        }
    }
    result.append(text, at, text.size());
    return result;
}

Text repeated(std::string_view character, std::uint64_t count, bool untrusted) {
    std::string bytes;
    bytes.reserve(character.size() * count);
    for (std::uint64_t i = 0; i < count; ++i) bytes += character;
    return Text::make(std::move(bytes), untrusted);
}

Text pad(Machine& machine, const StringObject& string, std::int64_t width, Side text_at, const Text& fill) {
    const auto length = static_cast<std::int64_t>(string.length());
    if (width <= length) return string.text;
    const auto missing = static_cast<std::uint64_t>(width - length);
    if (missing > machine.heap().limit || !machine.fits(string.text.size() + missing * fill.size())) {
        machine.fail_size();
        return {};
    }
    std::uint64_t before = 0;
    if (text_at == Side::Right) before = missing;
    // Python puts the odd one to the left where the width is odd too.
    if (text_at == Side::Both) before = missing / 2 + (missing & static_cast<std::uint64_t>(width) & 1U);
    const bool untrusted = fill.any_untrusted();
    Text result = repeated(fill.bytes, before, untrusted);
    result.append(string.text);
    result.append(repeated(fill.bytes, missing - before, untrusted));
    return result;
}

std::vector<Text> split_lines(const Text& text, bool keep_ends) {
    std::vector<Text> lines;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = at;
        const char32_t c = next_code_point(text.bytes, at);
        if (!is_line_end(c)) continue;
        if (c == '\r' && at < text.size() && text.bytes[at] == '\n') ++at;
        lines.push_back(text.slice(begin, keep_ends ? at : end));
        begin = at;
    }
    if (begin < text.size()) lines.push_back(text.slice(begin, text.size()));
    return lines;
}

std::vector<Text> split_space(const Text& text, std::int64_t most, bool from_right) {
    std::vector<Text> parts;
    const std::string_view bytes = text.bytes;
    auto left = most < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(most);
    if (!from_right) {
        std::size_t at = 0;
        for (;;) {
            while (at < bytes.size()) {
                std::size_t next = at;
                if (!is_space(next_code_point(bytes, next))) break;
                at = next;
            }
            if (at >= bytes.size()) return parts;
            if (left-- == 0) {
                parts.push_back(text.slice(at, bytes.size()));
                return parts;
            }
            const std::size_t begin = at;
            while (at < bytes.size()) {
                std::size_t next = at;
                if (is_space(next_code_point(bytes, next))) break;
                at = next;
            }
            parts.push_back(text.slice(begin, at));
        }
    }
    std::size_t end = bytes.size();
    const auto is_space_before = [&](std::size_t position) {
        std::size_t at = previous_position(bytes, position);
        return is_space(next_code_point(bytes, at));
    };
    for (;;) {
        while (end > 0 && is_space_before(end)) end = previous_position(bytes, end);
        if (end == 0) break;
        if (left-- == 0) {
            parts.push_back(text.slice(0, end));
            break;
        }
        std::size_t begin = end;
        while (begin > 0 && !is_space_before(begin)) begin = previous_position(bytes, begin);
        parts.push_back(text.slice(begin, end));
        end = begin;
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
}

std::vector<Text> split_at(const Text& text, std::string_view separator, std::int64_t most, bool from_right) {
    std::vector<Text> parts;
    auto left = most < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(most);
    if (!from_right) {
        std::size_t begin = 0;
        while (left-- > 0) {
            const std::size_t found = find_text(text.bytes, separator, begin);
            if (found == std::string::npos) break;
            parts.push_back(text.slice(begin, found));
            begin = found + separator.size();
        }
        parts.push_back(text.slice(begin, text.size()));
        return parts;
    }
    std::size_t end = text.size();
    const std::string backwards = reversed_bytes(text.bytes);
    const std::string separator_backwards = reversed_bytes(separator);
    while (left-- > 0 && end >= separator.size()) {
        const std::size_t behind = find_text(backwards, separator_backwards, text.size() - end);
        if (behind == std::string::npos) break;
        const std::size_t found = text.size() - behind - separator.size();
        parts.push_back(text.slice(found + separator.size(), end));
        end = found;
    }
    parts.push_back(text.slice(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
}

Value join(Machine& machine, const Text& separator, const Values& items, bool convert) {
    Text result;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!convert && !items[i].is_string()) {
            return machine.fail("sequence item " + std::to_string(i) + ": expected str instance, " +
                                type_name(items[i]) + " found");
        }
        if (i > 0) result.append(separator);
        if (items[i].is_string()) {
            result.append(items[i].as<StringObject>().text);
        } else {
            result.append(to_text(machine, items[i]));
        }
        if (i % 64 == 0 && !machine.fits(result.size())) return {};
        if (!machine.tick()) return {};
    }
    return machine.fits(result.size()) ? machine.string(std::move(result)) : Value();
}

}  // namespace vitrine::jinja
