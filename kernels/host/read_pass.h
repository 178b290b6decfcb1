// How fast this machine reads memory of the kind that weights have: the measure beside every speed shown.
#pragma once

#include <cstdint>

#include "kernels/error.h"
#include "kernels/host/page_memory.h"
#include "kernels/host/thread_pool.h"

namespace vitrine {

class ReadPass {
  public:
    // Reads `bytes` once with all threads at full vector width; seconds taken. The area is made and touched
    // at the first call and grows when a later one asks for more; 0 bytes give it back.
    Result<double> run(ThreadPool& pool, std::uint64_t bytes);

  private:
    PageMemory area_;
    std::uint64_t sink_ = 0;  // what was read, so that reading cannot be left out
};

}  // namespace vitrine
