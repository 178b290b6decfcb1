// A model on two devices: the same answers as on one, wherever the cut is; and where the cut is made.
#include "core/engine/placement.h"
#include "kernels/split_device.h"
#include "tests/unit/engine/engine_bench.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr std::int32_t kLayers = 4;  // of the embedded model

std::shared_ptr<Model> load_split(const std::string& second, std::int32_t first_layers) {
    LoadOptions o;
    o.open = [&]() -> Result<std::unique_ptr<Device>> {
        VITRINE_TRY(auto a, make_reference_device(2));
        VITRINE_TRY(auto b, second == "cpu" ? make_cpu_device(2) : make_reference_device(2));
        return make_split_device(std::move(a), std::move(b), first_layers, kLayers);
    };
    auto model = Model::load(VITRINE_EMBEDDED_MODEL, o);
    if (!model.ok()) qFatal("%s", model.error().message.c_str());
    return *model;
}

struct Run {
    std::map<int, std::vector<std::vector<float>>> logits;  // of each sequence
    std::vector<TokenId> ids;
};

Run run(const std::shared_ptr<Model>& model, std::int32_t chunk) {
    Run result;
    auto engine = engine_or_die(model, {.context = 256, .block_size = 8, .token_budget = chunk});
    Listener listener;
    for (int sequence = 0; sequence < 2; ++sequence) {
        Request r;
        for (int i = 0; i < 30; ++i) r.prompt.emplace_back(100 + 37 * i + sequence);
        r.max_tokens = 12;
        r.n = 2;
        r.ignore_eog = true;
        r.sampling.temperature = 0.8F;
        r.sampling.seed = 5;
        r.on_logits = [&result, sequence](std::int32_t, std::span<const float> row) {
            result.logits[sequence].emplace_back(row.begin(), row.end());
        };
        if (!engine->submit(std::move(r)).ok()) qFatal("refused");
    }
    while (engine->step(listener)) {
    }
    for (const auto& [id, answer] : listener.answers)
        result.ids.insert(result.ids.end(), answer.ids.begin(), answer.ids.end());
    return result;
}

}  // namespace

class TestSplit : public QObject {
    Q_OBJECT

  private slots:
    void answers_do_not_depend_on_the_cut() {
        const auto whole = load_or_die(VITRINE_EMBEDDED_MODEL, "reference");
        QCOMPARE(whole->config().layers, kLayers);
        const Run expected = run(whole, 256);
        QCOMPARE(expected.ids.size(), std::size_t(24));
        for (const std::int32_t cut : {0, 1, 2, 3}) {
            const Run got = run(load_split("reference", cut), cut == 2 ? 7 : 256);
            QVERIFY2(got.logits == expected.logits, std::to_string(cut).c_str());
            QVERIFY2(got.ids == expected.ids, std::to_string(cut).c_str());
        }
    }

    void devices_may_differ() {
        const auto model = load_split("cpu", 2);
        const DeviceInfo info = model->device().info();
        QVERIFY2(info.description.find("layers 0–1") != std::string::npos, info.description.c_str());
        QVERIFY2(info.description.find("layers 2–3") != std::string::npos, info.description.c_str());
        QCOMPARE(info.name, std::string("reference+cpu"));
        QCOMPARE(run(model, 64).ids.size(), std::size_t(24));
    }

    void layers_are_placed_where_they_fit() {
        ModelConfig c;
        c.layers = 32;
        c.kv_heads = 8;
        c.head_dim = 128;
        c.context = 131072;
        constexpr std::uint64_t kGigabyte = 1ULL << 30U;
        const auto place = [&](std::uint64_t free) {
            return place_layers(c, 16 * kGigabyte, 2 * kGigabyte, free);
        };
        QVERIFY(place(80 * kGigabyte).all);
        QCOMPARE(place(80 * kGigabyte).gpu_layers, 32);
        QVERIFY(place(place(0).needed).all);
        QVERIFY(!place(place(0).needed - 1).all);
        QCOMPARE(place(kGigabyte).gpu_layers, 0);
        std::int32_t before = 0;
        for (std::uint64_t free = kGigabyte; free < place(0).needed; free += kGigabyte / 4) {
            const Placement p = place(free);
            QVERIFY(!p.all && p.gpu_layers >= before && p.gpu_layers < 32);
            // What was placed fits, with the cache of its layers.
            QVERIFY(p.gpu_layers == 0 ||
                    2 * kGigabyte + static_cast<std::uint64_t>(p.gpu_layers) * (14 * kGigabyte / 32) <= free);
            before = p.gpu_layers;
        }
        QVERIFY(before > 24);
        c.layers = 1;  // nothing to split
        QCOMPARE(place_layers(c, 16 * kGigabyte, 0, 8 * kGigabyte).gpu_layers, 0);
    }
};

QTEST_GUILESS_MAIN(TestSplit)
#include "tst_split.moc"
