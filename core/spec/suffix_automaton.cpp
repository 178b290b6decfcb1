#include "core/spec/suffix_automaton.h"

namespace vitrine {
namespace {

std::size_t mixed(std::int32_t state, std::int32_t token) {
    std::uint64_t x = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(state)) << 32U) |
                      static_cast<std::uint32_t>(token);
    x ^= x >> 33U;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33U;
    return static_cast<std::size_t>(x);
}

// How many states up from the longest repeat learn of its newest occurrence. All of them would cost the depth
// of the tree.
constexpr int kRefreshed = 8;

}  // namespace

SuffixAutomaton::SuffixAutomaton() : states_(1), table_(1024, -1) {}

std::size_t SuffixAutomaton::slot_of(std::int32_t state, std::int32_t token) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = mixed(state, token) & mask;
    while (table_[slot] >= 0) {
        const Edge& e = edges_[static_cast<std::size_t>(table_[slot])];
        if (e.state == state && e.token == token) break;
        slot = (slot + 1) & mask;
    }
    return slot;
}

std::int32_t SuffixAutomaton::find(std::int32_t state, std::int32_t token) const {
    return table_[slot_of(state, token)];
}

void SuffixAutomaton::grow() {
    std::vector<std::int32_t> larger(table_.size() * 2, -1);
    table_.swap(larger);
    for (std::size_t i = 0; i < edges_.size(); ++i)
        table_[slot_of(edges_[i].state, edges_[i].token)] = static_cast<std::int32_t>(i);
}

void SuffixAutomaton::insert(std::int32_t state, std::int32_t token, std::int32_t to) {
    if ((edges_.size() + 1) * 2 > table_.size()) grow();
    State& s = states_[static_cast<std::size_t>(state)];
    table_[slot_of(state, token)] = static_cast<std::int32_t>(edges_.size());
    edges_.push_back({state, token, to, s.edge});
    s.edge = static_cast<std::int32_t>(edges_.size()) - 1;
}

void SuffixAutomaton::add(std::int32_t token) {
    const auto state = [this](std::int32_t i) -> State& { return states_[static_cast<std::size_t>(i)]; };
    ++size_;
    const auto current = static_cast<std::int32_t>(states_.size());
    states_.push_back({.length = state(last_).length + 1, .link = 0, .end = size_});
    std::int32_t p = last_;
    std::int32_t edge = -1;
    while (p >= 0 && (edge = find(p, token)) < 0) {
        insert(p, token, current);
        p = state(p).link;
    }
    if (p >= 0) {
        const std::int32_t q = edges_[static_cast<std::size_t>(edge)].to;
        if (state(q).length == state(p).length + 1) {
            state(current).link = q;
        } else {
            const auto clone = static_cast<std::int32_t>(states_.size());
            states_.push_back(
                {.length = state(p).length + 1, .link = state(q).link, .end = state(q).end, .edge = -1});
            for (std::int32_t e = state(q).edge; e >= 0;) {
                const Edge copied = edges_[static_cast<std::size_t>(e)];  // insert() moves edges_
                insert(clone, copied.token, copied.to);
                e = copied.next;
            }
            while (p >= 0 && (edge = find(p, token)) >= 0 && edges_[static_cast<std::size_t>(edge)].to == q) {
                edges_[static_cast<std::size_t>(edge)].to = clone;
                p = state(p).link;
            }
            state(q).link = clone;
            state(current).link = clone;
        }
    }
    last_ = current;
    std::int32_t up = state(current).link;
    repeat_ = {state(up).length, state(up).end};
    for (int i = 0; i < kRefreshed && up > 0; ++i, up = state(up).link) state(up).end = size_;
}

}  // namespace vitrine
