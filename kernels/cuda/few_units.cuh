// Which panels a unit has, and what becomes of its sums.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/few_job.h"
#include "kernels/cuda/places.cuh"

namespace vitrine::cuda::few {

// Programmatic dependent launch: a kernel may start while the one before it still runs, and reads what that
// one writes only behind wait_for_input(). Older GPUs start kernels one after the other.
__device__ inline void wait_for_input() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Asks for a norm's weights before the kernel waits for its input: they were last read a step ago, and all
// weights of the model have gone through the cache since.
__device__ inline void fetch_norm(const float* norm, std::int32_t cols) {
    constexpr std::int32_t kLine = 32;  // floats
    if (norm == nullptr) return;
    for (auto i = static_cast<std::int32_t>(threadIdx.x) * kLine; i < cols;
         i += static_cast<std::int32_t>(blockDim.x) * kLine)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(norm + i));
}

template <int kPanels>
struct Unit {
    const Matrix* matrix[kPanels];
    std::int32_t panel[kPanels];
};

template <int kPanels>
__device__ inline Unit<kPanels> unit_of(const Job& job, std::int32_t unit) {
    Unit<kPanels> u;
    if constexpr (kPanels == 2) {
        if (job.pairing == Pairing::Across) {
            u.matrix[0] = &job.matrix[0];
            u.matrix[1] = &job.matrix[1];
            u.panel[0] = u.panel[1] = unit;
            return u;
        }
    }
    int m = 0;
    if (job.matrices > 1 && unit >= job.matrix[1].first_unit) m = 1;
    if (job.matrices > 2 && unit >= job.matrix[2].first_unit) m = 2;
    const std::int32_t i = unit - job.matrix[m].first_unit;
    u.matrix[0] = &job.matrix[m];
    u.panel[0] = kPanels * i;
    if constexpr (kPanels == 2) {
        u.matrix[1] = u.matrix[0];
        u.panel[1] = 2 * i + 1;
        if (job.pairing == Pairing::Rotated && job.matrix[m].part < 2) {
            // A head's panels: the first half of what turns, its other half, then what does not turn.
            const std::int32_t in_head = job.heads.kv.head_dim / kPanelRows;
            const std::int32_t half = job.heads.rope.half / kPanelRows;
            const std::int32_t head = 2 * i / in_head;
            const std::int32_t j = i - head * in_head / 2;
            u.panel[0] = head * in_head + (j < half ? j : 2 * j);
            u.panel[1] = head * in_head + (j < half ? j + half : 2 * j + 1);
        }
    }
    return u;
}

__device__ inline float activate(Activation kind, float x) {
    if (kind == Activation::SiLU) return __fdividef(x, 1.0F + __expf(-x));
    return __fdividef(x, 1.0F + __expf(-2.0F * 0.79788456F * fmaf(0.044715F, x * x * x, x)));
}

// First element of row r's key in the layer, but for head and element; found before the sums are there.
struct KvRow {
    std::int64_t key = 0;
    std::int64_t value = 0;
};
__device__ inline KvRow kv_row(const Job& job, std::int32_t r) {
    const KvView& kv = job.heads.kv;
    const SliceView& slice = job.step.slices[job.step.row_slice[r]];
    const std::int32_t at = slice.start + r - slice.first_row;
    const std::int32_t block = job.step.tables[slice.first_block + at / kv.block_size];
    const std::int64_t in_block = std::int64_t{kv.kv_heads} * kv.block_size * kv.head_dim;
    const std::int64_t slot = std::int64_t{at % kv.block_size} * kv.head_dim;
    const std::int64_t plane = std::int64_t{job.heads.layer} * 2;
    return {(plane * kv.blocks + block) * in_block + slot,
            ((plane + 1) * kv.blocks + block) * in_block + slot};
}

__device__ inline void store_kv(const KvView& kv, std::int64_t at, float v) {
    if (kv.dtype == DType::F32)
        reinterpret_cast<float*>(kv.base)[at] = v;
    else if (kv.dtype == DType::F16)
        reinterpret_cast<__half*>(kv.base)[at] = __float2half_rn(v);
    else
        reinterpret_cast<__nv_bfloat16*>(kv.base)[at] = __float2bfloat16_rn(v);
}

// Sixteen lanes' values as signed bytes with one scale; lane i of them has value i.
__device__ inline void store_bytes(std::uint8_t* bytes, std::int32_t cols, std::int32_t first, int lane,
                                   float v) {
    constexpr unsigned kLanes = 0xFFFFU;
    // As an unsigned number a NaN is above all others.
    std::uint32_t top = __float_as_uint(v) & 0x7FFFFFFFU;
    for (int offset = 8; offset > 0; offset /= 2) top = max(top, __shfl_xor_sync(kLanes, top, offset));
    const float largest = __uint_as_float(top);
    const int code = top != 0 ? __float2int_rn(v * __fdividef(127.0F, largest)) : 0;
    int sum = code;
    for (int offset = 8; offset > 0; offset /= 2) sum += __shfl_xor_sync(kLanes, sum, offset);
    bytes[first + lane] = static_cast<std::uint8_t>(code);
    if (lane == 0)
        reinterpret_cast<float2*>(bytes + cols)[first / 16] = {largest * (1.0F / 127.0F),
                                                               static_cast<float>(sum)};
}

// Row `local` of the unit, row r of the step; sum(local) gives the finished products of this r. `old` is what
// is in `out` there, for Finish::Add.
template <int kPanels, class Sum>
__device__ inline void finish(const Job& job, const Unit<kPanels>& unit, std::int32_t local, std::int32_t r,
                              const KvRow* kv_rows, float old, Sum&& sum) {
    const int p = kPanels == 2 ? local / kPanelRows : 0;
    // No run-time index into the unit: that would move it to local memory.
    const Matrix& m = kPanels == 2 && p == 1 ? *unit.matrix[kPanels - 1] : *unit.matrix[0];
    const std::int32_t panel = kPanels == 2 && p == 1 ? unit.panel[kPanels - 1] : unit.panel[0];
    const std::int32_t row = panel * kPanelRows + local % kPanelRows;
    if (row >= m.w.rows) return;
    float v = sum(local);
    if (m.bias != nullptr) v += m.bias[row];
    const std::int64_t at = std::int64_t{r} * job.stride + m.place + row;
    switch (job.finish) {
        case Finish::Store: job.out[at] = v; return;
        case Finish::Add: job.out[at] = old + v; return;
        case Finish::Cap: job.out[at] = job.cap * tanhf(v / job.cap); return;
        case Finish::GateOver: job.out[at] = activate(job.activation, job.out[at]) * v; return;
        case Finish::Gate:
        case Finish::GateBytes: {
            if (p != 0) return;
            const Matrix& other = *unit.matrix[kPanels - 1];
            float up = sum(local + kPanelRows * (kPanels - 1));
            if (other.bias != nullptr) up += other.bias[row];
            v = activate(job.activation, v) * up;
            if (job.finish == Finish::Gate)
                job.out[at] = v;
            else
                store_bytes(reinterpret_cast<std::uint8_t*>(job.out), job.stride, row - local, local, v);
            return;
        }
        case Finish::Heads: break;
    }
    const HeadsArgs& heads = job.heads;
    const std::int32_t c = heads.kv.head_dim;
    const std::int32_t head = row / c;
    const std::int32_t i = row - head * c;
    if (m.part < 2 && i < 2 * heads.rope.half) {
        const bool halves = heads.rope.style == RopeStyle::Halves;
        const std::int32_t partner = halves ? local ^ kPanelRows : local ^ 1;
        const bool second = halves ? i >= heads.rope.half : i % 2 == 1;
        float w = sum(partner);
        if (m.bias != nullptr)
            w += m.bias[halves ? (second ? row - heads.rope.half : row + heads.rope.half) : row ^ 1];
        const std::int32_t pair = halves ? (second ? i - heads.rope.half : i) : i / 2;
        const std::int64_t place = std::int64_t{r} * heads.rope.half + pair;
        const float cosine = heads.rope.cosine[place];
        const float sine = heads.rope.sine[place];
        v = second ? __fadd_rn(__fmul_rn(v, cosine), __fmul_rn(w, sine))
                   : __fsub_rn(__fmul_rn(v, cosine), __fmul_rn(w, sine));
    }
    if (m.part == 0) {
        heads.q[(std::int64_t{r} * heads.heads + head) * c + i] = v;
        return;
    }
    const std::int64_t in_head = std::int64_t{head} * heads.kv.block_size * c + i;
    store_kv(heads.kv, (m.part == 1 ? kv_rows[r].key : kv_rows[r].value) + in_head, v);
}

}  // namespace vitrine::cuda::few
