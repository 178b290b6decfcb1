#include "app/cli/chat.h"

#include <cstring>
#include <limits>
#include <unistd.h>

#include "app/cli/output.h"
#include "core/text/utf8_stream.h"

namespace vitrine::cli {

namespace {

constexpr std::size_t longest_message = 16U << 20;

struct Split {
    std::string word;
    std::string rest;
};

Split first_word(const std::string& line) {
    const auto space = line.find_first_of(" \t");
    if (space == std::string::npos) return {line, ""};
    const auto begin = line.find_first_not_of(" \t", space);
    return {line.substr(0, space), begin == std::string::npos ? "" : line.substr(begin)};
}

bool is_command(const std::string& word) {
    for (const char* known : {"/help", "/new", "/system", "/seed", "/temp", "/top-p", "/top-k", "/max",
                              "/overflow", "/stats", "/regen", "/undo", "/model", "/quit", "/exit"})
        if (word == known) return true;
    return false;
}

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

}  // namespace

int run_chat(const ChatOptions& options) {
    auto opened = open_model(options.model, false,
                             [&](const ModelFacts& facts) { note(memory_sentence(facts, options.engine)); });
    if (!opened.ok()) {
        note(opened.error().message);
        return 2;
    }
    note(opened->sentence);
    if (opened->model->chat_template() == nullptr) {
        const auto why =
            build_prompt(*opened->model, to_json(std::vector<ChatMessage>{{"user", "x"}}), PromptOptions{});
        note(why.ok() ? "This model has no chat template." : why.error().message);
        return 2;
    }
    const bool typed = isatty(STDIN_FILENO) != 0;
    auto draft = open_draft(options.draft, opened->model);
    if (!draft.ok()) {
        note(draft.error().message);
        return 2;
    }
    Chat chat(opened->model, options, typed, isatty(STDOUT_FILENO) != 0);
    if (const Status set = chat.set_draft(std::move(draft).value()); !set.ok()) {
        note(set.error().message);
        return 2;
    }
    if (options.engine.trace) {
        if (const Status made = chat.open_trace(*options.engine.trace); !made.ok()) {
            note(made.error().message);
            return 2;
        }
    }
    return chat.serve();
}

Chat::Chat(std::shared_ptr<Model> model, const ChatOptions& options, bool typed, bool terminal)
    : model_(std::move(model)),
      input_(STDIN_FILENO, longest_message, interrupts_.wake_fd()),
      runner_(model_, options.engine.engine_options(), options.engine.trace ? &recorder_ : nullptr),
      sampling_(options.sampler.params),
      max_tokens_(options.max_tokens),
      typed_(typed),
      terminal_(terminal) {
    sampling_.seed = options.sampler.seed_or_fresh();
    speculation_ = options.draft.speculation();
    overflow_ = options.overflow == "cut" ? Overflow::Cut : Overflow::Refuse;
    if (options.system) system_ = to_valid_utf8(*options.system);
    start_afresh();
}

void Chat::start_afresh() {
    messages_.clear();
    if (system_) messages_.push_back({"system", *system_});
    ++session_;
}

int Chat::serve() {
    if (typed_)
        note(
            "Type a message and press Enter. /help tells the commands, Ctrl+C stops an answer, Ctrl+D ends "
            "the chat.\n");
    bool warned = false;
    std::string line;
    while (output_alive()) {
        if (typed_) note_inline("> ");
        const auto got = input_.next(line);
        if (got == LineReader::Got::Interrupted) {
            const int presses = interrupts_.take();
            if (!typed_ || warned || presses > 1) break;
            note("\nPress Ctrl+C again to leave, or go on typing.");
            warned = true;
            continue;
        }
        warned = false;
        if (got == LineReader::Got::End) {
            if (input_.error() != 0) {
                note(std::string("Standard input cannot be read: ") + std::strerror(input_.error()) + ".");
                failed_ = true;
            }
            break;
        }
        if (got == LineReader::Got::TooLong) {
            note("The message is longer than " + std::to_string(longest_message >> 20) +
                 " MiB. Nothing was sent.");
            failed_ = true;
            continue;
        }
        if (is_blank(line)) continue;
        line = to_valid_utf8(line);
        const std::string word = first_word(line).word;
        if (is_command(word)) {
            if (command(line) == After::Quit) break;
            continue;
        }
        if (typed_ && word.front() == '/' && word.find('/', 1) == std::string::npos) {
            note("There is no command " + word +
                 "; /help tells them all. Begin with a space to send this as a message.");
            continue;
        }
        messages_.push_back({"user", line});
        answer();
        // Pressed twice during an answer: stop it and leave.
        if (interrupts_.take() > 1) break;
    }
    if (typed_) note("");
    if (const Status whole = recorder_.finish(); !whole.ok()) note(whole.error().message);
    const int written = output_status();
    return failed_ ? 1 : written;
}

// The conversation, without its oldest turns where it is too long and that was chosen. They stay in the
// conversation: with a longer context, or when later turns are undone, they are back.
Result<std::vector<TokenId>> Chat::prompt_ids() {
    const std::int32_t context = runner_.context();
    VITRINE_TRY(FittedPrompt fitted, fit_prompt(*model_, to_json(messages_), PromptOptions{}, context,
                                                answer_room(context, max_tokens_), overflow_));
    if (fitted.dropped_turns > 0)
        note("(The oldest " +
             (fitted.dropped_turns == 1 ? std::string("turn")
                                        : std::to_string(fitted.dropped_turns) + " turns") +
             ", " + std::to_string(fitted.dropped_tokens) + " tokens, " +
             (fitted.dropped_turns == 1 ? "is" : "are") + " left out: the context holds " +
             std::to_string(context) + ".)");
    return std::move(fitted.ids);
}

void Chat::answer() {
    auto prompt = prompt_ids();
    std::optional<Error> wrong;
    if (!prompt.ok()) wrong = prompt.error();
    std::string shown;
    if (!wrong) {
        Request request;
        request.prompt = std::move(prompt).value();
        request.sampling = sampling_;
        // Each message draws from a stream of its own, and the same conversation from the same ones.
        request.sampling.stream += messages_.size() << 20;
        request.max_tokens = max_tokens_;
        request.speculation = speculation_;
        request.session = session_;
        request.cancel = std::make_shared<std::atomic<bool>>(false);
        const auto cancel = request.cancel;
        const auto show = [&](const std::string& piece) {
            if (piece.empty()) return;
            shown += piece;
            write_out(terminal_ ? terminal_text(piece) : piece);
        };
        runner_.on_token = [&](const TokenEvent& event) { show(event.text); };
        runner_.on_step = [&] {
            if (interrupts_.pending() > 0 || !output_alive()) cancel->store(true);
        };
        auto outcome = runner_.run_one(std::move(request));
        if (outcome.ok()) {
            show(outcome->text.substr(std::min(shown.size(), outcome->text.size())));
            last_ = std::move(outcome).value();
        } else {
            wrong = outcome.error();
        }
        if (!shown.empty()) write_out(typed_ ? "\n" : "\n\n");
    }
    if (wrong) {
        note(wrong->message + " The message was not kept." +
             (wrong->kind != ErrorKind::TooLarge ? ""
              : overflow_ == Overflow::Cut
                  ? " /new begins a new conversation."
                  : " /new begins a new conversation, /overflow cut leaves out the oldest turns."));
        failed_ = true;
    } else if (last_->reason == FinishReason::Cancelled) {
        note("(stopped)");
    } else if (last_->reason == FinishReason::Context) {
        note("(The context is full; /new begins a new conversation.)");
    } else if (last_->reason == FinishReason::Length && typed_) {
        note("(" + std::to_string(max_tokens_) + " tokens, as --max-tokens or /max says)");
    }
    // A question without any answer does not stay: many templates refuse two of them in a row.
    if (shown.empty()) {
        if (!wrong && last_->reason != FinishReason::Cancelled) note("(The model answered nothing.)");
        if (!typed_ && !wrong) write_out("\n");
        messages_.pop_back();
    } else {
        messages_.push_back({"assistant", shown});
    }
}

void Chat::regenerate() {
    if (messages_.empty() || messages_.back().role != "assistant") {
        note("There is no answer to make again.");
        return;
    }
    const ChatMessage before = messages_.back();
    const ChatMessage question = messages_[messages_.size() - 2];
    messages_.pop_back();
    ++sampling_.stream;
    if (sampling_.greedy()) note("(The temperature is 0, so the answer will be the same.)");
    answer();
    if (messages_.empty() || messages_.back().role != "assistant") {
        // Nothing new came: the earlier answer stays.
        messages_.push_back(question);
        messages_.push_back(before);
    }
}

Chat::After Chat::command(const std::string& line) {
    const Split split = first_word(line);
    const std::string& name = split.word;
    if (name == "/quit" || name == "/exit") return After::Quit;
    if (name == "/help") {
        help();
    } else if (name == "/new") {
        start_afresh();
        note("A new conversation begins.");
    } else if (name == "/system") {
        set_system(split.rest);
    } else if (name == "/overflow") {
        if (split.rest == "cut" || split.rest == "refuse") {
            overflow_ = split.rest == "cut" ? Overflow::Cut : Overflow::Refuse;
            note("overflow is now " + split.rest + ".");
        } else {
            note("/overflow needs cut or refuse.");
        }
    } else if (name == "/stats") {
        show_stats();
    } else if (name == "/regen") {
        regenerate();
        interrupts_.take();
    } else if (name == "/undo") {
        while (!messages_.empty() && messages_.back().role == "assistant") messages_.pop_back();
        if (!messages_.empty() && messages_.back().role == "user") messages_.pop_back();
        note("The last message and its answer are forgotten.");
    } else if (name == "/model") {
        note(model_->display_name() + ", " + model_->weights_format() + ", on " +
             model_->device().info().description);
    } else {
        set_number(name, split.rest);
    }
    return After::Next;
}

void Chat::help() const {
    note(
        "/new            a new conversation\n"
        "/system TEXT    a new conversation with this system prompt; without TEXT: with none\n"
        "/regen          another answer to the last message\n"
        "/undo           forget the last message and its answer\n"
        "/temp X         temperature, 0: always the most probable token\n"
        "/top-p X, /top-k N   narrow the choice\n"
        "/seed N         random stream\n"
        "/max N          end an answer after N tokens, 0: when the context is full\n"
        "/overflow cut   leave out the oldest turns where the context is too short; refuse: say so\n"
        "/stats          how quick the last answer was, and the settings\n"
        "/model          which model answers\n"
        "/quit           leave (also Ctrl+D, or Ctrl+C twice)");
}

void Chat::set_system(const std::string& text) {
    if (text.empty())
        system_.reset();
    else
        system_ = text;
    start_afresh();
    note(text.empty() ? "A new conversation begins, without a system prompt."
                      : "A new conversation begins, with this system prompt.");
}

void Chat::set_number(const std::string& name, const std::string& value) {
    Status status;
    if (name == "/seed") {
        const auto seed = parse_seed(value);
        if (seed.ok()) {
            sampling_.seed = *seed;
            sampling_.stream = 0;
        } else {
            status = seed.error();
        }
    } else if (name == "/temp") {
        const auto number = parse_decimal(value, "/temp", 0, 100);
        if (number.ok())
            sampling_.temperature = static_cast<float>(*number);
        else
            status = number.error();
    } else if (name == "/top-p") {
        const auto number = parse_decimal(value, "/top-p", 0, 1);
        if (number.ok())
            sampling_.top_p = static_cast<float>(*number);
        else
            status = number.error();
    } else {
        const auto number = parse_integer(value, name, 0, int32_most);
        if (!number.ok())
            status = number.error();
        else if (name == "/top-k")
            sampling_.top_k = static_cast<std::int32_t>(*number);
        else
            max_tokens_ = *number == 0 ? -1 : static_cast<std::int32_t>(*number);
    }
    note(status.ok() ? name.substr(1) + " is now " + value + "." : status.error().message);
}

void Chat::show_stats() const {
    if (last_) {
        const RequestStats& stats = last_->stats;
        note("Last answer: " + std::to_string(stats.prompt_tokens) + " prompt tokens, " +
             std::to_string(stats.cached_tokens) + " of them from the prefix cache; " +
             std::to_string(stats.generated_tokens) + " tokens made, first after " +
             fixed(stats.ttft_seconds * 1000, 0) + " ms, then " + fixed(stats.decode_tok_s(), 1) +
             " a second.");
    } else {
        note("There was no answer yet.");
    }
    note("Temperature " + fixed(static_cast<double>(sampling_.temperature), 2) + ", top-p " +
         fixed(static_cast<double>(sampling_.top_p), 2) + ", top-k " + std::to_string(sampling_.top_k) +
         ", seed " + std::to_string(sampling_.seed) + ".");
}

}  // namespace vitrine::cli
