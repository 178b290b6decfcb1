#include "core/telemetry/trace.h"

#include <algorithm>
#include <utility>

#include "core/telemetry/json_text.h"

namespace vitrine {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{64} << 10U;

// Processes of Chrome's form: each engine has three, one for each kind of track.
enum Process : int { kEngine = 1, kSequences = 2, kBlocks = 3, kProcesses = 3 };
enum EngineTrack : int { kIterations = 1, kPhases = 2 };

}  // namespace

const char* name_of(RequestEvent event) {
    switch (event) {
        case RequestEvent::Submitted: return "submitted";
        case RequestEvent::Admitted: return "admitted";
        case RequestEvent::PrefillChunk: return "prefill_chunk";
        case RequestEvent::FirstToken: return "first_token";
        case RequestEvent::Preempted: return "preempted";
        case RequestEvent::Finished: return "finished";
        case RequestEvent::Cancelled: return "cancelled";
        case RequestEvent::Failed: return "failed";
    }
    return "unknown";
}

const char* name_of(BlockEvent event) {
    switch (event) {
        case BlockEvent::Allocate: return "allocate";
        case BlockEvent::Share: return "share";
        case BlockEvent::Copy: return "copy";
        case BlockEvent::Free: return "free";
        case BlockEvent::Evict: return "evict";
    }
    return "unknown";
}

const char* name_of(TokenOrigin origin) {
    switch (origin) {
        case TokenOrigin::Sampled: return "sampled";
        case TokenOrigin::Accepted: return "accepted";
        case TokenOrigin::Corrected: return "corrected";
        case TokenOrigin::Bonus: return "bonus";
    }
    return "unknown";
}

const char* name_of(DrafterKind drafter) { return drafter == DrafterKind::Lookup ? "lookup" : "model"; }

const char* name_of(DraftEnd end) {
    switch (end) {
        case DraftEnd::Corrected: return "corrected";
        case DraftEnd::Bonus: return "bonus";
        case DraftEnd::Ended: return "ended";
        case DraftEnd::Failed: return "failed";
    }
    return "unknown";
}

const char* name_of(ProposalFate fate) {
    switch (fate) {
        case ProposalFate::Accepted: return "accepted";
        case ProposalFate::Rejected: return "rejected";
        case ProposalFate::Unread: return "unread";
    }
    return "unknown";
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::open(const std::filesystem::path& path) {
    std::unique_ptr<TraceWriter> writer(
        new TraceWriter(path, path.extension() == ".jsonl" ? TraceForm::Lines : TraceForm::Chrome));
    if (!writer->file_)
        return Error{ErrorKind::Io, "The trace cannot be written to " + writer->path_ +
                                        ": the folder is not there or may not be written to."};
    return writer;
}

TraceWriter::TraceWriter(const std::filesystem::path& path, TraceForm form)
    : path_(path.string()), form_(form), file_(path, std::ios::binary | std::ios::trunc) {
    buffer_.reserve(buffer_bytes + 4096);
    if (form_ == TraceForm::Chrome) buffer_ += "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
}

TraceWriter::~TraceWriter() { static_cast<void>(finish()); }

void TraceWriter::flush(bool all) {
    if (!all && buffer_.size() < buffer_bytes) return;
    file_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
    if (all) file_.flush();
}

void TraceWriter::begin_event() {
    buffer_ += first_event_ ? "\n" : ",\n";
    first_event_ = false;
}

void TraceWriter::begin(const TraceEngine& engine) {
    if (finished_) return;
    engine_ = engine;
    lost_before_ += std::exchange(lost_now_, 0);
    if (generation_++ == 0) zero_ = engine.started;
    if (form_ == TraceForm::Lines) {
        JsonMembers m(buffer_);
        m.add("kind", "engine").add("engine", generation_).add("model", engine.model);
        m.add("device", engine.device).add("blocks", engine.blocks).add("block_size", engine.block_size);
        m.end();
        buffer_ += '\n';
        flush(false);
        return;
    }
    const int base = (generation_ - 1) * kProcesses;
    const auto name = [&](const char* what, int process, int track, std::string_view text) {
        begin_event();
        JsonMembers m(buffer_);
        m.add("ph", "M").add("name", what).add("pid", base + process).add("tid", track);
        m.object("args").add("name", text).end();
        m.end();
    };
    const std::string which = generation_ > 1 ? " " + std::to_string(generation_) : std::string();
    name("process_name", kEngine, 0, "engine" + which + ": " + engine.model + " on " + engine.device);
    name("thread_name", kEngine, kIterations, "iterations");
    name("thread_name", kEngine, kPhases, "phases (summed over layers)");
    name("process_name", kSequences, 0, "sequences" + which);
    name("process_name", kBlocks, 0, "KV blocks" + which);
    name("thread_name", kBlocks, 1, "block events");
    flush(false);
}

void TraceWriter::add(std::span<const Record> records) {
    if (finished_) return;
    for (const Record& r : records) {
        ++records_;
        if (form_ == TraceForm::Lines)
            line(r);
        else
            chrome(r);
        flush(false);
    }
}

Status TraceWriter::finish() {
    if (!finished_) {
        finished_ = true;
        if (form_ == TraceForm::Lines) {
            JsonMembers m(buffer_);
            m.add("kind", "end").add("records", records_).add("lost", lost()).end();
            buffer_ += '\n';
        } else {
            buffer_ += "\n],\"otherData\":";
            JsonMembers m(buffer_);
            m.add("program", "vitrine " VITRINE_VERSION).add("records", records_).add("lost", lost()).end();
            buffer_ += "}\n";
        }
        flush(true);
        file_.close();
    }
    if (file_.fail())
        return Error{ErrorKind::Io,
                     "The trace in " + path_ + " is not whole: it could not be written. Is the disk full?"};
    return {};
}

void TraceWriter::line(const Record& record) {
    JsonMembers m(buffer_);
    const double shift = engine_.started - zero_;
    switch (record.kind) {
        case RecordKind::Iteration: {
            const IterationRecord& r = record.iteration;
            const float known = r.schedule + r.embed + r.matrix + r.attention + r.sample;
            m.add("kind", "iteration").add("iteration", r.index).add("time", shift + r.start);
            m.add("duration", r.duration).add("schedule", r.schedule).add("embed", r.embed);
            m.add("matrix", r.matrix).add("attention", r.attention).add("sample", r.sample);
            m.add("host", std::max(0.0F, r.duration - known));
            m.add("sequences", r.sequences).add("tokens", r.tokens).add("budget", r.budget);
            m.add("waiting", r.waiting)
                .add("blocks_used", r.blocks_used)
                .add("blocks_cached", r.blocks_cached);
            m.add("blocks_free", engine_.blocks - r.blocks_used - r.blocks_cached);
            break;
        }
        case RecordKind::Slice: {
            const SliceRecord& r = record.slice;
            m.add("kind", "slice").add("iteration", r.iteration).add("time", shift + r.start);
            m.add("duration", r.duration).add("sequence", r.sequence).add("request", r.request);
            m.add("first", r.first).add("tokens", r.tokens).add("outputs", r.outputs);
            break;
        }
        case RecordKind::Token: {
            const TokenRecord& r = record.token;
            m.add("kind", "token").add("iteration", r.iteration).add("time", shift + r.time);
            m.add("sequence", r.request).add("index", r.index).add("id", r.id);
            m.add("interval", r.interval).add("probability", r.probability).add("origin", name_of(r.origin));
            break;
        }
        case RecordKind::Block: {
            const BlockRecord& r = record.block;
            m.add("kind", "block").add("event", name_of(r.event)).add("iteration", r.iteration);
            m.add("time", shift + r.time).add("block", r.block).add("sequence", r.sequence);
            m.add("logical", r.logical);
            if (r.event == BlockEvent::Copy) m.add("from", r.other);
            break;
        }
        case RecordKind::Request: {
            const RequestRecord& r = record.request;
            m.add("kind", "request").add("event", name_of(r.event)).add("iteration", r.iteration);
            m.add("time", shift + r.time).add("sequence", r.request).add("tokens", r.tokens);
            if (r.duration > 0) m.add("duration", r.duration);
            break;
        }
        case RecordKind::Speculation: {
            const SpeculationRecord& r = record.speculation;
            m.add("kind", "speculation").add("iteration", r.iteration).add("time", shift + r.time);
            m.add("sequence", r.sequence).add("drafter", name_of(r.drafter)).add("index", r.index);
            m.add("proposed", std::int32_t{r.proposed}).add("accepted", std::int32_t{r.accepted});
            m.add("end", name_of(r.end)).add("draft", r.draft).add("verify", r.verify).add("plain", r.plain);
            if (r.token >= 0) m.add("token", r.token);
            if (r.drafter == DrafterKind::Lookup) m.add("match", std::int32_t{r.match});
            break;
        }
        case RecordKind::Proposal: {
            const ProposalRecord& r = record.proposal;
            m.add("kind", "proposal").add("iteration", r.iteration).add("sequence", r.sequence);
            m.add("position", r.position).add("id", r.id).add("confidence", r.confidence);
            m.add("fate", name_of(r.fate));
            break;
        }
    }
    m.end();
    buffer_ += '\n';
}

void TraceWriter::iteration(const IterationRecord& r) {
    const int base = (generation_ - 1) * kProcesses;
    const double start = (engine_.started - zero_ + r.start) * 1e6;
    const double duration = static_cast<double>(r.duration) * 1e6;
    const auto complete = [&](int track, const std::string& name, double at, double length) {
        begin_event();
        JsonMembers m(buffer_);
        m.add("ph", "X").add("name", name).add("cat", track == kPhases ? "phase" : "iteration");
        m.add("pid", base + kEngine).add("tid", track).add_microseconds("ts", at);
        m.add_microseconds("dur", length);
        return m;
    };
    JsonMembers whole = complete(kIterations, "iteration " + std::to_string(r.index), start, duration);
    JsonMembers args = whole.object("args");
    args.add("tokens", r.tokens)
        .add("sequences", r.sequences)
        .add("budget", r.budget)
        .add("waiting", r.waiting);
    args.end();
    whole.end();
    // One after the other, as long as each took in all: embedding, products and attention alternate by
    // layers.
    const double known = static_cast<double>(r.schedule) + static_cast<double>(r.embed) +
                         static_cast<double>(r.matrix) + static_cast<double>(r.attention) +
                         static_cast<double>(r.sample);
    const std::pair<const char*, double> phases[] = {
        {"schedule", static_cast<double>(r.schedule)},
        {"embed", static_cast<double>(r.embed)},
        {"matrix products", static_cast<double>(r.matrix)},
        {"attention", static_cast<double>(r.attention)},
        {"host", std::max(0.0, static_cast<double>(r.duration) - known)},
        {"sampling", static_cast<double>(r.sample)}};
    double at = start;
    for (const auto& [name, seconds] : phases) {
        const double length = std::min(seconds * 1e6, start + duration - at);
        if (length > 0) complete(kPhases, name, at, length).end();
        at += std::max(0.0, length);
    }
    begin_event();
    JsonMembers counter(buffer_);
    counter.add("ph", "C").add("name", "KV blocks").add("pid", base + kBlocks);
    counter.add_microseconds("ts", start + duration);
    counter.object("args")
        .add("used", r.blocks_used)
        .add("cached", r.blocks_cached)
        .add("free", engine_.blocks - r.blocks_used - r.blocks_cached)
        .end();
    counter.end();
}

void TraceWriter::chrome(const Record& record) {
    if (record.kind == RecordKind::Iteration) {
        iteration(record.iteration);
        return;
    }
    const int base = (generation_ - 1) * kProcesses;
    const double shift = engine_.started - zero_;
    const auto instant = [&](std::string_view name, const char* category, int process, std::int64_t track,
                             double time) {
        begin_event();
        JsonMembers m(buffer_);
        m.add("ph", "i").add("s", "t").add("name", name).add("cat", category);
        m.add("pid", base + process).add("tid", track).add_microseconds("ts", (shift + time) * 1e6);
        return m;
    };
    switch (record.kind) {
        case RecordKind::Iteration: break;
        case RecordKind::Slice: {
            const SliceRecord& r = record.slice;
            begin_event();
            JsonMembers m(buffer_);
            m.add("ph", "X").add("cat", "sequence").add("pid", base + kSequences).add("tid", r.sequence);
            m.add("name", r.tokens == 1 ? std::string("1 token") : std::to_string(r.tokens) + " tokens");
            m.add_microseconds("ts", (shift + r.start) * 1e6);
            m.add_microseconds("dur", static_cast<double>(r.duration) * 1e6);
            JsonMembers args = m.object("args");
            args.add("iteration", r.iteration).add("first", r.first).add("tokens", r.tokens);
            args.add("outputs", r.outputs).add("request", r.request).end();
            m.end();
            break;
        }
        case RecordKind::Speculation: {
            const SpeculationRecord& r = record.speculation;
            JsonMembers m = instant("verification", "speculation", kSequences, r.sequence, r.time);
            JsonMembers args = m.object("args");
            args.add("drafter", name_of(r.drafter)).add("proposed", std::int32_t{r.proposed});
            args.add("accepted", std::int32_t{r.accepted}).add("end", name_of(r.end));
            args.add("draft_ms", static_cast<double>(r.draft) * 1e3);
            args.add("verify_ms", static_cast<double>(r.verify) * 1e3);
            args.add("plain_ms", static_cast<double>(r.plain) * 1e3).end();
            m.end();
            break;
        }
        case RecordKind::Proposal: break;  // their counts are in the verification
        case RecordKind::Token: {
            const TokenRecord& r = record.token;
            JsonMembers m = instant("token", "token", kSequences, r.request, r.time);
            JsonMembers args = m.object("args");
            args.add("index", r.index).add("id", r.id).add("probability", r.probability);
            args.add("interval_ms", static_cast<double>(r.interval) * 1e3)
                .add("origin", name_of(r.origin))
                .end();
            m.end();
            break;
        }
        case RecordKind::Block: {
            const BlockRecord& r = record.block;
            JsonMembers m = instant(name_of(r.event), "block", kBlocks, 1, r.time);
            JsonMembers args = m.object("args");
            args.add("block", r.block).add("sequence", r.sequence).add("logical", r.logical);
            if (r.event == BlockEvent::Copy) args.add("from", r.other);
            args.end();
            m.end();
            break;
        }
        case RecordKind::Request: {
            const RequestRecord& r = record.request;
            if (r.event == RequestEvent::Submitted) {
                begin_event();
                JsonMembers m(buffer_);
                m.add("ph", "M")
                    .add("name", "thread_name")
                    .add("pid", base + kSequences)
                    .add("tid", r.request);
                m.object("args").add("name", "sequence " + std::to_string(r.request)).end();
                m.end();
            }
            JsonMembers m = instant(name_of(r.event), "request", kSequences, r.request, r.time);
            m.object("args").add("tokens", r.tokens).end();
            m.end();
            break;
        }
    }
}

}  // namespace vitrine
