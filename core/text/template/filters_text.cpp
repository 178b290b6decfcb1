#include <algorithm>

#include "core/text/template/arguments.h"
#include "core/text/template/convert.h"
#include "core/text/template/filter_tables.h"
#include "core/text/template/json_text.h"
#include "core/text/template/operators.h"
#include "core/text/template/percent_format.h"
#include "core/text/template/string_tools.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {

Value as_string(Machine& machine, const Value& value) {
    return value.is_string() ? value : machine.string(to_text(machine, value));
}

namespace {

Value with_case(Machine& machine, const Value& value, const Arguments& arguments, const char* who,
                Case mode) {
    const Bound bound(machine, arguments, who, {});
    const Value text = bound.ok() ? as_string(machine, value) : Value();
    if (machine.failed()) return {};
    const auto& string = text.as<StringObject>();
    return machine.string(map_case(string.text, mode), string.markup);
}

Value upper_filter(Machine& m, const Value& v, const Arguments& a) {
    return with_case(m, v, a, "upper", Case::Upper);
}
Value lower_filter(Machine& m, const Value& v, const Arguments& a) {
    return with_case(m, v, a, "lower", Case::Lower);
}
Value capitalize_filter(Machine& m, const Value& v, const Arguments& a) {
    return with_case(m, v, a, "capitalize", Case::Capitalize);
}

// A capital behind white space, a hyphen or an opening bracket, small letters elsewhere.
Value title_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "title", {});
    const Value source = bound.ok() ? as_string(machine, value) : Value();
    if (machine.failed()) return {};
    const Text& text = source.as<StringObject>().text;
    const auto separates = [](char32_t c) {
        return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
    };
    Text result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const bool separator = separates(next_code_point(text.bytes, at));
        const std::size_t first_end = at;
        while (at < text.size()) {
            std::size_t next = at;
            if (separates(next_code_point(text.bytes, next)) != separator) break;
            at = next;
        }
        result.append(map_case(text.slice(begin, first_end), Case::Upper));
        result.append(map_case(text.slice(first_end, at), Case::Lower));
    }
    return machine.string(std::move(result));
}

Value trim_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "trim", {"chars"});
    const StringObject* characters = bound.text(0, true);
    const Value text = bound.ok() ? as_string(machine, value) : Value();
    if (machine.failed()) return {};
    const auto& string = text.as<StringObject>();
    if (!machine.tick_bytes(string.text.size())) return {};
    return machine.string(
        strip(string.text, Side::Both, characters == nullptr ? nullptr : &characters->text.bytes),
        string.markup);
}

Value replace_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "replace", {"old", "new", "count"}, 2);
    const std::int64_t count = bound.ok() && bound[2].is_none() ? -1 : bound.integer(2, -1);
    if (!bound.ok()) return {};
    Text text = replace(machine, to_text(machine, value), to_text(machine, bound[0]),
                        to_text(machine, bound[1]), count);
    return machine.string(std::move(text));
}

Value format_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    if (!arguments.positional.empty() && !arguments.keywords.empty()) {
        return machine.fail("can't handle positional and keyword arguments at the same time");
    }
    const Value text = as_string(machine, value);
    if (machine.failed()) return {};
    if (arguments.keywords.empty()) return percent_format(machine, text, machine.tuple(arguments.positional));
    Value named = machine.make<DictObject>();
    for (const auto& [key, argument] : arguments.keywords) named.as<DictObject>().set(machine, key, argument);
    machine.check_object(named);
    return machine.failed() ? Value() : percent_format(machine, text, named);
}

Value string_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "string", {"s"}, 0, Bound::Names::Refused);
    return bound.ok() ? as_string(machine, value) : Value();
}

Value escape_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "escape", {}, 0, Bound::Names::Refused);
    return bound.ok() ? escape_markup(machine, value) : Value();
}

Value forceescape_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "forceescape", {});
    return bound.ok() ? escape_markup(machine, machine.string(to_text(machine, value))) : Value();
}

Value safe_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "safe", {});
    return bound.ok() ? machine.string(to_text(machine, value), true) : Value();
}

Value center_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "center", {"width"});
    const std::int64_t width = bound.integer(0, 80);
    const Value text = bound.ok() ? as_string(machine, value) : Value();
    if (machine.failed()) return {};
    return machine.string(pad(machine, text.as<StringObject>(), width, Side::Both, Text(" ")));
}

Value indent_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "indent", {"width", "first", "blank"});
    if (!bound.ok()) return {};
    Text indention;
    if (bound[0].is_string()) {
        indention = bound[0].as<StringObject>().text;
    } else {
        const std::int64_t width = std::max<std::int64_t>(0, bound.integer(0, 4));
        if (!bound.ok() || !machine.fits(static_cast<std::size_t>(width))) return {};
        indention = Text(std::string(static_cast<std::size_t>(width), ' '));
    }
    if (value.is_undefined()) return machine.fail_undefined(value);
    if (!value.is_string()) {
        return machine.fail("unsupported operand type(s) for +=: '" + type_name(value) + "' and 'str'");
    }
    Text source = value.as<StringObject>().text;
    source.append("\n", false);
    const std::vector<Text> lines = split_lines(source, false);
    Text result;
    if (bound.truth(1, false)) result.append(indention);
    const bool blank = bound.truth(2, false);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) {
            result.append("\n", false);
            if (blank || lines[i].size() != 0) result.append(indention);
        }
        result.append(lines[i]);
        if (!machine.tick() || (i % 64 == 0 && !machine.fits(result.size()))) return {};
    }
    return machine.string(std::move(result), value.as<StringObject>().markup);
}

Value truncate_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    Bound bound(machine, arguments, "truncate", {"length", "killwords", "end", "leeway"});
    const std::int64_t length = bound.integer(0, 255);
    const StringObject* end_given = bound.text(2);
    const std::int64_t leeway = bound.ok() && bound[3].is_none() ? 5 : bound.integer(3, 5);
    if (!bound.ok()) return {};
    const Text end = end_given == nullptr ? Text("...") : end_given->text;
    const auto end_length = static_cast<std::int64_t>(count_code_points(end.bytes));
    if (length < end_length)
        return machine.fail("expected length >= " + std::to_string(end_length) + ", got " +
                            std::to_string(length));
    if (leeway < 0) return machine.fail("expected leeway >= 0, got " + std::to_string(leeway));
    // Anything with a length passes while it is short enough.
    const std::int64_t total = length_of(value);
    if (total < 0) return machine.fail("object of type '" + type_name(value) + "' has no len()");
    if (total <= length || total - length <= leeway) return value;
    if (!value.is_string()) return machine.fail("truncate() needs a string, got " + type_name(value));
    const auto& string = value.as<StringObject>();
    Text kept =
        string.text.slice(0, byte_position(string.text.bytes, static_cast<std::size_t>(length - end_length)));
    if (!bound.truth(1, false)) kept = split_at(kept, " ", 1, true)[0];
    kept.append(end);
    return machine.string(std::move(kept), string.markup);
}

Value wordcount_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "wordcount", {});
    if (!bound.ok()) return {};
    const Text text = to_text(machine, value);
    if (!machine.tick_bytes(text.size() * 8)) return {};
    std::int64_t words = 0;
    bool inside = false;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = next_code_point(text.bytes, at);
        const bool word = c == '_' || is_alnum(c);
        if (word && !inside) ++words;
        inside = word;
    }
    return Value::integer(words, text.any_untrusted());
}

Value tojson_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "tojson", {"indent", "ensure_ascii", "separators", "sort_keys"});
    if (!bound.ok()) return {};
    JsonStyle style;
    style.ascii_only = bound.truth(1, false);
    style.sort_keys = bound.truth(3, false);
    const Value& indent = bound[0];
    if (indent.is_string()) {
        style.indent = indent.as<StringObject>().text.bytes;
    } else if (indent.is_integral()) {
        const std::int64_t width = std::max<std::int64_t>(0, indent.as_int());
        if (!machine.fits(static_cast<std::size_t>(width))) return {};
        style.indent = std::string(static_cast<std::size_t>(width), ' ');
    } else if (!indent.is_missing() && !indent.is_none()) {
        return machine.fail("can't multiply sequence by non-int of type '" + type_name(indent) + "'");
    }
    if (style.indent) style.item_separator = ",";
    if (bound.given(2) && !bound[2].is_none()) {
        Values parts;
        if (!collect(machine, bound[2], parts)) return {};
        if (parts.size() != 2 || !parts[0].is_string() || !parts[1].is_string()) {
            return machine.fail("tojson() needs two strings as separators");
        }
        style.item_separator = parts[0].as<StringObject>().text.bytes;
        style.key_separator = parts[1].as<StringObject>().text.bytes;
    }
    Text text = to_json(machine, value, style);
    return machine.failed() ? Value() : machine.string(std::move(text));
}

// As in a URL: unreserved characters and, in a path, the slash stay.
Text quote_url(Machine& machine, const Value& value, bool for_query) {
    const Text text = to_text(machine, value);
    Text out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text.bytes[i]);
        const bool untrusted = text.untrusted_at(i);
        const bool kept = (c < 0x80 && is_alnum(c)) || c == '_' || c == '.' || c == '-' || c == '~' ||
                          (c == '/' && !for_query);
        if (kept) {
            out.append(text, i, i + 1);
        } else if (c == ' ' && for_query) {
            out.append("+", untrusted);
        } else {
            const char hex[] = {'%', "0123456789ABCDEF"[c >> 4U], "0123456789ABCDEF"[c & 15U]};
            out.append(std::string_view(hex, 3), untrusted);
        }
    }
    return out;
}

Value urlencode_filter(Machine& machine, const Value& value, const Arguments& arguments) {
    const Bound bound(machine, arguments, "urlencode", {});
    if (!bound.ok()) return {};
    if (value.is_string() || !is_iterable(value)) return machine.string(quote_url(machine, value, false));
    Text out;
    const auto pair = [&](const Value& key, const Value& item) {
        if (out.size() != 0) out.append("&", false);
        out.append(quote_url(machine, key, true));
        out.append("=", false);
        out.append(quote_url(machine, item, true));
    };
    if (value.is(Kind::Dict)) {
        for (const auto& [key, item] : value.as<DictObject>().entries) pair(key, item);
    } else {
        Values items;
        if (!collect(machine, value, items)) return {};
        for (const Value& item : items) {
            Values parts;
            if (!collect(machine, item, parts)) return {};
            if (parts.size() != 2) return machine.fail("urlencode() needs pairs");
            pair(parts[0], parts[1]);
        }
    }
    return machine.string(std::move(out));
}

constexpr FilterEntry table[] = {
    {"upper", upper_filter},
    {"lower", lower_filter},
    {"capitalize", capitalize_filter},
    {"title", title_filter},
    {"trim", trim_filter},
    {"replace", replace_filter},
    {"format", format_filter},
    {"string", string_filter},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"forceescape", forceescape_filter},
    {"safe", safe_filter},
    {"center", center_filter},
    {"indent", indent_filter},
    {"truncate", truncate_filter},
    {"wordcount", wordcount_filter},
    {"tojson", tojson_filter},
    {"urlencode", urlencode_filter},
};

}  // namespace

std::span<const FilterEntry> text_filters() { return table; }

}  // namespace vitrine::jinja
