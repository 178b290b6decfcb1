// Small valid models with random weights, for every test that needs one: they load, run and know nothing.
//
// The vocabulary is byte-level BPE: three control tokens (0 <|endoftext|>, 1 <|im_start|>, 2 <|im_end|>,
// which ends an answer), the 256 bytes, then merged pairs of letters, then tokens that no text reaches. The
// same options give the same bytes on every machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "kernels/tensor.h"
#include "tests/unit/io/gguf_builder.h"

namespace vitrine::test {

struct SmallModelOptions {
    std::uint32_t vocab = 260;
    std::uint32_t padding_rows = 0;  // rows of the embedding beyond the vocabulary
    std::uint32_t layers = 1;
    std::uint32_t embedding = 64;
    std::uint32_t heads = 4;
    std::uint32_t kv_heads = 2;
    std::uint32_t feed_forward = 96;
    std::uint32_t context = 256;
    std::uint64_t seed = 1;
    bool tied = true;
    DType dtype = DType::F32;  // of the matrices
    float rope_base = 10000.0F;
    std::string pre = "gpt2";
    std::optional<std::string> chat_template =
        "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
        "'<|im_end|>\\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
    std::string name = "small test model";
};

// To change one thing in it and see what happens.
GgufBuilder small_model(const SmallModelOptions& options = {});

inline Bytes small_model_bytes(const SmallModelOptions& options = {}) { return small_model(options).bytes(); }

// False where the file cannot be written.
bool write_file(const std::filesystem::path& path, const Bytes& bytes);
bool write_small_model(const std::filesystem::path& path, const SmallModelOptions& options = {});

// Uniform in [-1, 1): splitmix64 (Steele, Lea, Flood 2014).
class Noise {
  public:
    explicit Noise(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();
    float uniform();

  private:
    std::uint64_t state_;
};

}  // namespace vitrine::test
