// How much of the thread's stack has gone since a point, so that recursion can end as an error. Renders and
// parses run on worker threads with small stacks; counting levels alone would not know how large they are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vitrine::jinja {

// The most levels that limits can allow: what is built level by level is also taken apart so.
constexpr std::uint32_t deepest_nesting = 1000;

class StackGuard {
  public:
    StackGuard() : base_(here()) {}
    // True where deeper recursion would go beyond the share of the stack that templates may use.
    bool exhausted() const {
        const std::uintptr_t now = here();
        return (now < base_ ? base_ - now : now - base_) > budget;
    }

#if defined(__SANITIZE_ADDRESS__)
    static constexpr std::size_t budget = 1U << 20;  // frames are some times larger there
#else
    static constexpr std::size_t budget = 160U << 10;
#endif

  private:
    static std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }
    std::uintptr_t base_;
};

}  // namespace vitrine::jinja
