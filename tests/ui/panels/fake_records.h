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

}  // namespace vitrine::test
