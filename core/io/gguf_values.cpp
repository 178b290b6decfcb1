// Typed access to the metadata of a GGUF file.
#include <cmath>
#include <limits>
#include <variant>

#include "core/io/byte_reader.h"
#include "core/io/gguf_content.h"
#include "core/io/gguf_file.h"
#include "core/io/printable.h"

namespace vitrine {

namespace {

// One number of a file, without loss.
using Number = std::variant<std::uint64_t, std::int64_t, double>;

std::optional<Number> load(GgufType type, const std::byte* p) {
    switch (type) {
        case GgufType::U8: return Number(std::uint64_t{load_number<std::uint8_t>(p)});
        case GgufType::I8: return Number(std::int64_t{load_number<std::int8_t>(p)});
        case GgufType::U16: return Number(std::uint64_t{load_number<std::uint16_t>(p)});
        case GgufType::I16: return Number(std::int64_t{load_number<std::int16_t>(p)});
        case GgufType::U32: return Number(std::uint64_t{load_number<std::uint32_t>(p)});
        case GgufType::I32: return Number(std::int64_t{load_number<std::int32_t>(p)});
        case GgufType::U64: return Number(load_number<std::uint64_t>(p));
        case GgufType::I64: return Number(load_number<std::int64_t>(p));
        case GgufType::F32: return Number(double{load_number<float>(p)});
        case GgufType::F64: return Number(load_number<double>(p));
        case GgufType::Bool:
        case GgufType::String:
        case GgufType::Array: return std::nullopt;
    }
    return std::nullopt;
}

bool is_float(GgufType type) { return type == GgufType::F32 || type == GgufType::F64; }

std::optional<std::uint64_t> to_unsigned(const Number& n) {
    if (const auto* u = std::get_if<std::uint64_t>(&n)) return *u;
    if (const auto* i = std::get_if<std::int64_t>(&n); i != nullptr && *i >= 0)
        return static_cast<std::uint64_t>(*i);
    return std::nullopt;
}

std::optional<std::int64_t> to_signed(const Number& n) {
    if (const auto* i = std::get_if<std::int64_t>(&n)) return *i;
    const auto* u = std::get_if<std::uint64_t>(&n);
    if (u != nullptr && *u <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return static_cast<std::int64_t>(*u);
    }
    return std::nullopt;
}

double to_double(const Number& n) {
    return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

}  // namespace

Error GgufFile::wrong_type(const GgufValue& value, std::string_view wanted) const {
    return {ErrorKind::BadFile, display_path(path()) + ": key " + in_quotes(value.key) + " has type " +
                                    gguf_type_name(value) + "; " + std::string(wanted) + " is needed."};
}

Error GgufFile::bad_value(const GgufValue& value, const std::string& problem) const {
    return {ErrorKind::BadFile, display_path(path()) + ": key " + in_quotes(value.key) + " " + problem};
}

Result<std::optional<std::string>> GgufFile::string(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<std::string>();
    if (value->type != GgufType::String) return wrong_type(*value, "a string");
    return std::optional<std::string>(as_text(value->payload.subspan(8)));
}

Result<std::optional<std::uint64_t>> GgufFile::unsigned_integer(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<std::uint64_t>();
    const auto number = load(value->type, value->payload.data());
    if (!number || is_float(value->type)) return wrong_type(*value, "an integer");
    const auto result = to_unsigned(*number);
    if (!result) {
        return bad_value(
            *value, "is " + std::to_string(std::get<std::int64_t>(*number)) + "; it must not be negative.");
    }
    return result;
}

Result<std::optional<std::int64_t>> GgufFile::integer(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<std::int64_t>();
    const auto number = load(value->type, value->payload.data());
    if (!number || is_float(value->type)) return wrong_type(*value, "an integer");
    const auto result = to_signed(*number);
    if (!result) {
        return bad_value(*value,
                         "is " + std::to_string(std::get<std::uint64_t>(*number)) + ", which is too large.");
    }
    return result;
}

Result<std::optional<double>> GgufFile::number(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<double>();
    const auto number = load(value->type, value->payload.data());
    if (!number) return wrong_type(*value, "a number");
    return std::optional<double>(to_double(*number));
}

Result<std::optional<bool>> GgufFile::boolean(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<bool>();
    if (value->type != GgufType::Bool) return wrong_type(*value, "bool");
    const auto byte = load_number<std::uint8_t>(value->payload.data());
    if (byte > 1) return bad_value(*value, "holds " + std::to_string(byte) + "; a bool is 0 or 1.");
    return std::optional<bool>(byte == 1);
}

Result<std::optional<std::vector<std::string>>> GgufFile::strings(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<std::vector<std::string>>();
    if (value->type != GgufType::Array || value->element != GgufType::String)
        return wrong_type(*value, "array of string");
    std::vector<std::string> texts;
    texts.reserve(value->count);  // count was compared with the size of the file when it was opened
    ByteReader reader(value->payload);
    for (std::uint64_t i = 0; i < value->count; ++i) {
        const auto length = reader.number<std::uint64_t>();
        const auto bytes = length ? reader.take(*length) : std::nullopt;
        if (!bytes) return bad_value(*value, "ends too early.");
        texts.emplace_back(as_text(*bytes));
    }
    return std::optional<std::vector<std::string>>(std::move(texts));
}

Result<std::optional<std::vector<std::int64_t>>> GgufFile::integers(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<std::vector<std::int64_t>>();
    const std::uint64_t size = value->type == GgufType::Array ? gguf_fixed_size(value->element) : 0;
    if (size == 0 || is_float(value->element)) return wrong_type(*value, "array of integers");
    const GgufType element = value->element == GgufType::Bool ? GgufType::U8 : value->element;
    std::vector<std::int64_t> numbers;
    numbers.reserve(value->count);
    for (std::uint64_t i = 0; i < value->count; ++i) {
        const auto number = load(element, value->payload.data() + i * size);
        const auto result = number ? to_signed(*number) : std::nullopt;
        if (!result)
            return bad_value(*value, "holds a number at place " + std::to_string(i) + " that is too large.");
        numbers.push_back(*result);
    }
    return std::optional<std::vector<std::int64_t>>(std::move(numbers));
}

Result<std::optional<std::vector<float>>> GgufFile::floats(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<std::vector<float>>();
    const std::uint64_t size = value->type == GgufType::Array ? gguf_fixed_size(value->element) : 0;
    if (size == 0 || value->element == GgufType::Bool) return wrong_type(*value, "array of numbers");
    std::vector<float> numbers;
    numbers.reserve(value->count);
    for (std::uint64_t i = 0; i < value->count; ++i) {
        const auto number = load(value->element, value->payload.data() + i * size);
        // A double beyond the range of float becomes infinity, which whoever uses the number refuses.
        const double wide = number ? to_double(*number) : 0.0;
        constexpr double kLargest = std::numeric_limits<float>::max();
        numbers.push_back(std::abs(wide) > kLargest ? std::copysign(std::numeric_limits<float>::infinity(),
                                                                    static_cast<float>(wide > 0 ? 1 : -1))
                                                    : static_cast<float>(wide));
    }
    return std::optional<std::vector<float>>(std::move(numbers));
}

}  // namespace vitrine
