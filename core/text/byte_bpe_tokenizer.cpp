#include "core/text/byte_bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/text/bpe_merge.h"
#include "core/text/byte_alphabet.h"
#include "core/text/merge_rules.h"
#include "core/text/pair_table.h"
#include "core/text/pretokenizer.h"
#include "core/text/special_tokens.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

namespace {

// Merging counts bytes in 32 bits. A longer stretch is cut here, which no model's context comes near.
constexpr std::size_t kLongestStretch = std::size_t{1} << 30U;

class ByteBpeTokenizer final : public Tokenizer {
  public:
    ByteBpeTokenizer(VocabularyData data, const PretokenizerSpec& spec, Pretokenizer pretokenizer)
        : Tokenizer(std::move(data)),
          pretokenizer_(std::move(pretokenizer)),
          ignore_merges_(spec.ignore_merges) {
        read_tokens();
        MergeRules rules = read_merges(data_.merges, ordinary_);
        merges_ = std::move(rules.pairs);
        warnings_.insert(warnings_.end(), rules.warnings.begin(), rules.warnings.end());
        data_.merges.clear();
        data_.merges.shrink_to_fit();
        for (unsigned byte = 0; byte < byte_ids_.size(); ++byte) {
            const char text = static_cast<char>(byte);
            const auto found = ordinary_.find(std::string_view(&text, 1));
            byte_ids_[byte] = found == ordinary_.end() ? -1 : found->second;
        }
        warn_of_missing_bytes();
        ask_for_bos(spec.add_bos);
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
        for (const TokenId id : ids) all += bytes(id);
        return to_valid_utf8(all);
    }

    bool has_space_prefix() const override { return false; }

    std::optional<TokenId> find(std::string_view text) const override {
        std::optional<TokenId> lowest;
        for (const auto* table : {&ordinary_, &verbatim_}) {
            const auto found = table->find(text);
            if (found != table->end() && (!lowest || found->second < lowest->value))
                lowest = TokenId(found->second);
        }
        return lowest;
    }

  private:
    void read_tokens();
    void warn_of_missing_bytes();
    void encode_into(std::string_view text, std::span<const ByteRange> trusted,
                     std::vector<TokenId>& ids) const;
    void encode_plain(std::string_view text, std::vector<TokenId>& ids) const;
    void encode_stretch(std::string_view stretch, std::vector<BpeSymbol>& symbols,
                        std::vector<TokenId>& ids) const;

    Pretokenizer pretokenizer_;
    bool ignore_merges_ = false;
    std::string bytes_;                 // of all tokens, one after another
    std::vector<std::size_t> offsets_;  // [size + 1] into bytes_
    TokenTable ordinary_;               // what text may become: bytes -> lowest id
    TokenTable verbatim_;  // control and user-defined tokens, and texts outside the byte alphabet
    PairTable merges_{0};
    std::array<std::int32_t, 256> byte_ids_{};  // -1: the vocabulary lacks it
    SpecialTokens special_;
};

// Ordinary tokens are written in the byte alphabet, special ones as they are read. A control token never
// gets into the table that merges lead to, whatever its spelling: text alone must not become one.
void ByteBpeTokenizer::read_tokens() {
    const auto count = static_cast<std::size_t>(size());
    std::vector<bool> in_alphabet(count);
    offsets_.reserve(count + 1);
    offsets_.push_back(0);
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string& stored = data_.tokens[i];
        const auto decoded = bytes_of_alphabet(stored);
        const bool special = is_control(id) || type(id) == TokenType::UserDefined;
        in_alphabet[i] = decoded && !is_control(id) && (!special || *decoded == stored);
        bytes_ += decoded && !special ? *decoded : stored;
        offsets_.push_back(bytes_.size());
    }
    ordinary_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string_view text = bytes(id);
        if (text.empty()) continue;
        (in_alphabet[i] ? ordinary_ : verbatim_).try_emplace(text, id.value);
        if (is_control(id)) special_.add_control(text, id);
        if (type(id) == TokenType::UserDefined) special_.add_user_defined(text, id);
    }
    special_.finish();
}

// Bytes that no assigned character holds, and control characters, are lacking in published vocabularies too.
void ByteBpeTokenizer::warn_of_missing_bytes() {
    const auto in_use = [](unsigned byte) {
        return byte == '\t' || byte == '\n' || (byte >= 0x20 && byte <= 0x7E) ||
               (byte >= 0x80 && byte <= 0xF0 && byte != 0xC0 && byte != 0xC1);
    };
    std::size_t missing = 0;
    for (unsigned byte = 0; byte < byte_ids_.size(); ++byte) {
        if (byte_ids_[byte] < 0 && in_use(byte)) ++missing;
    }
    if (missing == 0) return;
    warnings_.push_back(
        "The vocabulary has no token for " + std::to_string(missing) +
        " byte values that ordinary text uses; such characters are left out of what the model reads.");
}

void ByteBpeTokenizer::encode_into(std::string_view text, std::span<const ByteRange> trusted,
                                   std::vector<TokenId>& ids) const {
    std::size_t position = 0;
    for (const SpecialHit& hit : special_.find(text, trusted)) {
        encode_plain(text.substr(position, hit.begin - position), ids);
        ids.push_back(hit.id);
        position = hit.end;
    }
    encode_plain(text.substr(position), ids);
}

void ByteBpeTokenizer::encode_plain(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    std::string storage;
    std::vector<BpeSymbol> symbols;
    for (std::string_view stretch : pretokenizer_.split(pretokenizer_.normalized(text, storage))) {
        for (; stretch.size() > kLongestStretch; stretch.remove_prefix(kLongestStretch)) {
            encode_stretch(stretch.substr(0, kLongestStretch), symbols, ids);
        }
        encode_stretch(stretch, symbols, ids);
    }
}

void ByteBpeTokenizer::encode_stretch(std::string_view stretch, std::vector<BpeSymbol>& symbols,
                                      std::vector<TokenId>& ids) const {
    if (ignore_merges_) {
        const auto whole = ordinary_.find(stretch);
        if (whole != ordinary_.end()) {
            ids.emplace_back(whole->second);
            return;
        }
    }
    symbols.clear();
    for (std::size_t i = 0; i < stretch.size(); ++i) {
        const std::int32_t id = byte_ids_[static_cast<std::uint8_t>(stretch[i])];
        // A byte that the vocabulary lacks is dropped before merging, as the reference does.
        if (id >= 0) symbols.push_back({id, static_cast<std::uint32_t>(i), 1});
    }
    bpe_merge(symbols, [this](const BpeSymbol& left, const BpeSymbol& right) {
        return merges_.find(left.id, right.id);
    });
    for (const BpeSymbol& symbol : symbols) ids.emplace_back(symbol.id);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_byte_bpe_tokenizer(VocabularyData data) {
    std::string name = data.pre.value_or("");
    if (name.empty()) {
        name = "gpt2";
        data.warnings.emplace_back(
            "The model file does not name its pre-tokenizer; \"gpt2\" is used, and answers may be worse than "
            "they "
            "should be. A file converted again with a current converter names it.");
    }
    const PretokenizerSpec* spec = find_pretokenizer(name);
    if (spec == nullptr) {
        return Error{ErrorKind::Unsupported,
                     "The vocabulary needs the pre-tokenizer \"" + name +
                         "\", which is not known; any other one would quietly make the model worse. Known: " +
                         known_pretokenizers() + "."};
    }
    VITRINE_TRY(Pretokenizer pretokenizer, Pretokenizer::make(*spec));
    return std::unique_ptr<Tokenizer>(
        std::make_unique<ByteBpeTokenizer>(std::move(data), *spec, std::move(pretokenizer)));
}

}  // namespace vitrine
