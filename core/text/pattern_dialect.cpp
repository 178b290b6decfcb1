#include "core/text/pattern_dialect.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/utf8.h"

namespace vitrine {

namespace {

// Inside a class. White_Space of the Unicode database (PCRE2's own \s also holds U+180E), and what Oniguruma
// calls a word's character.
constexpr const char* kSpace =
    "\\x{09}-\\x{0D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{"
    "3000}";
constexpr const char* kWord = "\\p{L}\\p{M}\\p{N}\\p{Pc}";
constexpr const char* kHexadecimal = "0-9A-Fa-f";
constexpr std::uint32_t kMostRepeats = 1000;

// Properties that are neither categories nor scripts and mean the same to both.
constexpr std::array<std::string_view, 9> kProperties = {"Any",
                                                         "Alphabetic",
                                                         "Lowercase",
                                                         "Uppercase",
                                                         "White_Space",
                                                         "Ideographic",
                                                         "Emoji",
                                                         "Extended_Pictographic",
                                                         "Emoji_Presentation"};

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); }
bool is_punctuation(char c) { return c > ' ' && c < 0x7F && !is_letter(c) && !is_digit(c); }

Error because(std::string why) { return Error{ErrorKind::Unsupported, std::move(why)}; }

class Translator {
  public:
    explicit Translator(std::string_view source) : source_(source) {}

    Result<std::string> run() {
        groups_.push_back({});
        while (at_ < source_.size()) VITRINE_CHECK(step());
        if (groups_.size() != 1) return because("a parenthesis is not closed");
        return std::move(out_);
    }

  private:
    // Open parenthesis, or the whole expression.
    struct Group {
        std::size_t begin = 0;  // in out_
        bool looks_around = false;
        bool repeats_or_chooses = false;
    };
    // A character, or what a class is made of: what to write inside of [ ].
    struct ClassItem {
        std::string text;
        bool is_set = false;      // more than one character: no end of a range
        bool complement = false;  // everything but `text`
    };

    char peek(std::size_t ahead = 0) const {
        return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
    }
    bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

    void atom(std::string_view text) {
        atom_is_complex_ = false;
        can_repeat_ = true;
        out_ += text;
    }
    void assertion(std::string_view text) {
        out_ += text;
        can_repeat_ = false;
    }

    Status step() {
        const char c = source_[at_];
        switch (c) {
            case '\\': return escape();
            case '[': {
                std::string text;
                VITRINE_CHECK(character_class(text, false));
                atom(text);
                return {};
            }
            case '(': return open_group();
            case ')': return close_group();
            case '|':
                ++at_;
                out_ += '|';
                groups_.back().repeats_or_chooses = true;
                can_repeat_ = false;
                return {};
            case '^':
            case '$':
                ++at_;
                assertion(std::string_view(&c, 1));
                return {};
            case '.':
                ++at_;
                atom(".");
                return {};
            case '*':
            case '+':
            case '?':
                return repeat(c == '+' ? 1 : 0, c == '?' ? std::optional<std::uint32_t>(1) : std::nullopt, 1);
            case '{': return interval();
            default: break;
        }
        VITRINE_TRY(const std::string text, literal());
        atom(text);
        return {};
    }

    // A character that stands for itself, escaped where PCRE2 would see more in it.
    Result<std::string> literal() {
        const Utf8Unit unit = next_utf8(source_, at_);
        if (unit.kind != Utf8Kind::Whole) return because("it is no valid UTF-8");
        std::string text;
        if (unit.size == 1 && is_punctuation(source_[at_])) text += '\\';
        if (unit.character == 0) {
            text = "\\x{00}";
        } else {
            text += source_.substr(at_, unit.size);
        }
        at_ += unit.size;
        return text;
    }

    // --- escapes ------------------------------------------------------------------------------------------

    // At a backslash; what it means inside of a class.
    Result<ClassItem> class_escape() {
        const char c = peek(1);
        at_ += 2;
        switch (c) {
            case 's': return ClassItem{kSpace, true, false};
            case 'S': return ClassItem{kSpace, true, true};
            case 'w': return ClassItem{kWord, true, false};
            case 'W': return ClassItem{kWord, true, true};
            case 'h': return ClassItem{kHexadecimal, true, false};
            case 'H': return ClassItem{kHexadecimal, true, true};
            case 'd': return ClassItem{"\\p{Nd}", true, false};
            case 'D': return ClassItem{"\\P{Nd}", true, false};
            case 'n':
            case 'r':
            case 't':
            case 'f':
            case 'a':
            case 'e': return ClassItem{std::string("\\") + c, false, false};
            case 'v': return ClassItem{"\\x{0B}", false, false};
            case 'x':
            case 'u': return numbered(c);
            case 'p':
            case 'P': return property(c);
            default: break;
        }
        if (at_ > source_.size()) return because("it ends with a backslash");
        if (is_punctuation(c) || c == ' ') return ClassItem{std::string("\\") + c, false, false};
        return because(std::string("the escape \\") + (is_letter(c) || is_digit(c) ? c : '?') +
                       " is not known");
    }

    Result<ClassItem> numbered(char kind) {
        std::string digits;
        if (kind == 'x' && peek() == '{') {
            ++at_;
            while (is_hexadecimal(peek()) && digits.size() < 7) digits += source_[at_++];
            if (peek() != '}') return because("a character's number is not closed");
            ++at_;
        } else {
            const std::size_t most = kind == 'x' ? 2 : 4;
            while (digits.size() < most && is_hexadecimal(peek())) digits += source_[at_++];
            if (digits.size() != most) return because("a character's number is too short");
            if (kind == 'x' && digits.front() > '7') return because("it names single bytes of characters");
        }
        if (digits.empty()) return because("a character's number is missing");
        return ClassItem{"\\x{" + digits + "}", false, false};
    }

    Result<ClassItem> property(char kind) {
        if (peek() != '{') return because("a property has no braces");
        const std::size_t end = source_.find('}', at_);
        if (end == std::string_view::npos || end - at_ > 64) return because("a property is not closed");
        std::string_view name = source_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        std::string text = std::string("\\") + kind + "{";
        if (name.starts_with('^')) {
            text += '^';
            name.remove_prefix(1);
        }
        if (name.empty() ||
            !std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '_'; }))
            return because("a property's name is not known");
        // One or two letters are a general category; PCRE2 takes a script's name for Script_Extensions.
        const bool known = std::find(kProperties.begin(), kProperties.end(), name) != kProperties.end();
        if (name.size() > 2 && !known) text += "sc:";
        text += name;
        return ClassItem{text + "}", true, false};
    }

    Status escape() {
        const std::string word = kWord;
        switch (peek(1)) {
            case 'A':
            case 'z':
                assertion(source_.substr(at_, 2));
                at_ += 2;
                return {};
            case 'b':
                assertion("(?:(?<=[" + word + "])(?![" + word + "])|(?<![" + word + "])(?=[" + word + "]))");
                at_ += 2;
                return {};
            case 'B':
                assertion("(?:(?<=[" + word + "])(?=[" + word + "])|(?<![" + word + "])(?![" + word + "]))");
                at_ += 2;
                return {};
            default: break;
        }
        VITRINE_TRY(const ClassItem item, class_escape());
        atom(item.complement ? "[^" + item.text + "]" : item.is_set ? "[" + item.text + "]" : item.text);
        return {};
    }

    // --- classes ------------------------------------------------------------------------------------------

    Result<ClassItem> class_character() {
        if (peek() == '\\') return class_escape();
        VITRINE_TRY(std::string text, literal());
        return ClassItem{std::move(text), false, false};
    }

    // At "[": reads to its "]" and writes what PCRE2 needs. `inner`: the right side of &&.
    Status character_class(std::string& text, bool inner) {
        ++at_;
        const bool negated = peek() == '^';
        if (negated) ++at_;
        if (peek() == ']') return because("a class begins with ]");
        std::string items;
        std::string complement;  // of which set, where \S or \W was there
        std::string both;        // a look-ahead that the character has to pass as well
        while (peek() != ']') {
            if (at_ >= source_.size()) return because("a class is not closed");
            if (starts("&&")) {
                at_ += 2;
                if (inner || negated || peek() != '[')
                    return because("a class is intersected in a way that is not known");
                std::string right;
                VITRINE_CHECK(character_class(right, true));
                both += "(?=" + right + ")";
                if (peek() != ']' && !starts("&&"))
                    return because("a class is intersected in a way that is not known");
                continue;
            }
            if (peek() == '[') return because("a class holds another one");
            VITRINE_TRY(const ClassItem item, class_character());
            if (item.complement) {
                if (!complement.empty() && complement != item.text)
                    return because("a class holds two complements");
                complement = item.text;
                continue;
            }
            items += item.text;
            if (item.is_set || peek() != '-' || peek(1) == ']' || peek(1) == '[') continue;
            ++at_;
            VITRINE_TRY(const ClassItem last, class_character());
            if (last.is_set || last.complement) return because("a range in a class ends with a set");
            items += "-" + last.text;
        }
        ++at_;
        if (complement.empty()) {
            text = (negated ? "[^" : "[") + items + "]";
        } else if (negated) {  // neither outside the set nor one of the items
            text = (items.empty() ? "(?:" : "(?:(?![" + items + "])") + ("[" + complement + "])");
        } else {
            text = (items.empty() ? "(?:" : "(?:[" + items + "]|") + ("[^" + complement + "])");
        }
        if (!both.empty()) text = "(?:" + both + text + ")";
        return {};
    }

    // --- groups and repetition ----------------------------------------------------------------------------

    Status open_group() {
        static constexpr std::array<std::string_view, 9> kOpenings = {"(?:", "(?=",  "(?!",   "(?<=", "(?<!",
                                                                      "(?>", "(?i:", "(?-i:", "(?i)"};
        std::string_view opening = "(";
        if (peek(1) == '?' || peek(1) == '*') {
            opening = {};
            for (const std::string_view known : kOpenings) {
                if (starts(known)) opening = known;
            }
            if (opening.empty()) return because("a group is of a kind that is not known");
        }
        // To the end of the group in both dialects, where nothing stands before it.
        if (opening == "(?i)") {
            if (out_.size() != groups_.back().begin)
                return because("it becomes case-insensitive in the middle");
            out_ += opening;
            groups_.back().begin = out_.size();
        } else {
            const bool looks = opening.back() == '=' || opening.back() == '!';
            groups_.push_back({out_.size(), looks, false});
            if (groups_.size() > 64) return because("groups lie more than 64 deep inside each other");
            // Captures are counted, kept and never asked for.
            out_ += opening == "(" ? std::string_view("(?:") : opening;
            groups_.back().begin = out_.size();
        }
        at_ += opening.size();
        can_repeat_ = false;
        return {};
    }

    Status close_group() {
        if (groups_.size() == 1) return because("a parenthesis is closed that was not open");
        const Group group = groups_.back();
        groups_.pop_back();
        ++at_;
        out_ += ')';
        atom_is_complex_ = group.repeats_or_chooses;
        can_repeat_ = !group.looks_around;
        groups_.back().repeats_or_chooses |= group.repeats_or_chooses;
        return {};
    }

    std::optional<std::uint32_t> number() {
        if (!is_digit(peek())) return std::nullopt;
        std::uint32_t value = 0;
        while (is_digit(peek()))
            value = std::min(value * 10 + static_cast<std::uint32_t>(source_[at_++] - '0'), 100000U);
        return value;
    }

    Status interval() {
        const std::size_t begin = at_;
        ++at_;
        const auto low = number();
        const bool comma = peek() == ',';
        if (comma) ++at_;
        const auto high = comma ? number() : low;
        if (peek() != '}' || (!low && !high)) {  // no interval: the brace stands for itself
            at_ = begin + 1;
            atom("\\{");
            return {};
        }
        ++at_;
        const std::size_t length = at_ - begin;
        at_ = begin;
        if (low.value_or(0) > kMostRepeats || high.value_or(0) > kMostRepeats)
            return because("it repeats more than 1000 times");
        if (high && *high < low.value_or(0)) return because("an interval runs backwards");
        const char behind = peek(length);
        if (behind == '?' && !comma) return because("an exact count is followed by ?");
        if (behind == '+') {
            // A repetition of the repetition, which is one repetition where single ones are among them.
            if (low.value_or(0) > 1 || high == std::optional<std::uint32_t>(0))
                return because("an interval is repeated");
            if (peek(length + 1) == '?' || peek(length + 1) == '+') return because("an interval is repeated");
            return repeat(low.value_or(0), std::nullopt, length + 1);
        }
        return repeat(low.value_or(0), high, length);
    }

    // `length` bytes of the source say: at least `low`, at most `high` times.
    Status repeat(std::uint32_t low, std::optional<std::uint32_t> high, std::size_t length) {
        if (!can_repeat_) return because("it repeats nothing");
        if (atom_is_complex_ && (!high || *high > 1)) {
            return because("it repeats a group that itself repeats or chooses, which can take endless time");
        }
        at_ += length;
        if (!high) {
            out_ += low == 0 ? "*" : low == 1 ? "+" : "{" + std::to_string(low) + ",}";
        } else if (low == 0 && *high == 1) {
            out_ += '?';
        } else {
            out_ += "{" + std::to_string(low) + "," + std::to_string(*high) + "}";
        }
        if (!high || low != *high) groups_.back().repeats_or_chooses = true;
        const bool interval = length > 1;
        if (peek() == '?' || (peek() == '+' && !interval)) out_ += source_[at_++];
        can_repeat_ = false;
        return {};
    }

    std::string_view source_;
    std::size_t at_ = 0;
    std::string out_;
    std::vector<Group> groups_;
    bool atom_is_complex_ = false;
    bool can_repeat_ = false;
};

}  // namespace

Result<std::string> to_pcre2(std::string_view expression) { return Translator(expression).run(); }

}  // namespace vitrine
