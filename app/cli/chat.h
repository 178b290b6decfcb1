// `vitrine-cli chat`: a conversation in the terminal, or in a pipe, where each line is a message.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/line_reader.h"
#include "app/cli/options.h"
#include "app/cli/runner.h"
#include "core/engine/prompt.h"

namespace vitrine::cli {

struct ChatOptions {
    ModelOptions model;
    EngineFlags engine;
    SamplerFlags sampler;
    DraftFlags draft;
    std::optional<std::string> system;
    std::int32_t max_tokens = -1;
    std::string overflow = "refuse";

    ChatOptions() {
        sampler.params.temperature = 0.6F;
        sampler.params.top_p = 0.95F;
    }
};

int run_chat(const ChatOptions& options);

class Chat {
  public:
    Chat(std::shared_ptr<Model> model, const ChatOptions& options, bool typed, bool terminal);
    Status set_draft(std::shared_ptr<Model> draft) { return runner_.set_draft(std::move(draft)); }
    Status open_trace(const std::string& path) { return recorder_.open_trace(path, *model_); }

    // Serves lines until the end of input, /quit or two presses of Ctrl+C. Exit status.
    int serve();

  private:
    enum class After { Next, Quit };

    After command(const std::string& line);
    void help() const;
    void set_system(const std::string& text);
    void set_number(const std::string& name, const std::string& value);
    void show_stats() const;
    void regenerate();
    // Answers the last message of the user; takes it back where that fails.
    void answer();
    void start_afresh();

    Result<std::vector<TokenId>> prompt_ids();

    std::shared_ptr<Model> model_;
    Recorder recorder_;
    Interrupts interrupts_;
    LineReader input_;
    Runner runner_;
    std::vector<ChatMessage> messages_;
    std::optional<std::string> system_;
    SamplingParams sampling_;
    Speculation speculation_;
    std::int32_t max_tokens_;
    bool typed_;     // a person types
    bool terminal_;  // standard output is a terminal
    Overflow overflow_ = Overflow::Refuse;
    bool failed_ = false;
    std::int64_t session_ = 1;
    std::optional<Outcome> last_;
};

}  // namespace vitrine::cli
