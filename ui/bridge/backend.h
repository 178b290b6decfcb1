// What the worker thread drives. One implementation is the engine; tests put others in its place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ui/bridge/types.h"

namespace vitrine::ui {

// Made anywhere, then used by the worker thread alone.
class Backend {
  public:
    virtual ~Backend() = default;

    // Replaces the model. On failure the one before stays, unless memory was needed for the attempt.
    virtual Result<ModelInfo> load(const LoadSpec& spec, const LoadProgress& progress) = 0;
    virtual void unload() = 0;
    virtual bool loaded() const = 0;

    // Renders, tokenizes, leaves out what does not fit where that is wished, and submits.
    virtual Result<Submitted> submit(const ChatRequest& request,
                                     std::shared_ptr<std::atomic<bool>> cancel) = 0;
    // The prompt of the request submitted last; null where nobody needs to know.
    virtual std::shared_ptr<const PromptText> prompt_text() const { return nullptr; }
    // The bytes of a token of the loaded model.
    virtual std::string token_text(std::int32_t /*id*/) const { return {}; }
    virtual bool is_control(std::int32_t /*id*/) const { return false; }
    virtual Result<CountAnswer> count(const CountQuestion& question, const std::atomic<bool>* cancel) = 0;

    virtual Result<PreviewAnswer> preview(const PreviewQuestion& question,
                                          const std::atomic<bool>* cancel) = 0;

    virtual bool step(EngineListener& listener) = 0;
    // Ends the cancelled requests and moves nobody else.
    virtual void drop_cancelled(EngineListener& listener) = 0;
    virtual bool idle() const = 0;
    virtual void release_session(std::int64_t session, bool drop_cache) = 0;

    virtual KvSnapshot snapshot() const = 0;
    // Text of the tokens in a block; empty where it holds none.
    virtual std::string block_text(std::int32_t) const { return {}; }
    virtual void take_records(std::vector<Record>& out) = 0;  // appends
    virtual EngineFigures figures() const = 0;
    // Bytes free on the device now; 0: not known. Not for every iteration: it asks the system.
    virtual std::uint64_t memory_free() const { return 0; }
    // GB/s that the device reads memory with, measured; 0 where it cannot be measured. Takes a moment.
    virtual double measure_read_bandwidth() = 0;
};

// How models are opened, but for the threads and the progress of a load, which come with it.
std::unique_ptr<Backend> make_engine_backend(const LoadOptions& options = {});

}  // namespace vitrine::ui
