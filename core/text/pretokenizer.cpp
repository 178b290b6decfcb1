#include "core/text/pretokenizer.h"

#include <array>
#include <cstdint>
#include <utility>

#include "core/text/normal_form.h"
#include "core/text/pattern.h"
#include "core/text/utf8.h"

namespace vitrine {

namespace {

// White_Space of the Unicode database, for use inside a character class. PCRE2's own \s also holds U+180E,
// which the publishers' engines do not count.
#define WS                                                                                                 \
    "\\x{09}-\\x{0D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}" \
    "\\x{3000}"
// White space up to a line end; white space that leaves its last character to the next word; the rest.
#define LINE_ENDS "[" WS "]*[\\r\\n]+"
#define SPACES "[" WS "]+(?![^" WS "])|[" WS "]+"

constexpr const char* kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" WS "\\p{L}\\p{N}]+|" SPACES;

constexpr std::array kGpt2Passes = {kGpt2Pattern};
constexpr std::array kSmollmPasses = {static_cast<const char*>("\\p{N}"), kGpt2Pattern};
constexpr std::array<const char*, 1> kLlamaPasses = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
    "| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|" LINE_ENDS "|" SPACES};
constexpr std::array<const char*, 1> kQwen2Passes = {
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
    "| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n]*|" LINE_ENDS "|" SPACES};
#define UPPER "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
constexpr std::array<const char*, 1> kTekkenPasses = {
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]*[" LOWER "]+|[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]+[" LOWER
    "]*|\\p{N}"
    "| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n/]*|" LINE_ENDS "|" SPACES};
constexpr std::array<const char*, 3> kDeepseekPasses = {
    "\\p{N}{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" LINE_ENDS "|" SPACES};
constexpr std::array<const char*, 1> kGpt4oPasses = {
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]*[" LOWER
    "]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]+[" LOWER
    "]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}"
    "| ?[^" WS "\\p{L}\\p{N}]+[\\r\\n/]*|" LINE_ENDS "|" SPACES};
#undef UPPER
#undef LOWER
#undef SPACES
#undef LINE_ENDS
#undef WS

constexpr std::array<std::string_view, 3> kGpt2Names = {"gpt2", "gpt-2", "phi-2"};
constexpr std::array<std::string_view, 4> kSmollmNames = {"smollm", "starcoder", "refact", "command-r"};
constexpr std::array<std::string_view, 3> kLlamaNames = {"llama-bpe", "llama3", "llama-v3"};
// The same pattern, without whole pieces before merges and without BOS.
constexpr std::array<std::string_view, 2> kDbrxNames = {"dbrx", "smaug-bpe"};
constexpr std::array<std::string_view, 1> kGpt4oNames = {"gpt-4o"};
constexpr std::array<std::string_view, 1> kQwen2Names = {"qwen2"};
constexpr std::array<std::string_view, 1> kTekkenNames = {"tekken"};
constexpr std::array<std::string_view, 1> kDeepseekNames = {"deepseek-v3"};

const std::array<PretokenizerSpec, 8>& specs() {
    static const std::array<PretokenizerSpec, 8> table = {{
        {.names = kGpt2Names, .passes = kGpt2Passes},
        {.names = kSmollmNames, .passes = kSmollmPasses},
        {.names = kLlamaNames, .passes = kLlamaPasses, .ignore_merges = true, .add_bos = true},
        {.names = kDbrxNames, .passes = kLlamaPasses},
        {.names = kGpt4oNames, .passes = kGpt4oPasses},
        {.names = kQwen2Names, .passes = kQwen2Passes, .nfc = true},
        {.names = kTekkenNames, .passes = kTekkenPasses, .ignore_merges = true, .add_bos = true},
        {.names = kDeepseekNames, .passes = kDeepseekPasses},
    }};
    return table;
}

// Calls use(part, valid) for the longest stretches of valid and of invalid UTF-8, in order.
template <class Use>
void for_each_validity(std::string_view text, const Use& use) {
    std::size_t begin = 0;
    bool valid = true;
    for (std::size_t position = 0; position < text.size();) {
        const Utf8Unit unit = next_utf8(text, position);
        const bool whole = unit.kind == Utf8Kind::Whole;
        if (whole != valid) {
            if (position > begin) use(text.substr(begin, position - begin), valid);
            begin = position;
            valid = whole;
        }
        position += unit.size;
    }
    if (begin < text.size()) use(text.substr(begin), valid);
}

}  // namespace

const PretokenizerSpec* find_pretokenizer(std::string_view name) {
    for (const PretokenizerSpec& spec : specs()) {
        for (const std::string_view known : spec.names) {
            if (known == name) return &spec;
        }
    }
    return nullptr;
}

std::string known_pretokenizers() {
    std::string list;
    for (const PretokenizerSpec& spec : specs()) {
        for (const std::string_view name : spec.names) {
            if (!list.empty()) list += ", ";
            list += name;
        }
    }
    return list;
}

struct Pretokenizer::Impl {
    std::vector<Pattern> passes;
    bool nfc = false;

    // Cuts valid UTF-8 by one pattern and appends the stretches.
    static void cut(Pattern::Search& search, std::string_view text,
                    std::vector<std::string_view>& stretches) {
        std::size_t position = 0;  // everything before it is in a stretch
        while (position < text.size()) {
            const auto match = search.next(text, position);
            if (!match || match->end <= position) break;  // no pattern of ours matches nothing
            if (match->begin > position) stretches.push_back(text.substr(position, match->begin - position));
            stretches.push_back(text.substr(match->begin, match->end - match->begin));
            position = match->end;
        }
        if (position < text.size()) stretches.push_back(text.substr(position));
    }
};

Pretokenizer::Pretokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pretokenizer::~Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;

Result<Pretokenizer> Pretokenizer::make(const PretokenizerSpec& spec) {
    auto impl = std::make_unique<Impl>();
    impl->nfc = spec.nfc;
    for (const char* expression : spec.passes) {
        VITRINE_TRY(Pattern pattern, Pattern::ours(expression));
        impl->passes.push_back(std::move(pattern));
    }
    return Pretokenizer(std::move(impl));
}

std::string_view Pretokenizer::normalized(std::string_view text, std::string& storage) const {
    if (!impl_->nfc) return text;
    bool ascii = true;
    for (const char c : text) ascii = ascii && static_cast<std::uint8_t>(c) < 0x80;
    if (ascii) return text;
    storage.clear();
    for_each_validity(text, [&](std::string_view part, bool valid) {
        if (valid) {
            storage += to_nfc(part);
        } else {
            storage += part;
        }
    });
    return storage;
}

std::vector<std::string_view> Pretokenizer::split(std::string_view text) const {
    std::vector<std::string_view> result;
    std::vector<Pattern::Search> searches;
    searches.reserve(impl_->passes.size());
    for (const Pattern& pattern : impl_->passes) searches.emplace_back(pattern);

    std::vector<std::string_view> stretches;
    std::vector<std::string_view> next;
    for_each_validity(text, [&](std::string_view part, bool valid) {
        if (!valid) {
            result.push_back(part);
            return;
        }
        stretches.assign(1, part);
        for (Pattern::Search& search : searches) {
            next.clear();
            for (const std::string_view stretch : stretches) Impl::cut(search, stretch, next);
            stretches.swap(next);
        }
        result.insert(result.end(), stretches.begin(), stretches.end());
    });
    return result;
}

}  // namespace vitrine
