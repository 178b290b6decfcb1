#include "tests/unit/io/small_model.h"

#include <cmath>
#include <fstream>

#include "core/io/ggml_types.h"
#include "core/quant/round_to_nearest.h"

namespace vitrine::test {

std::uint64_t Noise::next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
}

float Noise::uniform() { return static_cast<float>(static_cast<double>(next() >> 11U) * 0x1p-52 - 1.0); }

namespace {

std::string utf8(char32_t c) {
    if (c < 0x80) return {static_cast<char>(c)};
    return {static_cast<char>(0xC0U | (c >> 6U)), static_cast<char>(0x80U | (c & 0x3FU))};
}

// The alphabet of byte-level BPE: printable bytes stand for themselves, the others for U+0100 and up.
std::vector<std::string> byte_alphabet() {
    std::vector<std::string> alphabet;
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
        const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        alphabet.push_back(utf8(itself ? byte : next++));
    }
    return alphabet;
}

struct Vocabulary {
    std::vector<std::string> tokens;
    std::vector<std::int32_t> types;
    std::vector<std::string> merges;
};

Vocabulary make_vocabulary(std::uint32_t size) {
    constexpr std::int32_t kNormal = 1;
    constexpr std::int32_t kControl = 3;
    Vocabulary out;
    for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
        out.tokens.emplace_back(text);
        out.types.push_back(kControl);
    }
    for (const std::string& byte : byte_alphabet()) {
        out.tokens.push_back(byte);
        out.types.push_back(kNormal);
    }
    // Pairs in an order of their own, "he" first.
    for (std::uint32_t i = 0; i < 26 * 26 && out.tokens.size() < size; ++i) {
        const std::uint32_t pair =
            (i * 105 + 186) % (26 * 26);  // 7·26 + 4 = 186 is "he"; 105 and 676 share no factor
        const std::string left(1, static_cast<char>('a' + pair / 26));
        const std::string right(1, static_cast<char>('a' + pair % 26));
        out.tokens.push_back(left + right);
        out.types.push_back(kNormal);
        out.merges.push_back(left + " " + right);
    }
    for (std::uint32_t i = 0; out.tokens.size() < size; ++i) {
        out.tokens.push_back("[extra " + std::to_string(i) + "]");
        out.types.push_back(kNormal);
    }
    out.tokens.resize(size);
    out.types.resize(size);
    return out;
}

Bytes matrix(Noise& noise, DType type, std::uint64_t cols, std::uint64_t rows, float scale) {
    const auto width = static_cast<std::int64_t>(cols);
    const std::uint64_t stride = row_bytes(type, width).value_or(0);
    Bytes out(stride * rows);
    std::vector<float> row(cols);
    for (std::uint64_t r = 0; r < rows; ++r) {
        for (float& weight : row) weight = scale * noise.uniform();
        quantize_row(type, row.data(), width, out.data() + r * stride);
    }
    return out;
}

Bytes norm(Noise& noise, std::uint64_t size) {
    Bytes out;
    for (std::uint64_t i = 0; i < size; ++i) {
        const Bytes one = le(1.0F + 0.25F * noise.uniform());
        out.insert(out.end(), one.begin(), one.end());
    }
    return out;
}

}  // namespace

GgufBuilder small_model(const SmallModelOptions& o) {
    const std::uint64_t head = o.embedding / o.heads;
    const std::uint64_t kv = head * o.kv_heads;
    const std::uint64_t rows = std::uint64_t{o.vocab} + o.padding_rows;
    const Vocabulary vocabulary = make_vocabulary(o.vocab);

    GgufBuilder b;
    b.set_string("general.architecture", "llama").set_string("general.name", o.name);
    b.set_u32("llama.block_count", o.layers).set_u32("llama.context_length", o.context);
    b.set_u32("llama.embedding_length", o.embedding).set_u32("llama.feed_forward_length", o.feed_forward);
    b.set_u32("llama.attention.head_count", o.heads).set_u32("llama.attention.head_count_kv", o.kv_heads);
    b.set_f32("llama.attention.layer_norm_rms_epsilon", 1e-5F).set_f32("llama.rope.freq_base", o.rope_base);
    b.set_u32("llama.rope.dimension_count", static_cast<std::uint32_t>(head))
        .set_u32("llama.vocab_size", o.vocab);
    b.set_string("tokenizer.ggml.model", "gpt2").set_string("tokenizer.ggml.pre", o.pre);
    b.set("tokenizer.ggml.tokens", 9, str_array(vocabulary.tokens));
    b.set("tokenizer.ggml.token_type", 9, number_array(5, vocabulary.types));
    b.set("tokenizer.ggml.merges", 9, str_array(vocabulary.merges));
    b.set_u32("tokenizer.ggml.bos_token_id", 1).set_u32("tokenizer.ggml.eos_token_id", 2);
    b.set_u32("tokenizer.ggml.unknown_token_id", 0).set_u32("tokenizer.ggml.padding_token_id", 2);
    b.set_bool("tokenizer.ggml.add_bos_token", false);
    if (o.chat_template) b.set_string("tokenizer.chat_template", *o.chat_template);

    // Scaled so that activations stay near one and the logits spread enough for clear winners.
    Noise noise(o.seed);
    const auto add = [&](const std::string& name, std::uint64_t cols, std::uint64_t height, float gain) {
        const float scale = gain * std::sqrt(3.0F / static_cast<float>(cols));
        b.add_tensor(name, {cols, height}, ggml_type_id(o.dtype),
                     matrix(noise, o.dtype, cols, height, scale));
    };
    const auto add_norm = [&](const std::string& name) {
        b.add_tensor(name, {o.embedding}, 0, norm(noise, o.embedding));
    };
    add("token_embd.weight", o.embedding, rows, 4.0F);
    add_norm("output_norm.weight");
    if (!o.tied) add("output.weight", o.embedding, rows, 4.0F);
    for (std::uint32_t i = 0; i < o.layers; ++i) {
        const std::string block = "blk." + std::to_string(i) + ".";
        add_norm(block + "attn_norm.weight");
        add(block + "attn_q.weight", o.embedding, head * o.heads, 1.5F);
        add(block + "attn_k.weight", o.embedding, kv, 1.5F);
        add(block + "attn_v.weight", o.embedding, kv, 1.0F);
        add(block + "attn_output.weight", head * o.heads, o.embedding, 1.0F);
        add_norm(block + "ffn_norm.weight");
        add(block + "ffn_gate.weight", o.embedding, o.feed_forward, 1.5F);
        add(block + "ffn_up.weight", o.embedding, o.feed_forward, 1.5F);
        add(block + "ffn_down.weight", o.feed_forward, o.embedding, 1.0F);
    }
    return b;
}

bool write_file(const std::filesystem::path& path, const Bytes& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(out.flush());
}

bool write_small_model(const std::filesystem::path& path, const SmallModelOptions& options) {
    return write_file(path, small_model_bytes(options));
}

}  // namespace vitrine::test
