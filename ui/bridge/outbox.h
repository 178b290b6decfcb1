// What the worker has to tell the window, gathered until the window fetches it.
//
// Neither side waits for the other: the lock is held for an append or a swap only. Text of one answer is
// joined, of snapshots and progress only the newest counts, records are bounded; so a window that is late
// costs the engine nothing and finds everything at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/bridge/types.h"

namespace vitrine::ui {

struct LoadEnded {
    std::optional<ModelInfo> model;  // none: it failed
    Error error;                     // where it failed
    bool model_kept = false;         // the model from before still answers
    QString path;
};

struct LoadStep {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
};

struct BlockText {
    int block = 0;
    std::int64_t iteration = 0;  // of the snapshot that it belongs to
    std::string text;
};

struct Batch {
    std::vector<AnswerStarted> started;
    std::vector<AnswerText> text;
    std::vector<AnswerFinished> finished;
    std::vector<Record> records;
    std::shared_ptr<const KvSnapshot> snapshot;
    std::optional<EngineFigures> figures;
    std::optional<double> read_bandwidth;
    std::optional<LoadStep> load_step;
    std::vector<LoadEnded> load_ended;
    std::optional<BlockText> block_text;
    std::optional<CountAnswer> count;
    std::optional<PreviewAnswer> preview;
    std::optional<Error> engine_failed;  // the engine had to be given up
};

class Outbox {
  public:
    // Runs `write` on the batch under the lock. True where the reader has to be woken.
    template <class Write>
    bool put(Write&& write) {
        const std::scoped_lock lock(mutex_);
        write(batch_);
        return !std::exchange(filled_, true);
    }
    static AnswerText& append_text(Batch& batch, Ticket ticket, const std::string& text);
    Batch take();

    static constexpr std::size_t record_limit = 1U << 16;
    // Keeps the newest records where there are too many.
    static void append_records(Batch& batch, std::vector<Record>& records);

  private:
    std::mutex mutex_;
    Batch batch_;
    bool filled_ = false;
};

}  // namespace vitrine::ui
