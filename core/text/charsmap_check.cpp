#include "core/text/charsmap_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/text/utf8.h"

namespace vitrine {

namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
constexpr std::uint32_t kMostRulesOnAPath = 32;
constexpr std::size_t kLongestReplacement = 256;  // the longest of NFKC takes 33 bytes
constexpr std::size_t kChildren = 256;

Error broken(const std::string& what) {
    return Error{ErrorKind::BadFile,
                 "The vocabulary's normalization rules (precompiled_charsmap) cannot be used: " + what +
                     "; the model file is damaged."};
}

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        value |= std::uint32_t{static_cast<std::uint8_t>(bytes[at + i])} << (8U * i);
    }
    return value;
}

// The fields of a unit.
struct Unit {
    std::uint32_t bits = 0;
    bool has_leaf() const { return ((bits >> 8U) & 1U) != 0; }
    std::uint32_t label() const { return bits & 0x800000FFU; }
    std::uint32_t offset() const { return (bits >> 10U) << ((bits & (1U << 9U)) >> 6U); }
    std::uint32_t value() const { return bits & 0x7FFFFFFFU; }
};

// A node is the number that a byte is combined with (exclusive or) to find the unit of the child. Nodes may
// be shared: the trie may be a graph, but must have no circle. Each is visited once, without recursion.
class TrieCheck {
  public:
    TrieCheck(std::string_view trie, std::string_view texts)
        : trie_(trie), texts_(texts), count_(trie.size() / 4) {}

    Status run() {
        if (count_ < kChildren) return broken("the trie has " + std::to_string(count_) + " units");
        rules_.assign(count_, kNew);
        VITRINE_CHECK(enter(unit(0).offset()));
        while (!open_.empty()) {
            // By value: entering a child moves the vector.
            const std::uint32_t node = open_.back().node;
            if (open_.back().next == kChildren) {
                open_.pop_back();
                rules_[node] = deepest_[node];
                continue;
            }
            const auto byte = static_cast<std::uint32_t>(open_.back().next++);
            const Unit child = unit(node ^ byte);
            if (child.label() != byte) continue;
            const std::uint32_t next = node ^ byte ^ child.offset();
            if (next >= count_) return broken("a unit points outside the trie");
            if (rules_[next] == kNew) {
                --open_.back().next;  // again when the child is done
                VITRINE_CHECK(enter(next));
                continue;
            }
            if (rules_[next] == kOpen) return broken("the trie turns in a circle");
            std::uint32_t rules = rules_[next];
            if (child.has_leaf()) {
                ++rules;
                VITRINE_CHECK(check_text(unit(next).value()));
            }
            if (rules > kMostRulesOnAPath) return broken("more than 32 rules apply along one text");
            deepest_[node] = std::max(deepest_[node], rules);
        }
        return {};
    }

  private:
    static constexpr std::uint32_t kNew = 0xFFFFFFFFU;
    static constexpr std::uint32_t kOpen = 0xFFFFFFFEU;
    struct Open {
        std::uint32_t node;
        std::size_t next;  // byte
    };

    Unit unit(std::uint32_t index) const { return {little_endian(trie_, std::size_t{index} * 4)}; }

    Status enter(std::uint32_t node) {
        // The largest number that a byte can make of it.
        if ((node | 0xFFU) >= count_) return broken("a unit points outside the trie");
        if (deepest_.empty()) deepest_.assign(count_, 0);
        rules_[node] = kOpen;
        open_.push_back({node, 0});
        return {};
    }

    Status check_text(std::uint32_t offset) const {
        if (offset >= texts_.size()) return broken("a replacement lies outside the texts");
        const std::string_view window = texts_.substr(offset, kLongestReplacement + 1);
        const std::size_t size = window.find('\0');
        if (size == std::string_view::npos) return broken("a replacement is not ended, or is too long");
        for (std::size_t at = 0; at < size;) {
            const Utf8Unit character = next_utf8(window.substr(0, size), at);
            if (character.kind != Utf8Kind::Whole) return broken("a replacement is no valid UTF-8");
            at += character.size;
        }
        return {};
    }

    std::string_view trie_;
    std::string_view texts_;
    std::size_t count_;                   // units
    std::vector<std::uint32_t> rules_;    // [units] of a node: most rules along one path below it
    std::vector<std::uint32_t> deepest_;  // [units] the same while it is open
    std::vector<Open> open_;              // the path from the root
};

}  // namespace

Status check_charsmap(std::string_view blob) {
    if (blob.size() > kMostBytes) return broken("they are longer than 16 MiB");
    if (blob.size() < 4) return broken("they are " + std::to_string(blob.size()) + " bytes long");
    const std::uint32_t size = little_endian(blob, 0);
    if (size % 4 != 0 || size >= blob.size() - 4) {
        return broken("the trie is said to take " + std::to_string(size) + " of " +
                      std::to_string(blob.size()) + " bytes");
    }
    return TrieCheck(blob.substr(4, size), blob.substr(4 + std::size_t{size})).run();
}

}  // namespace vitrine
