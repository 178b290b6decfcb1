// Values that cross between the window and the worker thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/prompt.h"
#include "ui/bridge/model_info.h"

namespace vitrine::ui {

// Number of one submission, given out by the window before the engine knows of it.
using Ticket = std::int64_t;

struct LoadSpec {
    std::string path;  // UTF-8
    int threads = 0;
    std::string device = "auto";  // as LoadOptions takes it
    EngineOptions options;
};

// What decides, beside the messages, how a conversation becomes tokens.
struct PromptWish {
    std::string own_template;                            // source; empty: the model's template
    std::vector<std::pair<std::string, bool>> switches;  // variables that the template sees
    std::int32_t context = 0;                            // most tokens; 0: what the engine holds
    std::int32_t max_tokens = -1;  // of the answer: room for it is kept free when turns are cut
    bool cut_oldest = false;       // leave out the oldest turns where it does not fit
};

// Turns that did not fit into the context, the oldest ones.
struct LeftOutTurns {
    std::int32_t turns = 0;
    std::int32_t messages = 0;
    std::int32_t tokens = 0;
};

struct ChatRequest {
    std::int64_t session = 0;
    std::vector<ChatMessage> messages;
    SamplingParams sampling;
    PromptWish wish;
    std::string answer_so_far;    // the answer goes on where this ends; empty: it begins
    std::int32_t candidates = 8;  // told with each token, so that every token can be looked into; 0: none
};

// What a token might have been, with its text: the window has no tokenizer.
struct TokenCandidate {
    std::int32_t id = 0;
    float log_probability = 0;  // the model's own; NaN where it is not among the most probable
    float probability = -1;     // in what was drawn from; −1: not known
    std::string text;           // bytes, may be a part of a character
    bool control = false;       // steers or ends; the text is its name
};

// One token of an answer.
struct AnswerToken {
    std::int32_t id = 0;
    std::int32_t index = 0;
    std::int32_t position = 0;    // in its sequence
    std::int32_t rank = 0;        // 1: the most probable
    std::int32_t text_units = 0;  // how much of the shown text came with it, in UTF-16 units; often 0
    float log_probability = 0;
    float probability = -1;  // in what was drawn from; −1: not known
    float seconds = 0;       // since the token before; since submission for the first
    TokenOrigin origin = TokenOrigin::Sampled;
    std::string piece;  // its own bytes, control tokens by their name
    bool control = false;
    std::vector<TokenCandidate> candidates;
};

// The prompt of a request as the model reads it.
struct PromptText {
    std::string bytes;
    std::vector<std::int32_t> ends;  // of each token, in bytes
    std::int32_t vocabulary = 0;
    std::int32_t block_size = 0;
};

// What became of a ChatRequest.
struct Submitted {
    std::int64_t request = -1;  // the engine's number
    LeftOutTurns left_out;
};

struct AnswerStarted {
    Ticket ticket = 0;
    std::int64_t request = -1;  // the engine's own number, as in records and snapshots
    std::int64_t session = 0;
    LeftOutTurns left_out;
    std::shared_ptr<const PromptText> prompt;  // may be null
};

struct AnswerText {
    Ticket ticket = 0;
    std::string text;  // whole UTF-8 characters
    std::int32_t tokens = 0;
    std::vector<AnswerToken> details;
};

struct AnswerFinished {
    Ticket ticket = 0;
    FinishReason reason = FinishReason::Stop;
    std::optional<Error> error;
    RequestStats stats;
    bool started = false;  // false: refused before the first token was computed
};

// How many tokens a conversation takes; the worker answers only the newest question.
struct CountQuestion {
    std::int64_t serial = 0;
    std::vector<ChatMessage> messages;  // with the draft as the last one, where there is a draft
    std::string draft;
    std::string system = {};               // for its share alone
    std::vector<std::string> pieces = {};  // files beside the draft, each counted by itself
    PromptWish wish = {};
};

struct CountAnswer {
    std::int64_t serial = 0;
    std::int32_t total = 0;  // all of it, before anything is left out
    std::int32_t draft = 0;
    std::int32_t system = 0;
    std::vector<std::int32_t> pieces;
    std::int32_t context = 0;  // what it has to stay below
    // Where total does not fit: what would be left out; none where even that does not help.
    std::optional<LeftOutTurns> cut;
    std::optional<Error> error;
};

// A conversation as a template renders it, for people who look at the template or change it.
struct PreviewQuestion {
    std::int64_t serial = 0;
    std::vector<ChatMessage> messages;
    PromptWish wish;
};

struct PreviewAnswer {
    std::int64_t serial = 0;
    std::string text;  // with the spellings of control tokens
    std::int32_t tokens = 0;
    std::optional<Error> error;  // parse errors name the line
};

struct EngineFigures {
    std::uint64_t weight_bytes_per_step = 0;
    std::uint64_t dropped_records = 0;
    std::uint64_t memory_free = 0;  // on the device, asked about once a second while panels are visible
};

}  // namespace vitrine::ui
