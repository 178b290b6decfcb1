// What all devices share, wherever they compute: the rows of the step, and arguments that are checked before
// anything is touched. A subclass does the work.
//
// Every operation checks its arguments against the step first; the first thing wrong is kept, the operations
// after it do nothing, and finish_step() returns it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace vitrine {

// Bytes of a tensor as it lies in memory, or why it cannot be uploaded.
Result<std::uint64_t> upload_bytes(const HostTensor& tensor);

// The scales of the tiles that a matrix with outside scales touches; upload_bytes() accepted it.
std::span<const float> scales_of(const HostTensor& tensor);

// Bytes of a cache of that shape, or what is wrong with the shape.
Result<std::uint64_t> kv_bytes(const KvShape& shape);

class CheckedDevice : public Device {
  public:
    void begin_step(const StepInput& step) final;
    void embed(const EmbedArgs& a) final;
    void qkv(const QkvArgs& a) final;
    void attention(const AttentionArgs& a) final;
    void project(const ProjectArgs& a) final;
    void feed_forward(const FeedForwardArgs& a) final;
    void logits(const LogitsArgs& a) final;
    void sample(const SampleArgs& a) final;
    void copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) final;
    void launch_step() final;
    Status finish_step() final;

  protected:
    struct RowPlace {
        std::int32_t sequence = -1;  // index into StepInput::sequences
        std::int32_t slot = 0;       // which token of the sequence it is
    };

    // The work. Arguments are checked, R >= 1.
    virtual void do_begin() = 0;
    virtual void do_embed(const EmbedArgs& a) = 0;
    virtual void do_qkv(const QkvArgs& a) = 0;
    virtual void do_attention(const AttentionArgs& a) = 0;
    virtual void do_project(const ProjectArgs& a) = 0;
    virtual void do_feed_forward(const FeedForwardArgs& a) = 0;
    virtual void do_logits(const LogitsArgs& a) = 0;
    // Only devices whose can_sample() says so.
    virtual void do_sample(const SampleArgs& /*a*/) {}
    virtual void do_copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) = 0;
    // Starts what the operations of the step were, where they only were written down.
    virtual void do_launch() {}
    // Waits for everything enqueued; errors through fail(). After do_launch().
    virtual void do_finish() {}

    void fail(ErrorKind kind, std::string message);
    bool failed() const { return !status_.ok(); }
    std::int64_t rows() const { return static_cast<std::int64_t>(step_.tokens.size()); }
    std::int32_t ropes_in_set() const {
        return static_cast<std::int32_t>(step_.ropes.size()) / step_.rope_sets;
    }

    StepInput step_;
    std::vector<RowPlace> places_;  // [R]

  private:
    bool checked(const char* operation, const std::string& problem);
    std::string matrix_problem(const char* name, const WeightStorage* w, std::int64_t out,
                               std::int64_t in) const;
    std::string kv_problem(const KvStorage* kv, std::int32_t layer, std::int32_t heads) const;
    std::string problem_of(const EmbedArgs& a) const;
    std::string problem_of(const QkvArgs& a) const;
    std::string problem_of(const AttentionArgs& a) const;
    std::string problem_of(const ProjectArgs& a) const;
    std::string problem_of(const FeedForwardArgs& a) const;
    std::string problem_of(const LogitsArgs& a) const;
    std::string problem_of(const SampleArgs& a) const;
    std::string place_rows();
    std::string rope_problem() const;

    Status status_;
    bool launched_ = false;
};

}  // namespace vitrine
