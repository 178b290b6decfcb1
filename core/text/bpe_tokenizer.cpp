#include "core/text/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>
#include <utility>

#include "core/text/bpe_merge.h"
#include "core/text/byte_alphabet.h"
#include "core/text/merge_rules.h"
#include "core/text/pair_table.h"
#include "core/text/pretokenizer.h"
#include "core/text/replace.h"
#include "core/text/sentencepiece_proto.h"
#include "core/text/special_tokens.h"
#include "core/text/text_pipeline.h"
#include "core/text/utf8.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

namespace {

// Merging counts bytes in 32 bits. A longer stretch is cut here, which no model's context comes near.
constexpr std::size_t kLongestStretch = std::size_t{1} << 30U;

// What lies between a text and its pieces: a pre-tokenizer by name, or a tokenizer.json's pipeline.
struct Front {
    std::optional<Pretokenizer> named;
    std::optional<TextPipeline> described;
    PipelineRules rules;  // of a named one: what it implies
};

class BpeTokenizer final : public Tokenizer {
  public:
    BpeTokenizer(VocabularyData data, Front front, bool adds_bos)
        : Tokenizer(std::move(data)), front_(std::move(front)), byte_level_(front_.rules.byte_level) {
        drops_space_ = front_.rules.drops_first_space;
        read_tokens();
        read_special();
        read_merge_table();
        if (byte_level_) find_bytes();
        warn_of_missing_bytes();
        ask_for_bos(adds_bos);
    }

    std::optional<TokenId> find(std::string_view text) const override {
        std::optional<TokenId> lowest;
        for (const auto* table : {&ordinary_, &verbatim_}) {
            if (table == &ordinary_ && !byte_level_) continue;  // its keys are not what users see
            const auto found = table->find(text);
            if (found != table->end() && (!lowest || found->second < lowest->value))
                lowest = TokenId(found->second);
        }
        return lowest;
    }

  private:
    void read_tokens();
    void read_special();
    void read_merge_table();
    void find_bytes();
    void warn_of_missing_bytes();
    void encode_into(std::string_view text, std::span<const ByteRange> trusted,
                     std::vector<TokenId>& ids) const override;
    void encode_plain(std::string_view text, bool first, std::vector<TokenId>& ids) const;
    void encode_normalized(std::string_view text, bool first, std::vector<TokenId>& ids) const;
    void encode_stretch(std::string_view stretch, std::vector<BpeSymbol>& symbols,
                        std::vector<TokenId>& ids) const;
    void split_bytes(std::string_view stretch, std::vector<BpeSymbol>& symbols) const;
    void split_characters(std::string_view stretch, std::vector<BpeSymbol>& symbols) const;

    Front front_;
    bool byte_level_ = true;
    std::size_t longest_ = 1;  // bytes of the longest token, as stored
    // What text may become: bytes (of characters: the text as stored) -> lowest id.
    TokenTable ordinary_;
    // Control and user-defined tokens, and texts outside the byte alphabet; of characters: every token, as
    // users see it.
    TokenTable verbatim_;
    PairTable merges_{0};
    std::array<std::int32_t, 256> byte_ids_{};  // -1: the vocabulary lacks it
    SpecialTokens special_;
    SpecialTokens normalized_;  // user-defined ones that are searched for in normalized text
};

// Ordinary tokens are written in the byte alphabet, special ones as they are read. A control token never
// gets into the table that merges lead to, whatever its spelling: text alone must not become one.
void BpeTokenizer::read_tokens() {
    const auto count = static_cast<std::size_t>(size());
    std::vector<bool> ordinary(count);
    byte_ids_.fill(-1);
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string& stored = data_.tokens[i];
        const bool special = is_control(id) || type(id) == TokenType::UserDefined;
        longest_ = std::max(longest_, stored.size());
        if (byte_level_) {
            const auto decoded = bytes_of_alphabet(stored);
            ordinary[i] = decoded && !is_control(id) && (!special || *decoded == stored);
            add_bytes(decoded && !special ? *decoded : stored);
            continue;
        }
        const std::int32_t byte = front_.rules.byte_fallback && !special ? byte_of_piece(stored) : -1;
        const char one = static_cast<char>(byte);
        if (byte >= 0) {
            byte_ids_[static_cast<std::size_t>(byte)] = id.value;
            add_bytes(std::string_view(&one, 1));
        } else if (is_control(id) || front_.rules.space_symbol.empty()) {
            add_bytes(stored);
        } else {
            add_bytes(replaced(stored, front_.rules.space_symbol, " "));
        }
        ordinary[i] = !is_control(id) && byte < 0;
    }
    ordinary_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string_view text = bytes(id);
        if (text.empty()) continue;
        if (byte_level_) {
            (ordinary[i] ? ordinary_ : verbatim_).try_emplace(text, id.value);
        } else {
            verbatim_.try_emplace(text, id.value);
            if (ordinary[i]) ordinary_.try_emplace(data_.tokens[i], id.value);
        }
    }
}

void BpeTokenizer::read_special() {
    const auto searched_in_normalized = [&](TokenId id) {
        const auto added =
            std::lower_bound(data_.added.begin(), data_.added.end(), id,
                             [](const AddedToken& a, TokenId wanted) { return a.id < wanted; });
        return added != data_.added.end() && added->id == id && added->normalized;
    };
    const bool normalizes = front_.described && front_.described->normalizes();
    for (std::int32_t i = 0; i < size(); ++i) {
        const TokenId id(i);
        const std::string& stored = data_.tokens[static_cast<std::size_t>(i)];
        if (stored.empty()) continue;
        // A control token is searched for where the text came from a template, which normalized text cannot
        // tell.
        if (is_control(id)) special_.add_control(stored, id);
        if (type(id) != TokenType::UserDefined) continue;
        if (normalizes && searched_in_normalized(id)) {
            normalized_.add_user_defined(front_.described->normalized(to_valid_utf8(stored)), id);
        } else {
            special_.add_user_defined(stored, id);
        }
    }
    for (SpecialTokens* tokens : {&special_, &normalized_}) {
        tokens->set_flags(data_.added);
        tokens->finish();
    }
}

void BpeTokenizer::read_merge_table() {
    if (data_.rules) {
        merges_ = PairTable(data_.merge_ids.size());
        // Of pairs that occur twice the last one counts, as in the library `tokenizers`.
        for (std::size_t rank = data_.merge_ids.size(); rank-- > 0;) {
            const auto [left, right, whole] = data_.merge_ids[rank];
            const auto usable = [&](std::int32_t id) {
                return valid(TokenId(id)) && !is_control(TokenId(id));
            };
            if (!usable(left) || !usable(right) || !usable(whole) || rank >= BpeMerge::kNone) continue;
            merges_.insert(left, right, {static_cast<std::uint32_t>(rank), whole});
        }
        data_.merge_ids.clear();
        data_.merge_ids.shrink_to_fit();
        return;
    }
    MergeRules rules = read_merges(data_.merges, ordinary_);
    merges_ = std::move(rules.pairs);
    warnings_.insert(warnings_.end(), rules.warnings.begin(), rules.warnings.end());
    data_.merges.clear();
    data_.merges.shrink_to_fit();
}

void BpeTokenizer::find_bytes() {
    for (unsigned byte = 0; byte < byte_ids_.size(); ++byte) {
        const char text = static_cast<char>(byte);
        const auto found = ordinary_.find(std::string_view(&text, 1));
        byte_ids_[byte] = found == ordinary_.end() ? -1 : found->second;
    }
}

// Bytes that no assigned character holds, and control characters, are lacking in published vocabularies too.
void BpeTokenizer::warn_of_missing_bytes() {
    if (!byte_level_ && data_.unk) return;
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

void BpeTokenizer::encode_into(std::string_view text, std::span<const ByteRange> trusted,
                               std::vector<TokenId>& ids) const {
    std::size_t position = 0;
    for (const SpecialHit& hit : special_.find(text, trusted)) {
        encode_plain(text.substr(position, hit.begin - position), position == 0, ids);
        ids.push_back(hit.id);
        position = hit.end;
    }
    encode_plain(text.substr(position), position == 0, ids);
}

void BpeTokenizer::encode_plain(std::string_view text, bool first, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    if (front_.named) {
        std::string storage;
        std::vector<BpeSymbol> symbols;
        for (const std::string_view stretch : front_.named->split(front_.named->normalized(text, storage))) {
            encode_stretch(stretch, symbols, ids);
        }
        return;
    }
    // The library `tokenizers` knows valid UTF-8 alone.
    const std::string normalized = front_.described->normalized(to_valid_utf8(text));
    const std::string_view all = normalized;
    std::size_t position = 0;
    for (const SpecialHit& hit : normalized_.find(all, {})) {
        encode_normalized(all.substr(position, hit.begin - position), first && position == 0, ids);
        ids.push_back(hit.id);
        position = hit.end;
    }
    encode_normalized(all.substr(position), first && position == 0, ids);
}

void BpeTokenizer::encode_normalized(std::string_view text, bool first, std::vector<TokenId>& ids) const {
    std::deque<std::string> storage;
    std::vector<BpeSymbol> symbols;
    for (const std::string_view stretch : front_.described->split(text, first, storage)) {
        encode_stretch(stretch, symbols, ids);
    }
}

void BpeTokenizer::encode_stretch(std::string_view stretch, std::vector<BpeSymbol>& symbols,
                                  std::vector<TokenId>& ids) const {
    for (; stretch.size() > kLongestStretch; stretch.remove_prefix(kLongestStretch)) {
        encode_stretch(stretch.substr(0, kLongestStretch), symbols, ids);
    }
    if (front_.rules.ignore_merges) {
        const auto whole = ordinary_.find(stretch);
        if (whole != ordinary_.end()) {
            ids.emplace_back(whole->second);
            return;
        }
    }
    symbols.clear();
    if (byte_level_) {
        split_bytes(stretch, symbols);
    } else {
        split_characters(stretch, symbols);
    }
    bpe_merge(
        symbols,
        [this](const BpeSymbol& left, const BpeSymbol& right) { return merges_.find(left.id, right.id); },
        longest_);
    for (const BpeSymbol& symbol : symbols) ids.emplace_back(symbol.id);
}

void BpeTokenizer::split_bytes(std::string_view stretch, std::vector<BpeSymbol>& symbols) const {
    for (std::size_t i = 0; i < stretch.size(); ++i) {
        const std::int32_t id = byte_ids_[static_cast<std::uint8_t>(stretch[i])];
        // A byte that the vocabulary lacks is dropped before merging, as the reference does.
        if (id >= 0) symbols.push_back({id, static_cast<std::uint32_t>(i), 1});
    }
}

// A character that is no token: its bytes, where the vocabulary has them all; else the unknown token; else
// nothing.
void BpeTokenizer::split_characters(std::string_view stretch, std::vector<BpeSymbol>& symbols) const {
    bool unknown_before = false;
    for (std::size_t at = 0; at < stretch.size();) {
        const std::uint8_t size = next_utf8(stretch, at).size;
        const std::string_view character = stretch.substr(at, size);
        const auto begin = static_cast<std::uint32_t>(at);
        at += size;
        const auto found = ordinary_.find(character);
        if (found != ordinary_.end()) {
            symbols.push_back({found->second, begin, size});
            unknown_before = false;
            continue;
        }
        const auto id_of = [&](char c) { return byte_ids_[static_cast<std::uint8_t>(c)]; };
        if (front_.rules.byte_fallback &&
            std::all_of(character.begin(), character.end(), [&](char c) { return id_of(c) >= 0; })) {
            for (std::uint32_t i = 0; i < size; ++i) symbols.push_back({id_of(character[i]), begin + i, 1});
            unknown_before = false;
            continue;
        }
        if (data_.unk && !(unknown_before && front_.rules.fuse_unknown)) {
            symbols.push_back({data_.unk->value, begin, size});
        }
        unknown_before = true;
    }
}

Result<std::unique_ptr<Tokenizer>> make_described(VocabularyData data) {
    Front front;
    VITRINE_TRY(TextPipeline pipeline, TextPipeline::make(*data.rules));
    front.described = std::move(pipeline);
    front.rules = std::move(*data.rules);
    data.rules = PipelineRules{};  // patterns are compiled now
    return std::unique_ptr<Tokenizer>(
        std::make_unique<BpeTokenizer>(std::move(data), std::move(front), false));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(VocabularyData data) {
    if (data.rules) return make_described(std::move(data));
    std::string name = data.pre.value_or("");
    if (name.empty()) {
        name = "gpt2";
        data.warnings.emplace_back(
            "The model file does not name its pre-tokenizer; \"gpt2\" is used, and answers may be worse than "
            "they should be. A file converted again with a current converter names it.");
    }
    const PretokenizerSpec* spec = find_pretokenizer(name);
    if (spec == nullptr) {
        return Error{ErrorKind::Unsupported, "The vocabulary needs the pre-tokenizer \"" + name +
                                                 "\" (key 'tokenizer.ggml.pre'), which is not known; any "
                                                 "other one would quietly make the model worse. Known: " +
                                                 known_pretokenizers() + "."};
    }
    VITRINE_TRY(Pretokenizer pretokenizer, Pretokenizer::make(*spec));
    Front front;
    front.named = std::move(pretokenizer);
    front.rules.ignore_merges = spec->ignore_merges;
    return std::unique_ptr<Tokenizer>(
        std::make_unique<BpeTokenizer>(std::move(data), std::move(front), spec->add_bos));
}

}  // namespace vitrine
