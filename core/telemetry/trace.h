// Records of the engine as a file, written while they come: memory does not grow with the length of the run.
//
// Two forms. JSON lines: one object a record, all its members, seconds since the trace began. Chrome's trace
// event format (JSON object form), which ui.perfetto.dev and chrome://tracing open: complete events for
// iterations and their phases, one track a sequence with what it had computed, its tokens and what befell it,
// block events, and counters of used, cached and free blocks. Times there are microseconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/telemetry/records.h"

namespace vitrine {

enum class TraceForm : std::uint8_t { Lines, Chrome };

// What the records are of.
struct TraceEngine {
    std::string model;
    std::string device;
    std::int32_t blocks = 0;
    std::int32_t block_size = 0;
    double started = 0;  // zero of the records' clock, in seconds of one clock for all engines of a trace
};

class TraceWriter {
  public:
    // ".jsonl" asks for lines, every other name for Chrome's form. Io where the file cannot be written.
    static Result<std::unique_ptr<TraceWriter>> open(const std::filesystem::path& path);
    ~TraceWriter();  // finishes what was not
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    // The records that follow are of this engine; its ids and clock are its own.
    void begin(const TraceEngine& engine);
    void add(std::span<const Record> records);
    // How many records of this engine had no room in its ring (TelemetryRing::dropped()): said at the end.
    void set_lost(std::uint64_t records) { lost_now_ = records; }

    // Closes the file so that it is whole, also in the middle of a run. Io where something could not be
    // written.
    Status finish();
    TraceForm form() const { return form_; }
    std::uint64_t records() const { return records_; }
    std::uint64_t lost() const { return lost_before_ + lost_now_; }

  private:
    TraceWriter(const std::filesystem::path& path, TraceForm form);
    void line(const Record& record);
    void chrome(const Record& record);
    void iteration(const IterationRecord& r);
    void begin_event();  // of Chrome's form: the comma between events
    void flush(bool all);

    std::string path_;
    TraceForm form_;
    std::ofstream file_;
    std::string buffer_;
    TraceEngine engine_;
    std::int32_t generation_ = 0;  // engines so far
    double zero_ = 0;              // started of the first
    bool first_event_ = true;
    bool finished_ = false;
    std::uint64_t records_ = 0;
    std::uint64_t lost_before_ = 0;  // by earlier engines
    std::uint64_t lost_now_ = 0;
};

const char* name_of(RequestEvent event);
const char* name_of(BlockEvent event);
const char* name_of(TokenOrigin origin);
const char* name_of(DrafterKind drafter);
const char* name_of(DraftEnd end);
const char* name_of(ProposalFate fate);

}  // namespace vitrine
