// What the last iteration did to the KV pool, in one sentence for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kv/kv_manager.h"

namespace vitrine {

// Gathers the changes of an iteration. Bounded: beyond a few hundred changes only the counts matter.
class PoolStory {
  public:
    void begin(std::int64_t iteration);
    void add(const KvChange& change);
    // The sentence of the latest iteration that changed something; empty before the first.
    std::string sentence() const;

  private:
    struct Chapter {
        std::int64_t iteration = 0;
        std::int32_t allocated = 0, shared = 0, copied = 0, freed = 0, kept = 0, evicted = 0;
        KvChange allocation, share, copy, release, eviction;  // the last of each kind
    };
    Chapter current_;
    Chapter told_;
};

}  // namespace vitrine
