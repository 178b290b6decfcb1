// What takes the memory, and what a KV cache of other sizes would take. Plain arithmetic, no widgets.
#pragma once

#include <cstdint>

#include <QString>

namespace vitrine::ui {

// Of the loaded model; bytes.
struct MemoryFacts {
    std::uint64_t weights = 0;
    std::uint64_t kv = 0;  // the pool as reserved
    std::uint64_t workspace = 0;
    std::uint64_t draft = 0;  // weights, KV and workspace of a draft model; 0: there is none
    std::uint64_t free = 0;   // on the device beside all that; 0: not known
    QString format;           // of the weights, "Q4_1"
    QString device;           // "CPU …"
    QString kv_dtype;         // "F16"
    std::int32_t layers = 0;
    std::int32_t kv_heads = 0;
    std::int32_t head_dim = 0;
    std::int32_t context = 0;  // most tokens of one sequence
    std::int32_t block_size = 0;
    std::int32_t blocks = 0;
    bool valid() const { return weights > 0; }
    bool operator==(const MemoryFacts&) const = default;
};

// Keys and values of `batch` sequences of `length` tokens: 2 · layers · KV heads · head size · length · batch
// · bytes a number ("two" for keys and values), as in the PagedAttention paper, section 1.
struct KvShapeQuestion {
    std::int64_t layers = 0;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t length = 0;
    std::int64_t batch = 1;
    std::int64_t bytes = 2;  // of one number
    bool operator==(const KvShapeQuestion&) const = default;

    // No overflow: beyond 2^63 the largest value comes back. Negative numbers count as 0.
    std::uint64_t bytes_per_token() const;
    std::uint64_t total() const;
};

// Bytes of a number: "F32" 4, "F16" and "BF16" 2, "F8" 1; else 2.
std::int64_t kv_number_bytes(const QString& dtype);

// Question that the loaded model answers: one sequence of the whole context.
KvShapeQuestion question_of(const MemoryFacts& facts);

}  // namespace vitrine::ui
