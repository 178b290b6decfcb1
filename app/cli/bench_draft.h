// `vitrine-cli bench --draft …`: answers with and without drafts, in turns on one engine, so that what else
// the machine does meets both.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/recorder.h"
#include "core/engine/engine.h"

namespace vitrine::cli {

struct DraftBenchOptions {
    std::string prompts;        // JSON lines with a member "prompt"; empty: a few of our own
    std::int32_t tokens = 128;  // of an answer, at most
    std::int32_t rounds = 5;
    SamplingParams sampling;  // greedy
};

// What all prompts of a round took, plain and with drafts.
struct DraftRound {
    double plain_seconds = 0;  // from the first token of each answer to its last
    double draft_seconds = 0;
    std::int64_t tokens = 0;
    double ratio() const { return draft_seconds > 0 ? plain_seconds / draft_seconds : 0; }
};

struct DraftBenchResult {
    std::vector<DraftRound> rounds;
    std::int64_t steps = 0;  // that verified something
    std::int64_t proposed = 0;
    std::int64_t accepted = 0;
    std::int64_t tokens = 0;            // of all answers with drafts
    std::int64_t iterations = 0;        // that they took
    std::vector<std::int64_t> reached;  // by position in the draft: proposals that were looked at…
    std::vector<std::int64_t> kept;     // …and that stayed
    bool same = true;                   // greedy answers were the plain ones
    SpeculationFigures figures;
};

Result<DraftBenchResult> bench_drafts(const std::shared_ptr<Model>& model,
                                      const std::shared_ptr<Model>& draft, const EngineOptions& engine,
                                      const Speculation& speculation, const DraftBenchOptions& options,
                                      Recorder& recorder, const std::function<bool()>& stopped);

OrderedJson draft_bench_json(const DraftBenchResult& result, const Speculation& speculation);
std::string draft_bench_text(const DraftBenchResult& result, const Speculation& speculation);

}  // namespace vitrine::cli
