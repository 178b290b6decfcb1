// Telemetry records as the engine would write them, made up for tests of the panels.
#pragma once

#include "core/telemetry/records.h"

namespace vitrine::test {

inline Record token(std::int64_t request, std::int32_t index, double time, float interval,
                    std::int64_t iteration = 0) {
    Record r{};
    r.kind = RecordKind::Token;
    r.token = {};
    r.token.request = request;
    r.token.iteration = iteration;
    r.token.time = time;
    r.token.interval = interval;
    r.token.index = index;
    return r;
}

inline Record request(std::int64_t id, RequestEvent event, double time, float duration = 0,
                      std::int32_t tokens = 0) {
    Record r{};
    r.kind = RecordKind::Request;
    r.request = {};
    r.request.request = id;
    r.request.event = event;
    r.request.time = time;
    r.request.duration = duration;
    r.request.tokens = tokens;
    return r;
}

inline Record slice(std::int64_t sequence, std::int64_t iteration, std::int32_t first, std::int32_t tokens,
                    std::int32_t outputs = 1, double start = 0) {
    Record r{};
    r.kind = RecordKind::Slice;
    r.slice = {};
    r.slice.sequence = r.slice.request = sequence;
    r.slice.iteration = iteration;
    r.slice.start = start;
    r.slice.first = first;
    r.slice.tokens = tokens;
    r.slice.outputs = outputs;
    return r;
}

inline Record iteration(std::int64_t index, double start, float duration, std::int32_t sequences,
                        std::int32_t tokens, std::int32_t waiting = 0, std::int32_t budget = 256) {
    Record r{};
    r.kind = RecordKind::Iteration;
    r.iteration = {};
    r.iteration.index = index;
    r.iteration.start = start;
    r.iteration.duration = duration;
    r.iteration.matrix = duration * 0.7F;
    r.iteration.attention = duration * 0.1F;
    r.iteration.sample = duration * 0.1F;
    r.iteration.sequences = sequences;
    r.iteration.tokens = tokens;
    r.iteration.budget = budget;
    r.iteration.waiting = waiting;
    return r;
}

// An event in an iteration.
inline Record happened(std::int64_t id, RequestEvent what, std::int64_t at_iteration,
                       std::int32_t tokens = 0) {
    Record r = request(id, what, 0.01 * static_cast<double>(at_iteration), 0, tokens);
    r.request.iteration = at_iteration;
    return r;
}

}  // namespace vitrine::test
