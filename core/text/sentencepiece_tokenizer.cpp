// SentencePiece vocabularies (Kudo and Richardson 2018, "SentencePiece: A simple and language independent
// subword tokenizer") through the library of that name, which is given the vocabulary wherever it came from.
//
// Before the library sees a text, control tokens are cut out of it where it is trusted; each stretch between
// them is a text of its own. Where the vocabulary's normalizer does nothing but put U+2581 for spaces (every
// published chat model), that happens here, user-defined tokens are cut out as well, and long stretches go to
// the library in parts that begin where no piece can span: the ids are the same, in memory that does not grow
// with the text. Otherwise the library gets the stretch as it is.
#include "core/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/text/charsmap_check.h"
#include "core/text/long_runs.h"
#include "core/text/replace.h"
#include "core/text/sentencepiece_library.h"
#include "core/text/sentencepiece_proto.h"
#include "core/text/special_tokens.h"
#include "core/text/utf8.h"

namespace vitrine {

namespace {

constexpr std::size_t kPart = std::size_t{32} << 10U;
// A part of this size ends at any character. The library needs about 150 bytes for each.
constexpr std::size_t kLongestPart = std::size_t{8} << 20U;

// What the library can search for itself: it keeps 64 matches at a position on the stack, and its trie is
// made of zero-terminated texts.
constexpr std::size_t kLongestSymbol = 256;
constexpr std::size_t kMostNestedSymbols = 60;

bool is_valid_utf8_text(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Unit unit = next_utf8(text, at);
        if (unit.kind != Utf8Kind::Whole) return false;
        at += unit.size;
    }
    return true;
}

bool library_can_search(std::vector<std::string> symbols) {
    for (const std::string& symbol : symbols) {
        if (symbol.size() > kLongestSymbol || symbol.find('\0') != std::string::npos ||
            !is_valid_utf8_text(symbol))
            return false;
    }
    std::sort(symbols.begin(), symbols.end());  // a text comes behind all its beginnings
    std::vector<std::string_view> nested;
    for (const std::string& symbol : symbols) {
        while (!nested.empty() && !std::string_view(symbol).starts_with(nested.back())) nested.pop_back();
        nested.emplace_back(symbol);
        if (nested.size() > kMostNestedSymbols) return false;
    }
    return true;
}

// The character that ends at `end`; U+FFFD for a broken one, which is what the library makes of it.
char32_t character_before(std::string_view text, std::size_t end) {
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && (static_cast<std::uint8_t>(text[begin]) & 0xC0U) == 0x80) --begin;
    const Utf8Unit unit = next_utf8(text.substr(0, end), begin);
    return unit.kind == Utf8Kind::Whole && begin + unit.size == end ? unit.character : 0xFFFD;
}

class SentencePieceTokenizer final : public Tokenizer {
  public:
    explicit SentencePieceTokenizer(VocabularyData data) : Tokenizer(std::move(data)) {}

    Status load() {
        const bool unigram = data_.model == "t5";
        const bool suffix = data_.space_as_suffix.value_or(false);
        const bool squeezes = data_.remove_extra_whitespaces.value_or(false);
        adds_space_ = data_.add_space_prefix.value_or(true);
        drops_space_ = !suffix && (adds_space_ || squeezes);
        options_.unigram = unigram;
        options_.normalizes = unigram || suffix || squeezes || !data_.precompiled_charsmap.empty();
        if (!data_.precompiled_charsmap.empty()) VITRINE_CHECK(check_charsmap(data_.precompiled_charsmap));
        check_scores();
        read_texts();
        read_special();
        proto_ = make_sentencepiece_proto(data_, options_);
        VITRINE_TRY(SentencePieceLibrary library, SentencePieceLibrary::load(proto_.bytes));
        library_ = std::make_unique<SentencePieceLibrary>(std::move(library));
        proto_.bytes.clear();
        proto_.bytes.shrink_to_fit();
        data_.precompiled_charsmap.clear();
        data_.precompiled_charsmap.shrink_to_fit();
        for (std::size_t byte = 0; byte < 256; ++byte) {
            byte_of_library_id_.emplace(proto_.byte_pieces[byte], static_cast<std::uint8_t>(byte));
        }
        warn_of_missing_bytes();
        ask_for_bos(!unigram);
        return {};
    }

    std::optional<TokenId> find(std::string_view text) const override {
        // Asked for single texts, seldom: not worth a table of all.
        for (std::int32_t i = 0; i < size() && !text.empty(); ++i) {
            if (bytes(TokenId(i)) == text) return TokenId(i);
        }
        return std::nullopt;
    }

  private:
    void check_scores();
    void read_texts();
    void read_special();
    void warn_of_missing_bytes();
    void encode_into(std::string_view text, std::span<const ByteRange> trusted,
                     std::vector<TokenId>& ids) const override;
    void encode_stretch(std::string_view text, std::vector<TokenId>& ids) const;
    void encode_between_symbols(std::string_view text, std::vector<TokenId>& ids) const;
    void encode_parts(std::string_view text, std::vector<TokenId>& ids) const;
    void encode_part(std::string_view text, std::vector<TokenId>& ids) const;
    std::size_t part_size(std::string_view text) const;
    bool find_pieces(std::string_view text, std::vector<int>& found) const;
    bool find_in_shortened(std::string_view text, std::vector<int>& found) const;
    std::optional<RunPeriod<std::int32_t>> period_of_run(std::string_view character) const;
    void spell(std::string_view characters, bool& unknown_before, std::vector<TokenId>& ids) const;

    SentencePieceOptions options_;
    SentencePieceProto proto_;  // without its bytes, once the library is loaded
    std::unique_ptr<SentencePieceLibrary> library_;
    std::unordered_map<std::int32_t, std::uint8_t> byte_of_library_id_;
    bool adds_space_ = true;
    std::size_t longest_piece_ = 1;       // in bytes
    bool cuts_at_spaces_ = true;          // parts of a long text may begin at a space
    std::vector<char32_t> before_space_;  // characters with a space behind them in a piece
    SpecialTokens control_;               // in the text as it came
    SpecialTokens symbols_;  // user-defined, in what the library would get; none where it searches itself
};

void SentencePieceTokenizer::check_scores() {
    const auto unusable = std::count_if(data_.scores.begin(), data_.scores.end(),
                                        [](float score) { return std::isnan(score); });
    if (unusable == 0) return;
    warnings_.push_back("Of the vocabulary's token scores, " + std::to_string(unusable) +
                        " are not numbers; those tokens are joined last.");
}

void SentencePieceTokenizer::read_texts() {
    const auto count = static_cast<std::size_t>(size());
    std::size_t odd_bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string& stored = data_.tokens[i];
        const std::int32_t byte = type(id) == TokenType::Byte ? byte_of_piece(stored) : -1;
        const char one = static_cast<char>(byte);
        if (byte >= 0) {
            add_bytes(std::string_view(&one, 1));
        } else {
            add_bytes(is_control(id) ? stored : replaced(stored, kSpaceSymbol, " "));
        }
        odd_bytes += type(id) == TokenType::Byte && byte < 0;
    }
    if (odd_bytes > 0) {
        warnings_.push_back("The vocabulary holds " + std::to_string(odd_bytes) +
                            " byte tokens that are not written like <0x0A>; no text becomes one of them.");
    }
}

void SentencePieceTokenizer::read_special() {
    std::vector<std::string> symbols;
    bool has_unused = false;
    bool has_flags = false;
    for (std::size_t i = 0; i < data_.tokens.size(); ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        const std::string& stored = data_.tokens[i];
        if (stored.empty()) continue;
        if (is_control(id)) control_.add_control(stored, id);
        if (type(id) == TokenType::UserDefined) symbols.push_back(escaped_piece(stored));
        has_unused = has_unused || (type(id) == TokenType::Unused && stored.size() > 1);
        if (is_control(id) || type(id) == TokenType::UserDefined || type(id) == TokenType::Byte) continue;
        const std::string text = escaped_piece(stored);
        longest_piece_ = std::max(longest_piece_, text.size());
        for (std::size_t at = 1; (at = text.find(kSpaceSymbol, at)) != std::string::npos; ++at)
            before_space_.push_back(character_before(text, at));
    }
    std::sort(before_space_.begin(), before_space_.end());
    before_space_.erase(std::unique(before_space_.begin(), before_space_.end()), before_space_.end());
    for (const AddedToken& added : data_.added) {
        has_flags = has_flags || (type(added.id) == TokenType::UserDefined &&
                                  (added.lstrip || added.rstrip || added.single_word));
    }
    // Unused pieces are taken apart again by the way they came together last, anywhere in the text.
    cuts_at_spaces_ = !has_unused;
    options_.knows_symbols = (options_.normalizes || has_unused) && !has_flags && library_can_search(symbols);

    std::size_t broken = 0;
    for (std::size_t i = 0; i < data_.tokens.size() && !options_.knows_symbols; ++i) {
        const TokenId id(static_cast<std::int32_t>(i));
        if (type(id) != TokenType::UserDefined || data_.tokens[i].empty()) continue;
        if (!is_valid_utf8_text(data_.tokens[i])) {
            ++broken;
            continue;
        }
        // Files write runs of spaces either way.
        symbols_.add_user_defined(options_.normalizes ? data_.tokens[i] : escaped_piece(data_.tokens[i]), id);
    }
    if (broken > 0) {
        warnings_.push_back("The vocabulary holds " + std::to_string(broken) +
                            " user-defined tokens that are no valid UTF-8; no text becomes one of them.");
    }
    control_.set_flags(data_.added);
    symbols_.set_flags(data_.added);
    symbols_.count_space_symbol_as_space();
    control_.finish();
    symbols_.finish();
}

void SentencePieceTokenizer::warn_of_missing_bytes() {
    const bool all_bytes =
        std::all_of(proto_.byte_ids.begin(), proto_.byte_ids.end(), [](TokenId id) { return id.valid(); });
    if (!all_bytes && !data_.unk) {
        warnings_.emplace_back(
            "The vocabulary has neither a token for every byte nor an unknown token; characters that it "
            "lacks are left out of what the model reads.");
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
    if (options_.normalizes) return encode_between_symbols(text, ids);
    std::string spaced(adds_space_ ? kSpaceSymbol : std::string_view());
    spaced += replaced(text, " ", kSpaceSymbol);
    encode_between_symbols(spaced, ids);
}

void SentencePieceTokenizer::encode_between_symbols(std::string_view text, std::vector<TokenId>& ids) const {
    std::size_t position = 0;
    for (const SpecialHit& hit : symbols_.find(text, {})) {
        encode_parts(text.substr(position, hit.begin - position), ids);
        ids.push_back(hit.id);
        position = hit.end;
    }
    encode_parts(text.substr(position), ids);
}

void SentencePieceTokenizer::encode_parts(std::string_view text, std::vector<TokenId>& ids) const {
    while (!text.empty()) {
        const std::size_t size = part_size(text);
        encode_part(text.substr(0, size), ids);
        text.remove_prefix(size);
    }
}

// Where the library may begin anew. A merge that spans a place makes a piece that holds the characters on
// both sides of it as neighbours; so before a space there is none, unless a piece has that space behind that
// character.
std::size_t SentencePieceTokenizer::part_size(std::string_view text) const {
    if (text.size() <= kPart) return text.size();
    if (!options_.normalizes && cuts_at_spaces_) {
        const std::string_view window = text.substr(0, kLongestPart);
        for (std::size_t at = kPart; (at = window.find(kSpaceSymbol, at)) != std::string_view::npos; ++at) {
            if (!std::binary_search(before_space_.begin(), before_space_.end(), character_before(text, at)))
                return at;
        }
    }
    if (text.size() <= kLongestPart) return text.size();
    std::size_t size = kLongestPart;
    while (size > kLongestPart - 4 && (static_cast<std::uint8_t>(text[size]) & 0xC0U) == 0x80) --size;
    return size;
}

// The library's pieces of a text. Long runs of one character are shortened where pieces only ever come
// together by merging.
bool SentencePieceTokenizer::find_pieces(std::string_view text, std::vector<int>& found) const {
    const bool only_merges = !options_.normalizes && cuts_at_spaces_ && !proto_.swaps_zero;
    if (only_merges && text.size() >= kLongRun && find_in_shortened(text, found)) return true;
    return library_->encode(text, found);
}

// False where there is no long run, or where something else than pieces of the text came out.
bool SentencePieceTokenizer::find_in_shortened(std::string_view text, std::vector<int>& found) const {
    struct Cut {
        std::size_t begin = 0;  // a place in the middle of what is left of the run
        std::size_t copies = 0;
        int id = 0;
    };
    std::vector<Cut> cuts;
    std::string shorter;
    std::unordered_map<std::string_view, std::optional<RunPeriod<std::int32_t>>> known;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        const std::string_view character = text.substr(begin, next_utf8(text, begin).size);
        for (end = begin + character.size(); text.compare(end, character.size(), character) == 0;)
            end += character.size();
        const std::size_t symbols = (end - begin) / character.size();
        std::size_t less = 0;
        if (symbols >= kLongRun) {
            auto period = known.find(character);
            if (period == known.end()) period = known.emplace(character, period_of_run(character)).first;
            if (period->second) less = removable_symbols(symbols, period->second->symbols, longest_piece_);
            if (less > 0) {
                cuts.push_back({shorter.size() + (symbols - less) / 2 * character.size(),
                                less / period->second->symbols, period->second->item});
            }
        }
        shorter += text.substr(begin, (symbols - less) * character.size());
    }
    if (cuts.empty()) return false;
    std::vector<int> some;
    if (!library_->encode(shorter, some)) return false;
    found.clear();
    auto cut = cuts.begin();
    std::size_t at = 0;
    for (const int id : some) {
        if (cut != cuts.end() && at >= cut->begin) {
            found.insert(found.end(), cut->copies, cut->id);
            ++cut;
        }
        found.push_back(id);
        const bool is_byte = byte_of_library_id_.contains(id);
        if (!is_byte && !valid(TokenId(id))) return false;
        at += is_byte ? 1 : escaped_piece(data_.tokens[static_cast<std::size_t>(id)]).size();
    }
    return at == shorter.size() && cut == cuts.end();
}

std::optional<RunPeriod<std::int32_t>> SentencePieceTokenizer::period_of_run(
    std::string_view character) const {
    std::unordered_map<std::size_t, std::int32_t> pieces;  // how often the character -> lowest id
    for (std::int32_t i = 0; i < size(); ++i) {
        if (type(TokenId(i)) != TokenType::Normal && type(TokenId(i)) != TokenType::Undefined) continue;
        const std::string& stored = data_.tokens[static_cast<std::size_t>(i)];
        if (stored.empty() || stored.size() > kLongestPiece ||
            (character != kSpaceSymbol && stored[0] != character[0]))
            continue;
        const std::string text = escaped_piece(stored);
        std::size_t at = 0;
        while (text.compare(at, character.size(), character) == 0) at += character.size();
        if (at == text.size()) pieces.try_emplace(at / character.size(), i);
    }
    // Never part of a piece of its own kind: spelled with its byte each time.
    if (pieces.empty() && character.size() == 1)
        return RunPeriod<std::int32_t>{1, proto_.byte_pieces[static_cast<std::uint8_t>(character[0])]};
    const auto single = pieces.find(1);
    if (single == pieces.end()) return std::nullopt;
    const auto score_of = [&](std::int32_t id) { return data_.scores[static_cast<std::size_t>(id)]; };
    // Pieces that all come together equally soon, as the runs of spaces of Mistral's vocabulary.
    const auto two = pieces.find(2);
    if (two != pieces.end() && std::all_of(pieces.begin(), pieces.end(), [&](const auto& piece) {
            return piece.first == 1 || score_of(piece.second) == score_of(two->second);
        })) {
        const std::size_t item = run_of_equals(longest_piece_ / character.size() + 1,
                                               [&](std::size_t symbols) { return pieces.contains(symbols); });
        if (item == 0) return std::nullopt;
        return RunPeriod<std::int32_t>{item, pieces.at(item)};
    }
    std::unordered_map<std::int32_t, std::size_t> length;
    for (const auto& [symbols, id] : pieces) length.emplace(id, symbols);
    return run_period(
        single->second, [&](std::int32_t left, std::int32_t right) -> std::optional<RunMerge<std::int32_t>> {
            const auto whole = pieces.find(length.at(left) + length.at(right));
            if (whole == pieces.end()) return std::nullopt;
            return RunMerge<std::int32_t>{-static_cast<double>(score_of(whole->second)), whole->second};
        });
}

void SentencePieceTokenizer::encode_part(std::string_view text, std::vector<TokenId>& ids) const {
    constexpr std::string_view kZero("\0", 1);
    constexpr std::string_view kZeroStandsFor = "\xF4\x8F\xBF\xBF";
    std::string storage;
    if (proto_.swaps_zero) {
        storage = swapped(text, kZero, kZeroStandsFor);
        text = storage;
    }
    bool unknown_before = false;
    std::vector<int> found;
    if (!find_pieces(text, found)) return spell(text, unknown_before, ids);
    std::string unknown;  // bytes of characters that are no piece
    const auto end_unknown = [&] {
        if (unknown.empty()) return;
        if (proto_.swaps_zero) unknown = swapped(unknown, kZero, kZeroStandsFor);
        spell(unknown, unknown_before, ids);
        unknown.clear();
    };
    for (const int id : found) {
        const auto byte = byte_of_library_id_.find(id);
        if (byte != byte_of_library_id_.end()) {
            unknown.push_back(static_cast<char>(byte->second));
            continue;
        }
        end_unknown();
        unknown_before = false;
        if (valid(TokenId(id)) && !is_control(TokenId(id))) ids.emplace_back(id);
    }
    end_unknown();
}

// Characters that are no piece: their bytes, where the vocabulary has them all; else one unknown token for a
// run.
void SentencePieceTokenizer::spell(std::string_view characters, bool& unknown_before,
                                   std::vector<TokenId>& ids) const {
    const auto id_of = [&](char c) { return proto_.byte_ids[static_cast<std::uint8_t>(c)]; };
    for (std::size_t at = 0; at < characters.size();) {
        const std::string_view one = characters.substr(at, next_utf8(characters, at).size);
        at += one.size();
        if (std::all_of(one.begin(), one.end(), [&](char c) { return id_of(c).valid(); })) {
            for (const char c : one) ids.push_back(id_of(c));
            unknown_before = false;
        } else {
            if (data_.unk && !unknown_before) ids.push_back(*data_.unk);
            unknown_before = true;
        }
    }
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(VocabularyData data) {
    if (data.scores.empty()) {
        return Error{ErrorKind::BadFile,
                     "The vocabulary is of the kind \"" + data.model +
                         "\" (SentencePiece) but holds no token scores, which say what is "
                         "joined first; the model file is incomplete."};
    }
    auto tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(data));
    VITRINE_CHECK(tokenizer->load());
    return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

}  // namespace vitrine
