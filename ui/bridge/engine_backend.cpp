// The engine behind the Backend interface.
#include <algorithm>
#include <array>
#include <utility>

#include "ui/bridge/backend.h"

namespace vitrine::ui {
namespace {

QString text_of(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

ModelInfo describe(Model& model, const Engine& engine) {
    ModelInfo info;
    info.name = text_of(model.display_name());
    info.path = text_of(model.path().string());
    info.architecture = text_of(model.config().architecture);
    info.format = text_of(model.weights_format());
    info.device = text_of(model.device().info().description);
    info.kv_dtype = text_of(info_of(engine.options().kv_dtype).name);
    info.weights_bytes = engine.memory().weights;
    info.parameters = model.parameters();
    info.kv_bytes = engine.memory().kv;
    info.workspace_bytes = engine.memory().workspace;
    info.free_bytes = engine.memory().free;
    info.context = engine.context();
    info.block_size = engine.options().block_size;
    info.blocks = engine.options().blocks;
    info.layers = model.config().layers;
    info.has_template = model.chat_template() != nullptr;
    info.template_error = text_of(model.template_error());
    info.device_note = text_of(model.device_note());
    for (const std::string& warning : model.warnings()) info.warnings.append(text_of(warning));
    return info;
}

class EngineBackend : public Backend {
  public:
    Result<ModelInfo> load(const LoadSpec& spec, const LoadProgress& progress) override {
        LoadOptions options;
        options.threads = spec.threads;
        options.progress = progress;
        const std::filesystem::path path(spec.path);
        auto model = Model::load(path, options);
        if (!model.ok() && model.error().kind == ErrorKind::OutOfMemory && model_) {
            // Both models together were too much; the one that answered until now makes room.
            unload();
            model = Model::load(path, options);
        }
        if (!model.ok()) return std::move(model).error();
        // The pool of the old engine goes first: the new one is planned with what is free then.
        unload();
        VITRINE_TRY(auto engine, Engine::make(model.value(), spec.options));
        model_ = std::move(model).value();
        engine_ = std::move(engine);
        return describe(*model_, *engine_);
    }

    void unload() override {
        engine_.reset();
        model_.reset();
    }
    bool loaded() const override { return engine_ != nullptr; }

    Result<std::int64_t> submit(const ChatRequest& request,
                                std::shared_ptr<std::atomic<bool>> cancel) override {
        PromptOptions options;
        options.cancel = cancel.get();
        Request out;
        VITRINE_TRY(out.prompt, build_prompt(*model_, to_json(request.messages), options));
        out.sampling = request.sampling;
        out.max_tokens = request.max_tokens;
        out.session = request.session;
        out.cancel = std::move(cancel);
        VITRINE_TRY(const RequestId id, engine_->submit(std::move(out)));
        return id.value;
    }

    Result<CountAnswer> count(const CountQuestion& question, const std::atomic<bool>* cancel) override {
        CountAnswer answer;
        answer.serial = question.serial;
        if (!question.draft.empty())
            answer.draft =
                static_cast<std::int32_t>(model_->tokenizer().encode(question.draft, false, false).size());
        if (question.messages.empty()) return answer;
        PromptOptions options;
        options.cancel = cancel;
        VITRINE_TRY(const auto ids, build_prompt(*model_, to_json(question.messages), options));
        answer.total = static_cast<std::int32_t>(ids.size());
        return answer;
    }

    bool step(EngineListener& listener) override { return engine_->step(listener); }
    void drop_cancelled(EngineListener& listener) override { engine_->drop_cancelled(listener); }
    bool idle() const override { return engine_ == nullptr || engine_->idle(); }
    void release_session(std::int64_t session, bool drop_cache) override {
        if (engine_) engine_->release_session(session, drop_cache);
    }

    KvSnapshot snapshot() const override { return engine_ ? engine_->snapshot() : KvSnapshot{}; }
    void take_records(std::vector<Record>& out) override {
        if (!engine_) return;
        std::array<Record, 256> some;
        for (std::size_t n = some.size(); n == some.size();) {
            n = engine_->telemetry().pop(some);
            out.insert(out.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
        }
    }
    EngineFigures figures() const override {
        EngineFigures figures;
        if (engine_) {
            figures.weight_bytes_per_step = engine_->weight_bytes_per_step();
            figures.dropped_records = engine_->telemetry().dropped();
        }
        return figures;
    }
    double measure_read_bandwidth() override {
        if (!model_ || !model_->has_weights()) return 0;
        Device& device = model_->device();
        // Far larger than the caches.
        const std::uint64_t bytes = device.info().threads == 0 ? 1ULL << 30 : 256ULL << 20;
        double best = 0;
        for (int pass = 0; pass < 4; ++pass) {
            const auto seconds = device.read_pass(bytes);
            if (!seconds.ok()) return 0;
            if (pass > 0 && seconds.value() > 0)
                best = std::max(best, static_cast<double>(bytes) / seconds.value());
        }
        static_cast<void>(device.read_pass(0));
        return best / 1e9;
    }

  private:
    std::shared_ptr<Model> model_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Backend> make_engine_backend() { return std::make_unique<EngineBackend>(); }

}  // namespace vitrine::ui
