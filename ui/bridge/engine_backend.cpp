// The engine behind the Backend interface.
#include <algorithm>
#include <array>
#include <utility>

#include <QRegularExpression>

#include "ui/bridge/backend.h"

namespace vitrine::ui {
namespace {

QString text_of(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

// Variables that published templates ask for and that are on or off. The template decides what they do.
QStringList switches_of(const QString& source) {
    static const QRegularExpression name(
        QStringLiteral("\\b(enable_thinking|thinking|keep_thinking|preserve_thinking|reasoning|"
                       "add_thinking|enable_citations|documents_first)\\b"));
    // Only what is read as a variable: inside of {% %} or {{ }}, and not a member or a text.
    static const QRegularExpression code(QStringLiteral("\\{[%{](.*?)[%}]\\}"),
                                         QRegularExpression::DotMatchesEverythingOption);
    static const QRegularExpression assigned(QStringLiteral("\\bset\\s+$"));
    QStringList found, local;
    for (auto it = code.globalMatch(source); it.hasNext();) {
        const QString part = it.next().captured(1);
        for (auto names = name.globalMatch(part); names.hasNext();) {
            const auto match = names.next();
            const QString variable = match.captured();
            const QString before = part.left(match.capturedStart());
            if (before.endsWith(u'.') || before.endsWith(u'\'') || before.endsWith(u'"')) continue;
            if (found.contains(variable) || local.contains(variable)) continue;
            // What the template sets before it reads it is its own business.
            (assigned.match(before).hasMatch() ? local : found).append(variable);
        }
    }
    return found;
}

bool on_gpu(Model& model) { return model.device().info().name.rfind("cuda", 0) == 0; }

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
    info.kv_heads = model.config().kv_heads;
    info.head_dim = model.config().head_dim;
    info.has_template = model.chat_template() != nullptr;
    if (model.chat_template() != nullptr) {
        info.template_source = text_of(model.chat_template()->source());
        info.template_switches = switches_of(info.template_source);
    }
    info.template_error = text_of(model.template_error());
    info.device_note = text_of(model.device_note());
    for (const std::string& warning : model.warnings()) info.warnings.append(text_of(warning));
    return info;
}

class EngineBackend : public Backend {
  public:
    explicit EngineBackend(const LoadOptions& options) : options_(options) {}

    Result<ModelInfo> load(const LoadSpec& spec, const LoadProgress& progress) override {
        LoadOptions options = options_;
        options.threads = spec.threads;
        options.device = spec.device;
        options.progress = progress;
        const std::filesystem::path path(spec.path);
        auto model = Model::load(path, options);
        if (!model.ok() && model.error().kind == ErrorKind::OutOfMemory && model_) {
            // Both models together were too much; the one that answered until now makes room.
            unload();
            model = Model::load(path, options);
        }
        if (model.ok() && model_ && !model.value()->device_note().empty() && on_gpu(*model_)) {
            // Beside the old model there was too little room on the GPU: without it there may be enough.
            model.value().reset();
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

    Result<Submitted> submit(const ChatRequest& request, std::shared_ptr<std::atomic<bool>> cancel) override {
        VITRINE_TRY(PromptOptions options, options_for(request.wish, cancel.get()));
        options.answer_so_far = request.answer_so_far;
        const std::int32_t context = context_for(request.wish);
        VITRINE_TRY(FittedPrompt fitted,
                    fit_prompt(*model_, to_json(request.messages), options, context,
                               answer_room(context, request.wish.max_tokens),
                               request.wish.cut_oldest ? Overflow::Cut : Overflow::Refuse));
        Request out;
        // A context of the chat's own that is shorter than the engine's ends the answer there.
        const auto room = context - static_cast<std::int32_t>(fitted.ids.size());
        out.max_tokens = request.wish.max_tokens;
        if (context < engine_->context() && (out.max_tokens < 0 || out.max_tokens > room))
            out.max_tokens = room;
        out.prompt = std::move(fitted.ids);
        out.sampling = request.sampling;
        out.session = request.session;
        out.candidates = request.candidates;
        remember_prompt(out.prompt);
        out.cancel = std::move(cancel);
        VITRINE_TRY(const RequestId id, engine_->submit(std::move(out)));
        return Submitted{id.value, left_out(fitted)};
    }

    std::shared_ptr<const PromptText> prompt_text() const override { return prompt_; }
    std::string token_text(std::int32_t id) const override {
        return model_ ? std::string(model_->tokenizer().bytes(TokenId{id})) : std::string();
    }
    bool is_control(std::int32_t id) const override {
        if (!model_ || id < 0 || id >= model_->tokenizer().size()) return true;
        return model_->tokenizer().is_control(TokenId{id}) ||
               model_->tokenizer().is_end_of_generation(TokenId{id});
    }

    Result<CountAnswer> count(const CountQuestion& question, const std::atomic<bool>* cancel) override {
        CountAnswer answer;
        answer.serial = question.serial;
        answer.context = context_for(question.wish);
        const auto length = [this](const std::string& text) {
            return text.empty()
                       ? 0
                       : static_cast<std::int32_t>(model_->tokenizer().encode(text, false, false).size());
        };
        answer.draft = length(question.draft);
        answer.system = length(question.system);
        for (const std::string& piece : question.pieces) answer.pieces.push_back(length(piece));
        if (question.messages.empty()) return answer;
        VITRINE_TRY(const PromptOptions options, options_for(question.wish, cancel));
        const OrderedJson messages = to_json(question.messages);
        VITRINE_TRY(const auto ids, build_prompt(*model_, messages, options));
        answer.total = static_cast<std::int32_t>(ids.size());
        if (answer.total < answer.context) return answer;
        const auto fitted = fit_prompt(*model_, messages, options, answer.context,
                                       answer_room(answer.context, question.wish.max_tokens), Overflow::Cut);
        if (fitted.ok()) answer.cut = left_out(*fitted);
        return answer;
    }

    Result<PreviewAnswer> preview(const PreviewQuestion& question, const std::atomic<bool>* cancel) override {
        PreviewAnswer answer;
        answer.serial = question.serial;
        VITRINE_TRY(const PromptOptions options, options_for(question.wish, cancel));
        VITRINE_TRY(TrustedText text, render_prompt(*model_, to_json(question.messages), options));
        answer.tokens = static_cast<std::int32_t>(model_->tokenizer().encode_prompt(text).size());
        answer.text = std::move(text.text);
        return answer;
    }

    bool step(EngineListener& listener) override { return engine_->step(listener); }
    void drop_cancelled(EngineListener& listener) override { engine_->drop_cancelled(listener); }
    bool idle() const override { return engine_ == nullptr || engine_->idle(); }
    void release_session(std::int64_t session, bool drop_cache) override {
        if (engine_) engine_->release_session(session, drop_cache);
    }

    KvSnapshot snapshot() const override { return engine_ ? engine_->snapshot() : KvSnapshot{}; }
    std::string block_text(std::int32_t block) const override {
        std::string text;
        if (!engine_) return text;
        const Tokenizer& tokenizer = model_->tokenizer();
        for (const TokenId id : engine_->block_tokens(BlockId{block}))
            if (id.value < tokenizer.size()) text += tokenizer.bytes(id);
        return text;
    }
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
    std::uint64_t memory_free() const override {
        return model_ && model_->has_weights() ? model_->device().info().memory_free : 0;
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
    static LeftOutTurns left_out(const FittedPrompt& fitted) {
        return {fitted.dropped_turns, fitted.dropped_messages, fitted.dropped_tokens};
    }
    std::int32_t context_for(const PromptWish& wish) const {
        return wish.context > 0 ? std::min(wish.context, engine_->context()) : engine_->context();
    }
    // A template of the chat's own stays parsed until another one is asked for.
    Result<PromptOptions> options_for(const PromptWish& wish, const std::atomic<bool>* cancel) {
        PromptOptions options;
        options.cancel = cancel;
        for (const auto& [name, on] : wish.switches) options.extra[name] = on;
        if (wish.own_template.empty()) return options;
        if (!own_template_ || own_source_ != wish.own_template) {
            VITRINE_TRY(own_template_, ChatTemplate::parse(wish.own_template));
            own_source_ = wish.own_template;
        }
        options.own_template = own_template_.get();
        return options;
    }

    std::string own_source_;
    std::unique_ptr<ChatTemplate> own_template_;
    LoadOptions options_;

    void remember_prompt(const std::vector<TokenId>& ids) {
        auto prompt = std::make_shared<PromptText>();
        prompt->vocabulary = model_->tokenizer().size();
        prompt->block_size = engine_->options().block_size;
        prompt->ends.reserve(ids.size());
        for (const TokenId id : ids) {
            prompt->bytes += model_->tokenizer().bytes(id);
            prompt->ends.push_back(static_cast<std::int32_t>(prompt->bytes.size()));
        }
        prompt_ = std::move(prompt);
    }

    std::shared_ptr<const PromptText> prompt_;
    std::shared_ptr<Model> model_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Backend> make_engine_backend(const LoadOptions& options) {
    return std::make_unique<EngineBackend>(options);
}

}  // namespace vitrine::ui
