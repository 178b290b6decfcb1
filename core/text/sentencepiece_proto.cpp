#include "core/text/sentencepiece_proto.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/replace.h"
#include "core/text/text_set.h"

namespace vitrine {

namespace {

// Longer pieces are none that a text can become: the library's time grows with the length of pieces, and it
// walks unused ones apart by recursion. Published vocabularies stay below 300 bytes.
constexpr std::size_t kLongestUnused = 256;

constexpr std::string_view kZero("\0", 1);
constexpr std::string_view kZeroStandsFor = "\xF4\x8F\xBF\xBF";  // U+10FFFF, a noncharacter

// Types of sentencepiece_model.proto; the GGUF specification took its numbers from there.
enum class PieceType : std::uint8_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6
};

void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(value | 0x80U));
    out.push_back(static_cast<char>(value));
}
void put_number(std::string& out, unsigned field, std::uint64_t value) {
    put_varint(out, field << 3U);
    put_varint(out, value);
}
void put_bytes(std::string& out, unsigned field, std::string_view bytes) {
    put_varint(out, (field << 3U) | 2U);
    put_varint(out, bytes.size());
    out += bytes;
}
void put_float(std::string& out, unsigned field, float value) {
    put_varint(out, (field << 3U) | 5U);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(bits >> shift));
}

class Assembler {
  public:
    Assembler(const VocabularyData& data, const SentencePieceOptions& options)
        : data_(data), options_(options), taken_(data.tokens.size()) {
        result_.byte_pieces.fill(-1);
    }

    SentencePieceProto run() {
        const std::size_t count = data_.tokens.size();
        result_.swaps_zero = options_.unigram && has_zero();
        // User-defined tokens come first in a text, so they come first here where a spelling occurs twice.
        if (options_.knows_symbols) {
            symbol_.assign(count, false);
            for (std::size_t i = 0; i < count; ++i) {
                if (type_of(i) == TokenType::UserDefined) symbol_[i] = taken_.insert(spelling(i)) == nullptr;
            }
        }
        result_.bytes.reserve(count * 24);
        for (std::size_t i = 0; i < count; ++i) add_token(i);
        add("\xFFunknown", 0.0F, PieceType::Unknown);
        for (unsigned byte = 0; byte < 256; ++byte) {
            if (result_.byte_pieces[byte] < 0) add_byte(static_cast<std::uint8_t>(byte));
        }
        add_specs();
        return std::move(result_);
    }

  private:
    TokenType type_of(std::size_t i) const {
        return data_.types.empty() ? TokenType::Normal : data_.types[i];
    }

    bool has_zero() const {
        for (const std::string& token : data_.tokens) {
            if (token.find('\0') != std::string::npos) return true;
        }
        return false;
    }

    // As long as this object lives.
    std::string_view spelling(std::size_t i) {
        const std::string& stored = data_.tokens[i];
        if (!result_.swaps_zero && stored.find(' ') == std::string::npos) return stored;
        const std::string text = escaped_piece(stored);
        return spellings_.emplace_back(result_.swaps_zero ? swapped(text, kZero, kZeroStandsFor) : text);
    }

    void add(std::string_view text, float score, PieceType type) {
        piece_.clear();
        put_bytes(piece_, 1, text);
        put_float(piece_, 2,
                  std::isfinite(score) ? score
                  : score > 0          ? std::numeric_limits<float>::max()
                                       : std::numeric_limits<float>::lowest());
        put_number(piece_, 3, static_cast<std::uint64_t>(type));
        put_bytes(result_.bytes, 1, piece_);
        ++added_;
    }

    void add_byte(std::uint8_t byte) {
        constexpr std::string_view kDigits = "0123456789ABCDEF";
        std::string text = "<0x";
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
        text += '>';
        result_.byte_pieces[byte] = added_;
        add(text, 0.0F, PieceType::Byte);
    }

    void add_private() { add("\xFF" + std::to_string(added_), 0.0F, PieceType::Control); }

    void add_token(std::size_t i) {
        const TokenType type = type_of(i);
        if (type == TokenType::Byte) {
            const std::int32_t byte = byte_of_piece(data_.tokens[i]);
            if (byte < 0 || result_.byte_pieces[static_cast<std::size_t>(byte)] >= 0) return add_private();
            result_.byte_ids[static_cast<std::size_t>(byte)] = TokenId(added_);
            return add_byte(static_cast<std::uint8_t>(byte));
        }
        const bool symbol = type == TokenType::UserDefined;
        const bool ordinary =
            type == TokenType::Normal || type == TokenType::Undefined || type == TokenType::Unused;
        if (data_.tokens[i].empty() || !(ordinary || (symbol && options_.knows_symbols)))
            return add_private();
        if (data_.tokens[i].size() > (type == TokenType::Unused ? kLongestUnused : kLongestPiece))
            return add_private();
        const std::string_view text = spelling(i);
        // A text such as "<0x41>" is six characters, whatever is spelled so: the library would take it for
        // the byte.
        if (symbol ? !symbol_[i] : byte_of_piece(text) >= 0 || taken_.insert(text) != nullptr)
            return add_private();
        add(text, data_.scores[i],
            symbol                      ? PieceType::UserDefined
            : type == TokenType::Unused ? PieceType::Unused
                                        : PieceType::Normal);
    }

    void add_specs() {
        std::string trainer;
        put_number(trainer, 3, options_.unigram ? 1 : 2);
        put_number(trainer, 24,
                   static_cast<std::uint64_t>(options_.normalizes && data_.space_as_suffix.value_or(false)));
        put_number(trainer, 35, 1);  // byte_fallback: what is unknown comes as bytes, and is taken from there
        put_bytes(result_.bytes, 2, trainer);
        std::string normalizer;
        put_bytes(normalizer, 1, "identity");
        if (options_.normalizes) put_bytes(normalizer, 2, data_.precompiled_charsmap);
        const auto flag = [&](unsigned field, bool value) {
            put_number(normalizer, field, static_cast<std::uint64_t>(options_.normalizes && value));
        };
        flag(3, data_.add_space_prefix.value_or(true));
        flag(4, data_.remove_extra_whitespaces.value_or(false));
        put_number(normalizer, 5, 1);  // escape_whitespaces
        put_bytes(result_.bytes, 3, normalizer);
    }

    const VocabularyData& data_;
    SentencePieceOptions options_;
    SentencePieceProto result_;
    TextSet taken_;                      // spellings, each once
    std::deque<std::string> spellings_;  // those that are not as stored
    std::vector<bool> symbol_;           // [tokens] user-defined, and the first of its spelling
    std::string piece_;                  // the message that is being put together
    std::int32_t added_ = 0;
};

}  // namespace

SentencePieceProto make_sentencepiece_proto(const VocabularyData& data, const SentencePieceOptions& options) {
    return Assembler(data, options).run();
}

std::int32_t byte_of_piece(std::string_view stored) {
    if (stored.size() != 6 || !stored.starts_with("<0x") || stored.back() != '>') return -1;
    std::int32_t value = -1;
    const char* end = stored.data() + 5;
    const auto read = std::from_chars(stored.data() + 3, end, value, 16);
    return read.ec == std::errc() && read.ptr == end && value >= 0 ? value : -1;
}

std::string escaped_piece(std::string_view stored) { return replaced(stored, " ", kSpaceSymbol); }

}  // namespace vitrine
