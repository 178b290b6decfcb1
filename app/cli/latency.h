// Latency and throughput as JSON and as a line for people (core/telemetry/metrics.h has the definitions).
#pragma once

#include "core/telemetry/metrics.h"
#include "core/text/chat_template.h"

namespace vitrine::cli {

// {"requests","tokens","seconds","ttft","itl","tpot","end_to_end","user_tok_s","system_tok_s"}; each of the
// four is
// {"count","mean","p50","p95","p99"} in seconds, or null where there was nothing to measure.
OrderedJson latency_json(const MetricsSummary& metrics);

// "TTFT 12.0 ms · ITL 3.1 ms (p95 3.4, p99 3.9)"; "" where nothing was measured.
std::string latency_text(const MetricsSummary& metrics);

}  // namespace vitrine::cli
