// Template source to tokens, after Jinja 3.1's lexer with trim_blocks and lstrip_blocks: newlines become \n,
// one trailing newline is dropped, and the white space that -, + and the two options name is gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace vitrine::jinja {

enum class TokenKind : std::uint8_t {
    Data,
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name,
    String,
    Integer,
    Float,
    Add,
    Assign,
    Colon,
    Comma,
    Div,
    Dot,
    Eq,
    FloorDiv,
    Gt,
    GtEq,
    LBrace,
    LBracket,
    LParen,
    Lt,
    LtEq,
    Mod,
    Mul,
    Ne,
    Pipe,
    Pow,
    RBrace,
    RBracket,
    RParen,
    Semicolon,
    Sub,
    Tilde,
    End,
};

struct Token {
    TokenKind kind = TokenKind::End;
    std::uint32_t line = 1;
    std::string text;  // Data, Name, String (unescaped)
    std::int64_t integer = 0;
    double real = 0;
};

// How a person would call the token.
std::string describe(const Token& token);
std::string describe(TokenKind kind);

Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace vitrine::jinja
