#include "core/model/weights.h"

#include <string>

#include "core/io/finite.h"

namespace vitrine {
namespace {

// Uploads tensors by name, counting bytes for the progress display.
class Loader {
  public:
    Loader(const ModelSource& source, Device& device, const LoadProgress& progress)
        : source_(source), device_(device), progress_(progress) {}

    // A null handle where the model has no such tensor and may do without.
    Result<Weight> optional(const std::string& name) {
        if (progress_.cancel && progress_.cancel->load(std::memory_order_relaxed))
            return Error{ErrorKind::Cancelled, "Loading was stopped."};
        const auto tensor = source_.tensor(name);
        if (!tensor) return Weight{};
        // Another program may have shortened the file since it was opened, and a scale that is not a number
        // would come out as garbage much later.
        VITRINE_CHECK(source_.unchanged());
        if (const Status finite = check_finite(*tensor, name); !finite.ok()) return in_file(finite.error());
        auto weight = device_.upload(*tensor);
        if (!weight.ok())
            return in_file({weight.error().kind, "tensor '" + name + "': " + weight.error().message});
        const std::uint64_t file_bytes =
            static_cast<std::uint64_t>(tensor->rows) * row_bytes(tensor->dtype, tensor->cols).value_or(0);
        source_.release({tensor->data, static_cast<std::size_t>(file_bytes)});
        done_ += file_bytes;
        bytes_ += (*weight)->bytes;
        if (progress_.report) progress_.report(done_, source_.weights_bytes());
        return weight;
    }

    Result<Weight> required(const std::string& name) {
        VITRINE_TRY(Weight weight, optional(name));
        if (!weight)
            return Error{ErrorKind::BadFile, source_.path().string() + " has no tensor '" + name +
                                                 "', which this architecture needs."};
        return weight;
    }

    std::uint64_t bytes() const { return bytes_; }

  private:
    Error in_file(const Error& e) const { return Error{e.kind, source_.path().string() + ": " + e.message}; }

    const ModelSource& source_;
    Device& device_;
    const LoadProgress& progress_;
    std::uint64_t done_ = 0;
    std::uint64_t bytes_ = 0;
};

std::uint64_t bytes_of(const Weight& w) { return w ? w->bytes : 0; }

}  // namespace

Result<Weights> load_weights(const ModelSource& source, Device& device, const LoadProgress& progress) {
    Loader loader(source, device, progress);
    Weights w;
    device.place(-1);
    VITRINE_TRY(w.embedding, loader.required("token_embd.weight"));
    VITRINE_TRY(w.output_norm, loader.required("output_norm.weight"));
    VITRINE_TRY(w.output, loader.optional("output.weight"));
    if (!w.output) w.output = w.embedding;
    w.layers.resize(static_cast<std::size_t>(source.config().layers));
    for (std::size_t i = 0; i < w.layers.size(); ++i) {
        LayerWeights& l = w.layers[i];
        device.place(static_cast<std::int32_t>(i));
        const std::string at = "blk." + std::to_string(i) + ".";
        VITRINE_TRY(l.attn_norm, loader.required(at + "attn_norm.weight"));
        VITRINE_TRY(l.wq, loader.required(at + "attn_q.weight"));
        VITRINE_TRY(l.wk, loader.required(at + "attn_k.weight"));
        VITRINE_TRY(l.wv, loader.required(at + "attn_v.weight"));
        VITRINE_TRY(l.bq, loader.optional(at + "attn_q.bias"));
        VITRINE_TRY(l.bk, loader.optional(at + "attn_k.bias"));
        VITRINE_TRY(l.bv, loader.optional(at + "attn_v.bias"));
        VITRINE_TRY(l.q_norm, loader.optional(at + "attn_q_norm.weight"));
        VITRINE_TRY(l.k_norm, loader.optional(at + "attn_k_norm.weight"));
        VITRINE_TRY(l.wo, loader.required(at + "attn_output.weight"));
        VITRINE_TRY(l.bo, loader.optional(at + "attn_output.bias"));
        VITRINE_TRY(l.attn_post_norm, loader.optional(at + "post_attention_norm.weight"));
        VITRINE_TRY(l.ffn_norm, loader.required(at + "ffn_norm.weight"));
        VITRINE_TRY(l.gate, loader.required(at + "ffn_gate.weight"));
        VITRINE_TRY(l.up, loader.required(at + "ffn_up.weight"));
        VITRINE_TRY(l.down, loader.required(at + "ffn_down.weight"));
        VITRINE_TRY(l.gate_bias, loader.optional(at + "ffn_gate.bias"));
        VITRINE_TRY(l.up_bias, loader.optional(at + "ffn_up.bias"));
        VITRINE_TRY(l.down_bias, loader.optional(at + "ffn_down.bias"));
        VITRINE_TRY(l.ffn_post_norm, loader.optional(at + "post_ffw_norm.weight"));
    }
    w.bytes = loader.bytes();
    return w;
}

std::uint64_t Weights::bytes_per_step() const {
    return output == embedding ? bytes : bytes - bytes_of(embedding);
}

}  // namespace vitrine
