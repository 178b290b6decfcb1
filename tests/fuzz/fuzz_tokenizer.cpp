// Vocabularies and texts of any bytes: nothing may crash or hang, and the promises of tokenizer.h hold.
//
// Input: a byte of flags, lines of a vocabulary up to a line "." (T: ordinary token, C: control, U:
// user-defined, X: unused, B: byte, M: merge, the rest of the line is the text), then the text to tokenize.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/byte_alphabet.h"
#include "core/text/stop_matcher.h"
#include "core/text/token_stream.h"
#include "core/text/utf8.h"
#include "tests/fuzz/tokenizer_promises.h"

namespace {

using namespace vitrine;
using namespace vitrine::fuzz;

std::string_view take_line(std::string_view& input) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    return line;
}

VocabularyData read_vocabulary(std::uint8_t flags, std::string_view& input) {
    static constexpr std::array<const char*, 8> kNames = {"gpt2",   "smollm",      "llama-bpe", "qwen2",
                                                          "tekken", "deepseek-v3", "no-such",   ""};
    VocabularyData data;
    const bool pieces = (flags & 7U) == 7U;  // SentencePiece, BPE or Unigram
    data.model = !pieces ? "gpt2" : (flags & 16U) != 0 ? "t5" : "llama";
    data.pre = kNames[flags & 7U];
    if ((flags & 8U) == 0) {
        for (unsigned byte = 0; byte < 256; ++byte) {
            constexpr std::string_view kDigits = "0123456789ABCDEF";
            std::string token;
            if (pieces) {
                token = std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">";
            } else {
                append_utf8(token, character_of_byte(static_cast<std::uint8_t>(byte)));
            }
            data.tokens.push_back(std::move(token));
            data.types.push_back(pieces ? TokenType::Byte : TokenType::Normal);
        }
    }
    while (!input.empty()) {
        const std::string_view line = take_line(input);
        if (line == ".") break;
        const char kind = line.empty() ? 'T' : line.front();
        std::string text(line.substr(std::min<std::size_t>(1, line.size())));
        if (kind == 'M') {
            data.merges.push_back(std::move(text));
            continue;
        }
        data.tokens.push_back(std::move(text));
        data.types.push_back(kind == 'C'   ? TokenType::Control
                             : kind == 'U' ? TokenType::UserDefined
                             : kind == 'X' ? TokenType::Unused
                             : kind == 'B' ? TokenType::Byte
                                           : TokenType::Normal);
    }
    for (std::size_t i = 0; pieces && i < data.tokens.size(); ++i)
        data.scores.push_back(-static_cast<float>(i % 97));
    if (pieces) data.add_space_prefix = (flags & 64U) != 0;
    if (pieces) data.remove_extra_whitespaces = (flags & 128U) != 0;
    data.add_bos = (flags & 16U) != 0;
    data.bos = TokenId((flags & 32U) != 0 ? 256 : -7);
    data.eos = TokenId(static_cast<std::int32_t>(flags));
    return data;
}

void check(const Tokenizer& tokenizer, std::string_view text) {
    check_round_trip(tokenizer, text);
    const auto untrusted = tokenizer.encode(text, false, false);
    promise(std::none_of(untrusted.begin(), untrusted.end(),
                         [&](TokenId id) { return tokenizer.is_control(id); }));
    const std::size_t half = text.size() / 2;
    (void)tokenizer.encode_prompt({std::string(text), {{0, half}, {half + 1, text.size() + 9}}});
}

void check_stops(std::string_view text) {
    const std::vector<std::string> stops = {std::string(text.substr(0, 3)),
                                            std::string(text.substr(text.size() / 2, 5))};
    StopMatcher whole(stops);
    StopMatcher pieces(stops);
    std::string once = whole.push(text);
    once += whole.flush();
    std::string joined;
    for (const char c : text) joined += pieces.push(std::string_view(&c, 1));
    joined += pieces.flush();
    promise(once == joined && whole.matched() == pieces.matched());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    std::string_view input(reinterpret_cast<const char*>(bytes), size);
    const auto flags = static_cast<std::uint8_t>(input.front());
    input.remove_prefix(1);
    auto tokenizer = Tokenizer::make(read_vocabulary(flags, input));
    if (tokenizer.ok()) check(**tokenizer, input);
    check_stops(input);
    return 0;
}
