#include "core/text/template/convert.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/text/template/iterate.h"
#include "core/text/template/machine.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

void append_hex(std::string& out, char32_t c, int width) {
    for (int i = width - 1; i >= 0; --i) {
        out.push_back("0123456789abcdef"[(c >> (4U * static_cast<unsigned>(i))) & 0xFU]);
    }
}

// Prints containers. Keeps its own output so that its size can be watched.
class Printer {
  public:
    Printer(Machine& machine, bool ascii_only) : machine_(machine), ascii_only_(ascii_only) {}

    void value(const Value& value) {
        if (!machine_.tick() || !machine_.enough_stack() || !machine_.fits(out_.size())) return;
        switch (value.kind()) {
            case Kind::String: {
                const auto& string = value.as<StringObject>();
                const std::string quoted = quote(string.text.bytes, ascii_only_);
                const bool untrusted = string.text.any_untrusted();
                out_.append(string.markup ? "Markup(" + quoted + ")" : quoted, untrusted);
                break;
            }
            case Kind::List: sequence("[", value.as<SequenceObject>().items, "]"); break;
            case Kind::Tuple: {
                const Values& items = value.as<SequenceObject>().items;
                sequence("(", items, items.size() == 1 ? ",)" : ")");
                break;
            }
            case Kind::Dict: {
                const auto& dict = value.as<DictObject>();
                entries(dict.entries);
                break;
            }
            case Kind::DictView: {
                const auto& view = value.as<DictViewObject>();
                Values items;
                for (std::size_t i = 0; i < view.dict.as<DictObject>().size(); ++i)
                    items.push_back(view_item(machine_, view, i));
                put(type_name(value) + "(");
                sequence("[", items, "]");
                put(")");
                break;
            }
            case Kind::Namespace: {
                auto& space = value.as<NamespaceObject>();
                if (space.being_printed) {
                    put("<Namespace {...}>");
                    break;
                }
                space.being_printed = true;
                put("<Namespace ");
                entries(space.attributes);
                put(">");
                space.being_printed = false;
                break;
            }
            case Kind::Undefined: put("Undefined"); break;
            default: out_.append(to_text(machine_, value)); break;
        }
    }

    Text take() {
        out_.spread();
        return std::move(out_);
    }

  private:
    void put(std::string_view text) { out_.append(text, false); }

    void sequence(std::string_view open, const Values& items, std::string_view close) {
        put(open);
        bool first = true;
        for (const Value& item : items) {
            if (machine_.failed()) return;
            if (!first) put(", ");
            first = false;
            value(item);
        }
        put(close);
    }

    void entries(const std::vector<std::pair<Value, Value>>& entries) {
        put("{");
        bool first = true;
        for (const auto& [key, item] : entries) {
            if (machine_.failed()) return;
            if (!first) put(", ");
            first = false;
            value(key);
            put(": ");
            value(item);
        }
        put("}");
    }

    Machine& machine_;
    bool ascii_only_;
    Text out_;
};

std::string view_type(ViewKind view) {
    return view == ViewKind::Keys ? "dict_keys" : view == ViewKind::Members ? "dict_values" : "dict_items";
}

std::string range_text(const RangeObject& range) {
    std::string text = "range(" + integer_text(range.begin) + ", " + integer_text(range.end);
    if (range.step != 1) text += ", " + integer_text(range.step);
    return text + ")";
}

}  // namespace

std::string type_name(const Value& value) {
    switch (value.kind()) {
        case Kind::Missing:
        case Kind::None: return "NoneType";
        case Kind::Bool: return "bool";
        case Kind::Int: return "int";
        case Kind::Float: return "float";
        case Kind::Undefined: return "Undefined";
        case Kind::String: return value.as<StringObject>().markup ? "Markup" : "str";
        case Kind::List: return "list";
        case Kind::Tuple: return value.as<SequenceObject>().is_group ? "_GroupTuple" : "tuple";
        case Kind::Dict: return "dict";
        case Kind::DictView: return view_type(value.as<DictViewObject>().view);
        case Kind::Range: return "range";
        case Kind::Iterator: return value.as<IteratorObject>().python_type;
        case Kind::Namespace: return "Namespace";
        case Kind::Macro: return "Macro";
        case Kind::Function: return "function";
        case Kind::Method: return "builtin_function_or_method";
        case Kind::Loop: return "LoopContext";
        case Kind::Cycler: return "Cycler";
        case Kind::Joiner: return "Joiner";
    }
    return "object";
}

std::string object_name(const Value& value) {
    switch (value.kind()) {
        case Kind::None: return "None";
        case Kind::Namespace:
        case Kind::Cycler:
        case Kind::Joiner: return "jinja2.utils." + type_name(value) + " object";
        case Kind::Macro:
        case Kind::Loop: return "jinja2.runtime." + type_name(value) + " object";
        default: return type_name(value) + " object";
    }
}

bool truthy(const Value& value) {
    switch (value.kind()) {
        case Kind::Missing:
        case Kind::None:
        case Kind::Undefined: return false;
        case Kind::Bool:
        case Kind::Int: return value.as_int() != 0;
        case Kind::Float: return value.as_real() != 0;
        case Kind::String: return value.as<StringObject>().text.size() != 0;
        case Kind::Loop: return true;
        default: return length_of(value) != 0;
    }
}

std::string integer_text(std::int64_t value) { return std::to_string(value); }

std::string float_repr(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 40> buffer{};
    const auto made =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(made.ptr - buffer.data()));
    const std::size_t e = text.find('e');
    int exponent = 0;
    std::string_view digits_of_exponent = text.substr(e + 1);
    if (digits_of_exponent.starts_with('+')) digits_of_exponent.remove_prefix(1);
    std::from_chars(digits_of_exponent.data(), digits_of_exponent.data() + digits_of_exponent.size(),
                    exponent);
    if (exponent < -4 || exponent >= 16) return std::string(text);  // at least two digits, as in Python
    const auto fixed =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
    std::string out(buffer.data(), static_cast<std::size_t>(fixed.ptr - buffer.data()));
    if (out.find('.') == std::string::npos) out += ".0";
    return out;
}

namespace {

std::string put_float(double value, std::chars_format format, int precision) {
    std::string out(static_cast<std::size_t>(precision) + 350, '\0');
    const auto made = std::to_chars(out.data(), out.data() + out.size(), value, format, precision);
    out.resize(static_cast<std::size_t>(made.ptr - out.data()));
    return out;
}

// "%#g": the shorter of both notations as ever, but with all its digits.
std::string put_all_digits(double value, int precision) {
    std::string scientific = put_float(value, std::chars_format::scientific, precision - 1);
    int exponent = 0;
    std::string_view digits = std::string_view(scientific).substr(scientific.find('e') + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (exponent < -4 || exponent >= precision) return scientific;
    return put_float(value, std::chars_format::fixed, precision - 1 - exponent);
}

}  // namespace

std::string format_float(double value, char letter, int precision, bool alternate) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    const char kind = static_cast<char>(letter | 0x20);
    std::string out;
    if (std::isnan(value) || std::isinf(value)) {
        out = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    } else if (kind == 'g') {
        precision = std::max(1, precision);
        out = alternate ? put_all_digits(value, precision)
                        : put_float(value, std::chars_format::general, precision);
    } else {
        out = put_float(value, kind == 'e' ? std::chars_format::scientific : std::chars_format::fixed,
                        precision);
    }
    if (alternate && std::isfinite(value) && out.find('.') == std::string::npos) {
        out.insert(std::min(out.find('e'), out.size()), ".");
    }
    if (capital) {
        for (char& c : out) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    return out;
}

std::string quote(std::string_view text, bool ascii_only) {
    const bool has_single = text.find('\'') != std::string_view::npos;
    const bool has_double = text.find('"') != std::string_view::npos;
    const char mark = has_single && !has_double ? '"' : '\'';
    std::string out(1, mark);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t c = next_code_point(text, at);
        if (c == '\\' || c == static_cast<unsigned char>(mark)) {
            out.push_back('\\');
            out.push_back(static_cast<char>(c));
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (c < 0x80 ? c >= 32 && c != 127 : !ascii_only && is_printable(c)) {
            out.append(text.substr(begin, at - begin));
        } else if (c < 0x100) {
            out += "\\x";
            append_hex(out, c, 2);
        } else if (c < 0x10000) {
            out += "\\u";
            append_hex(out, c, 4);
        } else {
            out += "\\U";
            append_hex(out, c, 8);
        }
    }
    out.push_back(mark);
    return out;
}

Text to_text(Machine& machine, const Value& value) {
    switch (value.kind()) {
        case Kind::Missing:
        case Kind::Undefined: return {};
        case Kind::None: return Text("None");
        case Kind::Bool: return Text::make(value.as_bool() ? "True" : "False", value.tainted());
        case Kind::Int: return Text::make(integer_text(value.as_int()), value.tainted());
        case Kind::Float: return Text::make(float_repr(value.as_real()), value.tainted());
        case Kind::String: return value.as<StringObject>().text;
        case Kind::Range: return Text(range_text(value.as<RangeObject>()));
        case Kind::Macro: {
            const Stmt& definition = value.as<MacroObject>().definition;
            return Text(definition.kind == StmtKind::Macro ? "<Macro " + quote(definition.text) + ">"
                                                           : std::string("<Macro anonymous>"));
        }
        case Kind::Loop: {
            auto& loop = value.as<LoopObject>();
            return Text("<LoopContext " + integer_text(loop.index0 + 1) + "/" +
                        integer_text(loop.length(machine)) + ">");
        }
        case Kind::Iterator:
        case Kind::Function:
        case Kind::Method:
        case Kind::Cycler:
        case Kind::Joiner: return Text("<" + type_name(value) + " object>");
        default: return repr(machine, value);
    }
}

Text repr(Machine& machine, const Value& value) {
    Printer printer(machine, false);
    printer.value(value);
    return printer.take();
}

Text ascii(Machine& machine, const Value& value) {
    Printer printer(machine, true);
    printer.value(value);
    return printer.take();
}

}  // namespace vitrine::jinja
