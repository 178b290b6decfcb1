// A model in a temporary file, engines over it, and a listener that keeps what it hears.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "core/engine/engine.h"
#include "tests/unit/io/small_model.h"

namespace vitrine::test {

struct Answer {
    std::vector<TokenId> ids;
    std::string text;
    std::vector<std::vector<float>> logits;  // rows that tokens were sampled from
    bool finished = false;
    FinishReason reason = FinishReason::Failed;
    std::optional<Error> error;
    RequestStats stats;
};

class Listener : public EngineListener {
  public:
    void on_token(const TokenEvent& e) override {
        Answer& a = at(e.request, e.answer);
        if (e.index != static_cast<std::int32_t>(a.ids.size())) qFatal("token %d came out of order", e.index);
        if (a.finished) qFatal("a token after the end");
        a.ids.push_back(e.id);
        a.text += e.text;
    }
    void on_finish(const FinishEvent& e) override {
        Answer& a = at(e.request, e.answer);
        if (a.finished) qFatal("finished twice");
        a.finished = true;
        a.reason = e.reason;
        a.text += e.text;
        a.error = e.error;
        a.stats = e.stats;
    }
    Answer& at(RequestId request, std::int32_t answer) {
        return answer == 0 ? answers[request.value] : further[{request.value, answer}];
    }
    std::map<std::int64_t, Answer> answers;  // the first of each request
    std::map<std::pair<std::int64_t, std::int32_t>, Answer> further;
};

inline std::shared_ptr<Model> load_or_die(const std::filesystem::path& path, const std::string& device,
                                          int threads = 2) {
    LoadOptions o;
    o.device = device;
    o.threads = threads;
    auto model = Model::load(path, o);
    if (!model.ok()) qFatal("%s", model.error().message.c_str());
    return *model;
}

inline std::shared_ptr<Model> small(const QTemporaryDir& dir, const SmallModelOptions& options,
                                    const std::string& device, int threads = 2) {
    const std::filesystem::path path = std::filesystem::path(dir.path().toStdString()) / "small.gguf";
    if (!write_small_model(path, options)) qFatal("cannot write %s", path.c_str());
    return load_or_die(path, device, threads);
}

inline std::shared_ptr<Model> built(const QTemporaryDir& dir, const GgufBuilder& file,
                                    const std::string& device, int threads = 2) {
    const std::filesystem::path path = std::filesystem::path(dir.path().toStdString()) / "built.gguf";
    if (!write_file(path, file.bytes())) qFatal("cannot write %s", path.c_str());
    return load_or_die(path, device, threads);
}

// A model whose rotary embedding changes beyond `original` tokens (longrope).
inline GgufBuilder longrope_model(std::uint32_t original, const SmallModelOptions& options = {}) {
    GgufBuilder b = small_model(options);
    const std::uint64_t half = options.embedding / options.heads / 2;
    Bytes near, far;
    for (std::uint64_t i = 0; i < half; ++i) {
        const Bytes one = le(1.0F + 0.1F * static_cast<float>(i));
        const Bytes other = le(1.5F + 0.7F * static_cast<float>(i));
        near.insert(near.end(), one.begin(), one.end());
        far.insert(far.end(), other.begin(), other.end());
    }
    b.set_u32("llama.rope.scaling.original_context_length", original);
    b.add_tensor("rope_factors_short.weight", {half}, 0, near);
    b.add_tensor("rope_factors_long.weight", {half}, 0, far);
    return b;
}

// Every layer sees `window` tokens.
inline GgufBuilder sliding_model(std::uint32_t window, const SmallModelOptions& options = {}) {
    GgufBuilder b = small_model(options);
    b.set_u32("llama.attention.sliding_window", window);
    return b;
}

inline std::unique_ptr<Engine> engine_or_die(const std::shared_ptr<Model>& model,
                                             const EngineOptions& options) {
    auto engine = Engine::make(model, options);
    if (!engine.ok()) qFatal("%s", engine.error().message.c_str());
    return std::move(*engine);
}

inline std::vector<TokenId> noise_ids(std::int32_t count, std::uint64_t seed, std::int32_t vocab = 260) {
    Noise noise(seed);
    std::vector<TokenId> ids;
    for (std::int32_t i = 0; i < count; ++i)
        ids.emplace_back(static_cast<std::int32_t>(noise.next() % static_cast<std::uint64_t>(vocab)));
    return ids;
}

inline RequestId submit_or_die(Engine& engine, Request request) {
    auto id = engine.submit(std::move(request));
    if (!id.ok()) qFatal("%s", id.error().message.c_str());
    return *id;
}

// Runs until nothing is left to do and checks the pool after every step.
inline void drain(Engine& engine, Listener& listener) {
    for (int guard = 0; engine.step(listener); ++guard) {
        const Status s = engine.verify();
        if (!s.ok()) qFatal("%s", s.error().message.c_str());
        if (guard > 20'000) qFatal("no end");
    }
}

// A request that only its length ends; `rows`: keeps the logits that tokens are sampled from.
inline Request ask_on(std::vector<TokenId> prompt, std::int32_t generate, Answer* rows = nullptr) {
    Request r;
    r.prompt = std::move(prompt);
    r.max_tokens = generate;
    r.ignore_eog = true;
    if (rows != nullptr)
        r.on_sample_logits = [rows](std::span<const float> row) {
            rows->logits.emplace_back(row.begin(), row.end());
        };
    return r;
}

}  // namespace vitrine::test
