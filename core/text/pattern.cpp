#include "core/text/pattern.h"

#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/text/pattern_dialect.h"
#include "core/text/utf8_stream.h"

namespace vitrine {

namespace {

struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
    void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

// Steps for one search with an expression of a file. Published ones need a few for each character of a match.
constexpr std::uint32_t kMostStepsOfFile = 4'000'000;
constexpr std::size_t kLongestExpression = 1U << 16U;

std::string message_of(int code) {
    PCRE2_UCHAR text[160] = {};
    if (pcre2_get_error_message(code, text, sizeof text) < 0) return "code " + std::to_string(code);
    return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Pattern::Code {
    std::unique_ptr<pcre2_code, Free> code;
    std::string error;  // why there is none
    bool of_file = false;
};

struct Pattern::Search::State {
    std::unique_ptr<pcre2_match_data, Free> match{pcre2_match_data_create(1, nullptr)};
    std::unique_ptr<pcre2_match_context, Free> context{pcre2_match_context_create(nullptr)};
};

Pattern::Pattern(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

Result<std::unique_ptr<Pattern::Code>> Pattern::compile(std::string_view expression) {
    auto result = std::make_unique<Code>();
    const std::unique_ptr<pcre2_compile_context, Free> context(pcre2_compile_context_create(nullptr));
    if (!context) return Error{ErrorKind::OutOfMemory, "No memory is left for a regular expression."};
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int code = 0;
    PCRE2_SIZE offset = 0;
    // Anchors at every line, as Oniguruma has them. User-defined (?C…) call-outs and \C have no place here.
    constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    result->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                     kOptions, &code, &offset, context.get()));
    if (!result->code) {
        result->error = message_of(code) + " at offset " + std::to_string(offset);
        return result;
    }
    // Where the system forbids code made at run time, PCRE2's interpreter does the same more slowly.
    (void)pcre2_jit_compile(result->code.get(), PCRE2_JIT_COMPLETE);
    return result;
}

Result<Pattern> Pattern::ours(std::string_view expression) {
    VITRINE_TRY(auto code, compile(expression));
    if (!code->code) {
        return Error{ErrorKind::Internal,
                     "A built-in regular expression was refused by PCRE2 (" + code->error +
                         "). Please report this with the version of the library libpcre2-8."};
    }
    return Pattern(std::move(code));
}

Result<Pattern> Pattern::of_file(std::string_view expression) {
    const auto refused = [&](const std::string& why) {
        std::string shown = to_valid_utf8(expression.substr(0, 300));
        return Error{ErrorKind::Unsupported,
                     "The tokenizer's regular expression \"" + shown + "\" cannot be used: " + why + "."};
    };
    if (expression.size() > kLongestExpression) return refused("it is longer than 65536 bytes");
    auto translated = to_pcre2(expression);
    if (!translated.ok()) return refused(translated.error().message);
    VITRINE_TRY(auto code, compile(*translated));
    if (!code->code) return refused(code->error);
    code->of_file = true;
    return Pattern(std::move(code));
}

Pattern::Search::Search(const Pattern& pattern) : pattern_(&pattern), state_(std::make_unique<State>()) {
    if (!state_->context) return;
    // Our own expressions need no guard against themselves; a text may be longer than the default number of
    // steps.
    pcre2_set_match_limit(state_->context.get(), pattern.code_->of_file ? kMostStepsOfFile : UINT32_MAX);
}
Pattern::Search::~Search() = default;
Pattern::Search::Search(Search&&) noexcept = default;
Pattern::Search& Pattern::Search::operator=(Search&&) noexcept = default;

std::optional<PatternMatch> Pattern::Search::next(std::string_view text, std::size_t from) {
    if (!state_->match || !state_->context || from > text.size()) return std::nullopt;
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const pcre2_code* code = pattern_->code_->code.get();
    int found = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, state_->match.get(),
                            state_->context.get());
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
        found = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                            state_->match.get(), state_->context.get());
    }
    // No match, or a limit. (0 is a match whose groups do not fit, which nobody asks for.)
    if (found < 0) return std::nullopt;
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(state_->match.get());
    if (range[0] < from || range[1] < range[0] || range[1] > text.size()) return std::nullopt;
    return PatternMatch{range[0], range[1]};
}

}  // namespace vitrine
