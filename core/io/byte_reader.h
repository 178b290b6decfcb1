// A cursor over bytes that come from a file. Every read is compared with what is left before it happens;
// nothing is allocated by a number that was read.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace vitrine {

// The number stored (little-endian) at the start of `bytes`, which must be long enough.
template <class T>
requires std::integral<T> || std::floating_point<T> T load_number(const std::byte* bytes) {
    T value{};
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint64_t position() const { return position_; }
    std::uint64_t left() const { return bytes_.size() - position_; }

    // Nothing (and the cursor stays) where fewer bytes are left.
    template <class T>
    std::optional<T> number() {
        if (left() < sizeof(T)) return std::nullopt;
        const T value = load_number<T>(bytes_.data() + position_);
        position_ += sizeof(T);
        return value;
    }
    std::optional<std::span<const std::byte>> take(std::uint64_t count);

    // The bytes between an earlier position and the cursor.
    std::span<const std::byte> since(std::uint64_t start) const {
        return bytes_.subspan(start, position_ - start);
    }

  private:
    std::span<const std::byte> bytes_;
    std::uint64_t position_ = 0;
};

inline std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace vitrine
