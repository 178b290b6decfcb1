// Short ways to render in tests.
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/chat_template.h"

namespace vitrine::test {

inline RenderInput with_messages(std::string_view json) {
    RenderInput input;
    input.messages = OrderedJson::parse(json);
    input.now = {2026, 1, 2, 0, 0, 0};
    return input;
}

// The text, or "error: …".
inline std::string render(std::string_view source, const RenderInput& input = {},
                          TemplateLimits limits = {}) {
    const auto chat_template = ChatTemplate::parse(source, limits);
    if (!chat_template.ok()) return "error: " + chat_template.error().message;
    const auto text = (*chat_template)->render(input);
    return text.ok() ? text->text : "error: " + text.error().message;
}

inline bool is_error(const std::string& result) { return result.starts_with("error: "); }

// The text with [ ] around what is untrusted.
inline std::string mark_untrusted(const TrustedText& text) {
    std::string out;
    std::size_t at = 0;
    for (const ByteRange& range : text.trusted) {
        if (at < range.begin) out += "[" + text.text.substr(at, range.begin - at) + "]";
        out += text.text.substr(range.begin, range.end - range.begin);
        at = range.end;
    }
    if (at < text.text.size()) out += "[" + text.text.substr(at) + "]";
    return out;
}

// One reference case: a template with a conversation and what it gives.
struct GoldenCase {
    std::string name;
    std::string source;
    bool model_template = false;  // source is the embedded model's
    OrderedJson row;
};

// All cases of a folder's JSON files: objects, or lists of them.
inline std::vector<GoldenCase> golden_cases(const std::vector<std::string>& files) {
    std::vector<GoldenCase> cases;
    for (const std::string& path : files) {
        std::ifstream file(path);
        OrderedJson document = OrderedJson::parse(file);
        if (document.is_object()) document = OrderedJson::array({document});
        for (const OrderedJson& entry : document) {
            int number = 0;
            for (const OrderedJson& row : entry["cases"]) {
                GoldenCase& added = cases.emplace_back();
                added.name = entry["name"].get<std::string>() + " " + std::to_string(number++);
                added.model_template = entry["template"].is_null();
                if (!added.model_template) added.source = entry["template"].get<std::string>();
                added.row = row;
            }
        }
    }
    return cases;
}

inline RenderInput input_of(const OrderedJson& row) {
    RenderInput input;
    input.messages = row["messages"];
    input.tools = row["tools"];
    input.extra = row["extra"];
    input.add_generation_prompt = row["add_generation_prompt"].get<bool>();
    input.now = {2026, 1, 2, 0, 0, 0};
    return input;
}

}  // namespace vitrine::test
