// What the commands keep of an engine's telemetry: a trace file, figures, or nothing at all.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/engine/engine.h"
#include "core/telemetry/metrics.h"
#include "core/telemetry/trace.h"

namespace vitrine::cli {

class Recorder {
  public:
    // A trace is written to the file, where one is named. Refused where the file is the model's own.
    Status open_trace(const std::string& path, const Model& model);
    bool traces() const { return trace_ != nullptr; }

    // Before the first step of an engine, which may be a new one each time.
    void attach(Engine& engine);
    // Takes what the engine wrote since the last call.
    void collect(Engine& engine) { collect(engine, nullptr); }
    // `see` looks at them as well; may be empty.
    void collect(Engine& engine, const std::function<void(std::span<const Record>)>& see);
    Metrics& metrics() { return metrics_; }
    // Ends the trace; where it lacks something the error says so.
    Status finish();

  private:
    std::unique_ptr<TraceWriter> trace_;
    Metrics metrics_;
};

}  // namespace vitrine::cli
