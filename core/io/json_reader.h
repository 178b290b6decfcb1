// JSON files of a model folder: read whole, within limits, and their members one by one. Internal to core/io.
//
// Where a key occurs twice in an object the last one counts, as in Python's reader, which wrote these files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/result.h"

namespace vitrine {

inline constexpr std::uint64_t kConfigBytes = std::uint64_t{16} << 20U;

// The bytes of a small file; none where it is absent. TooLarge, Io; the message starts with the path.
Result<std::optional<std::string>> read_if_present(const std::filesystem::path& path, std::uint64_t limit);

// The object in a file; none where it is absent. BadFile where it is no JSON or no object.
Result<std::optional<nlohmann::json>> read_json_if_present(const std::filesystem::path& path,
                                                           std::uint64_t limit = kConfigBytes);

// Reads members of one object; the first error is kept, so that the reading code stays a plain list. null
// counts as absent, and a number is never read from a text.
class JsonReader {
  public:
    // `where` stands in front of messages: "DIR/config.json: ". `inside` in front of keys: "rope_scaling.".
    JsonReader(const nlohmann::json& object, std::string where, std::string inside = {})
        : object_(object), where_(std::move(where)), inside_(std::move(inside)) {}

    const Status& status() const { return status_; }
    void fail(ErrorKind kind, const std::string& message) {
        if (status_.ok()) status_ = Error{kind, where_ + message};
    }
    void take(const Status& status) {
        if (status_.ok()) status_ = status;
    }
    std::string key(const char* name) const;  // quoted, for messages

    // Null where it is absent.
    const nlohmann::json* find(const char* name) const;
    bool has(const char* name) const { return find(name) != nullptr; }
    // A whole number within [low, high], or `fallback` where it is absent (none: it is required).
    std::int64_t integer(const char* name, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback);
    // A finite number.
    std::optional<double> real(const char* name);
    bool flag(const char* name, bool fallback);
    std::optional<std::string> text(const char* name);
    // An object; null where it is absent.
    const nlohmann::json* object(const char* name);
    std::vector<double> reals(const char* name);

  private:
    void wrong(const char* name, const nlohmann::json& value, const char* wanted);

    const nlohmann::json& object_;
    std::string where_;
    std::string inside_;
    Status status_;
};

// "the text 'x'", "the number 7", "a list", for messages.
std::string json_what(const nlohmann::json& value);

}  // namespace vitrine
