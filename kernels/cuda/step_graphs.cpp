#include "kernels/cuda/step_graphs.h"

#include <algorithm>
#include <atomic>

#include "kernels/cuda/memory.h"

namespace vitrine::cuda {
namespace {

constexpr std::size_t kMost = 48;
// One replay in so many carries the marks of its phases, which cost it some microseconds.
constexpr std::uint64_t kProfileEvery = 128;

std::atomic<std::int32_t> held{0};

}  // namespace

std::int32_t graphs_held() { return held; }

void StepGraphs::destroy(Entry& entry) {
    for (cudaGraphExec_t graph : {entry.plain, entry.profiled}) {
        if (graph == nullptr) continue;
        static_cast<void>(cudaGraphExecDestroy(graph));
        --held;
    }
    entry.plain = entry.profiled = nullptr;
}

void StepGraphs::clear() {
    for (Entry& entry : entries_) destroy(entry);
    entries_.clear();
}

cudaGraphExec_t StepGraphs::capture(const Enqueue& enqueue, bool profiled, cudaStream_t stream) {
    if (allocation_fails()) return nullptr;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return nullptr;
    }
    enqueue(profiled);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    cudaError_t code = cudaStreamEndCapture(stream, &graph);
    if (code == cudaSuccess) code = cudaGraphInstantiate(&ready, graph, 0);
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    if (code != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return nullptr;
    }
    ++held;
    return ready;
}

StepGraphs::Launch StepGraphs::launch(const StepKind& kind, const std::vector<StepOperation>& operations,
                                      const Enqueue& enqueue, cudaStream_t stream) {
    // What belongs to an older generation can never come again.
    for (auto it = entries_.begin(); it != entries_.end();) {
        if (it->kind.generation == kind.generation) {
            ++it;
            continue;
        }
        destroy(*it);
        it = entries_.erase(it);
    }
    auto found = std::find_if(entries_.begin(), entries_.end(),
                              [&](const Entry& e) { return e.kind == kind && e.operations == operations; });
    if (found == entries_.end()) {
        if (entries_.size() >= kMost) {
            destroy(entries_.back());
            entries_.pop_back();
        }
        entries_.emplace_front();
        entries_.front().kind = kind;
        entries_.front().operations = operations;
        entries_.front().seen = 1;
        return {};
    }
    entries_.splice(entries_.begin(), entries_, found);
    Entry& entry = entries_.front();
    const bool profiled = entry.seen++ % kProfileEvery == 1;
    cudaGraphExec_t& graph = profiled ? entry.profiled : entry.plain;
    if (graph == nullptr && !entry.refused) {
        graph = capture(enqueue, profiled, stream);
        entry.refused = graph == nullptr;
    }
    if (graph == nullptr || cudaGraphLaunch(graph, stream) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return {};
    }
    return {true, profiled};
}

}  // namespace vitrine::cuda
