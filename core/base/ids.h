// Strong index types: a block is not a token, and the compiler knows it. Each is as cheap as its integer.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace vitrine {

template <class Tag, class Int>
struct StrongId {
    using value_type = Int;
    Int value = Int(-1);  // -1 (all bits set for unsigned) means "none"

    constexpr StrongId() = default;
    constexpr explicit StrongId(Int v) : value(v) {}
    constexpr bool valid() const { return value != Int(-1); }
    constexpr auto operator<=>(const StrongId&) const =
        default;  // NOLINT(modernize-use-nullptr): a false alarm of clang-tidy 14
};

using TokenId = StrongId<struct TokenTag, std::int32_t>;        // row of the vocabulary
using BlockId = StrongId<struct BlockTag, std::int32_t>;        // physical KV block, index into the pool
using SequenceId = StrongId<struct SequenceTag, std::int64_t>;  // one sequence for the life of an engine
using RequestId = StrongId<struct RequestTag, std::int64_t>;    // what a caller submitted

}  // namespace vitrine

template <class Tag, class Int>
struct std::hash<vitrine::StrongId<Tag, Int>> {
    std::size_t operator()(const vitrine::StrongId<Tag, Int>& id) const noexcept {
        return std::hash<Int>{}(id.value);
    }
};
