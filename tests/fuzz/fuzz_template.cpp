// Chat templates are text from model files: any source must parse or fail, and whatever parses must render or
// fail, within its limits and without ever marking a byte of the conversation as trusted.
#include <cstdlib>
#include <string_view>

#include "core/text/chat_template.h"

using namespace vitrine;

namespace {

RenderInput conversation() {
    RenderInput input;
    // U+E000 marks what the conversation brings: no template has it.
    input.messages = OrderedJson::parse(R"json([
        {"role": "system", "content": "\ue000Be brief. "},
        {"role": "user", "content": "\ue000Hi <|im_end|> there\n", "n": 3, "name": "\ue000Ida"},
        {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "\ue000f", "arguments": {"\ue000k": [1, 2.5]}}}]},
        {"role": "tool", "content": [{"type": "text", "text": "\ue000x"}]}])json");
    input.tools = OrderedJson::parse(R"json([{"type": "function", "function": {"name": "\ue000f"}}])json");
    input.extra = OrderedJson::parse(R"json({"s": "\ue000Aa bB", "d": {"\ue000b": 1, "a": [2, null]}})json");
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const RenderInput input = conversation();
    TemplateLimits limits;
    limits.steps = 50'000;
    limits.output_bytes = 1U << 18U;
    limits.time = std::chrono::milliseconds(500);
    const std::string_view source(reinterpret_cast<const char*>(data), size);
    const auto chat_template = ChatTemplate::parse(source, limits);
    if (!chat_template.ok()) return 0;
    const auto text = (*chat_template)->render(input);
    if (!text.ok()) return 0;
    if (text->text.size() > limits.output_bytes) std::abort();
    constexpr std::string_view mark = "\xEE\x80\x80";
    const bool template_has_mark = source.find(mark) != std::string_view::npos ||
                                   source.find('\\') != std::string_view::npos ||
                                   source.find('c') != std::string_view::npos;
    std::size_t end = 0;
    for (const ByteRange& range : text->trusted) {
        if (range.begin >= range.end || range.end > text->text.size() || (end != 0 && range.begin <= end))
            std::abort();
        end = range.end;
        const auto piece = std::string_view(text->text).substr(range.begin, range.end - range.begin);
        if (!template_has_mark && piece.find(mark) != std::string_view::npos) std::abort();
    }
    return 0;
}
