#include "app/cli/recorder.h"

#include <array>
#include <filesystem>

namespace vitrine::cli {

Status Recorder::open_trace(const std::string& path, const Model& model) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) &&
        (std::filesystem::equivalent(path, model.path(), ignored) ||
         std::filesystem::equivalent(std::filesystem::absolute(path, ignored).parent_path(), model.path(),
                                     ignored)))
        return Error{
            ErrorKind::InvalidArgument,
            path + " belongs to the model: a trace written there would destroy it. Name another file."};
    VITRINE_TRY(trace_, TraceWriter::open(path));
    return {};
}

void Recorder::attach(Engine& engine) {
    if (!trace_) return;
    Model& model = const_cast<Model&>(engine.model());  // info() asks the system, and is not const
    trace_->begin({.model = model.display_name(),
                   .device = model.device().info().description,
                   .blocks = engine.options().blocks,
                   .block_size = engine.options().block_size,
                   .started = engine.started()});
}

void Recorder::collect(Engine& engine, const std::function<void(std::span<const Record>)>& see) {
    std::array<Record, 256> some;
    TelemetryRing& ring = engine.telemetry();
    for (std::size_t n = ring.pop(some); n > 0; n = ring.pop(some)) {
        const std::span<const Record> records(some.data(), n);
        metrics_.add(records);
        if (trace_) trace_->add(records);
        if (see) see(records);
    }
    if (trace_) trace_->set_lost(ring.dropped());
}

Status Recorder::finish() {
    if (!trace_) return {};
    VITRINE_CHECK(trace_->finish());
    if (trace_->lost() > 0)
        return Error{ErrorKind::TooLarge, "The trace lacks " + std::to_string(trace_->lost()) +
                                              " records that came faster than they were written."};
    return {};
}

}  // namespace vitrine::cli
