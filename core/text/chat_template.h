// A model's own chat template, rendered by a sandboxed interpreter of the Jinja subset that published
// templates use (https://jinja.palletsprojects.com/templates/), with the settings of Hugging Face's
// renderer: trim_blocks, lstrip_blocks, one trailing newline dropped, loop controls, a generation block.
//
// Each byte of the result is known to come from the template (trusted) or from the conversation: the
// tokenizer makes control tokens of trusted text alone. Steps, output size, nesting and time are limited;
// rendering never touches files, environment or attributes of this program.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/result.h"
#include "core/text/tokenizer.h"

namespace vitrine {

using OrderedJson = nlohmann::ordered_json;  // keeps the order of keys, as templates print them

struct TemplateLimits {
    std::uint64_t steps = 4'000'000;
    std::uint64_t output_bytes = 16U << 20;  // also the limit of any one string made on the way
    std::uint32_t depth = 200;               // nesting of expressions, blocks, macro calls and values
    std::chrono::milliseconds time{3000};
};

// The calendar moment that strftime_now() sees, without time zone.
struct CivilTime {
    int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
};
CivilTime local_now();
std::optional<CivilTime> parse_civil_time(std::string_view iso);  // "2026-01-02T00:00:00"

struct RenderInput {
    OrderedJson messages = OrderedJson::array();
    OrderedJson tools;                          // null: defined and none
    OrderedJson extra = OrderedJson::object();  // every member becomes a variable
    bool add_generation_prompt = true;
    std::string bos_token;  // trusted texts; empty where the model has none
    std::string eos_token;
    CivilTime now;
    const std::atomic<bool>* cancel = nullptr;  // looked at regularly
};

class ChatTemplate {
  public:
    // Template error with line and what was expected, where the source does not parse or nests too deeply.
    static Result<std::unique_ptr<ChatTemplate>> parse(std::string_view source, TemplateLimits limits = {});
    ~ChatTemplate();

    // Error kinds: Template (raised by the template, undefined, type errors), TooLarge (a limit), Cancelled.
    // The message of raise_exception() is in Error::message as the template wrote it.
    Result<TrustedText> render(const RenderInput& input) const;

    const std::string& source() const;

  private:
    struct Impl;
    explicit ChatTemplate(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace vitrine
