// Who got what in which iteration, from the engine's records: one row a sequence, its history in runs of
// iterations of one kind. Plain values, no widgets. What is kept is bounded: so many rows, so many runs a
// row.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/telemetry/records.h"

namespace vitrine::ui {

enum class BatchWork : std::uint8_t {
    Prefill,      // a chunk of the prompt, or of what has to be computed again
    Decode,       // one token
    Speculative,  // proposed tokens were verified
    Waiting,      // not let in yet
    Preempted     // sent back to wait
};

struct BatchRun {
    std::int64_t first = 0;  // iterations, both inclusive
    std::int64_t last = 0;
    std::int64_t rows = 0;  // tokens computed in it
    BatchWork work = BatchWork::Waiting;
};

struct BatchRow {
    std::int64_t sequence = 0;
    std::int64_t request = 0;  // another one where it is a further answer to a prompt
    std::int32_t prompt = 0;   // tokens
    std::int64_t begin = 0;    // iteration from which on it was there
    std::int64_t end = -1;     // the last one; −1: it is still there
    bool waits = true;
    bool preempted = false;
    std::deque<BatchRun> runs;  // in order; where it waits, the last one ends with the newest iteration
};

struct BatchFigures {
    std::int64_t iteration = 0;  // the newest
    std::int32_t running = 0;
    std::int32_t waiting = 0;
    std::int32_t tokens = -1;  // rows of the newest iteration; −1: there was none
    std::int32_t budget = 0;   // the most it could have had
};

class BatchModel {
  public:
    void append(const Record& record);
    void clear() { *this = BatchModel(); }

    const std::deque<BatchRow>& rows() const { return rows_; }  // by arrival
    const BatchFigures& figures() const { return figures_; }
    bool empty() const { return rows_.empty(); }

    static constexpr std::size_t most_rows = 256;
    static constexpr std::size_t most_runs = 512;

  private:
    BatchRow* find(std::int64_t sequence);
    void on_request(const RequestRecord& r);
    void on_slice(const SliceRecord& r);
    void on_iteration(const IterationRecord& r);
    static void add(BatchRow& row, BatchWork work, std::int64_t first, std::int64_t last, std::int64_t rows);

    std::deque<BatchRow> rows_;
    BatchFigures figures_;
};

}  // namespace vitrine::ui
