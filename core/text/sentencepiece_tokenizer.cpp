// SentencePiece's BPE (Kudo and Richardson 2018, "SentencePiece: A simple and language independent subword
// tokenizer"): spaces become U+2581, one is put in front of a text where the vocabulary asks for it, and of
// all neighbouring pieces those are joined first whose joint text has the highest score. What is no piece
// then is spelled with byte tokens. Written here because the library of that name refuses or aborts on
// vocabularies that exist (texts that occur twice, no unknown piece), and knows nothing of trusted text.
#include "core/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/text/bpe_merge.h"
#include "core/text/special_tokens.h"
#include "core/text/utf8.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581
// Merging counts bytes in 32 bits. A longer text is cut here, which no model's context comes near.
constexpr std::size_t kLongestText = std::size_t{1} << 30U;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t found = 0; (found = text.find(from)) != std::string_view::npos;) {
        result += text.substr(0, found);
        result += to;
        text.remove_prefix(found + from.size());
    }
    result += text;
    return result;
}

// "<0x0A>" -> 10. Exactly two hexadecimal digits.
std::optional<std::uint8_t> byte_of(std::string_view stored) {
    if (stored.size() != 6 || !stored.starts_with("<0x") || stored.back() != '>') return std::nullopt;
    unsigned value = 0;
    const char* end = stored.data() + 5;
    const auto read = std::from_chars(stored.data() + 3, end, value, 16);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return static_cast<std::uint8_t>(value);
}

class SentencePieceTokenizer final : public Tokenizer {
  public:
    explicit SentencePieceTokenizer(VocabularyData data)
        : Tokenizer(std::move(data)), space_prefix_(data_.add_space_prefix.value_or(true)) {
        read_ranks();
        read_tokens();
        ask_for_bos(true);
    }

    std::vector<TokenId> encode(std::string_view text, bool parse_special, bool add_special) const override {
        const ByteRange all{0, text.size()};
        std::vector<TokenId> ids;
        encode_into(text, std::span(&all, parse_special ? 1U : 0U), ids);
        if (add_special) {
            put_bos(ids);
            put_eos(ids);
        }
        return ids;
    }

    std::vector<TokenId> encode_prompt(const TrustedText& text) const override {
        std::vector<TokenId> ids;
        encode_into(text.text, text.trusted, ids);
        put_bos(ids);
        return ids;
    }

    std::string_view bytes(TokenId id) const override {
        if (!valid(id)) return {};
        const auto i = static_cast<std::size_t>(id.value);
        return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
    }

    std::string decode(std::span<const TokenId> ids) const override {
        std::string all;
        bool drop_space = space_prefix_;
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

    bool has_space_prefix() const override { return space_prefix_; }

    std::optional<TokenId> find(std::string_view text) const override {
        const auto found = by_bytes_.find(text);
        if (found == by_bytes_.end()) return std::nullopt;
        return TokenId(found->second);
    }

  private:
    void read_ranks();
    void read_tokens();
    void encode_into(std::string_view text, std::span<const ByteRange> trusted,
                     std::vector<TokenId>& ids) const;
    void encode_stretch(std::string_view text, std::vector<TokenId>& ids) const;
    void encode_piecewise(std::string_view text, std::vector<TokenId>& ids) const;
    void spell(std::string_view text, std::vector<TokenId>& ids) const;

    bool space_prefix_ = true;
    std::string bytes_;                 // of all tokens, one after another
    std::vector<std::size_t> offsets_;  // [size + 1] into bytes_
    std::vector<std::uint32_t> ranks_;  // [size] 0: the highest score; equal scores have equal ranks
    std::unordered_map<std::string_view, std::int32_t>
        pieces_;  // stored text of what text may become -> lowest id
    std::unordered_map<std::string_view, std::int32_t> by_bytes_;  // text as users see it -> lowest id
    std::size_t longest_piece_ = 0;                                // bytes
    std::array<TokenId, 256> byte_ids_{};
    SpecialTokens control_;       // in the text as it came
    SpecialTokens user_defined_;  // in the text with U+2581 for spaces
};

void SentencePieceTokenizer::read_ranks() {
    const auto count = static_cast<std::size_t>(size());
    std::vector<float> scores = data_.scores;
    std::size_t unusable = 0;
    for (float& score : scores) {
        if (!std::isnan(score)) continue;
        score = -std::numeric_limits<float>::infinity();
        ++unusable;
    }
    if (unusable > 0) {
        warnings_.push_back("Of the vocabulary's token scores, " + std::to_string(unusable) +
                            " are not numbers; those tokens are joined last.");
    }
    std::vector<float> distinct = scores;
    std::sort(distinct.begin(), distinct.end(), std::greater<>());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    ranks_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = std::lower_bound(distinct.begin(), distinct.end(), scores[i], std::greater<>());
        ranks_[i] = static_cast<std::uint32_t>(at - distinct.begin());
    }
}

// A control token never gets into the table that joining leads to, whatever its spelling: text alone must not
// become one. Byte tokens do not either: "<0x41>" in a text is six characters.
void SentencePieceTokenizer::read_tokens() {
    const auto count = static_cast<std::size_t>(size());
    offsets_.reserve(count + 1);
    offsets_.push_back(0);
    std::size_t odd_bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string& stored = data_.tokens[i];
        const auto byte = type(id) == TokenType::Byte ? byte_of(stored) : std::nullopt;
        if (byte) {
            bytes_ += static_cast<char>(*byte);
            if (!byte_ids_[*byte].valid()) byte_ids_[*byte] = id;
        } else if (is_control(id)) {
            bytes_ += stored;
        } else {
            bytes_ += replaced(stored, kSpace, " ");
        }
        odd_bytes += type(id) == TokenType::Byte && !byte;
        offsets_.push_back(bytes_.size());
    }
    if (odd_bytes > 0) {
        warnings_.push_back("The vocabulary holds " + std::to_string(odd_bytes) +
                            " byte tokens that are not written like <0x0A>; no text becomes one of them.");
    }
    pieces_.reserve(count);
    by_bytes_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string& stored = data_.tokens[i];
        if (!bytes(id).empty()) by_bytes_.try_emplace(bytes(id), id.value);
        if (stored.empty()) continue;
        if (is_control(id)) control_.add_control(stored, id);
        // Files write runs of spaces either way.
        if (type(id) == TokenType::UserDefined)
            user_defined_.add_user_defined(replaced(stored, " ", kSpace), id);
        if (type(id) == TokenType::Normal || type(id) == TokenType::Undefined) {
            pieces_.try_emplace(stored, id.value);
            longest_piece_ = std::max(longest_piece_, stored.size());
        }
    }
    control_.finish();
    user_defined_.finish();
    const bool all_bytes =
        std::all_of(byte_ids_.begin(), byte_ids_.end(), [](TokenId id) { return id.valid(); });
    if (!all_bytes && !data_.unk) {
        warnings_.emplace_back(
            "The vocabulary has neither a token for every byte nor an unknown token; characters that it "
            "lacks are left "
            "out of what the model reads.");
    }
}

// Each stretch of text between control tokens is a text of its own and gets its own space in front. A
// user-defined token does not begin a new stretch.
void SentencePieceTokenizer::encode_into(std::string_view text, std::span<const ByteRange> trusted,
                                         std::vector<TokenId>& ids) const {
    std::size_t position = 0;
    for (const SpecialHit& hit : control_.find(text, trusted)) {
        encode_stretch(text.substr(position, hit.begin - position), ids);
        ids.push_back(hit.id);
        position = hit.end;
    }
    encode_stretch(text.substr(position), ids);
}

void SentencePieceTokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    std::string spaced(space_prefix_ ? kSpace : std::string_view());
    spaced += replaced(text, " ", kSpace);
    const std::string_view all = spaced;
    std::size_t position = 0;
    for (const SpecialHit& hit : user_defined_.find(all, {})) {
        encode_piecewise(all.substr(position, hit.begin - position), ids);
        ids.push_back(hit.id);
        position = hit.end;
    }
    encode_piecewise(all.substr(position), ids);
}

void SentencePieceTokenizer::encode_piecewise(std::string_view text, std::vector<TokenId>& ids) const {
    for (; text.size() > kLongestText; text.remove_prefix(kLongestText)) {
        encode_piecewise(text.substr(0, kLongestText), ids);
    }
    const auto id_of = [&](std::string_view piece) {
        const auto found = pieces_.find(piece);
        return found == pieces_.end() ? -1 : found->second;
    };
    std::vector<BpeSymbol> symbols;
    symbols.reserve(text.size());
    for (std::size_t position = 0; position < text.size();) {
        const std::uint8_t bytes_of_one = next_utf8(text, position).size;
        symbols.push_back(
            {id_of(text.substr(position, bytes_of_one)), static_cast<std::uint32_t>(position), bytes_of_one});
        position += bytes_of_one;
    }
    bpe_merge(symbols, [&](const BpeSymbol& left, const BpeSymbol& right) {
        const std::size_t joint = std::size_t{left.size} + right.size;
        if (joint > longest_piece_) return BpeMerge{};
        const std::int32_t id = id_of(text.substr(left.begin, joint));
        return id < 0 ? BpeMerge{} : BpeMerge{ranks_[static_cast<std::size_t>(id)], id};
    });
    for (const BpeSymbol& symbol : symbols) {
        if (symbol.id >= 0) {
            ids.emplace_back(symbol.id);
        } else {
            spell(text.substr(symbol.begin, symbol.size), ids);
        }
    }
}

// A character that is no piece: its bytes, where the vocabulary has them all; else one unknown token.
void SentencePieceTokenizer::spell(std::string_view text, std::vector<TokenId>& ids) const {
    const auto id_of = [&](char c) { return byte_ids_[static_cast<std::uint8_t>(c)]; };
    if (std::all_of(text.begin(), text.end(), [&](char c) { return id_of(c).valid(); })) {
        for (const char c : text) ids.push_back(id_of(c));
    } else if (data_.unk && (ids.empty() || ids.back() != *data_.unk)) {
        ids.push_back(*data_.unk);  // once for a run of them
    }
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(VocabularyData data) {
    if (data.scores.empty()) {
        return Error{ErrorKind::BadFile,
                     "The vocabulary is of the kind \"llama\" (SentencePiece) but holds no token scores, "
                     "which say what "
                     "is joined first; the model file is incomplete."};
    }
    return std::unique_ptr<Tokenizer>(std::make_unique<SentencePieceTokenizer>(std::move(data)));
}

}  // namespace vitrine
