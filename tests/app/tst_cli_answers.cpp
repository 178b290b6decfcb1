// Several answers, candidates, traces, the static cache and conversations that are too long, from outside.
#include <cmath>

#include <QtTest>

#include "tests/app/cli_process.h"

namespace {

QJsonObject json_of(const QByteArray& text) { return QJsonDocument::fromJson(text).object(); }

QStringList run_with(const QStringList& rest) {
    return QStringList{"run",          "--model", embedded_model, "--prompt", "Tell me of the sea",
                       "--max-tokens", "8"} +
           rest;
}

}  // namespace

class TestCliAnswers : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

  private slots:
    void several_answers_to_one_prompt() {
        const QStringList warm = {"--temperature", "1", "--seed", "5"};
        const auto json = json_of(run_cli(run_with(warm + QStringList{"--n", "3", "--json"})).out);
        const auto answers = json["answers"].toArray();
        QCOMPARE(answers.size(), 3);
        QCOMPARE(answers[0].toObject()["text"], json["text"]);
        QVERIFY(answers[1].toObject()["text"] != json["text"]);
        QCOMPARE(json_of(run_cli(run_with(warm + QStringList{"--json"})).out)["text"], json["text"]);
        const auto fixed =
            json_of(run_cli(run_with(warm + QStringList{"--n", "3", "--json", "--cache", "static"})).out);
        QCOMPARE(fixed["answers"], json["answers"]);
        const Ran text = run_cli(run_with(warm + QStringList{"--n", "3"}));
        QCOMPARE(text.status, 0);
        for (int i = 0; i < 3; ++i)
            QVERIFY(text.out.contains(
                ("[" + QString::number(i + 1) + "] " + answers[i].toObject()["text"].toString()).toUtf8()));
        const auto metrics = json["metrics"].toObject();
        QCOMPARE(metrics["requests"].toInt(), 3);
        QCOMPARE(metrics["tokens"].toInt(), 24);
        QCOMPARE(metrics["itl"].toObject()["count"].toInt(), 21);
        QCOMPARE(metrics["tpot"].toObject()["count"].toInt(), 3);
    }

    void candidates_with_log_probabilities() {
        const auto json = json_of(run_cli(run_with({"--json", "--candidates", "10"})).out);
        const auto tokens = json["tokens"].toArray();
        QCOMPARE(tokens.size(), 8);
        for (const auto& value : tokens) {
            const auto token = value.toObject();
            const auto candidates = token["candidates"].toArray();
            QCOMPARE(candidates.size(), 10);
            QCOMPARE(candidates[0].toObject()["id"], token["id"]);  // greedy
            QCOMPARE(token["rank"].toInt(), 1);
            double before = 0;
            double sum = 0;
            for (const auto& c : candidates) {
                const double p = c.toObject()["log_probability"].toDouble(1);
                QVERIFY(p <= before);
                before = p;
                sum += std::exp(p);
            }
            QVERIFY(sum <= 1.0001);
        }
        QVERIFY(!json_of(run_cli(run_with({"--json"})).out).contains("tokens"));
    }

    void bans_and_stop_strings() {
        const auto plain = json_of(run_cli(run_with({"--json", "--candidates", "1"})).out);
        const int first = plain["tokens"].toArray()[0].toObject()["id"].toInt();
        const auto banned = json_of(run_cli(run_with({"--json", "--candidates", "1", "--logit-bias",
                                                      QString::number(first) + ":-inf"}))
                                        .out);
        for (const auto& token : banned["tokens"].toArray()) QVERIFY(token.toObject()["id"].toInt() != first);
        const QString text = plain["text"].toString();
        const QString stop = text.mid(text.size() / 2, 3);
        const auto stopped = json_of(run_cli(run_with({"--json", "--stop", stop})).out);
        QCOMPARE(stopped["text"].toString(), text.left(text.indexOf(stop)));
        QCOMPARE(stopped["finish"].toString(), QString("stop"));
        for (const char* wrong : {"5", "a:1", "5:", "5:nan", "-1:2", "99999999:1"})
            QVERIFY(run_cli(run_with({"--logit-bias", wrong})).status != 0);
    }

    void traces_are_written_while_it_runs_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("run") << run_with({"--n", "2"});
        QTest::newRow("bench") << QStringList{"bench",    "--model", embedded_model, "--prefill", "8",
                                              "--decode", "3",       "--repeat",     "1",         "--json"};
        QTest::newRow("chat") << QStringList{"chat", "--model", embedded_model, "--max-tokens", "4"};
        QTest::newRow("probe") << QStringList{"probe", "--model", embedded_model};
    }
    void traces_are_written_while_it_runs() {
        QFETCH(QStringList, arguments);
        const QByteArray input =
            arguments[0] == "probe" ? "{\"op\":\"greedy\",\"ids\":[1,2,3],\"n\":4}\n" : "Hello\n";
        const QString chrome = folder_.filePath("trace.json");
        QCOMPARE(run_cli(arguments + QStringList{"--trace", chrome}, input).status, 0);
        QFile file(chrome);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto events = json_of(file.readAll())["traceEvents"].toArray();
        int iterations = 0;
        for (const auto& event : events)
            iterations += event.toObject()["cat"].toString() == "iteration" ? 1 : 0;
        QVERIFY(iterations > 0);
        const QString lines = folder_.filePath("trace.jsonl");
        QCOMPARE(run_cli(arguments + QStringList{"--trace", lines}, input).status, 0);
        QFile other(lines);
        QVERIFY(other.open(QIODevice::ReadOnly));
        int tokens = 0;
        for (const QByteArray& line : other.readAll().trimmed().split('\n')) {
            const auto record = json_of(line);
            QVERIFY(record.contains("kind"));
            tokens += record["kind"].toString() == "token" ? 1 : 0;
        }
        QVERIFY(tokens > 0);
        QCOMPARE(run_cli(arguments + QStringList{"--trace", "/nowhere/trace.json"}, input).status, 2);
        // Never over the model itself.
        const QString copy = folder_.filePath("copy.gguf");
        QFile::remove(copy);
        QVERIFY(QFile::copy(embedded_model, copy));
        QStringList onto = arguments;
        onto.replaceInStrings(embedded_model, copy);
        const qint64 size = QFileInfo(copy).size();
        QCOMPARE(run_cli(onto + QStringList{"--trace", copy}, input).status, 2);
        QCOMPARE(QFileInfo(copy).size(), size);
    }

    void ctx_02_a_conversation_is_cut_only_as_chosen() {
        const QString model = model_with_context(folder_, 96);
        const QStringList chat = {"chat", "--model", model, "--max-tokens", "8", "--temperature", "0"};
        QByteArray turns;
        for (int i = 0; i < 6; ++i)
            turns += "Question number " + QByteArray::number(i) + " is about boats.\n";
        const Ran refused = run_cli(chat, turns);
        QCOMPARE(refused.status, 1);
        QVERIFY(refused.err.contains("not kept"));
        QVERIFY(!refused.err.contains("left out:"));
        const Ran cut = run_cli(chat + QStringList{"--overflow", "cut"}, turns);
        QCOMPARE(cut.status, 0);
        QVERIFY(cut.err.contains("left out:"));
        QVERIFY(cut.err.contains("96"));
        QCOMPARE(run_cli(chat, "/overflow cut\n" + turns).status, 0);
        QCOMPARE(run_cli(chat + QStringList{"--overflow", "maybe"}).status, 2);
        // One turn alone cannot be cut.
        const Ran single = run_cli(
            {"run", "--model", model, "--overflow", "cut", "--prompt", QString("word ").repeated(200)});
        QCOMPARE(single.status, 1);
        QVERIFY(single.err.contains("does not help"));
    }

    void ctx_16_the_cache_is_told_before_the_model_is_loaded() {
        const Ran ran = run_cli({"chat", "--model", embedded_model, "--context", "512"});
        QCOMPARE(ran.status, 0);
        QVERIFY(ran.err.contains("Context 512 tokens, KV cache up to "));
        QVERIFY(ran.err.contains("MiB"));
    }

    void what_this_build_cannot_do_is_one_sentence() {
        for (const char* command : {"run", "chat", "bench", "probe"}) {
            const Ran ran = run_cli({command, "--model", embedded_model, "--device", "cuda"}, "");
            QCOMPARE(ran.status, 2);
            QCOMPARE(ran.out, QByteArray());
            QCOMPARE(ran.err.trimmed().count('\n'), 0);
            QVERIFY(ran.err.contains("GPU"));
        }
        QCOMPARE(run_cli(run_with({"--kv", "bf16"})).status, 0);
        QCOMPARE(run_cli(run_with({"--cache", "heap"})).status, 2);
        QCOMPARE(run_cli(run_with({"--n", "0"})).status, 2);
    }

    void draws_of_probe_are_those_of_single_requests() {
        ProbeProcess probe({"--exact"});
        const QJsonObject sampler{{"temperature", 1.0}, {"top_p", 0.9}};
        const auto draws = [&](int count) {
            return probe
                .ask({{"op", "sample"},
                      {"ids", some_ids(20)},
                      {"n", 3},
                      {"draws", count},
                      {"seed", 11},
                      {"sampler", sampler}})["draws"]
                .toArray();
        };
        const auto many = draws(35);  // more than are drawn at once
        QCOMPARE(many.size(), 35);
        const auto few = draws(2);
        QCOMPARE(few[0], many[0]);
        QCOMPARE(few[1], many[1]);
        QVERIFY(many[0] != many[1] || many[1] != many[2]);
        ProbeProcess fixed({"--exact", "--cache", "static", "--chunk", "7"});
        QCOMPARE(fixed
                     .ask({{"op", "sample"},
                           {"ids", some_ids(20)},
                           {"n", 3},
                           {"draws", 4},
                           {"seed", 11},
                           {"sampler", sampler}})["draws"]
                     .toArray()[3],
                 many[3]);
    }

    void greedy_is_the_same_in_every_cache() {
        const QJsonObject request{
            {"op", "greedy"}, {"ids", some_ids(40)}, {"n", 12}, {"ignore_eog", true}, {"beside", 3}};
        QJsonObject wanted;
        for (const QStringList& flags : {QStringList{},
                                         {"--cache", "static"},
                                         {"--chunk", "1"},
                                         {"--prefix-cache", "off"},
                                         {"--block-size", "64", "--cache", "static", "--chunk", "7"}}) {
            ProbeProcess probe(flags);
            const auto reply = probe.ask(request);
            QCOMPARE(reply["ids"].toArray().size(), 12);
            if (wanted.isEmpty()) wanted = reply;
            QCOMPARE(reply, wanted);
        }
    }
};

QTEST_GUILESS_MAIN(TestCliAnswers)
#include "tst_cli_answers.moc"
