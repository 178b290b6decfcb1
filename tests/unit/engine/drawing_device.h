// A device that draws tokens itself: the reference device with Ops::sample written down plainly, straight
// from what SampleRow says. It can be told to decline, to leave rows undecided and to fail a step.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/sample/sampler.h"
#include "kernels/device.h"

namespace vitrine::test {

class DrawingDevice final : public Device {
  public:
    // What it was asked and what it did, seen from outside.
    struct Story {
        int rows_sampled = 0;
        int draws = 0;
        int rows_read = 0;
        int undecided = 0;
        int undecided_every = 0;    // every n-th row stays undecided; 0: none
        int fail_with_rows = 0;     // steps of at least so many sequences fail; 0: none
        bool before_finish = true;  // sample() came inside the step, after logits()
    };

    DrawingDevice(std::unique_ptr<Device> inner, std::shared_ptr<Story> story)
        : inner_(std::move(inner)), story_(std::move(story)) {}

    bool can_sample(const SampleRow& row, std::int32_t /*width*/) const override {
        return row.typical_p >= 1.0F && row.candidates <= 8;
    }
    void sample(const SampleArgs& a) override {
        story_->before_finish = story_->before_finish && has_logits_;
        asked_ = a;
    }
    SampleOutcome sampled(std::size_t row) const override {
        return row < results_.size() ? results_[row].outcome() : SampleOutcome();
    }

    void begin_step(const StepInput& step) override {
        asked_ = SampleArgs();
        results_.clear();
        has_logits_ = false;
        failing_ = story_->fail_with_rows > 0 &&
                   step.sequences.size() >= static_cast<std::size_t>(story_->fail_with_rows);
        inner_->begin_step(step);
    }
    Status finish_step() override {
        Status status = inner_->finish_step();
        if (failing_) return Error{ErrorKind::Io, "The device was told to fail."};
        if (status.ok())
            for (const SampleRow& row : asked_.rows) results_.push_back(draw(row));
        return status;
    }

    void embed(const EmbedArgs& a) override { inner_->embed(a); }
    void qkv(const QkvArgs& a) override { inner_->qkv(a); }
    void attention(const AttentionArgs& a) override { inner_->attention(a); }
    void project(const ProjectArgs& a) override { inner_->project(a); }
    void feed_forward(const FeedForwardArgs& a) override { inner_->feed_forward(a); }
    void logits(const LogitsArgs& a) override {
        has_logits_ = true;
        inner_->logits(a);
    }
    void copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) override {
        inner_->copy_blocks(kv, copies);
    }
    PhaseTimes phase_times() const override { return inner_->phase_times(); }
    DeviceInfo info() const override { return inner_->info(); }
    Result<Weight> upload(const HostTensor& tensor) override { return inner_->upload(tensor); }
    Result<Buffer> allocate(std::size_t floats) override { return inner_->allocate(floats); }
    Result<KvCache> make_kv(const KvShape& shape) override { return inner_->make_kv(shape); }
    std::span<const float> read(const BufferStorage& buffer, std::size_t first, std::size_t count) override {
        ++story_->rows_read;
        return inner_->read(buffer, first, count);
    }
    void write(BufferStorage& buffer, std::size_t first, std::span<const float> values) override {
        inner_->write(buffer, first, values);
    }
    void fill_kv(KvStorage& kv, float value) override { inner_->fill_kv(kv, value); }
    void read_kv(const KvStorage& kv, std::int32_t layer, bool value_not_key, std::int32_t block,
                 std::int32_t kv_head, std::int32_t token, std::span<float> out) override {
        inner_->read_kv(kv, layer, value_not_key, block, kv_head, token, out);
    }
    void read_row(const WeightStorage& w, std::int64_t row, std::span<float> out) override {
        inner_->read_row(w, row, out);
    }
    Result<double> read_pass(std::uint64_t bytes) override { return inner_->read_pass(bytes); }

  private:
    struct Drawn {
        SampleState state = SampleState::Drawn;
        std::vector<DrawnToken> tokens;
        std::vector<TokenChance> candidates;
        SampleOutcome outcome() const { return {state, tokens, candidates}; }
    };

    Drawn draw(const SampleRow& row) {
        Drawn drawn;
        ++story_->rows_sampled;
        if (story_->undecided_every > 0 && story_->rows_sampled % story_->undecided_every == 0) {
            ++story_->undecided;
            drawn.state = SampleState::Undecided;
            return drawn;
        }
        const auto width = static_cast<std::size_t>(asked_.width);
        const auto whole = inner_->read(*asked_.logits, static_cast<std::size_t>(row.output) * width, width);
        const std::vector<float> logits(whole.begin(), whole.begin() + row.vocab);
        std::vector<float> changed = logits;
        for (const LogitChange& c : row.changes) {
            float& l = changed[static_cast<std::size_t>(c.token)];
            l += c.bias;
            if (c.seen == 0) continue;
            l = l > 0 ? l / row.repetition_penalty : l * row.repetition_penalty;
            l -= row.frequency_penalty * static_cast<float>(c.seen) + row.presence_penalty;
        }
        SamplingParams settings;
        settings.temperature = row.temperature;
        settings.top_k = row.top_k;
        settings.top_p = row.top_p;
        settings.min_p = row.min_p;
        // Keeps everything, but in a list.
        const bool filters = row.top_k > 0 || row.top_p < 1.0F || row.min_p > 0.0F;
        if (!filters) settings.min_p = 1e-30F;
        // The model's own probabilities of all tokens.
        SamplingParams greedy;
        auto ranked = sampler_.sample(logits, row.vocab, {}, greedy, 0, row.vocab);
        auto distribution = sampler_.distribution(changed, row.vocab, {}, settings);
        if (!ranked.ok() || !distribution.ok()) {
            drawn.state = SampleState::NotFinite;
            return drawn;
        }
        if (!filters) std::sort(distribution->begin(), distribution->end());
        for (const double u : row.uniforms) {
            ++story_->draws;
            double rest = u;
            TokenId id = distribution->back().first;
            for (const auto& [candidate, probability] : *distribution) {
                rest -= probability;
                if (rest >= 0) continue;
                id = candidate;
                break;
            }
            DrawnToken token{id.value, 0, 1};
            for (const Candidate& c : ranked->candidates) {
                if (c.id == id) token.log_probability = c.log_probability;
                if (logits[static_cast<std::size_t>(c.id.value)] > logits[static_cast<std::size_t>(id.value)])
                    ++token.rank;
            }
            drawn.tokens.push_back(token);
        }
        for (std::int32_t i = 0; i < std::min(row.candidates, row.vocab); ++i) {
            const Candidate& c = ranked->candidates[static_cast<std::size_t>(i)];
            drawn.candidates.push_back({c.id.value, c.log_probability});
        }
        return drawn;
    }

    std::unique_ptr<Device> inner_;
    std::shared_ptr<Story> story_;
    Sampler sampler_;
    SampleArgs asked_;
    std::vector<Drawn> results_;
    bool has_logits_ = false;
    bool failing_ = false;
};

}  // namespace vitrine::test
