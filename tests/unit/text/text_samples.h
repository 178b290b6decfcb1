// What the tests of core/text share: a small vocabulary made by hand and random texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/byte_alphabet.h"
#include "core/text/tokenizer.h"
#include "core/text/utf8.h"
#include "tests/growth.h"

namespace vitrine::test {

inline std::string in_alphabet(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) append_utf8(text, character_of_byte(static_cast<std::uint8_t>(c)));
    return text;
}

// 256 byte tokens (id = byte), then the result of each merge, then special tokens: whatever a test adds.
class TinyVocabulary {
  public:
    VocabularyData data;

    explicit TinyVocabulary(const std::string& pre = "gpt2") {
        data.model = "gpt2";
        data.pre = pre;
        for (int byte = 0; byte < 256; ++byte) add(in_alphabet(std::string(1, static_cast<char>(byte))));
    }
    TokenId add(const std::string& stored, TokenType type = TokenType::Normal) {
        data.tokens.push_back(stored);
        data.types.push_back(type);
        return TokenId(static_cast<std::int32_t>(data.tokens.size() - 1));
    }
    TokenId merge(std::string_view left, std::string_view right) {
        data.merges.push_back(in_alphabet(left) + " " + in_alphabet(right));
        return add(in_alphabet(std::string(left) + std::string(right)));
    }
    std::unique_ptr<Tokenizer> make() const {
        auto result = Tokenizer::make(data);
        return result.ok() ? std::move(result).value() : nullptr;
    }
};

// A vocabulary in the shape of a chat model: words, runs, and three control tokens.
inline TinyVocabulary chat_vocabulary(const std::string& pre = "gpt2") {
    TinyVocabulary tiny(pre);
    for (const auto& [left, right] :
         {std::pair{"t", "h"}, {"th", "e"},      {" ", "the"},     {"a", "a"},           {"aa", "aa"},
          {"u", "s"},          {"us", "us"},     {".", "."},       {"..", ".."},         {"\n", "\n"},
          {"\n\n", "\n\n"},    {" ", " "},       {"  ", "  "},     {"\r", "\n"},         {"A", "A"},
          {"AA", "AA"},        {"AAAA", "AAAA"}, {"\xE5", "\xAD"}, {"\xE5\xAD", "\x97"}, {"\xF0", "\x9F"},
          {"\xD1", "\x89"}}) {
        tiny.merge(left, right);
    }
    tiny.data.bos = tiny.add("<|begin|>", TokenType::Control);
    tiny.add("<|im_start|>", TokenType::Control);
    tiny.data.eos = tiny.add("<|im_end|>", TokenType::Control);
    return tiny;
}

inline std::vector<std::int32_t> values(const std::vector<TokenId>& ids) {
    std::vector<std::int32_t> result;
    for (const TokenId id : ids) result.push_back(id.value);
    return result;
}

// Random valid UTF-8 from many blocks, with runs and spaces, as hostile as real text gets.
inline std::string random_text(std::mt19937& random, std::size_t characters) {
    static constexpr std::pair<char32_t, char32_t> kBlocks[] = {
        {0x20, 0x7E},       {0x20, 0x7E},       {0x61, 0x7A},       {0x00, 0x1F},     {0xA0, 0xFF},
        {0x300, 0x36F},     {0x400, 0x4FF},     {0x5D0, 0x5EA},     {0x600, 0x6FF},   {0xE00, 0xE5B},
        {0x1100, 0x11FF},   {0x2000, 0x206F},   {0x3040, 0x30FF},   {0x4E00, 0x9FA5}, {0xAC00, 0xD7A3},
        {0xFF00, 0xFFEF},   {0x1F300, 0x1FAFF}, {0x20000, 0x2A6DF}, {0x80, 0xD7FF},   {0xE000, 0xFFFD},
        {0x10000, 0x10FFFF}};
    std::string text;
    while (characters > 0) {
        const auto& [low, high] = kBlocks[random() % std::size(kBlocks)];
        const std::size_t run = std::min<std::size_t>(characters, 1 + random() % 5);
        const char32_t first = low + static_cast<char32_t>(random() % (high - low + 1));
        const bool same = random() % 3 == 0;
        for (std::size_t i = 0; i < run; ++i) {
            append_utf8(text, same ? first : low + static_cast<char32_t>(random() % (high - low + 1)));
        }
        characters -= run;
        if (random() % 4 == 0) text.push_back(' ');
    }
    return text;
}

inline std::string random_bytes(std::mt19937& random, std::size_t count) {
    std::string text(count, '\0');
    for (char& c : text) c = static_cast<char>(random() % 256);
    return text;
}

inline std::string repeated(std::string_view unit, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += unit;
    return text;
}

}  // namespace vitrine::test
