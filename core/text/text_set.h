// A set of texts that live elsewhere, for telling which of a whole vocabulary occur twice: flat, because a
// node for each of a quarter of a million texts takes longer than everything else at loading.
#pragma once

#include <bit>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace vitrine {

class TextSet {
  public:
    explicit TextSet(std::size_t texts) : slots_(std::bit_ceil(2 * texts + 2)) {}

    // At most as many texts as the constructor was told; they must outlive the set. The text that is there
    // already, or null where it is new.
    const std::string_view* insert(std::string_view text) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t place = std::hash<std::string_view>{}(text)&mask;
        while (slots_[place].data() != nullptr) {
            if (slots_[place] == text) return &slots_[place];
            place = (place + 1) & mask;
        }
        slots_[place] = text.data() != nullptr ? text : std::string_view("");
        return nullptr;
    }

  private:
    std::vector<std::string_view> slots_;
};

}  // namespace vitrine
