// Runs requests to their end on one engine that is kept from call to call, and grows its KV pool by need: a
// probe of twenty tokens takes no pool of a whole context.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/cli/recorder.h"
#include "core/base/result.h"
#include "core/engine/engine.h"

namespace vitrine::cli {

// One answer.
struct Outcome {
    std::vector<TokenId> ids;  // what was generated, the end-of-generation id included
    std::string text;
    FinishReason reason = FinishReason::Stop;
    std::optional<Error> error;
    RequestStats stats;
    bool finished = false;
};

class Runner {
  public:
    // options.blocks is chosen here. The context is options.context, or the model's. The recorder, where
    // there is one, outlives the runner.
    Runner(std::shared_ptr<Model> model, EngineOptions options, Recorder* recorder = nullptr);

    std::int32_t context() const;

    // Submits all and steps until the first `needed` of them have ended; the others are cancelled then. All
    // answers to the first request come first, then those to the second, and so on.
    // An error where one of the needed ones is refused or fails; the engine is idle and usable afterwards.
    Result<std::vector<Outcome>> run(std::vector<Request> requests, std::size_t needed);
    Result<Outcome> run_one(Request request);

    // An engine with room for `tokens` tokens in `sequences` sequences at a time, each rounded up to whole
    // blocks.
    Status reserve(std::int64_t tokens, std::int32_t sequences);
    // An engine with room for one whole context, less where memory is short.
    Status reserve_context();
    // Drafts for the requests that ask for it, on this engine and those that follow; null: none.
    Status set_draft(std::shared_ptr<Model> draft);
    Engine& engine() { return *engine_; }
    const Model& model() const { return *model_; }
    // Called with each token of the needed requests as it comes; may be empty.
    std::function<void(const TokenEvent&)> on_token;
    // Called after each iteration, also in the middle of a long prompt; may be empty.
    std::function<void()> on_step;

  private:
    Result<std::vector<Outcome>> run_all(std::vector<Request> requests, std::size_t needed);
    std::uint64_t bytes_of_block() const;
    void drain();
    bool step(EngineListener& listener);
    Status adopt(std::unique_ptr<Engine> engine);

    std::shared_ptr<Model> model_;
    std::shared_ptr<Model> draft_;
    EngineOptions options_;
    std::unique_ptr<Engine> engine_;
    Recorder* recorder_;
    bool whole_context_ = false;
};

}  // namespace vitrine::cli
