#include <algorithm>
#include <optional>

#include "core/text/template/arguments.h"
#include "core/text/template/brace_format.h"
#include "core/text/template/convert.h"
#include "core/text/template/methods.h"
#include "core/text/template/search.h"
#include "core/text/template/string_tools.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

using Names = Bound::Names;

const StringObject& self_of(const Value& value) { return value.as<StringObject>(); }

Value same_kind(Machine& machine, const Value& self, Text text) {
    return machine.string(std::move(text), self_of(self).markup);
}

template <Case mode>
Value case_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "the case method", {}, 0, Names::Refused);
    if (!bound.ok() || !machine.tick_bytes(self_of(self).text.size() * 8)) return {};
    return same_kind(machine, self, map_case(self_of(self).text, mode));
}

template <Side side>
Value strip_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "strip", {"chars"}, 0, Names::Refused);
    const StringObject* characters = bound.text(0, true);
    if (!bound.ok() || !machine.tick_bytes(self_of(self).text.size())) return {};
    return same_kind(
        machine, self,
        strip(self_of(self).text, side, characters == nullptr ? nullptr : &characters->text.bytes));
}

template <Side side>
Value pad_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "the padding method", {"width", "fillchar"}, 1, Names::Refused);
    const std::int64_t width = bound.ok() ? bound.integer(0, 0) : 0;
    const StringObject* fill = bound.text(1);
    if (!bound.ok()) return {};
    if (fill != nullptr && fill->length() != 1)
        return machine.fail("The fill character must be exactly one character long");
    return same_kind(machine, self,
                     pad(machine, self_of(self), width, side, fill == nullptr ? Text(" ") : fill->text));
}

Value zfill_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "zfill", {"width"}, 1, Names::Refused);
    const std::int64_t width = bound.ok() ? bound.integer(0, 0) : 0;
    if (!bound.ok()) return {};
    const Text& text = self_of(self).text;
    const auto length = static_cast<std::int64_t>(self_of(self).length());
    if (width <= length) return self;
    const auto missing = static_cast<std::size_t>(width - length);
    if (!machine.fits(text.size() + missing)) return {};
    const std::size_t sign = text.bytes.starts_with('-') || text.bytes.starts_with('+') ? 1 : 0;
    Text result = text.slice(0, sign);
    result.append(std::string(missing, '0'), false);
    result.append(text, sign, text.size());
    return same_kind(machine, self, std::move(result));
}

Value texts_to_list(Machine& machine, const Value& self, std::vector<Text> parts) {
    if (!machine.fits_items(parts.size())) return {};
    Values items;
    items.reserve(parts.size());
    for (Text& part : parts) {
        items.push_back(same_kind(machine, self, std::move(part)));
        if (!machine.tick()) return {};
    }
    return machine.list(std::move(items));
}

template <bool from_right>
Value split_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "split", {"sep", "maxsplit"});
    const StringObject* separator = bound.text(0, true);
    const std::int64_t most = bound.integer(1, -1);
    if (!bound.ok() || !machine.tick_bytes(self_of(self).text.size())) return {};
    if (separator == nullptr)
        return texts_to_list(machine, self, split_space(self_of(self).text, most, from_right));
    if (separator->text.size() == 0) return machine.fail("empty separator");
    return texts_to_list(machine, self,
                         split_at(self_of(self).text, separator->text.bytes, most, from_right));
}

Value splitlines_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "splitlines", {"keepends"});
    if (!bound.ok() || !machine.tick_bytes(self_of(self).text.size())) return {};
    return texts_to_list(machine, self, split_lines(self_of(self).text, bound.truth(0, false)));
}

template <bool from_right>
Value partition_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "partition", {"sep"}, 1, Names::Refused);
    const StringObject* separator = bound.ok() ? bound.text(0) : nullptr;
    if (separator == nullptr) return {};
    if (separator->text.size() == 0) return machine.fail("empty separator");
    const Text& text = self_of(self).text;
    const std::size_t found = from_right ? find_last_text(text.bytes, separator->text.bytes)
                                         : find_text(text.bytes, separator->text.bytes);
    const Value empty = machine.string("");
    if (found == std::string::npos) {
        return from_right ? machine.tuple({empty, empty, self}) : machine.tuple({self, empty, empty});
    }
    return machine.tuple({same_kind(machine, self, text.slice(0, found)), bound[0],
                          same_kind(machine, self, text.slice(found + separator->text.size(), text.size()))});
}

// The bytes between two code point indices, as find, count and startswith take them.
struct Part {
    std::size_t begin = 0, end = 0;
    bool valid = true;  // false: the start lies behind the end
};

std::optional<Part> part_of(Machine& machine, const StringObject& string, const Bound& bound,
                            std::size_t first) {
    const auto length = static_cast<std::int64_t>(string.length());
    std::int64_t limits[2] = {0, length};
    for (std::size_t i = 0; i < 2; ++i) {
        const Value& limit = bound[first + i];
        if (limit.is_missing() || limit.is_none()) continue;
        if (!limit.is_integral()) {
            machine.fail("slice indices must be integers or None or have an __index__ method");
            return std::nullopt;
        }
        limits[i] = limit.as_int();
        if (limits[i] < 0)
            limits[i] = std::max<std::int64_t>(0, limits[i] < -length ? 0 : limits[i] + length);
    }
    limits[1] = std::min(limits[1], length);
    Part part;
    part.valid = limits[0] <= limits[1];
    if (!part.valid) return part;
    part.begin = byte_position(string.text.bytes, static_cast<std::size_t>(limits[0]));
    part.end = limits[1] == length ? string.text.size()
                                   : byte_position(string.text.bytes, static_cast<std::size_t>(limits[1]));
    return part;
}

enum class Find : std::uint8_t { First, Last };
template <Find which, bool must>
Value find_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "find", {"sub", "start", "end"}, 1, Names::Refused);
    const StringObject* wanted = bound.ok() ? bound.text(0) : nullptr;
    if (wanted == nullptr || !machine.tick_bytes(self_of(self).text.size())) return {};
    const auto part = part_of(machine, self_of(self), bound, 1);
    if (!part) return {};
    std::size_t found = std::string_view::npos;
    if (part->valid) {
        const auto inside =
            std::string_view(self_of(self).text.bytes).substr(part->begin, part->end - part->begin);
        found = which == Find::First ? find_text(inside, wanted->text.bytes)
                                     : find_last_text(inside, wanted->text.bytes);
    }
    if (found == std::string_view::npos)
        return must ? machine.fail("substring not found") : Value::integer(-1);
    return Value::integer(static_cast<std::int64_t>(
        count_code_points(std::string_view(self_of(self).text.bytes).substr(0, part->begin + found))));
}

Value count_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "count", {"sub", "start", "end"}, 1, Names::Refused);
    const StringObject* wanted = bound.ok() ? bound.text(0) : nullptr;
    if (wanted == nullptr || !machine.tick_bytes(self_of(self).text.size())) return {};
    const auto part = part_of(machine, self_of(self), bound, 1);
    if (!part) return {};
    if (!part->valid) return Value::integer(0);
    const auto inside =
        std::string_view(self_of(self).text.bytes).substr(part->begin, part->end - part->begin);
    if (wanted->text.size() == 0)
        return Value::integer(static_cast<std::int64_t>(count_code_points(inside)) + 1);
    std::int64_t count = 0;
    for (std::size_t at = find_text(inside, wanted->text.bytes); at != std::string_view::npos;
         at = find_text(inside, wanted->text.bytes, at + wanted->text.size())) {
        ++count;
    }
    return Value::integer(count);
}

template <bool at_start>
Value starts_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const char* who = at_start ? "startswith" : "endswith";
    const Bound bound(machine, arguments, who, {"prefix", "start", "end"}, 1, Names::Refused);
    if (!bound.ok()) return {};
    const auto part = part_of(machine, self_of(self), bound, 1);
    if (!part) return {};
    const auto matches = [&](const Value& affix) {
        if (!part->valid) return false;
        const auto inside =
            std::string_view(self_of(self).text.bytes).substr(part->begin, part->end - part->begin);
        const std::string& bytes = affix.as<StringObject>().text.bytes;
        return at_start ? inside.starts_with(bytes) : inside.ends_with(bytes);
    };
    if (bound[0].is_string()) return Value::boolean(matches(bound[0]));
    if (!bound[0].is(Kind::Tuple)) {
        return machine.fail(std::string(who) + " first arg must be str or a tuple of str, not " +
                            type_name(bound[0]));
    }
    for (const Value& affix : bound[0].as<SequenceObject>().items) {
        if (!affix.is_string())
            return machine.fail(std::string("tuple for ") + who + " must only contain str, not " +
                                type_name(affix));
        if (matches(affix)) return Value::boolean(true);
    }
    return Value::boolean(false);
}

Value replace_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "replace", {"old", "new", "count"}, 2, Names::Refused);
    const StringObject* old = bound.ok() ? bound.text(0) : nullptr;
    const StringObject* fresh = bound.ok() ? bound.text(1) : nullptr;
    const std::int64_t count = bound.ok() ? bound.integer(2, -1) : 0;
    if (!bound.ok() || !machine.tick_bytes(self_of(self).text.size())) return {};
    return same_kind(machine, self, replace(machine, self_of(self).text, old->text, fresh->text, count));
}

template <bool prefix>
Value remove_affix_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, prefix ? "removeprefix" : "removesuffix", {"affix"}, 1, Names::Refused);
    const StringObject* affix = bound.ok() ? bound.text(0) : nullptr;
    if (affix == nullptr) return {};
    const Text& text = self_of(self).text;
    if (prefix && text.bytes.starts_with(affix->text.bytes))
        return same_kind(machine, self, text.slice(affix->text.size(), text.size()));
    if (!prefix && text.bytes.ends_with(affix->text.bytes))
        return same_kind(machine, self, text.slice(0, text.size() - affix->text.size()));
    return self;
}

Value join_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "join", {"iterable"}, 1, Names::Refused);
    if (!bound.ok()) return {};
    if (!is_iterable(bound[0])) return machine.fail("can only join an iterable");
    Values items;
    if (!collect(machine, bound[0], items)) return {};
    return join(machine, self_of(self).text, items, false);
}

Value format_method(Machine& machine, const Value& self, const Arguments& arguments) {
    return brace_format(machine, self, arguments);
}

Value format_map_method(Machine& machine, const Value& self, const Arguments& arguments) {
    if (!arguments.keywords.empty()) return machine.fail("format_map() takes no keyword arguments");
    if (arguments.positional.size() != 1) return machine.fail("format_map() takes exactly one argument");
    if (!arguments.positional[0].is(Kind::Dict)) return machine.fail("format_map() needs a mapping");
    Arguments named;
    for (const auto& [key, value] : arguments.positional[0].as<DictObject>().entries) {
        if (key.is_string()) named.keywords.emplace_back(key, value);
        if (!machine.tick()) return {};
    }
    return brace_format(machine, self, named);
}

Value expandtabs_method(Machine& machine, const Value& self, const Arguments& arguments) {
    Bound bound(machine, arguments, "expandtabs", {"tabsize"});
    const std::int64_t size = bound.integer(0, 8);
    if (!bound.ok()) return {};
    const Text& text = self_of(self).text;
    Text result;
    std::int64_t column = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(text.bytes, at);
        if (c == '\t') {
            const std::int64_t spaces = size > 0 ? size - column % size : 0;
            if (!machine.fits(result.size() + static_cast<std::size_t>(spaces))) return {};
            result.append(std::string(static_cast<std::size_t>(spaces), ' '), text.untrusted_at(begin));
            column += spaces;
        } else {
            result.append(text, begin, at);
            column = c == '\n' || c == '\r' ? 0 : column + 1;
        }
    }
    return same_kind(machine, self, std::move(result));
}

// All characters are of a kind, and there is one.
template <bool (*of_kind)(char32_t)>
Value every_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "the character test", {}, 0, Names::Refused);
    const std::string& bytes = self_of(self).text.bytes;
    if (!bound.ok() || !machine.tick_bytes(bytes.size())) return {};
    bool all = !bytes.empty();
    for (std::size_t at = 0; at < bytes.size() && all;) all = of_kind(next_code_point(bytes, at));
    return Value::boolean(all);
}

// Letters of one case only, and at least one.
template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value one_case_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "the case test", {}, 0, Names::Refused);
    const std::string& bytes = self_of(self).text.bytes;
    if (!bound.ok() || !machine.tick_bytes(bytes.size())) return {};
    bool any = false;
    for (std::size_t at = 0; at < bytes.size();) {
        const char32_t c = next_code_point(bytes, at);
        if (other(c) || is_title(c)) return Value::boolean(false);
        any = any || wanted(c);
    }
    return Value::boolean(any);
}

Value istitle_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "istitle", {}, 0, Names::Refused);
    const std::string& bytes = self_of(self).text.bytes;
    if (!bound.ok() || !machine.tick_bytes(bytes.size())) return {};
    bool any = false;
    bool inside = false;
    for (std::size_t at = 0; at < bytes.size();) {
        const char32_t c = next_code_point(bytes, at);
        if (is_upper(c) || is_title(c)) {
            if (inside) return Value::boolean(false);
            inside = any = true;
        } else if (is_lower(c)) {
            if (!inside) return Value::boolean(false);
            any = true;
        } else {
            inside = false;
        }
    }
    return Value::boolean(any);
}

Value isascii_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "isascii", {}, 0, Names::Refused);
    if (!bound.ok()) return {};
    const std::string& bytes = self_of(self).text.bytes;
    return Value::boolean(
        std::all_of(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

Value isprintable_method(Machine& machine, const Value& self, const Arguments& arguments) {
    if (self_of(self).text.size() == 0) return Value::boolean(true);
    return every_method<is_printable>(machine, self, arguments);
}

Value isidentifier_method(Machine& machine, const Value& self, const Arguments& arguments) {
    const Bound bound(machine, arguments, "isidentifier", {}, 0, Names::Refused);
    if (!bound.ok()) return {};
    const std::string& bytes = self_of(self).text.bytes;
    std::size_t at = 0;
    bool valid = !bytes.empty() && is_identifier_start(next_code_point(bytes, at));
    while (valid && at < bytes.size()) valid = is_identifier_part(next_code_point(bytes, at));
    return Value::boolean(valid);
}

Value unsupported_method(Machine& machine, const Value&, const Arguments&) {
    return machine.fail("this string method is not supported in chat templates");
}

constexpr MethodEntry table[] = {
    {"capitalize", case_method<Case::Capitalize>},
    {"casefold", case_method<Case::Fold>},
    {"center", pad_method<Side::Both>},
    {"count", count_method},
    {"encode", unsupported_method},
    {"endswith", starts_method<false>},
    {"expandtabs", expandtabs_method},
    {"find", find_method<Find::First, false>},
    {"format", format_method},
    {"format_map", format_map_method},
    {"index", find_method<Find::First, true>},
    {"isalnum", every_method<is_alnum>},
    {"isalpha", every_method<is_alpha>},
    {"isascii", isascii_method},
    {"isdecimal", every_method<is_decimal>},
    {"isdigit", every_method<is_digit>},
    {"isidentifier", isidentifier_method},
    {"islower", one_case_method<is_lower, is_upper>},
    {"isnumeric", every_method<is_numeric>},
    {"isprintable", isprintable_method},
    {"isspace", every_method<is_space>},
    {"istitle", istitle_method},
    {"isupper", one_case_method<is_upper, is_lower>},
    {"join", join_method},
    {"ljust", pad_method<Side::Left>},
    {"lower", case_method<Case::Lower>},
    {"lstrip", strip_method<Side::Left>},
    {"maketrans", unsupported_method},
    {"partition", partition_method<false>},
    {"removeprefix", remove_affix_method<true>},
    {"removesuffix", remove_affix_method<false>},
    {"replace", replace_method},
    {"rfind", find_method<Find::Last, false>},
    {"rindex", find_method<Find::Last, true>},
    {"rjust", pad_method<Side::Right>},
    {"rpartition", partition_method<true>},
    {"rsplit", split_method<true>},
    {"rstrip", strip_method<Side::Right>},
    {"split", split_method<false>},
    {"splitlines", splitlines_method},
    {"startswith", starts_method<true>},
    {"strip", strip_method<Side::Both>},
    {"swapcase", case_method<Case::Swap>},
    {"title", case_method<Case::Title>},
    {"translate", unsupported_method},
    {"upper", case_method<Case::Upper>},
    {"zfill", zfill_method},
};

}  // namespace

const MethodEntry* find_string_method(std::string_view name) {
    const auto* found =
        std::lower_bound(std::begin(table), std::end(table), name,
                         [](const MethodEntry& entry, std::string_view n) { return entry.name < n; });
    return found != std::end(table) && found->name == name ? found : nullptr;
}

}  // namespace vitrine::jinja
