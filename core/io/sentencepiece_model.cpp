#include "core/io/sentencepiece_model.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/io/printable.h"
#include "core/io/tokenizer_config.h"

namespace vitrine {

namespace {

Error damaged(std::string_view what) {
    return Error{ErrorKind::BadFile, "SentencePiece model: " + std::string(what) +
                                         "; the file is damaged, cut off, or no SentencePiece model."};
}

// One field of a message: its number and its value, as the wire format has it.
struct Field {
    std::uint32_t number = 0;
    enum class Wire : std::uint8_t { Varint, Fixed64, Bytes, Fixed32 } wire = Wire::Varint;
    std::uint64_t value = 0;  // of a number
    std::string_view bytes;   // of Bytes

    bool is(std::uint32_t n, Wire w) const { return number == n && wire == w; }
};

// Reads the fields of a message one after another; never beyond its bytes.
class Message {
  public:
    explicit Message(std::string_view bytes) : rest_(bytes) {}
    bool at_end() const { return rest_.empty(); }

    // None where the bytes are no field.
    std::optional<Field> next() {
        const auto tag = varint();
        if (!tag || (*tag >> 3U) == 0 || (*tag >> 3U) > 0x1FFFFFFFU) return std::nullopt;
        Field field;
        field.number = static_cast<std::uint32_t>(*tag >> 3U);
        switch (*tag & 7U) {
            case 0: {
                const auto value = varint();
                if (!value) return std::nullopt;
                field.value = *value;
                return field;
            }
            case 1: field.wire = Field::Wire::Fixed64; return fixed(field, 8);
            case 2: {
                const auto size = varint();
                if (!size || *size > rest_.size()) return std::nullopt;
                field.wire = Field::Wire::Bytes;
                field.bytes = rest_.substr(0, static_cast<std::size_t>(*size));
                rest_.remove_prefix(static_cast<std::size_t>(*size));
                return field;
            }
            case 5: field.wire = Field::Wire::Fixed32; return fixed(field, 4);
            default: return std::nullopt;  // groups: not in use since 2001
        }
    }

  private:
    std::optional<std::uint64_t> varint() {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 10 && i < rest_.size(); ++i) {
            const auto byte = static_cast<std::uint8_t>(rest_[i]);
            if (i == 9 && byte > 1) return std::nullopt;
            value |= std::uint64_t{byte & 0x7FU} << (7U * i);
            if (byte < 0x80) {
                rest_.remove_prefix(i + 1);
                return value;
            }
        }
        return std::nullopt;
    }
    std::optional<Field> fixed(Field field, std::size_t size) {
        if (rest_.size() < size) return std::nullopt;
        for (std::size_t i = 0; i < size; ++i) {
            field.value |= std::uint64_t{static_cast<std::uint8_t>(rest_[i])} << (8U * i);
        }
        rest_.remove_prefix(size);
        return field;
    }

    std::string_view rest_;
};

// Calls use(field) for every field; an error where the bytes are no message.
template <class Use>
Status for_each_field(std::string_view bytes, std::string_view name, const Use& use) {
    Message message(bytes);
    while (!message.at_end()) {
        const auto field = message.next();
        if (!field) return damaged("the message " + std::string(name) + " ends inside a field");
        use(*field);
    }
    return {};
}

// Field numbers and defaults are those of sentencepiece_model.proto.
struct TrainerSpec {
    std::uint64_t model_type = 1;
    bool space_as_suffix = false;
    std::string unk = "<unk>", bos = "<s>", eos = "</s>", pad = "<pad>";
};
struct NormalizerSpec {
    bool add_dummy_prefix = true;
    bool remove_extra_whitespaces = true;
    bool escape_whitespaces = true;
};

Status read_piece(std::string_view bytes, VocabularyData& data) {
    std::string text;
    float score = 0.0F;
    std::uint64_t type = 1;
    VITRINE_CHECK(for_each_field(bytes, "SentencePiece", [&](const Field& field) {
        if (field.is(1, Field::Wire::Bytes)) text = field.bytes;
        if (field.is(2, Field::Wire::Fixed32))
            score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        if (field.is(3, Field::Wire::Varint)) type = field.value;
    }));
    if (!std::isfinite(score)) {
        return damaged("the score of piece " + std::to_string(data.tokens.size()) +
                       " is not a finite number");
    }
    if (type < 1 || type > 6) {
        return damaged("piece " + std::to_string(data.tokens.size()) + " has the type " +
                       std::to_string(type) + ", which does not exist");
    }
    data.tokens.push_back(std::move(text));
    data.scores.push_back(score);
    data.types.push_back(static_cast<TokenType>(type));
    return {};
}

Status read_trainer(std::string_view bytes, TrainerSpec& spec) {
    return for_each_field(bytes, "TrainerSpec", [&](const Field& field) {
        if (field.is(3, Field::Wire::Varint)) spec.model_type = field.value;
        if (field.is(24, Field::Wire::Varint)) spec.space_as_suffix = field.value != 0;
        if (field.is(45, Field::Wire::Bytes)) spec.unk = field.bytes;
        if (field.is(46, Field::Wire::Bytes)) spec.bos = field.bytes;
        if (field.is(47, Field::Wire::Bytes)) spec.eos = field.bytes;
        if (field.is(48, Field::Wire::Bytes)) spec.pad = field.bytes;
    });
}

Status read_normalizer(std::string_view bytes, NormalizerSpec& spec, std::string& charsmap) {
    return for_each_field(bytes, "NormalizerSpec", [&](const Field& field) {
        if (field.is(2, Field::Wire::Bytes)) charsmap = field.bytes;
        if (field.is(3, Field::Wire::Varint)) spec.add_dummy_prefix = field.value != 0;
        if (field.is(4, Field::Wire::Varint)) spec.remove_extra_whitespaces = field.value != 0;
        if (field.is(5, Field::Wire::Varint)) spec.escape_whitespaces = field.value != 0;
    });
}

// As the library does it: by the texts that the trainer was told, where such a control token exists.
void name_reserved(const TrainerSpec& trainer, VocabularyData& data) {
    for (std::size_t i = 0; i < data.tokens.size(); ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        if (data.types[i] == TokenType::Unknown && !data.unk) data.unk = id;
        if (data.types[i] != TokenType::Control) continue;
        if (data.tokens[i] == trainer.bos && !data.bos) data.bos = id;
        if (data.tokens[i] == trainer.eos && !data.eos) data.eos = id;
        if (data.tokens[i] == trainer.pad && !data.pad) data.pad = id;
    }
}

}  // namespace

Result<VocabularyData> read_sentencepiece_model(std::string_view bytes, std::string_view config_json) {
    VocabularyData data;
    TrainerSpec trainer;
    NormalizerSpec normalizer;
    Status inner;
    VITRINE_CHECK(for_each_field(bytes, "ModelProto", [&](const Field& field) {
        if (!inner.ok()) return;
        if (field.is(1, Field::Wire::Bytes)) inner = read_piece(field.bytes, data);
        if (field.is(2, Field::Wire::Bytes)) inner = read_trainer(field.bytes, trainer);
        if (field.is(3, Field::Wire::Bytes)) {
            inner = read_normalizer(field.bytes, normalizer, data.precompiled_charsmap);
        }
    }));
    VITRINE_CHECK(inner);
    if (data.tokens.empty()) return damaged("it holds no pieces");
    if (trainer.model_type != 1 && trainer.model_type != 2) {
        return Error{ErrorKind::Unsupported,
                     "SentencePiece model: it is of the kind " + std::to_string(trainer.model_type) +
                         " (3: words, 4: characters), which is not known; known: 1 (Unigram) and 2 (BPE)."};
    }
    if (!normalizer.escape_whitespaces) {
        return Error{
            ErrorKind::Unsupported,
            "SentencePiece model: it keeps spaces as they are (escape_whitespaces is off), which is not "
            "known."};
    }
    data.model = trainer.model_type == 2 ? "llama" : "t5";
    data.add_space_prefix = normalizer.add_dummy_prefix;
    data.remove_extra_whitespaces = normalizer.remove_extra_whitespaces;
    data.space_as_suffix = trainer.space_as_suffix;
    name_reserved(trainer, data);

    VITRINE_TRY(const TokenizerConfig config, read_tokenizer_config(config_json));
    VITRINE_CHECK(add_listed_tokens(config.added, data));
    // The unknown token keeps its type, whatever the list says.
    if (data.unk) data.types[static_cast<std::size_t>(data.unk->value)] = TokenType::Unknown;
    name_special_tokens(config, data);
    data.add_bos = config.add_bos;
    data.add_eos = config.add_eos;
    return data;
}

}  // namespace vitrine
