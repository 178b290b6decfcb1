#include "core/text/special_matcher.h"

#include <algorithm>
#include <numeric>

namespace vitrine {

SpecialMatcher::SpecialMatcher() : parent_(1), byte_(1), depth_(1), ids_(1) {}

void SpecialMatcher::add(std::string_view spelling, TokenId id) {
    std::uint32_t node = 0;
    for (std::size_t i = spelling.size(); i-- > 0;) {
        const auto byte = static_cast<std::uint8_t>(spelling[i]);
        const auto fresh = static_cast<std::uint32_t>(ids_.size());
        std::uint32_t& child = node == 0 ? from_root_[byte] : children_[(std::uint64_t{node} << 8U) | byte];
        if (child == 0) {
            child = fresh;
            parent_.push_back(node);
            byte_.push_back(byte);
            depth_.push_back(depth_[node] + 1);
            ids_.emplace_back();
        }
        node = child;
    }
    if (node != 0 && !ids_[node].valid()) ids_[node] = id;
}

void SpecialMatcher::finish() {
    fail_.assign(ids_.size(), 0);
    output_.assign(ids_.size(), 0);
    // Shallow nodes first: a node's fall-back is always shallower than itself.
    std::vector<std::uint32_t> order(ids_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return depth_[a] < depth_[b]; });
    for (const std::uint32_t node : order) {
        if (node == 0) continue;
        if (parent_[node] != 0) fail_[node] = step(fail_[parent_[node]], byte_[node]);
        output_[node] = ids_[node].valid() ? node : output_[fail_[node]];
    }
}

std::uint32_t SpecialMatcher::step(std::uint32_t node, std::uint8_t byte) const {
    while (node != 0) {
        const auto child = children_.find((std::uint64_t{node} << 8U) | byte);
        if (child != children_.end()) return child->second;
        node = fail_[node];
    }
    return from_root_[byte];
}

void SpecialMatcher::find(std::string_view text, std::size_t begin, std::size_t end,
                          std::vector<SpecialHit>& hits) const {
    if (empty()) return;
    std::uint32_t node = 0;
    for (std::size_t position = end; position-- > begin;) {
        node = step(node, static_cast<std::uint8_t>(text[position]));
        const std::uint32_t complete = output_[node];
        if (complete != 0) hits.push_back({position, position + depth_[complete], ids_[complete]});
    }
}

}  // namespace vitrine
