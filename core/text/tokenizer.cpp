#include "core/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/text/bpe_tokenizer.h"
#include "core/text/sentencepiece_tokenizer.h"
#include "core/text/text_set.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

namespace {

// End names that publishers use for a control token. An ordinary token with such a text is an ordinary token.
constexpr std::array<std::string_view, 21> kEndNames = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|end_of_text|>",
    "<|endofturn|>",
    "<|eot|>",
    "<|eom|>",
    "<|return|>",
    "<|call|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "</s>",
    "<eos>",
    "<EOT>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81"
    "of\xE2\x96\x81"
    "sentence\xEF\xBD\x9C>",  // fullwidth bars, U+2581 between words
    "[EOS]",
    "[EOT]",
};

void check_id(std::optional<TokenId>& id, std::string_view name, std::size_t size,
              std::vector<std::string>& warnings) {
    if (!id || (id->value >= 0 && static_cast<std::size_t>(id->value) < size)) return;
    warnings.push_back("The " + std::string(name) + " token id " + std::to_string(id->value) +
                       " lies outside the vocabulary of " + std::to_string(size) +
                       " tokens; it is not used.");
    id.reset();
}

void warn_of_duplicates(const VocabularyData& data, std::vector<std::string>& warnings) {
    const std::vector<std::string>& tokens = data.tokens;
    TextSet texts(tokens.size());
    std::size_t duplicates = 0;
    std::string example;
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        // Unused ids between others have no text.
        if (tokens[id].empty() && !data.types.empty() && data.types[id] == TokenType::Unused) continue;
        if (texts.insert(tokens[id]) == nullptr || duplicates++ > 0) continue;
        const auto first = std::find(tokens.begin(), tokens.end(), tokens[id]) - tokens.begin();
        example = std::to_string(first) + " and " + std::to_string(id);
    }
    if (duplicates == 0) return;
    warnings.push_back("The vocabulary holds " + std::to_string(duplicates) +
                       " token texts a second time (first: ids " + example +
                       "); text always becomes the lowest id.");
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::make(VocabularyData data) {
    if (data.tokens.empty()) {
        return Error{ErrorKind::BadFile,
                     "The vocabulary holds no tokens, so no text can be read or written; the model file is "
                     "incomplete."};
    }
    if (data.tokens.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        return Error{ErrorKind::BadFile, "The vocabulary holds " + std::to_string(data.tokens.size()) +
                                             " tokens; at most 2147483647 can be numbered."};
    }
    const auto fits = [&](std::size_t count) { return count == 0 || count == data.tokens.size(); };
    if (!fits(data.types.size()) || !fits(data.scores.size())) {
        const bool types = !fits(data.types.size());
        return Error{ErrorKind::BadFile,
                     "The vocabulary holds " + std::to_string(data.tokens.size()) + " tokens but " +
                         std::to_string(types ? data.types.size() : data.scores.size()) +
                         (types ? " token types" : " token scores") + "; the model file is damaged."};
    }
    if (data.model == "gpt2" || (data.model == "bpe" && data.rules))
        return make_bpe_tokenizer(std::move(data));
    if (data.model == "llama" || data.model == "t5") return make_sentencepiece_tokenizer(std::move(data));
    return Error{
        ErrorKind::Unsupported,
        "The vocabulary is of the kind \"" + data.model +
            "\", which is not known; known kinds: gpt2 (byte-level BPE), llama and t5 (SentencePiece)."};
}

Tokenizer::Tokenizer(VocabularyData data) : data_(std::move(data)), warnings_(data_.warnings) {
    const std::size_t count = data_.tokens.size();
    check_id(data_.bos, "beginning-of-text", count, warnings_);
    check_id(data_.eos, "end-of-text", count, warnings_);
    check_id(data_.eot, "end-of-turn", count, warnings_);
    check_id(data_.eom, "end-of-message", count, warnings_);
    check_id(data_.unk, "unknown", count, warnings_);
    check_id(data_.pad, "padding", count, warnings_);
    warn_of_duplicates(data_, warnings_);

    for (const auto& id : {data_.eos, data_.eot, data_.eom}) {
        if (id) eog_.push_back(*id);
    }
    for (const TokenId id : data_.extra_eog) {
        if (valid(id)) {
            eog_.push_back(id);
        } else {
            warnings_.push_back("The end-of-generation id " + std::to_string(id.value) +
                                " lies outside the vocabulary of " + std::to_string(count) +
                                " tokens; it is not used.");
        }
    }
    for (std::int32_t i = 0; i < size(); ++i) {
        const TokenId id(i);
        if (is_control(id) && std::find(kEndNames.begin(), kEndNames.end(),
                                        data_.tokens[static_cast<std::size_t>(i)]) != kEndNames.end()) {
            eog_.push_back(id);
        }
    }
    std::sort(eog_.begin(), eog_.end());
    eog_.erase(std::unique(eog_.begin(), eog_.end()), eog_.end());
}

void Tokenizer::ask_for_bos(bool where_the_file_does_not_say) {
    add_bos_ = data_.add_bos.value_or(where_the_file_does_not_say);
    add_eos_ = data_.add_eos.value_or(false);
    if (add_bos_ && !data_.bos) {
        if (data_.add_bos) {
            warnings_.emplace_back(
                "The model file asks for a beginning-of-text token in front of every text but names none; "
                "none is "
                "added.");
        }
        add_bos_ = false;
    }
    if (add_eos_ && !data_.eos) {
        warnings_.emplace_back(
            "The model file asks for an end-of-text token behind every text but names none; none is added.");
        add_eos_ = false;
    }
}

void Tokenizer::put_bos(std::vector<TokenId>& ids) const {
    if (add_bos_ && (ids.empty() || ids.front() != *data_.bos)) ids.insert(ids.begin(), *data_.bos);
}

void Tokenizer::put_eos(std::vector<TokenId>& ids) const {
    if (add_eos_ && (ids.empty() || ids.back() != *data_.eos)) ids.push_back(*data_.eos);
}

void Tokenizer::add_bytes(std::string_view bytes) {
    bytes_ += bytes;
    offsets_.push_back(bytes_.size());
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool parse_special, bool add_special) const {
    const ByteRange all{0, text.size()};
    std::vector<TokenId> ids;
    encode_into(text, std::span(&all, parse_special ? 1U : 0U), ids);
    if (add_special) {
        put_bos(ids);
        put_eos(ids);
    }
    return ids;
}

std::vector<TokenId> Tokenizer::encode_prompt(const TrustedText& text) const {
    std::vector<TokenId> ids;
    encode_into(text.text, text.trusted, ids);
    put_bos(ids);
    return ids;
}

std::string_view Tokenizer::bytes(TokenId id) const {
    if (!valid(id)) return {};
    const auto i = static_cast<std::size_t>(id.value);
    return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
    std::string all;
    bool drop_space = drops_space_;
    for (const TokenId id : ids) {
        std::string_view piece = bytes(id);
        if (drop_space && !piece.empty() && !is_control(id)) {
            drop_space = false;
            if (piece.front() == ' ') piece.remove_prefix(1);
        }
        all += piece;
    }
    return to_valid_utf8(all);
}

std::int32_t Tokenizer::size() const { return static_cast<std::int32_t>(data_.tokens.size()); }

TokenType Tokenizer::type(TokenId id) const {
    if (!valid(id)) return TokenType::Undefined;
    return data_.types.empty() ? TokenType::Normal : data_.types[static_cast<std::size_t>(id.value)];
}

bool Tokenizer::is_end_of_generation(TokenId id) const {
    return std::binary_search(eog_.begin(), eog_.end(), id);
}

}  // namespace vitrine
