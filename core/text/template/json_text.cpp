#include "core/text/template/json_text.h"

#include <algorithm>
#include <cmath>

#include "core/text/template/compare.h"
#include "core/text/template/convert.h"
#include "core/text/template/machine.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

class JsonWriter {
  public:
    JsonWriter(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

    void value(const Value& value) {
        if (!machine_.tick() || !machine_.enough_stack() || !machine_.fits(out_.size())) return;
        untrusted_ = untrusted_ || value.tainted();
        switch (value.kind()) {
            case Kind::None: out_ += "null"; break;
            case Kind::Bool: out_ += value.as_bool() ? "true" : "false"; break;
            case Kind::Int: out_ += integer_text(value.as_int()); break;
            case Kind::Float: out_ += float_text(value.as_real()); break;
            case Kind::String: string(value.as<StringObject>().text); break;
            case Kind::List:
            case Kind::Tuple: array(value.as<SequenceObject>().items); break;
            case Kind::Dict: object(value.as<DictObject>()); break;
            default: machine_.fail("Object of type " + type_name(value) + " is not JSON serializable");
        }
    }

    Text take() { return Text::make(std::move(out_), untrusted_); }

  private:
    static std::string float_text(double value) {
        if (std::isnan(value)) return "NaN";
        if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
        return float_repr(value);
    }

    void escape_unit(char32_t unit) {
        out_ += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) {
            out_.push_back("0123456789abcdef"[(unit >> static_cast<unsigned>(shift)) & 0xFU]);
        }
    }

    void string(const Text& text) {
        untrusted_ = untrusted_ || text.any_untrusted();
        out_.push_back('"');
        const std::string_view bytes = text.bytes;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t begin = at;
            const char32_t c = next_code_point(bytes, at);
            switch (c) {
                case '"': out_ += "\\\""; continue;
                case '\\': out_ += "\\\\"; continue;
                case '\n': out_ += "\\n"; continue;
                case '\r': out_ += "\\r"; continue;
                case '\t': out_ += "\\t"; continue;
                case '\f': out_ += "\\f"; continue;
                case '\b': out_ += "\\b"; continue;
                default: break;
            }
            if (c >= 0x10000 && style_.ascii_only) {
                escape_unit(0xD800 + ((c - 0x10000) >> 10U));
                escape_unit(0xDC00 + ((c - 0x10000) & 0x3FFU));
            } else if (c < 32 || (style_.ascii_only && c > 126)) {
                escape_unit(c);
            } else {
                out_.append(bytes.substr(begin, at - begin));
            }
        }
        out_.push_back('"');
    }

    void new_line() {
        if (!style_.indent) return;
        out_.push_back('\n');
        for (std::size_t i = 0; i < level_; ++i) out_ += *style_.indent;
    }

    void array(const Values& items) {
        if (items.empty()) {
            out_ += "[]";
            return;
        }
        out_.push_back('[');
        ++level_;
        for (std::size_t i = 0; i < items.size() && !machine_.failed(); ++i) {
            if (i > 0) out_ += style_.item_separator;
            new_line();
            value(items[i]);
        }
        --level_;
        new_line();
        out_.push_back(']');
    }

    void object(const DictObject& dict) {
        if (dict.size() == 0) {
            out_ += "{}";
            return;
        }
        auto entries = dict.entries;
        if (style_.sort_keys) {
            std::stable_sort(entries.begin(), entries.end(), [this](const auto& a, const auto& b) {
                return !machine_.failed() && compare(machine_, Op::Less, a.first, b.first);
            });
        }
        out_.push_back('{');
        ++level_;
        for (std::size_t i = 0; i < entries.size() && !machine_.failed(); ++i) {
            if (i > 0) out_ += style_.item_separator;
            new_line();
            key(entries[i].first);
            out_ += style_.key_separator;
            value(entries[i].second);
        }
        --level_;
        new_line();
        out_.push_back('}');
    }

    void key(const Value& key) {
        untrusted_ = untrusted_ || key.tainted();
        switch (key.kind()) {
            case Kind::String: string(key.as<StringObject>().text); break;
            case Kind::None: out_ += "\"null\""; break;
            case Kind::Bool: out_ += key.as_bool() ? "\"true\"" : "\"false\""; break;
            case Kind::Int: out_ += "\"" + integer_text(key.as_int()) + "\""; break;
            case Kind::Float: out_ += "\"" + float_text(key.as_real()) + "\""; break;
            default: machine_.fail("keys must be str, int, float, bool or None, not " + type_name(key));
        }
    }

    Machine& machine_;
    const JsonStyle& style_;
    std::string out_;
    std::size_t level_ = 0;
    bool untrusted_ = false;
};

}  // namespace

Text to_json(Machine& machine, const Value& value, const JsonStyle& style) {
    JsonWriter writer(machine, style);
    writer.value(value);
    return writer.take();
}

}  // namespace vitrine::jinja
