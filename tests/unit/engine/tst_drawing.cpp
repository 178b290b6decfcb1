// Where the device draws the tokens, everything that the listener hears is what it hears when rows are read
// and sampled on the host.
#include "tests/unit/engine/drawing_device.h"
#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

// All that a token event says.
class Everything : public Listener {
  public:
    void on_token(const TokenEvent& e) override {
        events[{e.request.value, e.answer}].push_back(e);
        Listener::on_token(e);
    }
    std::map<std::pair<std::int64_t, std::int32_t>, std::vector<TokenEvent>> events;
};

bool same(const TokenEvent& a, const TokenEvent& b) {
    if (a.id != b.id || a.index != b.index || a.text != b.text || a.rank != b.rank ||
        a.log_probability != b.log_probability || a.candidates.size() != b.candidates.size())
        return false;
    for (std::size_t i = 0; i < a.candidates.size(); ++i)
        if (a.candidates[i].id != b.candidates[i].id ||
            a.candidates[i].log_probability != b.candidates[i].log_probability)
            return false;
    return true;
}

bool same(const Everything& a, const Everything& b) {
    if (a.events.size() != b.events.size()) return false;
    for (const auto& [key, events] : a.events) {
        const auto found = b.events.find(key);
        if (found == b.events.end() || found->second.size() != events.size()) return false;
        for (std::size_t i = 0; i < events.size(); ++i)
            if (!same(events[i], found->second[i])) return false;
    }
    return true;
}

Request ask(std::int32_t length, std::uint64_t seed, const SamplingParams& sampling = {}) {
    Request r;
    r.prompt = noise_ids(length, seed);
    r.max_tokens = 12;
    r.ignore_eog = true;
    r.sampling = sampling;
    r.sampling.seed = seed;
    return r;
}

SamplingParams warm(float temperature = 1.0F) {
    SamplingParams p;
    p.temperature = temperature;
    return p;
}

}  // namespace

class TestDrawing : public QObject {
    Q_OBJECT

    using Story = DrawingDevice::Story;
    QTemporaryDir dir_;
    std::shared_ptr<Model> plain_, drawing_;
    std::shared_ptr<Story> story_ = std::make_shared<Story>();

    void run(bool on_device, const std::vector<Request>& requests, Everything& heard,
             const EngineOptions& options = {}) {
        auto engine = engine_or_die(on_device ? drawing_ : plain_, options);
        for (const Request& r : requests) submit_or_die(*engine, r);
        drain(*engine, heard);
    }

  private slots:
    void initTestCase() {
        const SmallModelOptions options{.padding_rows = 4, .layers = 2, .seed = 5};
        plain_ = small(dir_, options, "reference");
        LoadOptions o;
        o.open = [this]() -> Result<std::unique_ptr<Device>> {
            VITRINE_TRY(auto inner, make_reference_device(2));
            return std::unique_ptr<Device>(std::make_unique<DrawingDevice>(std::move(inner), story_));
        };
        auto loaded = Model::load(std::filesystem::path(dir_.path().toStdString()) / "small.gguf", o);
        QVERIFY(loaded.ok());
        drawing_ = *loaded;
    }
    void init() { *story_ = Story(); }

    void answers_are_those_of_the_host_data() {
        QTest::addColumn<QString>("settings");
        for (const char* settings :
             {"greedy", "temperature", "top-k", "top-p", "min-p", "all filters", "bias", "ban", "penalties",
              "penalties of a window", "candidates", "everything"})
            QTest::newRow(settings) << QString(settings);
    }
    void answers_are_those_of_the_host() {
        QFETCH(QString, settings);
        SamplingParams p = settings == "greedy" || settings == "ban" ? SamplingParams() : warm(0.8F);
        const bool all = settings == "everything";
        if (settings == "top-k" || settings == "all filters" || all) p.top_k = 20;
        if (settings == "top-p" || settings == "all filters" || all) p.top_p = 0.8F;
        if (settings == "min-p" || settings == "all filters" || all) p.min_p = 0.05F;
        if (settings == "bias" || all)
            p.logit_bias = {{TokenId{7}, 2.5F}, {TokenId{3}, 1.0F}, {TokenId{7}, -1.0F}};
        if (settings == "ban" || all)
            for (std::int32_t id = 40; id < 250; ++id) p.logit_bias.emplace_back(TokenId{id}, -INFINITY);
        if (settings.startsWith("penalties") || all) {
            p.repetition_penalty = 1.3F;
            p.frequency_penalty = 0.2F;
            p.presence_penalty = 0.4F;
        }
        if (settings == "penalties of a window") p.penalty_window = 9;
        std::vector<Request> requests;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            requests.push_back(ask(static_cast<std::int32_t>(11 * seed), seed, p));
            if (settings == "candidates" || all) requests.back().candidates = 5;
        }
        Everything host, device;
        run(false, requests, host);
        run(true, requests, device);
        QVERIFY(same(host, device));
        QCOMPARE(host.events.size(), std::size_t{3});
        QCOMPARE(story_->rows_read, 0);
        QCOMPARE(story_->draws, 36);
        QVERIFY(story_->before_finish);
    }

    // Chunks of a prompt have no row to sample; preempted sequences are computed again.
    void chunks_and_preemptions() {
        std::vector<Request> requests;
        for (std::uint64_t seed = 1; seed <= 5; ++seed)
            requests.push_back(ask(static_cast<std::int32_t>(20 + 7 * seed), seed, warm()));
        const EngineOptions options{.block_size = 8, .blocks = 14, .token_budget = 7, .prefix_cache = false};
        Everything host, device;
        run(false, requests, host, options);
        run(true, requests, device, options);
        QVERIFY(same(host, device));
        QCOMPARE(story_->draws, 60);
        QCOMPARE(story_->rows_read, 0);
    }

    void several_answers_draw_from_one_row_data() {
        QTest::addColumn<bool>("contiguous");
        QTest::newRow("shared") << false;
        QTest::newRow("each its own prompt") << true;
    }
    void several_answers_draw_from_one_row() {
        QFETCH(bool, contiguous);
        Request r = ask(30, 4, warm());
        r.n = 5;
        r.candidates = 3;
        const EngineOptions options{.cache = contiguous ? CacheMode::Static : CacheMode::Paged};
        EngineOptions sized = options;
        sized.context = 64;
        sized.block_size = 8;
        sized.blocks = 64;
        Everything host, device;
        run(false, {r}, host, sized);
        run(true, {r}, device, sized);
        QCOMPARE(host.events.size(), std::size_t{5});
        QVERIFY(same(host, device));
        QCOMPARE(story_->draws, 60);
        // The first tokens of all come from one row where the prompt is shared.
        QCOMPARE(story_->rows_sampled, contiguous ? 60 : 56);
        QCOMPARE(story_->rows_read, 0);
    }

    // What needs the row, and what the device cannot do, is read and sampled on the host, beside rows that
    // are not.
    void rows_that_are_needed_are_read() {
        std::vector<Request> requests(5, ask(9, 1, warm()));
        int rows = 0;
        int scored = 0;
        requests[1].on_sample_logits = [&](std::span<const float> row) { rows += row.size() == 264 ? 1 : 0; };
        requests[2].on_logits = [&](std::int32_t, std::span<const float>) { ++scored; };
        requests[2].logits_from = 6;
        requests[3].sampling.typical_p = 0.7F;
        requests[4].candidates = 9;
        Everything host, device;
        run(false, requests, host);
        rows = scored = 0;
        run(true, requests, device);
        QVERIFY(same(host, device));
        QCOMPARE(rows, 12);
        QCOMPARE(scored, 3);
        // Of the scored request only the prompt's rows: the last of them is sampled on the host.
        QCOMPARE(story_->rows_read, 12 + 3 + 12 + 12);
        QCOMPARE(story_->draws, 12 + 11);
    }

    void undecided_rows_are_sampled_on_the_host() {
        story_->undecided_every = 3;
        std::vector<Request> requests = {ask(9, 1, warm()), ask(12, 2, warm(0.5F))};
        requests[1].n = 3;
        Everything host, device;
        run(false, requests, host);
        run(true, requests, device);
        QVERIFY(same(host, device));
        QVERIFY(story_->undecided > 5);
        QCOMPARE(story_->rows_read, story_->undecided);
    }

    void a_step_that_fails_is_drawn_sequence_by_sequence() {
        story_->fail_with_rows = 2;
        std::vector<Request> requests = {ask(9, 1, warm()), ask(12, 2, warm()), ask(5, 3)};
        requests[1].n = 2;
        Everything host, device;
        run(false, requests, host);
        run(true, requests, device);
        QVERIFY(same(host, device));
        QCOMPARE(story_->draws, 48);
    }

    void smp_01_non_finite_logits_end_visibly() {
        auto engine = engine_or_die(drawing_, {});
        auto other = engine_or_die(plain_, {});
        Request r = ask(9, 1, warm());
        r.n = 2;
        for (std::int32_t id = 0; id < 264; ++id)
            if (id < 260) r.sampling.logit_bias.emplace_back(TokenId{id}, -INFINITY);
        Everything device, host;
        const RequestId id = submit_or_die(*engine, r);
        const RequestId same_id = submit_or_die(*other, r);
        drain(*engine, device);
        drain(*other, host);
        for (std::int32_t answer = 0; answer < 2; ++answer) {
            const Answer& a = device.at(id, answer);
            const Answer& b = host.at(same_id, answer);
            QCOMPARE(a.reason, FinishReason::Failed);
            QVERIFY(a.error && b.error);
            QCOMPARE(a.error->message, b.error->message);
        }
        QCOMPARE(story_->rows_read, 0);
    }
};

QTEST_GUILESS_MAIN(TestDrawing)
#include "tst_drawing.moc"
