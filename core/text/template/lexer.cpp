#include "core/text/template/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text/template/literals.h"
#include "core/text/template/unicode.h"

namespace vitrine::jinja {
namespace {

struct Operator {
    std::string_view text;
    TokenKind kind;
};
// Longer ones first.
constexpr std::array<Operator, 26> operators{{
    {"//", TokenKind::FloorDiv}, {"**", TokenKind::Pow},      {"==", TokenKind::Eq},
    {"!=", TokenKind::Ne},       {">=", TokenKind::GtEq},     {"<=", TokenKind::LtEq},
    {"+", TokenKind::Add},       {"-", TokenKind::Sub},       {"/", TokenKind::Div},
    {"*", TokenKind::Mul},       {"%", TokenKind::Mod},       {"~", TokenKind::Tilde},
    {"[", TokenKind::LBracket},  {"]", TokenKind::RBracket},  {"(", TokenKind::LParen},
    {")", TokenKind::RParen},    {"{", TokenKind::LBrace},    {"}", TokenKind::RBrace},
    {">", TokenKind::Gt},        {"<", TokenKind::Lt},        {"=", TokenKind::Assign},
    {".", TokenKind::Dot},       {":", TokenKind::Colon},     {"|", TokenKind::Pipe},
    {",", TokenKind::Comma},     {";", TokenKind::Semicolon},
}};

// \r\n and \r become \n; one newline at the end goes.
std::string normalize(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r') {
            out.push_back(source[i]);
            continue;
        }
        out.push_back('\n');
        if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
  public:
    explicit Lexer(std::string_view source) : source_(normalize(source)) {}

    Result<std::vector<Token>> run() {
        while (position_ < source_.size() && !failed_) root();
        if (failed_) return std::move(error_);
        add(TokenKind::End);
        return std::move(tokens_);
    }

  private:
    void fail(const std::string& what) {
        if (failed_) return;
        failed_ = true;
        error_ = {ErrorKind::Template, "line " + std::to_string(line_) + ": " + what};
    }

    bool starts(std::size_t at, std::string_view text) const {
        return std::string_view(source_).substr(std::min(at, source_.size())).starts_with(text);
    }

    std::size_t skip_space(std::size_t at) const {
        while (at < source_.size()) {
            std::size_t next = at;
            if (!is_space(next_code_point(source_, next))) break;
            at = next;
        }
        return at;
    }

    Token& add(TokenKind kind) {
        Token& token = tokens_.emplace_back();
        token.kind = kind;
        token.line = line_;
        return token;
    }

    // Moves on, counting lines; remembers whether the piece ended a line.
    void advance(std::size_t end) {
        const auto piece = std::string_view(source_).substr(position_, end - position_);
        line_ += static_cast<std::uint32_t>(std::count(piece.begin(), piece.end(), '\n'));
        if (!piece.empty()) line_starting_ = piece.back() == '\n';
        position_ = end;
    }

    // Text in front of a tag, without the white space that the tag's sign or lstrip_blocks takes away.
    void data(std::size_t end, char sign, bool may_strip_line) {
        std::string_view text = std::string_view(source_).substr(position_, end - position_);
        if (sign == '-') {
            while (!text.empty()) {
                std::size_t begin = previous_position(text, text.size());
                std::size_t at = begin;
                if (!is_space(next_code_point(text, at))) break;
                text = text.substr(0, begin);
            }
        } else if (sign != '+' && may_strip_line) {
            const std::size_t newline = text.rfind('\n');
            const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
            if (line_begin > 0 || line_starting_) {
                std::size_t at = line_begin;
                bool blank = true;
                while (at < text.size() && blank) blank = is_space(next_code_point(text, at));
                if (blank) text = text.substr(0, line_begin);
            }
        }
        if (!text.empty()) add(TokenKind::Data).text = std::string(text);
        line_ +=
            static_cast<std::uint32_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(position_),
                                                  source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        position_ = end;
    }

    static bool is_sign(char c) { return c == '-' || c == '+'; }
    char sign_at(std::size_t at) const {
        return at < source_.size() && is_sign(source_[at]) ? source_[at] : '\0';
    }

    // End of a raw tag that begins behind "{%" and its sign, or npos. ending takes the three ways a block
    // ends.
    std::size_t keyword_tag_end(std::size_t at, std::string_view keyword, bool block_end) const {
        at = skip_space(at);
        if (!starts(at, keyword)) return std::string::npos;
        at = skip_space(at + keyword.size());
        if (starts(at, "-%}")) return skip_space(at + 3);
        if (block_end && starts(at, "+%}")) return at + 3;
        if (!starts(at, "%}")) return std::string::npos;
        return block_end && starts(at + 2, "\n") ? at + 3 : at + 2;
    }

    void root() {
        std::size_t tag = position_;
        for (;; ++tag) {
            tag = source_.find('{', tag);
            if (tag == std::string::npos || tag + 1 >= source_.size()) {
                add(TokenKind::Data).text = source_.substr(position_);
                position_ = source_.size();
                return;
            }
            const char next = source_[tag + 1];
            if (next == '{' || next == '%' || next == '#') break;
        }
        const char type = source_[tag + 1];
        const char sign = sign_at(tag + 2);
        data(tag, sign, type != '{');
        const std::size_t inside = tag + (sign == '\0' ? 2U : 3U);
        if (type == '%') {
            const std::size_t raw = keyword_tag_end(inside, "raw", false);
            if (raw != std::string::npos) {
                advance(raw);
                raw_block();
                return;
            }
        }
        if (type == '#') {
            advance(inside);
            comment();
            return;
        }
        add(type == '{' ? TokenKind::VariableBegin : TokenKind::BlockBegin);
        advance(inside);
        inside_tag(type == '{');
    }

    void comment() {
        const std::size_t end = source_.find("#}", position_);
        if (end == std::string::npos) {
            fail("a comment {# is never closed by #}");
            return;
        }
        // The sign belongs to the end, unless the comment is empty in front of it.
        const bool minus = end > position_ && source_[end - 1] == '-';
        const bool plus = end > position_ && source_[end - 1] == '+';
        std::size_t after = end + 2;
        if (minus) {
            after = skip_space(after);
        } else if (!plus && starts(after, "\n")) {
            ++after;
        }
        advance(after);
    }

    void raw_block() {
        for (std::size_t at = source_.find("{%", position_); at != std::string::npos;
             at = source_.find("{%", at + 1)) {
            const char sign = sign_at(at + 2);
            const std::size_t end = keyword_tag_end(at + (sign == '\0' ? 2U : 3U), "endraw", true);
            if (end == std::string::npos) continue;
            data(at, sign, true);
            advance(end);
            return;
        }
        fail("a raw block is never closed by {% endraw %}");
    }

    // The end of the tag where one is next, or npos.
    std::size_t tag_end(bool variable) const {
        const std::string_view close = variable ? "}}" : "%}";
        if (source_[position_] == '-' && starts(position_ + 1, close)) return skip_space(position_ + 3);
        if (!variable && source_[position_] == '+' && starts(position_ + 1, close)) return position_ + 3;
        if (!starts(position_, close)) return std::string::npos;
        return !variable && starts(position_ + 2, "\n") ? position_ + 3 : position_ + 2;
    }

    void inside_tag(bool variable) {
        std::string open;  // closing brackets that are due
        while (!failed_ && position_ < source_.size()) {
            const std::size_t behind_space = skip_space(position_);
            if (open.empty()) {
                if (const std::size_t end = tag_end(variable); end != std::string::npos) {
                    add(variable ? TokenKind::VariableEnd : TokenKind::BlockEnd);
                    advance(end);
                    return;
                }
            }
            if (behind_space != position_) {
                advance(behind_space);
            } else {
                token(open);
            }
        }
    }

    void token(std::string& open) {
        const std::string_view rest = std::string_view(source_).substr(position_);
        const bool after_dot = position_ > 0 && source_[position_ - 1] == '.';
        if (is_ascii_digit(rest[0])) {
            number(rest, after_dot);
            return;
        }
        if (rest[0] == '\'' || rest[0] == '"') {
            string(rest);
            return;
        }
        std::size_t at = 0;
        if (is_identifier_start(next_code_point(rest, at))) {
            while (at < rest.size()) {
                std::size_t next = at;
                if (!is_identifier_part(next_code_point(rest, next))) break;
                at = next;
            }
            add(TokenKind::Name).text = std::string(rest.substr(0, at));
            advance(position_ + at);
            return;
        }
        for (const Operator& candidate : operators) {
            if (!rest.starts_with(candidate.text)) continue;
            balance(candidate.text[0], open);
            add(candidate.kind);
            advance(position_ + candidate.text.size());
            return;
        }
        fail("unexpected character '" + std::string(rest.substr(0, at)) + "' in a tag");
    }

    void balance(char c, std::string& open) {
        if (c == '{') open.push_back('}');
        if (c == '(') open.push_back(')');
        if (c == '[') open.push_back(']');
        if (c != '}' && c != ')' && c != ']') return;
        if (open.empty()) {
            fail(std::string("unexpected '") + c + "'");
        } else if (open.back() != c) {
            fail(std::string("unexpected '") + c + "', expected '" + open.back() + "'");
        } else {
            open.pop_back();
        }
    }

    void number(std::string_view rest, bool after_dot) {
        const std::size_t float_length = after_dot ? 0 : scan_float(rest);
        const std::size_t length = float_length != 0 ? float_length : scan_integer(rest);
        std::string digits(rest.substr(0, length));
        digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
        if (float_length != 0) {
            add(TokenKind::Float).real = parse_plain_float(digits);
        } else {
            const auto value = parse_integer(digits, 0);
            if (value.status != IntegerStatus::Ok)
                fail("the number " + digits + " does not fit into 64 bits");
            add(TokenKind::Integer).integer = value.value;
        }
        advance(position_ + length);
    }

    void string(std::string_view rest) {
        std::size_t end = 1;
        while (end < rest.size() && rest[end] != rest[0]) end += rest[end] == '\\' ? 2U : 1U;
        if (end >= rest.size()) {
            fail("a string is never closed");
            return;
        }
        std::string problem;
        std::string value = unescape(rest.substr(1, end - 1), problem);
        if (!problem.empty()) fail(problem);
        add(TokenKind::String).text = std::move(value);
        advance(position_ + end + 1);
    }

    std::string source_;
    std::size_t position_ = 0;
    std::uint32_t line_ = 1;
    bool line_starting_ = true;
    std::vector<Token> tokens_;
    bool failed_ = false;
    Error error_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

std::string describe(TokenKind kind) {
    for (const Operator& candidate : operators) {
        if (candidate.kind == kind) return "'" + std::string(candidate.text) + "'";
    }
    switch (kind) {
        case TokenKind::Data: return "text";
        case TokenKind::VariableBegin: return "'{{'";
        case TokenKind::VariableEnd: return "'}}'";
        case TokenKind::BlockBegin: return "'{%'";
        case TokenKind::BlockEnd: return "'%}'";
        case TokenKind::Name: return "a name";
        case TokenKind::String: return "a string";
        case TokenKind::Integer: return "a whole number";
        case TokenKind::Float: return "a number";
        default: return "the end of the template";
    }
}

std::string describe(const Token& token) {
    if (token.kind == TokenKind::Name) return "'" + token.text + "'";
    return describe(token.kind);
}

}  // namespace vitrine::jinja
