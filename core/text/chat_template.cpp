#include "core/text/chat_template.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "core/text/template/lexer.h"
#include "core/text/template/machine.h"
#include "core/text/template/parser.h"
#include "core/text/template/scope.h"
#include "core/text/template/unicode.h"

namespace vitrine {

struct ChatTemplate::Impl {
    std::string source;
    TemplateLimits limits;
    std::unique_ptr<jinja::Program> program;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

const std::string& ChatTemplate::source() const { return impl_->source; }

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::parse(std::string_view source, TemplateLimits limits) {
    try {
        if (source.size() > limits.output_bytes) {
            return Error{ErrorKind::TooLarge, "The chat template has " + std::to_string(source.size()) +
                                                  " bytes; at most " + std::to_string(limits.output_bytes) +
                                                  " are read."};
        }
        std::size_t bad = 0;
        if (!jinja::is_valid_utf8(source, bad)) {
            return Error{ErrorKind::Template,
                         "The chat template is not UTF-8 at byte " + std::to_string(bad) + "."};
        }
        auto impl = std::make_unique<Impl>();
        impl->source = source;
        impl->limits = limits;
        VITRINE_TRY(std::vector<jinja::Token> tokens, jinja::tokenize(source));
        VITRINE_TRY(impl->program,
                    jinja::Parser(std::move(tokens), std::min(limits.depth, jinja::deepest_nesting)).run());
        VITRINE_CHECK(jinja::resolve_names(*impl->program));
        return std::unique_ptr<ChatTemplate>(new ChatTemplate(std::move(impl)));
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::OutOfMemory, "There is not enough memory to read the chat template."};
    } catch (const std::exception& problem) {
        return Error{ErrorKind::Internal,
                     std::string("The chat template could not be read: ") + problem.what()};
    }
}

Result<TrustedText> ChatTemplate::render(const RenderInput& input) const {
    try {
        jinja::Machine machine(*impl_->program, impl_->limits, input);
        return machine.run();
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::OutOfMemory, "There is not enough memory to render the chat template."};
    } catch (const std::exception& problem) {
        return Error{ErrorKind::Internal,
                     std::string("The chat template could not be rendered: ") + problem.what()};
    }
}

}  // namespace vitrine
