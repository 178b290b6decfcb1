#include "kernels/cuda/step_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace vitrine::cuda {
namespace {

constexpr std::size_t kSliceWords = sizeof(SliceView) / sizeof(std::int32_t);
constexpr std::int32_t kShortest = 256;  // keys that a plan is made for at least

std::int32_t rounded_up(std::int32_t keys) {
    const auto wanted = static_cast<std::uint32_t>(std::max(keys, kShortest));
    return wanted > (1U << 30U) ? INT32_MAX : static_cast<std::int32_t>(std::bit_ceil(wanted));
}

}  // namespace

std::uint64_t StepMemory::bytes(std::int64_t rows, std::int64_t outputs, std::int64_t head_dim,
                                std::int64_t ropes) {
    // Both double when they grow.
    const std::int64_t words = rows * (3 + static_cast<std::int64_t>(kSliceWords)) + outputs;
    const std::int64_t rotations = rows * head_dim * ropes;
    return 2 * sizeof(float) * static_cast<std::uint64_t>(words + rotations);
}

Status StepMemory::prepare(const StepInput& step, std::span<const std::int32_t> row_sequence,
                           cudaStream_t stream) {
    const std::size_t rows = step.tokens.size();
    const std::size_t outputs = step.output_rows.size();
    std::size_t table_words = 0;
    plan_ = AttentionPlan();
    for (const SequenceSlice& s : step.sequences) {
        table_words += s.blocks.size();
        plan_.longest = std::max(plan_.longest, s.start + s.rows);
        plan_.most_rows = std::max(plan_.most_rows, s.rows);
    }
    plan_.longest = rounded_up(plan_.longest);
    plan_.sequences = static_cast<std::int32_t>(step.sequences.size());

    // [tokens R][positions R][row_slice R][slices, room for R][output rows][tables], all 32-bit: all
    // addresses follow from the numbers of rows and outputs.
    const std::size_t slices_at = 3 * rows;
    const std::size_t outputs_at = slices_at + kSliceWords * std::max(rows, step.sequences.size());
    const std::size_t tables_at = outputs_at + outputs;
    const std::uint64_t bytes = (tables_at + table_words) * sizeof(std::int32_t);
    if (staging_.size() < bytes) VITRINE_CHECK(staging_.grow(2 * bytes));
    if (ids_.size() < bytes) VITRINE_CHECK(ids_.grow(2 * bytes, "The step's ids and tables", generation_));
    auto* words = reinterpret_cast<std::int32_t*>(staging_.data());
    std::copy(step.tokens.begin(), step.tokens.end(), words);
    std::copy(step.positions.begin(), step.positions.end(), words + rows);
    std::copy(row_sequence.begin(), row_sequence.end(), words + 2 * rows);
    std::size_t slice_at = slices_at;
    std::size_t table_at = tables_at;
    for (const SequenceSlice& s : step.sequences) {
        const SliceView slice{s.first_row, s.rows, s.start, static_cast<std::int32_t>(table_at - tables_at),
                              s.rope_set};
        std::memcpy(words + slice_at, &slice, sizeof slice);
        slice_at += kSliceWords;
        std::copy(s.blocks.begin(), s.blocks.end(), words + table_at);
        table_at += s.blocks.size();
    }
    std::copy(step.output_rows.begin(), step.output_rows.end(), words + outputs_at);
    if (const cudaError_t code =
            cudaMemcpyAsync(ids_.data(), staging_.data(), bytes, cudaMemcpyHostToDevice, stream);
        code != cudaSuccess)
        return cuda_error(code, "Copying the step to the GPU");

    const auto* base = reinterpret_cast<const std::int32_t*>(ids_.data());
    view_ = StepView();
    view_.rows = static_cast<std::int32_t>(rows);
    view_.outputs = static_cast<std::int32_t>(outputs);
    view_.tokens = base;
    view_.positions = base + rows;
    view_.row_slice = base + 2 * rows;
    view_.slices = reinterpret_cast<const SliceView*>(base + slices_at);
    view_.output_rows = base + outputs_at;
    view_.tables = base + tables_at;
    return prepare_ropes(step, stream);
}

Status StepMemory::prepare_ropes(const StepInput& step, cudaStream_t stream) {
    const auto in_set = step.ropes.size() / static_cast<std::size_t>(step.rope_sets);
    const auto sets = static_cast<std::size_t>(step.rope_sets);
    const auto rows = static_cast<std::int32_t>(step.tokens.size());
    std::vector<std::byte> numbers;
    std::vector<RopeView> ropes(in_set);
    const auto append = [&](const void* from, std::size_t size) {
        const std::size_t at = (numbers.size() + 7) / 8 * 8;
        numbers.resize(at + size);
        if (size > 0) std::memcpy(numbers.data() + at, from, size);
        return at;
    };
    struct Place {
        std::size_t frequencies, magnitudes;
    };
    std::vector<Place> places;
    std::size_t halves = 0;
    for (std::size_t i = 0; i < in_set; ++i) {
        std::vector<double> frequencies;
        std::vector<float> magnitudes;
        for (std::size_t set = 0; set < sets; ++set) {
            const RopeSpec& spec = step.ropes[set * in_set + i];
            frequencies.insert(frequencies.end(), spec.inv_freq.begin(), spec.inv_freq.end());
            magnitudes.push_back(spec.magnitude);
        }
        ropes[i].half = step.ropes[i].rotary_dim / 2;
        ropes[i].style = step.ropes[i].style;
        halves += static_cast<std::size_t>(ropes[i].half);
        Place place{};
        place.frequencies = append(frequencies.data(), frequencies.size() * sizeof(double));
        place.magnitudes = append(magnitudes.data(), magnitudes.size() * sizeof(float));
        places.push_back(place);
    }
    if (numbers_.size() < numbers.size()) {
        uploaded_.clear();
        VITRINE_CHECK(numbers_.grow(numbers.size(), "The rotary embeddings' numbers", generation_));
    }
    const bool other =
        numbers != uploaded_ || ropes.size() != ropes_.size() ||
        !std::equal(ropes.begin(), ropes.end(), ropes_.begin(), [](const RopeView& a, const RopeView& b) {
            return a.half == b.half && a.style == b.style;
        });
    if (other) {
        uploaded_ = std::move(numbers);
        generation_->fetch_add(1);  // styles and sizes are in captured launches
        if (const cudaError_t code = cudaMemcpyAsync(numbers_.data(), uploaded_.data(), uploaded_.size(),
                                                     cudaMemcpyHostToDevice, stream);
            code != cudaSuccess)
            return cuda_error(code, "Copying the step to the GPU");
    }
    const std::uint64_t table_bytes = 2 * static_cast<std::uint64_t>(rows) * halves * sizeof(float);
    if (tables_.size() < table_bytes)
        VITRINE_CHECK(tables_.grow(2 * table_bytes, "The step's rotations", generation_));
    float* table = tables_.floats();
    for (std::size_t i = 0; i < in_set; ++i) {
        const std::size_t size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(ropes[i].half);
        ropes[i].inv_freq = reinterpret_cast<const double*>(numbers_.data() + places[i].frequencies);
        ropes[i].magnitude = reinterpret_cast<const float*>(numbers_.data() + places[i].magnitudes);
        ropes[i].cosine = table;
        ropes[i].sine = table + size;
        table += 2 * size;
    }
    ropes_ = std::move(ropes);
    return {};
}

}  // namespace vitrine::cuda
