// Values that cross between the window and the worker thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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
    EngineOptions options;
};

struct ChatRequest {
    std::int64_t session = 0;
    std::vector<ChatMessage> messages;
    SamplingParams sampling;
    std::int32_t max_tokens = -1;
};

struct AnswerStarted {
    Ticket ticket = 0;
    std::int64_t request = -1;  // the engine's own number, as in records and snapshots
    std::int64_t session = 0;
};

struct AnswerText {
    Ticket ticket = 0;
    std::string text;  // whole UTF-8 characters
    std::int32_t tokens = 0;
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
};

struct CountAnswer {
    std::int64_t serial = 0;
    std::int32_t total = 0;
    std::int32_t draft = 0;
    std::optional<Error> error;
};

struct EngineFigures {
    std::uint64_t weight_bytes_per_step = 0;
    std::uint64_t dropped_records = 0;
};

}  // namespace vitrine::ui
