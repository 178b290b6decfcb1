// What an iteration did to the KV pool, in one sentence for people.
#pragma once

#include <cstdint>
#include <string>

#include "core/kv/kv_manager.h"

namespace vitrine {

// Gathers the changes of an iteration. Its memory does not depend on how many there are.
class PoolStory {
  public:
    void begin(std::int64_t iteration);
    // What follows happens after the iteration, outside of any: somebody cancels or forgets a chat.
    void between();
    void add(const KvChange& change);
    // `count` tokens from position `first` on were written; the last of them lies in `block`.
    void wrote(SequenceId owner, std::int32_t first, std::int32_t count, BlockId block,
               std::int32_t block_size);

    // Of the latest iteration that changed the hands of a block; empty before the first.
    std::string sentence() const { return tell(told_); }
    // Of the latest iteration, whatever it did: for somebody who goes step by step.
    std::string last_step() const { return tell(current_); }

  private:
    struct Tally {
        std::int32_t count = 0;
        std::int32_t of_last = 0;  // of them by the last owner
        std::int32_t owners = 0;
        KvChange last;
        void add(const KvChange& change);
    };
    struct Chapter {
        std::int64_t iteration = 0;
        bool between = false;
        Tally allocated, shared, copied, freed;
        std::int32_t kept = 0;  // of the freed, still used by others
        std::int32_t evicted = 0;
        std::int32_t writers = 0;
        SequenceId writer{};  // the last one
        std::int32_t first = 0, written = 0, block_size = 0;
        BlockId block{};
        bool changed() const {
            return allocated.count + shared.count + copied.count + freed.count + evicted > 0;
        }
    };
    static std::string tell(const Chapter& chapter);
    Chapter current_;
    Chapter told_;
    bool ended_ = false;
};

}  // namespace vitrine
