// Tokens that the CUDA device draws against the host's sampler. Skipped, with the reason, where no GPU can be
// used.
#include <QtTest>

#include "kernels/gpu/cuda_module.h"
#include "tests/unit/sample/draw_check.h"

using namespace vitrine;
using namespace vitrine::test;

class TestDeviceDraws : public QObject {
    Q_OBJECT

    std::unique_ptr<Device> device_;

    // A step of one token whose logits are written by hand.
    DrawRun run() {
        return [this](std::span<const float> logits, std::int32_t width, std::span<const SampleRow> rows) {
            std::vector<SampleOutcome> outcomes;
            auto buffer = device_->allocate(logits.size());
            if (!buffer.ok()) return outcomes;
            device_->write(**buffer, 0, logits);
            const std::vector<std::int32_t> zero = {0};
            const std::vector<std::int32_t> block = {0};
            SequenceSlice slice;
            slice.rows = 1;
            slice.blocks = block;
            const std::vector<std::int32_t> outputs(logits.size() / static_cast<std::size_t>(width), 0);
            StepInput step;
            step.tokens = zero;
            step.positions = zero;
            step.sequences = std::span(&slice, 1);
            step.output_rows = outputs;
            device_->begin_step(step);
            device_->sample({.logits = buffer->get(), .width = width, .rows = rows});
            if (!device_->finish_step().ok()) return outcomes;
            for (std::size_t r = 0; r < rows.size(); ++r) outcomes.push_back(device_->sampled(r));
            return outcomes;
        };
    }

  private slots:
    void initTestCase() {
        const auto gpus = cuda_gpus();
        if (!gpus.ok()) QSKIP(gpus.error().message.c_str());
        auto device = make_cuda_device(gpus->front().index, false);
        QVERIFY2(device.ok(), device.ok() ? "" : device.error().message.c_str());
        device_ = std::move(*device);
    }

    void smp_10_every_vocabulary_and_setting_draws_what_the_host_draws_data() {
        QTest::addColumn<int>("vocab");
        for (const int vocab : {1, 2, 7, 31, 257, 1000, 1024, 1025, 4096, 32'000, 40'001, 128'256, 262'074})
            QTest::newRow(QByteArray::number(vocab).constData()) << vocab;
    }
    void smp_10_every_vocabulary_and_setting_draws_what_the_host_draws() {
        QFETCH(int, vocab);
        const std::int32_t one = vocab;
        const DrawReport report = check_draws(run(), std::span(&one, 1),
                                              vocab > 100'000  ? 15
                                              : vocab > 20'000 ? 30
                                                               : 100);
        QVERIFY2(report.failures.empty(), report.failures.empty() ? "" : report.failures.front().c_str());
        QVERIFY(report.draws > 0);
        QVERIFY(report.undecided * 20 <= report.rows);
        QVERIFY(report.at_borders * 100 <= report.draws);
    }

    void draws_follow_the_distribution_data() {
        QTest::addColumn<int>("top_k");
        QTest::addColumn<float>("top_p");
        QTest::addColumn<float>("min_p");
        QTest::newRow("all") << 0 << 1.0F << 0.0F;
        QTest::newRow("top-k") << 40 << 1.0F << 0.0F;
        QTest::newRow("top-p") << 0 << 0.9F << 0.0F;
        QTest::newRow("min-p") << 0 << 1.0F << 0.2F;
        QTest::newRow("everything") << 100 << 0.9F << 0.1F;
    }
    void draws_follow_the_distribution() {
        QFETCH(int, top_k);
        QFETCH(float, top_p);
        QFETCH(float, min_p);
        SamplingParams p;
        p.seed = 11;
        p.temperature = 1.0F;
        p.top_k = top_k;
        p.top_p = top_p;
        p.min_p = min_p;
        QVERIFY(draw_deviation(run(), p) < 5.0);
    }

    void settings_that_the_device_has_no_kernel_for_are_told() {
        SampleRow row;
        row.vocab = 100;
        row.temperature = 1.0F;
        QVERIFY(device_->can_sample(row, 100));
        QVERIFY(!device_->can_sample(row, 1 << 20));
        row.typical_p = 0.5F;
        QVERIFY(!device_->can_sample(row, 100));
        row.typical_p = 1.0F;
        row.candidates = 1000;
        QVERIFY(!device_->can_sample(row, 100));
    }
};

QTEST_GUILESS_MAIN(TestDeviceDraws)
#include "tst_device_draws.moc"
