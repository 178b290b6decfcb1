#include "kernels/cuda/sample_memory.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace vitrine::cuda {
namespace {

// Settings and results of a row with some changed logits and candidates; they double when they grow.
constexpr std::uint64_t kRowBytes = 4096;

// Places of arrays that follow one another.
class Places {
  public:
    explicit Places(std::uint64_t first) : at_(first) {}
    std::int32_t take(std::uint64_t bytes) {
        at_ = (at_ + 7) / 8 * 8;
        const std::uint64_t place = at_;
        at_ += bytes;
        return static_cast<std::int32_t>(place);
    }
    std::uint64_t end() const { return at_; }

  private:
    std::uint64_t at_;
};

SampleMode mode_of(const SampleRow& row) {
    if (row.temperature <= 0.0F) return SampleMode::Greedy;
    if (row.top_k > 0 && row.top_k <= row.vocab / kSampleChunk) return SampleMode::Listed;
    return row.top_k > 0 || row.top_p < 1.0F || row.min_p > 0.0F ? SampleMode::Filter : SampleMode::Walk;
}

}  // namespace

std::uint64_t SampleMemory::bytes(std::int32_t rows, std::int32_t width) {
    return sample_work_bytes(std::min(rows, kMostSampleRows), width) +
           static_cast<std::uint64_t>(rows) * kRowBytes;
}

Status SampleMemory::reserve(std::int32_t rows, std::int32_t width, cudaStream_t stream) {
    return reserve_work(sample_work_bytes(std::min(rows, kMostSampleRows), width), stream);
}

// Zeroed: tickets begin at zero, and each launch leaves them so.
Status SampleMemory::reserve_work(std::uint64_t bytes, cudaStream_t stream) {
    if (work_.size() >= bytes) return {};
    VITRINE_CHECK(work_.grow(bytes, "The sampler's working memory", generation_));
    if (const cudaError_t code = cudaMemsetAsync(work_.data(), 0, bytes, stream); code != cudaSuccess) {
        work_ = DeviceMemory();
        return cuda_error(code, "Preparing the sampler");
    }
    return {};
}

Status SampleMemory::prepare(std::span<const SampleRow> rows, const float* logits, std::int32_t width,
                             cudaStream_t stream) {
    clear();
    Places in(rows.size() * sizeof(SampleSettings));
    Places out(rows.size() * sizeof(std::int32_t));
    bool weighs = false;
    bool ranks = false;
    std::vector<SampleSettings> settings;
    settings.reserve(rows.size());
    for (const SampleRow& row : rows) {
        SampleSettings s{};
        s.output = row.output;
        s.vocab = row.vocab;
        s.mode = mode_of(row);
        s.changes = static_cast<std::int32_t>(row.changes.size());
        s.changes_at = in.take(row.changes.size_bytes());
        s.repetition_penalty = row.repetition_penalty;
        s.frequency_penalty = row.frequency_penalty;
        s.presence_penalty = row.presence_penalty;
        s.temperature = row.temperature;
        s.top_k = row.top_k;
        s.top_p = row.top_p;
        s.min_p = row.min_p;
        s.draws = static_cast<std::int32_t>(row.uniforms.size());
        s.uniforms_at = in.take(row.uniforms.size_bytes());
        s.drawn_at = out.take(row.uniforms.size() * sizeof(DrawnToken));
        s.candidates = std::min(row.candidates, row.vocab);
        s.candidates_at = out.take(static_cast<std::uint64_t>(s.candidates) * sizeof(TokenChance));
        s.lists_candidates = s.candidates > 0 && s.candidates <= row.vocab / kSampleChunk;
        s.ranks = s.changes > 0 || s.mode == SampleMode::Walk || s.mode == SampleMode::Filter;
        weighs = weighs || s.mode != SampleMode::Greedy || s.lists_candidates;
        ranks = ranks || s.ranks;
        settings.push_back(s);
    }
    if (rows.size() > kMostSampleRows || in.end() > INT32_MAX || out.end() > INT32_MAX)
        return Error{ErrorKind::TooLarge, "Too many tokens to draw in one step."};
    result_bytes_ = out.end();
    if (staging_.size() < in.end()) VITRINE_CHECK(staging_.grow(2 * in.end()));
    if (fetched_.size() < out.end()) VITRINE_CHECK(fetched_.grow(2 * out.end()));
    if (settings_.size() < in.end())
        VITRINE_CHECK(settings_.grow(2 * in.end(), "The sampler's settings", generation_));
    if (results_.size() < out.end())
        VITRINE_CHECK(results_.grow(2 * out.end(), "The sampler's results", generation_));
    VITRINE_CHECK(reserve_work(sample_work_bytes(static_cast<std::int32_t>(rows.size()), width), stream));
    std::byte* to = staging_.data();
    std::memcpy(to, settings.data(), settings.size() * sizeof(SampleSettings));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!rows[i].changes.empty())
            std::memcpy(to + settings[i].changes_at, rows[i].changes.data(), rows[i].changes.size_bytes());
        if (!rows[i].uniforms.empty())
            std::memcpy(to + settings[i].uniforms_at, rows[i].uniforms.data(), rows[i].uniforms.size_bytes());
    }
    if (const cudaError_t code =
            cudaMemcpyAsync(settings_.data(), to, in.end(), cudaMemcpyHostToDevice, stream);
        code != cudaSuccess)
        return cuda_error(code, "Copying the sampler's settings to the GPU");
    view_ = SampleView();
    view_.logits = logits;
    view_.width = width;
    view_.rows = static_cast<std::int32_t>(rows.size());
    view_.weighs = weighs;
    view_.ranks = ranks;
    view_.settings = settings_.data();
    view_.results = results_.data();
    view_.work = work_.data();
    rows_ = std::move(settings);
    return {};
}

Status SampleMemory::fetch(cudaStream_t stream) {
    if (rows_.empty()) return {};
    if (const cudaError_t code =
            cudaMemcpyAsync(fetched_.data(), results_.data(), result_bytes_, cudaMemcpyDeviceToHost, stream);
        code != cudaSuccess)
        return cuda_error(code, "Reading the drawn tokens");
    return {};
}

SampleOutcome SampleMemory::outcome(std::size_t row) const {
    SampleOutcome outcome;
    if (row >= rows_.size()) return outcome;
    const SampleSettings& s = rows_[row];
    const std::byte* from = fetched_.data();
    std::int32_t state = 0;
    std::memcpy(&state, from + row * sizeof state, sizeof state);
    outcome.state = static_cast<SampleState>(state);
    if (outcome.state != SampleState::Drawn) return outcome;
    outcome.drawn = {reinterpret_cast<const DrawnToken*>(from + s.drawn_at),
                     static_cast<std::size_t>(s.draws)};
    outcome.candidates = {reinterpret_cast<const TokenChance*>(from + s.candidates_at),
                          static_cast<std::size_t>(s.candidates)};
    return outcome;
}

}  // namespace vitrine::cuda
