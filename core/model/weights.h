// All matrices of a model on a device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/io/model_source.h"
#include "kernels/device.h"

namespace vitrine {

struct LayerWeights {
    Weight attn_norm;       // [1, D]
    Weight wq, wk, wv;      // [H·C, D], [G·C, D], [G·C, D]
    Weight bq, bk, bv;      // [1, …] or none
    Weight q_norm, k_norm;  // [1, C] or none
    Weight wo, bo;          // [D, H·C]; [1, D] or none
    Weight attn_post_norm;  // [1, D] or none
    Weight ffn_norm;        // [1, D]
    Weight gate, up, down;  // [F, D], [F, D], [D, F]
    Weight gate_bias, up_bias, down_bias;
    Weight ffn_post_norm;  // [1, D] or none
};

struct Weights {
    Weight embedding;    // [V, D]
    Weight output_norm;  // [1, D]
    Weight output;       // [V, D]; the same object as embedding where the file ties them
    std::vector<LayerWeights> layers;
    std::uint64_t bytes = 0;  // device memory taken by all of them

    // Bytes of matrices that one decode step reads: everything but an untied embedding.
    std::uint64_t bytes_per_step() const;
};

struct LoadProgress {
    std::function<void(std::uint64_t done, std::uint64_t total)> report;  // bytes of the file; may be empty
    const std::atomic<bool>* cancel = nullptr;
};

Result<Weights> load_weights(const ModelSource& source, Device& device, const LoadProgress& progress = {});

}  // namespace vitrine
