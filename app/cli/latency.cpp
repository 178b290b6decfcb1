#include "app/cli/latency.h"

#include "app/cli/output.h"

namespace vitrine::cli {

namespace {

OrderedJson spread_json(const Spread& s) {
    if (s.count == 0) return {};
    return {{"count", s.count}, {"mean", s.mean}, {"p50", s.p50}, {"p95", s.p95}, {"p99", s.p99}};
}

}  // namespace

OrderedJson latency_json(const MetricsSummary& m) {
    OrderedJson reply;
    reply["requests"] = m.requests;
    reply["tokens"] = m.tokens;
    reply["seconds"] = m.seconds;
    reply["ttft"] = spread_json(m.ttft);
    reply["itl"] = spread_json(m.itl);
    reply["tpot"] = spread_json(m.tpot);
    reply["end_to_end"] = spread_json(m.end_to_end);
    reply["user_tok_s"] = m.user_tok_s;
    reply["system_tok_s"] = m.system_tok_s;
    return reply;
}

std::string latency_text(const MetricsSummary& m) {
    std::string text;
    if (m.ttft.count > 0) text = "TTFT " + fixed(1e3 * m.ttft.p50, 1) + " ms";
    if (m.itl.count > 0)
        text += std::string(text.empty() ? "" : ", ") + "ITL " + fixed(1e3 * m.itl.p50, 2) + " ms (p95 " +
                fixed(1e3 * m.itl.p95, 2) + ", p99 " + fixed(1e3 * m.itl.p99, 2) + ")";
    return text;
}

}  // namespace vitrine::cli
