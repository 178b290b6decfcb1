// TOK-10, TOK-11: long runs of one character class take time that grows with their length, on a small stack.
#include <functional>
#include <memory>
#include <string>

#include <QThread>
#include <QtTest>

#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

// Runs on a thread with a stack as small as a busy engine thread leaves.
void on_small_stack(const std::function<void()>& work) {
    const std::unique_ptr<QThread> thread(QThread::create(work));
    thread->setStackSize(256U << 10U);
    thread->start();
    thread->wait();
}

}  // namespace

class TstTokenizerGrowth : public QObject {
    Q_OBJECT

  private slots:
    void tok10_tok11_runs_data() {
        QTest::addColumn<QString>("pre");
        for (const char* pre : {"gpt2", "smollm", "llama-bpe", "qwen2", "tekken", "deepseek-v3"})
            QTest::newRow(pre) << pre;
    }
    void tok10_tok11_runs() {
        QFETCH(QString, pre);
        const auto tokenizer = chat_vocabulary(pre.toStdString()).make();
        QVERIFY(tokenizer);
        const std::pair<std::string, std::size_t> runs[] = {
            {"A", 43000},         {"Z", 131072},
            {"us", 40000},        {"\xE5\xAD\x97", 90000},
            {".", 200000},        {"\n", 50000},
            {" \n", 100000},      {"\r\n", 100000},
            {" ", 100000},        {"7", 100000},
            {"\xCC\x81", 100000}, {"\xFF", 100000},
            {"aB", 100000},       {"'s", 100000},
            {"<|im_", 100000},    {"\t ", 100000},
            {"\x01", 100000},     {"\xF0\x9F\x98\x80", 100000},
        };
        for (const auto& [unit, bytes] : runs) {
            const std::string text = repeated(unit, bytes);
            std::string back;
            on_small_stack([&] {
                for (const TokenId id : tokenizer->encode(text, true, false)) back += tokenizer->bytes(id);
            });
            QVERIFY2(back == text, unit.c_str());
        }
    }

    void tok10_time_grows_with_the_text_data() {
        QTest::addColumn<QString>("pre");
        QTest::addColumn<QByteArray>("unit");
        const char* const units[] = {"A", "us", "\xE5\xAD\x97",     ".",    "\n", " \n",
                                     " ", "7",  "\xCC\x81\xCC\x96", "\xFF", "aB", "<|im_"};
        int i = 0;
        for (const char* pre : {"gpt2", "smollm", "llama-bpe", "qwen2", "tekken", "deepseek-v3"}) {
            for (const char* unit : units) {
                QTest::addRow("%s %d", pre, i++ % static_cast<int>(std::size(units)))
                    << pre << QByteArray(unit);
            }
        }
    }
    void tok10_time_grows_with_the_text() {
        QFETCH(QString, pre);
        QFETCH(QByteArray, unit);
        const auto tokenizer = chat_vocabulary(pre.toStdString()).make();
        QVERIFY(tokenizer);
        QVERIFY(grows_linearly(1U << 15U, [&](std::size_t n) {
            QVERIFY(!tokenizer->encode(repeated(unit.toStdString(), n), true, false).empty());
        }));
    }

    // Spellings that have everything in common, and a text that keeps almost completing them.
    void special_tokens_do_not_multiply_the_time() {
        TinyVocabulary tiny;
        tiny.add(std::string(20000, 'a') + "b", TokenType::Control);
        for (std::size_t n = 2; n < 200; ++n) tiny.add(std::string(n, 'a') + "c", TokenType::Control);
        const auto tokenizer = tiny.make();
        QVERIFY(tokenizer);
        QVERIFY(grows_linearly(1U << 15U, [&](std::size_t n) {
            QCOMPARE(tokenizer->encode(std::string(n, 'a'), true, false).size(), n);
        }));
    }

    // Ranks in an order that no training gives must not cost more than the logarithm either.
    void hostile_ranks_do_not_multiply_the_time() {
        TinyVocabulary tiny;
        std::string run = "a";
        std::vector<std::string> merges;
        for (int i = 0; i < 60; ++i) {
            tiny.merge(run, "a");
            run += "a";
            if (i < 58) tiny.merge("a" + run, "b");
        }
        std::reverse(tiny.data.merges.begin(), tiny.data.merges.end());
        const auto tokenizer = tiny.make();
        QVERIFY(tokenizer);
        const std::string unit = std::string(61, 'a') + "b";
        QVERIFY(grows_linearly(1U << 15U, [&](std::size_t n) {
            QVERIFY(!tokenizer->encode(repeated(unit, n), false, false).empty());
        }));
    }
};

QTEST_APPLESS_MAIN(TstTokenizerGrowth)
#include "tst_tokenizer_growth.moc"
