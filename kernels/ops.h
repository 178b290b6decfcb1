// The operations that a transformer needs, at fused size, with one signature on every device.
//
// A device holds weights, activation buffers and the paged KV cache in whatever layout it likes; the caller
// sees handles. The operations of one step act on the rows (tokens) that begin_step() named. On a device
// with a queue they are enqueued and return at once; finish_step() waits and reports what went wrong.
//
// Every operation has a plain reference version (kernels/reference). There, each output is computed with a
// fixed order of additions that depends only on its own row, so results are bit-equal however rows are
// gathered into steps, threads or blocks. Other devices state a tolerance against it.
//
// Shapes: R rows of this step, D embedding width, H query heads, G key/value heads, C head size,
// F feed-forward width, V vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "kernels/tensor.h"

namespace vitrine {

// A matrix that lives on a device, [rows, cols] in precision dtype, regrouped as its kernels like it.
// Immutable after upload; shared by whoever uses it.
class WeightStorage {
  public:
    virtual ~WeightStorage() = default;
    DType dtype = DType::F32;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::uint64_t bytes = 0;  // device memory taken
};
using Weight = std::shared_ptr<const WeightStorage>;

// float32 activations on a device.
class BufferStorage {
  public:
    virtual ~BufferStorage() = default;
    std::size_t size = 0;  // in floats
};
using Buffer = std::unique_ptr<BufferStorage>;

struct KvShape {
    std::int32_t layers = 0;
    std::int32_t kv_heads = 0;    // G
    std::int32_t head_dim = 0;    // C
    std::int32_t block_size = 0;  // tokens in a block, a multiple of 8
    std::int32_t blocks = 0;
    DType dtype = DType::F16;  // F32, F16 or BF16

    // Bytes that one token takes in all layers, keys and values.
    std::uint64_t bytes_per_token() const {
        return 2ULL * static_cast<std::uint64_t>(layers) * static_cast<std::uint64_t>(kv_heads) *
               static_cast<std::uint64_t>(head_dim) * static_cast<std::uint64_t>(info_of(dtype).bytes);
    }
    std::uint64_t bytes() const {
        return bytes_per_token() * static_cast<std::uint64_t>(block_size) *
               static_cast<std::uint64_t>(blocks);
    }
};

// All physical KV blocks of one model. Layout inside a block belongs to the device.
class KvStorage {
  public:
    virtual ~KvStorage() = default;
    KvShape shape;
};
using KvCache = std::unique_ptr<KvStorage>;

enum class RopeStyle : std::uint8_t {
    Neighbours,  // rotates pairs (2i, 2i+1): GGUF files of the llama family, whose q and k are permuted
    Halves,      // rotates pairs (i, i + rotary_dim/2): everything else
};

// Rotary embedding: angle = position · inv_freq[i]; cos and sin are multiplied by magnitude.
struct RopeSpec {
    RopeStyle style = RopeStyle::Halves;
    std::int32_t rotary_dim = 0;   // the first rotary_dim elements of each head turn, the rest passes
    float magnitude = 1.0F;        // attention factor of yarn and longrope
    std::vector<double> inv_freq;  // [rotary_dim / 2]; in double, so that far positions keep their angle
};

// The rows of one sequence in a step.
struct SequenceSlice {
    std::int32_t first_row = 0;  // its rows are [first_row, first_row + rows)
    std::int32_t rows = 0;
    std::int32_t start = 0;                // position of its first row; keys visible to row i: start + i + 1
    std::span<const std::int32_t> blocks;  // block table, logical → physical; covers start + rows tokens
    std::int32_t rope_set = 0;             // which set of rotary embeddings, see StepInput::ropes
};

// What changes from step to step. Borrowed until finish_step() returns.
struct StepInput {
    std::span<const std::int32_t> tokens;     // [R]
    std::span<const std::int32_t> positions;  // [R]
    std::span<const SequenceSlice> sequences;
    std::span<const std::int32_t> output_rows;  // rows whose logits are wanted, in the order wanted
    // The model's rotary embeddings: rope_sets sets of equally many, and QkvArgs::rope is an index into the
    // set that a row's sequence names. There are two sets where the frequencies depend on how long the
    // sequence is (longrope). Embeddings at one index agree in style and rotary_dim.
    std::span<const RopeSpec> ropes;
    std::int32_t rope_sets = 1;
};

enum class Activation : std::uint8_t { SiLU, GeluTanh };

struct EmbedArgs {
    const WeightStorage* table = nullptr;  // [V, D]
    float scale = 1.0F;
    BufferStorage* x = nullptr;  // out [R, D]
    friend bool operator==(const EmbedArgs&, const EmbedArgs&) = default;
};

// Normalises x, multiplies with the three projections, adds biases, normalises each head of q and k where
// asked, rotates q and k, writes k and v of layer `layer` into the cache and q into q.
struct QkvArgs {
    const BufferStorage* x = nullptr;     // [R, D]
    const WeightStorage* norm = nullptr;  // [1, D] F32, root-mean-square norm
    float eps = 1e-5F;
    const WeightStorage* wq = nullptr;  // [H·C, D]
    const WeightStorage* wk = nullptr;  // [G·C, D]
    const WeightStorage* wv = nullptr;  // [G·C, D]
    const WeightStorage* bq = nullptr;  // [1, H·C] F32 or none
    const WeightStorage* bk = nullptr;
    const WeightStorage* bv = nullptr;
    const WeightStorage* q_norm = nullptr;  // [1, C] F32 or none
    const WeightStorage* k_norm = nullptr;
    std::int32_t heads = 0;  // H; G and C are the cache's
    std::int32_t rope = 0;   // index into a set of StepInput::ropes
    std::int32_t layer = 0;
    KvStorage* kv = nullptr;
    BufferStorage* q = nullptr;  // out [R, H·C]
    friend bool operator==(const QkvArgs&, const QkvArgs&) = default;
};

// softmax(scale · q·K) · V over the sequence's block table, causal: row at position p sees keys
// max(0, p − window + 1) … p (window 0: all). Nothing beyond the row's own position is read.
struct AttentionArgs {
    const BufferStorage* q = nullptr;  // [R, H·C]
    const KvStorage* kv = nullptr;
    std::int32_t layer = 0;
    std::int32_t heads = 0;
    float scale = 1.0F;
    std::int32_t window = 0;
    float softcap = 0.0F;          // 0: none; else scores become softcap · tanh(score / softcap)
    BufferStorage* out = nullptr;  // [R, H·C]
    friend bool operator==(const AttentionArgs&, const AttentionArgs&) = default;
};

// x += post_norm(W·in + bias).
struct ProjectArgs {
    const BufferStorage* in = nullptr;         // [R, cols of w]
    const WeightStorage* w = nullptr;          // [D, …]
    const WeightStorage* bias = nullptr;       // [1, D] F32 or none
    const WeightStorage* post_norm = nullptr;  // [1, D] F32 or none
    float eps = 1e-5F;
    BufferStorage* x = nullptr;  // in and out [R, D]
    friend bool operator==(const ProjectArgs&, const ProjectArgs&) = default;
};

// x += post_norm(Wdown·(act(Wgate·n) ⊙ Wup·n)), n = norm(x).
struct FeedForwardArgs {
    BufferStorage* x = nullptr;           // in and out [R, D]
    const WeightStorage* norm = nullptr;  // [1, D] F32
    float eps = 1e-5F;
    const WeightStorage* gate = nullptr;       // [F, D]
    const WeightStorage* up = nullptr;         // [F, D]
    const WeightStorage* down = nullptr;       // [D, F]
    const WeightStorage* gate_bias = nullptr;  // [1, F] F32 or none
    const WeightStorage* up_bias = nullptr;
    const WeightStorage* down_bias = nullptr;  // [1, D] F32 or none
    const WeightStorage* post_norm = nullptr;  // [1, D] F32 or none
    Activation activation = Activation::SiLU;
    BufferStorage* hidden = nullptr;  // scratch [R, F]
    friend bool operator==(const FeedForwardArgs&, const FeedForwardArgs&) = default;
};

// out[i] = W·norm(x[output_rows[i]]), capped where asked.
struct LogitsArgs {
    const BufferStorage* x = nullptr;     // [R, D]
    const WeightStorage* norm = nullptr;  // [1, D] F32
    float eps = 1e-5F;
    const WeightStorage* w = nullptr;  // [V, D]
    float softcap = 0.0F;
    BufferStorage* out = nullptr;  // [output_rows, V]
    friend bool operator==(const LogitsArgs&, const LogitsArgs&) = default;
};

// A token whose logit is changed before anything else is done with its row: bias is added, then, where the
// token was seen, the row's penalties are taken for `seen` times.
struct LogitChange {
    std::int32_t token = 0;
    std::int32_t seen = 0;
    float bias = 0.0F;
};

// One row of logits from which tokens are to be drawn. The settings mean what core/sample/params.h says, in
// that order; 0 temperature is the maximum. Borrowed until finish_step() returns.
struct SampleRow {
    std::int32_t output = 0;               // which of StepInput::output_rows
    std::int32_t vocab = 0;                // the first `vocab` logits are tokens, the rest is padding
    std::span<const LogitChange> changes;  // by rising token; several of one token are made in their order
    float repetition_penalty = 1.0F;
    float frequency_penalty = 0.0F;
    float presence_penalty = 0.0F;
    float temperature = 0.0F;
    std::int32_t top_k = 0;
    float typical_p = 1.0F;
    float top_p = 1.0F;
    float min_p = 0.0F;
    std::span<const double> uniforms;  // [draws] in [0, 1): a token is drawn with each
    std::int32_t candidates = 0;       // how many of the model's most probable tokens to tell as well
};

// Draws tokens from rows of logits. Results by sampled(), after finish_step().
struct SampleArgs {
    const BufferStorage* logits = nullptr;  // [output_rows, width]
    std::int32_t width = 0;                 // V
    std::span<const SampleRow> rows;
};

// Probabilities are the model's own, before any setting.
struct TokenChance {
    std::int32_t token = -1;
    float log_probability = 0.0F;
};
struct DrawnToken {
    std::int32_t token = -1;
    float log_probability = 0.0F;
    std::int32_t rank = 0;  // 1: the most probable
};

enum class SampleState : std::uint8_t {
    Drawn,
    NotFinite,  // NaN or +infinity among the tokens, or no finite logit
    Undecided,  // the device cannot tell exactly: the row is to be read and sampled by the caller
};

// Valid until the next step.
struct SampleOutcome {
    SampleState state = SampleState::Undecided;
    std::span<const DrawnToken> drawn;        // [draws]
    std::span<const TokenChance> candidates;  // the most probable first, as many as the vocabulary has
};

struct BlockCopy {
    std::int32_t from = 0;
    std::int32_t to = 0;
};

// Seconds of the last step by what they were spent on, as measured on the device.
struct PhaseTimes {
    double embed = 0;
    double qkv = 0;  // like those below with the norms that are fused into it
    double attention = 0;
    double project = 0;
    double feed_forward = 0;
    double logits = 0;
    double sample = 0;  // what the device itself draws

    double matrix() const { return qkv + project + feed_forward + logits; }
    double total() const { return embed + matrix() + attention + sample; }
    PhaseTimes& operator+=(const PhaseTimes& other) {
        embed += other.embed;
        qkv += other.qkv;
        attention += other.attention;
        project += other.project;
        feed_forward += other.feed_forward;
        logits += other.logits;
        sample += other.sample;
        return *this;
    }
};

class Ops {
  public:
    virtual ~Ops() = default;

    // Once a step, before the other operations.
    virtual void begin_step(const StepInput& step) = 0;

    virtual void embed(const EmbedArgs& a) = 0;
    virtual void qkv(const QkvArgs& a) = 0;
    virtual void attention(const AttentionArgs& a) = 0;
    virtual void project(const ProjectArgs& a) = 0;
    virtual void feed_forward(const FeedForwardArgs& a) = 0;
    virtual void logits(const LogitsArgs& a) = 0;
    // After logits(). Optional: whoever calls it has asked can_sample() about the settings of each row (its
    // changes and uniforms do not matter to it). The token is the one that the sampler of core/sample draws,
    // except where the uniform number lies within rounding of the border between two tokens.
    virtual bool can_sample(const SampleRow& /*row*/, std::int32_t /*width*/) const { return false; }
    virtual void sample(const SampleArgs& /*a*/) {}
    virtual SampleOutcome sampled(std::size_t /*row*/) const { return {}; }  // index into SampleArgs::rows
    // Copies whole blocks in all layers (copy on write). Outside begin_step/finish_step as well.
    virtual void copy_blocks(KvStorage& kv, std::span<const BlockCopy> copies) = 0;

    // Starts what was asked for since begin_step(). A device with a queue returns at once, and what the host
    // does until finish_step() costs no time; others have computed already. Optional: finish_step() does it.
    virtual void launch_step() {}
    // Waits for everything enqueued; an error of any operation since begin_step() comes out here.
    virtual Status finish_step() = 0;
    virtual PhaseTimes phase_times() const = 0;
};

}  // namespace vitrine
