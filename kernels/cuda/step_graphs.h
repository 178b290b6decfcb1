// Steps captured once and replayed: a CUDA graph for each kind of step that comes again. Launching the 160 or
// so kernels of a step one by one takes the host longer than a small model takes to run them.
//
// The operations of a step are gathered as they were asked for; two steps are the same where their
// operations, rows, outputs and attention plan are and no memory has moved meanwhile (Generation).
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <functional>
#include <list>
#include <variant>
#include <vector>

#include "kernels/cuda/sampling.h"
#include "kernels/cuda/step_ops.h"
#include "kernels/ops.h"

namespace vitrine::cuda {

using StepOperation =
    std::variant<EmbedArgs, QkvArgs, AttentionArgs, ProjectArgs, FeedForwardArgs, LogitsArgs, SampleView>;

struct StepKind {
    std::int32_t rows = 0;
    std::int32_t outputs = 0;
    AttentionPlan plan;
    std::uint64_t generation = 0;

    friend bool operator==(const StepKind&, const StepKind&) = default;
};

// Graphs that exist now, of all devices.
std::int32_t graphs_held();

class StepGraphs {
  public:
    // What a graph is captured from: enqueues the step's kernels; `profiled`: with the marks of its phases.
    using Enqueue = std::function<void(bool profiled)>;

    StepGraphs() = default;
    StepGraphs(const StepGraphs&) = delete;
    StepGraphs& operator=(const StepGraphs&) = delete;
    ~StepGraphs() { clear(); }

    struct Launch {
        bool done = false;      // false: to be run without a graph
        bool profiled = false;  // its marks were set
    };
    // Replays the step where it came before, and captures it when it comes for the second time.
    Launch launch(const StepKind& kind, const std::vector<StepOperation>& operations, const Enqueue& enqueue,
                  cudaStream_t stream);
    void clear();
    std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        StepKind kind;
        std::vector<StepOperation> operations;
        std::uint64_t seen = 0;
        bool refused = false;  // could not be captured
        cudaGraphExec_t plain = nullptr;
        cudaGraphExec_t profiled = nullptr;
    };
    static void destroy(Entry& entry);
    static cudaGraphExec_t capture(const Enqueue& enqueue, bool profiled, cudaStream_t stream);

    std::list<Entry> entries_;  // the one used last comes first
};

}  // namespace vitrine::cuda
