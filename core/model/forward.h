// One transformer pass, for every architecture, top to bottom.
#pragma once

#include <cstdint>
#include <span>

#include "core/io/model_config.h"
#include "core/model/weights.h"
#include "kernels/device.h"

namespace vitrine {

// Activations of one step. R = max_rows, O = max_outputs.
struct Workspace {
    Buffer x;         // [R, D] residual stream
    Buffer q;         // [R, H·C]
    Buffer attended;  // [R, H·C]
    Buffer hidden;    // [R, F]
    Buffer logits;    // [O, V]
    std::int32_t max_rows = 0;
    std::int32_t max_outputs = 0;

    static Result<Workspace> make(Device& device, const ModelConfig& config, std::int32_t max_rows,
                                  std::int32_t max_outputs);
    static std::uint64_t bytes(const ModelConfig& config, std::int32_t max_rows, std::int32_t max_outputs);
};

// Computes the rows of `step`, writes their keys and values into `kv` and the logits of its output rows into
// workspace.logits. `samples`: what the device is to draw from them in the same step. Errors of the device
// come out here.
Status forward(Device& device, const ModelConfig& config, const Weights& weights, KvStorage& kv,
               Workspace& workspace, const StepInput& step, std::span<const SampleRow> samples = {});

}  // namespace vitrine
