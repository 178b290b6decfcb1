// The keys of one architecture in a GGUF file, read one by one and checked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/gguf_file.h"
#include "core/io/printable.h"

namespace vitrine {

inline std::string number(std::int64_t n) { return std::to_string(n); }

// Reads the keys of one architecture; the first error is kept, so that the reading code stays a plain list.
class KeyReader {
  public:
    KeyReader(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

    Status status() const { return status_; }
    std::string key(std::string_view name) const { return prefix_ + std::string(name); }

    void fail(ErrorKind kind, const std::string& message) {
        if (status_.ok()) status_ = Error{kind, display_path(file_.path()) + ": " + message};
    }

    // An integer within [low, high], or `fallback` where the key is absent (none: the key is required).
    // Where it is an array, one value for each layer, all must be equal.
    std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback) {
        const std::string full = key(name);
        const GgufValue* value = file_.find(full);
        if (value == nullptr) {
            if (!fallback)
                fail(ErrorKind::BadFile,
                     "key " + in_quotes(full) + " is missing; the model cannot be run without it.");
            return fallback.value_or(low);
        }
        std::int64_t found = 0;
        if (value->type == GgufType::Array) {
            auto all = file_.integers(full);
            if (!all.ok()) return take_error(all.error(), low);
            const auto& numbers = **all;
            if (numbers.empty()) fail(ErrorKind::BadFile, "key " + in_quotes(full) + " is an empty array.");
            found = numbers.empty() ? low : numbers.front();
            for (const std::int64_t n : numbers) {
                if (n != found)
                    fail(ErrorKind::Unsupported,
                         "key " + in_quotes(full) +
                             " differs from layer to layer, which this version cannot run.");
            }
        } else {
            auto one = file_.unsigned_integer(full);
            if (!one.ok()) return take_error(one.error(), low);
            constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
            found = static_cast<std::int64_t>(std::min(**one, kLargest));
        }
        if (found < low || found > high) {
            fail(ErrorKind::BadFile, "key " + in_quotes(full) + " is " + number(found) +
                                         "; it must be from " + number(low) + " to " + number(high) + ".");
            return low;
        }
        return found;
    }

    // A finite number, or nothing where the key is absent.
    std::optional<double> real(std::string_view name) {
        const std::string full = key(name);
        auto found = file_.number(full);
        if (!found.ok()) {
            take_error(found.error(), 0);
            return std::nullopt;
        }
        if (*found && !std::isfinite(**found)) {
            fail(ErrorKind::BadFile, "key " + in_quotes(full) + " is not a finite number.");
            return std::nullopt;
        }
        return *found;
    }

    // Yes or no for each layer; nothing where the key is absent or no array.
    std::optional<std::vector<bool>> flags(std::string_view name, std::int32_t layers) {
        const std::string full = key(name);
        const GgufValue* value = file_.find(full);
        if (value == nullptr || value->type != GgufType::Array) return std::nullopt;
        auto found = file_.integers(full);
        if (!found.ok()) {
            take_error(found.error(), 0);
            return std::nullopt;
        }
        if ((*found)->size() < static_cast<std::size_t>(layers)) {
            fail(ErrorKind::BadFile, "key " + in_quotes(full) + " has " + std::to_string((*found)->size()) +
                                         " elements; one for each of " + number(layers) +
                                         " layers is needed.");
            return std::nullopt;
        }
        std::vector<bool> all;
        for (const std::int64_t n : **found) all.push_back(n != 0);
        return all;
    }

    std::optional<std::string> text(std::string_view name) {
        auto found = file_.string(key(name));
        if (found.ok()) return *found;
        take_error(found.error(), 0);
        return std::nullopt;
    }

  private:
    std::int64_t take_error(const Error& error, std::int64_t value) {
        if (status_.ok()) status_ = error;
        return value;
    }

    const GgufFile& file_;
    std::string prefix_;
    Status status_;
};

}  // namespace vitrine
