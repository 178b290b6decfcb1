// --device auto: the GPU where one answers and has room, else the processor with one line that says why.
#include <algorithm>

#include "tests/unit/engine/engine_bench.h"
#include "tests/unit/engine/losing_device.h"

using namespace vitrine;
using namespace vitrine::test;

class TestAutoDevice : public QObject {
    Q_OBJECT

    QTemporaryDir dir_;
    std::filesystem::path path_;
    std::shared_ptr<LosingDevice::Fate> fate_;
    int opened_ = 0;

    // "auto" and a GPU that is the reference device under another name.
    LoadOptions options(const std::string& device = "auto") {
        LoadOptions o;
        o.device = device;
        o.threads = 2;
        o.open_gpu = [this]() -> Result<std::unique_ptr<Device>> {
            ++opened_;
            if (fate_->lost) return Error{ErrorKind::Unsupported, "No GPU is used: " + fate_->sentence()};
            VITRINE_TRY(auto inner, make_reference_device(2));
            return std::unique_ptr<Device>(std::make_unique<LosingDevice>(std::move(inner), fate_));
        };
        return o;
    }
    std::shared_ptr<Model> load(const LoadOptions& o) {
        auto model = Model::load(path_, o);
        if (!model.ok()) qFatal("%s", model.error().message.c_str());
        return *model;
    }
    static void answers(const std::shared_ptr<Model>& model) {
        const auto engine = engine_or_die(model, {});
        Listener listener;
        const RequestId id = submit_or_die(*engine, ask_on(noise_ids(12, 1), 5));
        drain(*engine, listener);
        QCOMPARE(listener.answers[id.value].ids.size(), std::size_t{5});
    }
    static void one_line(const std::string& note) {
        QVERIFY(!note.empty() && note.back() == '.');
        QVERIFY(note.find('\n') == std::string::npos);
    }

  private slots:
    void initTestCase() {
        path_ = std::filesystem::path(dir_.path().toStdString()) / "small.gguf";
        SmallModelOptions o;
        o.layers = 4;
        o.embedding = 256;
        o.feed_forward = 2048;
        QVERIFY(write_small_model(path_, o));
    }
    void init() {
        fate_ = std::make_shared<LosingDevice::Fate>();
        fate_->name = "cuda";
        fate_->memory_free = 16ULL << 30U;
        opened_ = 0;
    }

    void the_gpu_where_the_model_fits() {
        const auto model = load(options());
        QCOMPARE(opened_, 1);
        QCOMPARE(model->device().info().name, std::string("cuda"));
        QVERIFY(model->device_note().empty());
        answers(model);
    }

    void some_layers_where_it_does_not_as_a_whole() {
        fate_->memory_free = (768ULL << 20U) + (16ULL << 20U);
        const auto model = load(options());
        QCOMPARE(model->device().info().name, std::string("cuda+cpu"));
        one_line(model->device_note());
        QVERIFY(model->device_note().find("on run on the processor") != std::string::npos);
        answers(model);
    }

    void the_processor_where_not_even_a_layer_does() {
        fate_->memory_free = 100ULL << 20U;
        const auto model = load(options());
        QCOMPARE(model->device().info().name, std::string("cpu"));
        one_line(model->device_note());
        QVERIFY(model->device_note().rfind("No GPU is used: ", 0) == 0);
        answers(model);
    }

    void the_processor_where_no_gpu_answers() {
        fate_->lost = true;
        const auto model = load(options());
        QCOMPARE(model->device().info().name, std::string("cpu"));
        one_line(model->device_note());
        QVERIFY(model->device_note().find("stopped working") != std::string::npos);
        answers(model);
        // Who asks for the GPU by name is told, and gets nothing else.
        QVERIFY(!Model::load(path_, options("cuda")).ok());
    }

    void the_processor_where_the_gpu_is_full_after_all_data() {
        QTest::addColumn<int>("uploads");
        for (const int n : {0, 1, 5, 30}) QTest::addRow("after %d matrices", n) << n;
    }
    void the_processor_where_the_gpu_is_full_after_all() {
        QFETCH(int, uploads);
        fate_->uploads_left = uploads;
        const auto model = load(options());
        QCOMPARE(model->device().info().name, std::string("cpu"));
        one_line(model->device_note());
        QVERIFY(model->device_note().find("9 MiB") != std::string::npos);
        answers(model);
        const auto refused = Model::load(path_, options("cuda"));
        QVERIFY(!refused.ok() && refused.error().kind == ErrorKind::OutOfMemory);
    }

    void the_processor_by_name_asks_no_gpu() {
        const auto model = load(options("cpu"));
        QCOMPARE(opened_, 0);
        QVERIFY(model->device_note().empty());
    }
};

QTEST_GUILESS_MAIN(TestAutoDevice)
#include "tst_auto_device.moc"
