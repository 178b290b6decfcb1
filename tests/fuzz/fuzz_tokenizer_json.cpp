// tokenizer.json, tokenizer_config.json and SentencePiece files of any bytes: nothing may crash or hang, and
// what was read makes a tokenizer that keeps its promises, or an error.
//
// Input: the file up to a zero byte that a second one follows, then the configuration up to another such
// pair, then the text to tokenize. A file that does not begin with "{" is taken for a SentencePiece model.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/io/sentencepiece_model.h"
#include "core/io/tokenizer_json.h"
#include "core/text/token_stream.h"
#include "core/text/utf8_stream.h"
#include "tests/fuzz/tokenizer_promises.h"

namespace {

using namespace vitrine;
using namespace vitrine::fuzz;

std::string_view take_part(std::string_view& input) {
    const std::size_t end = std::min(input.find(std::string_view("\0\0", 2)), input.size());
    const std::string_view part = input.substr(0, end);
    input.remove_prefix(std::min(end + 2, input.size()));
    return part;
}

void check(const Tokenizer& tokenizer, std::string_view text) {
    check_round_trip(tokenizer, text);
    const auto unknown = tokenizer.vocabulary().unk;
    for (const TokenId id : tokenizer.encode(text, false, false))
        promise(!tokenizer.is_control(id) || id == unknown);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::string_view input(reinterpret_cast<const char*>(bytes), size);
    const bool json = input.starts_with('{');
    const std::string_view file = json ? take_part(input) : input.substr(0, size / 2 + size % 2);
    if (!json) input.remove_prefix(file.size());
    const std::string_view config = take_part(input);
    auto data = json ? read_tokenizer_json(file, config) : read_sentencepiece_model(file, config);
    if (!data.ok()) {
        promise(!data.error().message.empty());
        return 0;
    }
    for (const auto& id : {data->bos, data->eos, data->unk, data->pad}) {
        promise(!id || (id->value >= 0 && static_cast<std::size_t>(id->value) < data->tokens.size()));
    }
    auto tokenizer = Tokenizer::make(std::move(data).value());
    if (tokenizer.ok()) check(**tokenizer, input.substr(0, 4096));
    return 0;
}
