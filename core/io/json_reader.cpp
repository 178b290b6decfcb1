#include "core/io/json_reader.h"

#include <cmath>

#include "core/io/byte_reader.h"
#include "core/io/mapped_file.h"
#include "core/io/printable.h"
#include "core/io/tokenizer_config.h"

namespace vitrine {

using Json = nlohmann::json;

Result<std::optional<std::string>> read_if_present(const std::filesystem::path& path, std::uint64_t limit) {
    std::error_code ignored;
    // A link that leads nowhere is an error of its own, not an absent file.
    if (!std::filesystem::exists(path, ignored) && !std::filesystem::is_symlink(path, ignored))
        return std::optional<std::string>();
    const auto file = MappedFile::open(path);
    if (!file.ok()) return Error{file.error().kind, display_path(path) + ": " + file.error().message};
    const auto bytes = (*file)->bytes();
    if (bytes.size() > limit) {
        return Error{ErrorKind::TooLarge, display_path(path) + ": the file has " +
                                              std::to_string(bytes.size()) + " bytes; at most " +
                                              std::to_string(limit) + " are read."};
    }
    return std::optional<std::string>(as_text(bytes));
}

Result<std::optional<Json>> read_json_if_present(const std::filesystem::path& path, std::uint64_t limit) {
    VITRINE_TRY(const auto text, read_if_present(path, limit));
    if (!text) return std::optional<Json>();
    auto json = parse_tokenizer_json(*text, display_path(path));
    if (!json.ok()) return json.error();
    return std::optional<Json>(std::move(json).value());
}

std::string json_what(const Json& value) {
    switch (value.type()) {
        case Json::value_t::null: return "null";
        case Json::value_t::boolean: return value.get<bool>() ? "true" : "false";
        case Json::value_t::string: return "the text " + in_quotes(value.get_ref<const std::string&>());
        case Json::value_t::array: return "a list";
        case Json::value_t::object: return "an object";
        default: return "the number " + value.dump();
    }
}

std::string JsonReader::key(const char* name) const { return in_quotes(inside_ + name); }

const Json* JsonReader::find(const char* name) const { return member_of(object_, name); }

void JsonReader::wrong(const char* name, const Json& value, const char* wanted) {
    fail(ErrorKind::BadFile, key(name) + " is " + json_what(value) + "; " + wanted + " is needed.");
}

std::int64_t JsonReader::integer(const char* name, std::int64_t low, std::int64_t high,
                                 std::optional<std::int64_t> fallback) {
    const Json* value = find(name);
    if (value == nullptr) {
        if (!fallback)
            fail(ErrorKind::BadFile, key(name) + " is missing; the model cannot be run without it.");
        return fallback.value_or(low);
    }
    // 4096.0 is as whole as 4096.
    constexpr double kExact = 9007199254740992.0;
    std::optional<std::int64_t> found;
    if (value->is_number_unsigned()) {
        const auto wide = value->get<std::uint64_t>();
        found = wide > static_cast<std::uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(wide);
    } else if (value->is_number_integer()) {
        found = value->get<std::int64_t>();
    } else if (value->is_number_float()) {
        const double real = value->get<double>();
        if (std::floor(real) == real)
            found = std::abs(real) < kExact ? static_cast<std::int64_t>(real)
                    : real < 0              ? INT64_MIN
                                            : INT64_MAX;
    }
    if (!found) {
        wrong(name, *value, "a whole number");
        return low;
    }
    if (*found < low || *found > high) {
        fail(ErrorKind::BadFile, key(name) + " is " + value->dump() + "; it must be from " +
                                     std::to_string(low) + " to " + std::to_string(high) + ".");
        return low;
    }
    return *found;
}

std::optional<double> JsonReader::real(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>())) {
        wrong(name, *value, "a number");
        return std::nullopt;
    }
    return value->get<double>();
}

bool JsonReader::flag(const char* name, bool fallback) {
    const Json* value = find(name);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) {
        wrong(name, *value, "true or false");
        return fallback;
    }
    return value->get<bool>();
}

std::optional<std::string> JsonReader::text(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) {
        wrong(name, *value, "a text");
        return std::nullopt;
    }
    return value->get<std::string>();
}

const Json* JsonReader::object(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return nullptr;
    if (!value->is_object()) {
        wrong(name, *value, "an object");
        return nullptr;
    }
    return value;
}

std::vector<double> JsonReader::reals(const char* name) {
    const Json* value = find(name);
    std::vector<double> out;
    if (value == nullptr) return out;
    if (!value->is_array()) {
        wrong(name, *value, "a list of numbers");
        return out;
    }
    for (const Json& one : *value) {
        if (!one.is_number() || !std::isfinite(one.get<double>())) {
            fail(ErrorKind::BadFile, key(name) + " holds " + json_what(one) + "; numbers are needed.");
            return {};
        }
        out.push_back(one.get<double>());
    }
    return out;
}

}  // namespace vitrine
