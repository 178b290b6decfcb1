// Requests that probe must refuse with a sentence, and lines that are no requests; the next line is served as
// if nothing had happened.
#include <QtTest>

#include "tests/app/cli_process.h"

class TestProbeErrors : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<ProbeProcess> probe_;

    void still_serves(const QByteArray& after) {
        const auto next =
            probe_->ask({{"op", "greedy"}, {"ids", QJsonArray{1}}, {"n", 2}, {"ignore_eog", true}});
        QVERIFY2(next["ids"].toArray().size() == 2, after.left(80).constData());
    }

  private slots:
    void initTestCase() {
        const QString model = model_with_context(folder_, 64);
        QVERIFY(!model.isEmpty());
        probe_ = std::make_unique<ProbeProcess>(QStringList{}, model);
    }

    void a_line_is_refused_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QString>("kind");
        const auto bad = [](const char* name, const QByteArray& line, const char* kind = "invalid_argument") {
            QTest::newRow(name) << line << QString::fromLatin1(kind);
        };
        bad("not JSON", "hello");
        bad("two values", R"({"op":"info"} {"op":"info"})");
        bad("rubbish behind", R"({"op":"info"}x)");
        bad("NUL behind", QByteArray(R"({"op":"info"})") + '\0');
        bad("NUL alone", QByteArray(1, '\0'));
        bad("cut off", R"({"op":"info")");
        bad("single quotes", R"({'op':'info'})");
        bad("trailing comma", R"({"op":"info",})");
        bad("comment", R"({"op":"info"} // x)");
        bad("NaN", R"({"op":"sample","ids":[1],"n":1,"sampler":{"temperature":NaN}})");
        bad("Infinity", R"({"op":"sample","ids":[1],"n":1,"sampler":{"temperature":Infinity}})");
        bad("number beyond double", R"({"op":"sample","ids":[1],"n":1,"sampler":{"temperature":1e999}})");
        bad("invalid UTF-8", "{\"op\":\"tokenize\",\"text\":\"\xff\xfe\"}");
        bad("cut UTF-8", "{\"op\":\"tokenize\",\"text\":\"\xe2\x82\"}");
        bad("overlong UTF-8", "{\"op\":\"tokenize\",\"text\":\"\xc0\xaf\"}");
        bad("surrogate in UTF-8", "{\"op\":\"tokenize\",\"text\":\"\xed\xa0\x80\"}");
        bad("half a pair", R"({"op":"tokenize","text":"\ud83d"})");
        bad("raw control character", "{\"op\":\"tokenize\",\"text\":\"a\x01\"}");
        bad("key twice", R"({"op":"greedy","ids":[1],"n":1,"n":2})");
        bad("key twice inside", R"({"op":"render","messages":[{"role":"a","role":"b"}]})");
        bad("nested without end", QByteArray(1'000'000, '['), "too_large");
        bad("nested deeply",
            R"({"op":"render","messages":[],"extra":{"x":)" + QByteArray(5000, '[') + QByteArray(5000, ']') +
                "}}",
            "too_large");
        bad("nested objects", QByteArray("{\"a\":").repeated(5000) + "1" + QByteArray(5000, '}'),
            "too_large");
        bad("five million values",
            R"({"op":"detokenize","ids":[)" + QByteArray("0,").repeated(5'000'000) + "0]}", "too_large");
        bad("not an object", "[]");
        bad("a number", "5");
        bad("a string", R"("info")");
        bad("null", "null");

        bad("no op", "{}");
        bad("unknown op", R"({"op":"dance"})");
        bad("op not a string", R"({"op":7})");
        bad("op null", R"({"op":null})");
        bad("op in capitals", R"({"op":"INFO"})");

        bad("no text", R"({"op":"tokenize"})");
        bad("text a number", R"({"op":"tokenize","text":5})");
        bad("text null", R"({"op":"tokenize","text":null})");
        bad("text a list", R"({"op":"tokenize","text":["a"]})");
        bad("flag a number", R"({"op":"tokenize","text":"a","parse_special":1})");
        bad("flag a string", R"({"op":"tokenize","text":"a","add_special":"true"})");

        for (const char* op : {"detokenize", "stream", "logits", "greedy", "score", "sample"}) {
            const auto with = [&](const char* what, const QByteArray& ids) {
                const QByteArray name = QByteArray(op) + ": " + what;
                bad(name.constData(), "{\"op\":\"" + QByteArray(op) + "\",\"n\":1" + ids + "}");
            };
            with("no ids", "");
            with("ids null", ",\"ids\":null");
            with("ids a number", ",\"ids\":5");
            with("ids a string", ",\"ids\":\"1\"");
            with("ids an object", ",\"ids\":{}");
            with("id -1", ",\"ids\":[1,-1]");  // TOK-28
            with("id of the vocabulary's size", ",\"ids\":[49152]");
            with("id 10^9", ",\"ids\":[1000000000]");
            with("id 2^31", ",\"ids\":[2147483648]");
            with("id 2^32 + 1", ",\"ids\":[4294967297]");
            with("id 2^63", ",\"ids\":[9223372036854775808]");
            with("id 2^64", ",\"ids\":[18446744073709551616]");
            with("id 1.0", ",\"ids\":[1.0]");
            with("id 1.5", ",\"ids\":[1.5]");
            with("id 1e0", ",\"ids\":[1e0]");
            with("id a string", ",\"ids\":[\"1\"]");
            with("id true", ",\"ids\":[true]");
            with("id null", ",\"ids\":[null]");
            with("id a list", ",\"ids\":[[1]]");
        }
        for (const char* op : {"logits", "greedy", "score", "sample"})  // BAT-16
            bad((QByteArray(op) + ": empty ids").constData(),
                "{\"op\":\"" + QByteArray(op) + "\",\"n\":1,\"ids\":[]}");

        for (const char* op : {"render", "prompt"}) {
            const auto with = [&](const char* what, const QByteArray& members) {
                bad((QByteArray(op) + ": " + what).constData(),
                    "{\"op\":\"" + QByteArray(op) + "\"" + members + "}");
            };
            with("no messages", "");
            with("messages a number", ",\"messages\":5");
            with("messages null", ",\"messages\":null");
            with("messages an object", ",\"messages\":{}");
            with("message a string", ",\"messages\":[\"hi\"]");
            with("generation a string", ",\"messages\":[],\"add_generation_prompt\":\"yes\"");
            with("generation null", ",\"messages\":[],\"add_generation_prompt\":null");
            with("tools a string", ",\"messages\":[],\"tools\":\"x\"");
            with("extra a list", ",\"messages\":[],\"extra\":[]");
            with("template a number", ",\"messages\":[],\"template\":5");
            with("now no moment", ",\"messages\":[],\"now\":\"tomorrow\"");
            with("now a number", ",\"messages\":[],\"now\":0");
        }

        const QByteArray logits = R"({"op":"logits","ids":[1,2])";
        bad("position outside", logits + R"(,"positions":[2]})");
        bad("position negative", logits + R"(,"positions":[-1]})");
        bad("position huge", logits + R"(,"positions":[18446744073709551615]})");
        bad("position 0.5", logits + R"(,"positions":[0.5]})");
        bad("position a string", logits + R"(,"positions":["0"]})");
        bad("positions a number", logits + R"(,"positions":0})");
        bad("probe outside", logits + R"(,"probe":[49152]})");
        bad("probe a number", logits + R"(,"probe":3})");
        bad("top negative", logits + R"(,"top":-1})");
        bad("top 1.5", logits + R"(,"top":1.5})");
        bad("top 2^40", logits + R"(,"top":1099511627776})");

        const QByteArray many = "[" + QByteArray("1,").repeated(99999) + "1]";
        bad("logits beyond the context", R"({"op":"logits","ids":)" + many + "}", "too_large");
        bad("greedy beyond the context", R"({"op":"greedy","n":1,"ids":)" + many + "}", "too_large");
        bad("sample beyond the context", R"({"op":"sample","n":1,"ids":)" + many + "}", "too_large");

        const QByteArray greedy = R"({"op":"greedy","ids":[1])";
        bad("no n", greedy + "}");
        bad("n negative", greedy + R"(,"n":-1})");
        bad("n 1.0", greedy + R"(,"n":1.0})");
        bad("n a string", greedy + R"(,"n":"5"})");
        bad("n null", greedy + R"(,"n":null})");
        bad("n 2^31", greedy + R"(,"n":2147483648})");
        bad("ignore_eog a number", greedy + R"(,"n":1,"ignore_eog":0})");
        bad("beside negative", greedy + R"(,"n":1,"beside":-1})");
        bad("beside huge", greedy + R"(,"n":1,"beside":1000000000})");
        bad("beside a flag", greedy + R"(,"n":1,"beside":true})");

        const QByteArray score = R"({"op":"score","ids":[1,2,3])";
        bad("window 0", score + R"(,"window":0})");
        bad("window 1", score + R"(,"window":1,"stride":1})");
        bad("stride 0", score + R"(,"window":4,"stride":0})");
        bad("stride of the window", score + R"(,"window":4,"stride":4})");
        bad("stride beyond the window", score + R"(,"window":4,"stride":9})");
        bad("window a string", score + R"(,"window":"4"})");
        bad("window beyond the context", R"({"op":"score","ids":)" + many + R"(,"window":65,"stride":5})",
            "too_large");

        const QByteArray sample = R"({"op":"sample","ids":[1],"n":1)";
        bad("draws negative", sample + R"(,"draws":-1})");
        bad("draws 10^12", sample + R"(,"draws":1000000000000})");
        bad("seed negative", sample + R"(,"seed":-1})");
        bad("seed 1.5", sample + R"(,"seed":1.5})");
        bad("seed 2^64", sample + R"(,"seed":18446744073709551616})");
        bad("seed a string", sample + R"(,"seed":"1"})");
        bad("sampler a list", sample + R"(,"sampler":[]})");
        bad("sampler with a wrong name", sample + R"(,"sampler":{"topp":0.5}})");
        for (const QByteArray& member :
             {QByteArray("\"temperature\":-1"), QByteArray("\"temperature\":\"hot\""),
              QByteArray("\"temperature\":null"), QByteArray("\"temperature\":1e39"),
              QByteArray("\"top_k\":-1"), QByteArray("\"top_k\":1.5"), QByteArray("\"top_p\":true"),
              QByteArray("\"min_p\":-0.1"), QByteArray("\"repetition_penalty\":0"),
              QByteArray("\"repetition_penalty\":-1"), QByteArray("\"penalty_window\":-1"),
              QByteArray("\"logit_bias\":[]"), QByteArray("\"logit_bias\":{\"a\":1}"),
              QByteArray("\"logit_bias\":{\"-1\":1}"), QByteArray("\"logit_bias\":{\"49152\":1}"),
              QByteArray("\"logit_bias\":{\"1.0\":1}"), QByteArray("\"logit_bias\":{\"\":1}"),
              QByteArray("\"logit_bias\":{\"1\":\"x\"}"), QByteArray("\"logit_bias\":{\"1\":1e300}")})
            bad(("sampler " + member).constData(), sample + ",\"sampler\":{" + member + "}}");
    }
    void a_line_is_refused() {
        QFETCH(QByteArray, line);
        QFETCH(QString, kind);
        const QByteArray raw = probe_->ask_raw(line);
        QJsonParseError parse;
        const auto reply = QJsonDocument::fromJson(raw, &parse).object();
        QVERIFY2(parse.error == QJsonParseError::NoError, raw.left(200).constData());
        QCOMPARE(reply.keys(), QStringList("error"));
        QCOMPARE(reply["error"].toObject().keys(), QStringList({"kind", "message"}));
        QCOMPARE(kind_of(reply), kind);
        const QString message = reply["error"].toObject()["message"].toString();
        QVERIFY2(message.size() > 20 && message.size() < 600 && message.endsWith('.'), qPrintable(message));
        still_serves(line);
    }

    void blank_lines_are_no_requests() {
        probe_->write("\n  \n\r\n\t\n");
        const auto reply = probe_->ask({{"op", "info"}});
        QVERIFY(reply.contains("layers"));
    }

    void lines_may_end_in_any_way() {
        const Ran ran = run_cli({"probe", "--model", embedded_model, "--vocab-only"},
                                "{\"op\":\"info\"}\r\n  {\"op\":\"info\"}  \n{\"op\":\"info\"}");
        QCOMPARE(ran.status, 0);
        QCOMPARE(ran.out.count('\n'), 3);
        QCOMPARE(ran.out.count("\"layers\":4"), 3);
        QCOMPARE(run_cli({"probe", "--model", embedded_model, "--vocab-only"}).out, QByteArray());
    }

    void a_line_of_any_length_is_bounded() {
        QByteArray input = "{\"op\":\"tokenize\",\"text\":\"";
        input += QByteArray(70 << 20, 'a') + "\"}\n{\"op\":\"info\"}\n" + QByteArray(70 << 20, ' ');
        const Ran ran = run_cli({"probe", "--model", embedded_model, "--vocab-only"}, input);
        QCOMPARE(ran.status, 0);
        const auto lines = ran.out.trimmed().split('\n');
        QCOMPARE(lines.size(), 3);
        QVERIFY(lines[0].contains("too_large"));
        QVERIFY(lines[1].contains("\"layers\":4"));
        QVERIFY(lines[2].contains("too_large"));
    }

    void an_object_of_many_keys_takes_linear_time() {
        QByteArray line = "{\"op\":\"render\",\"messages\":[],\"template\":\"x\",\"extra\":{";
        for (int i = 0; i < 200000; ++i) line += "\"k" + QByteArray::number(i) + "\":0,";
        line += "\"last\":0}}";
        const auto reply = QJsonDocument::fromJson(probe_->ask_raw(line)).object();
        QVERIFY2(reply["text"].toString() == "x" || reply.contains("error"), "an answer came");
        still_serves("many keys");
    }

    void replies_are_ascii() {
        const QByteArray reply =
            probe_->ask_raw(QByteArray("{\"op\":\"render\",\"messages\":[],\"template\":\"é\u2028😀\x7f\"}"));
        for (const char c : reply) QVERIFY(static_cast<unsigned char>(c) < 0x80);
        QCOMPARE(QJsonDocument::fromJson(reply).object()["text"].toString(),
                 QString::fromUtf8("é\u2028😀\x7f"));
    }

    void a_model_that_cannot_be_opened_is_status_2_data() {
        QTest::addColumn<QString>("path");
        const auto file = [&](const char* name, const QByteArray& content) {
            const QString path = folder_.filePath(QString::fromLatin1(name));
            QFile out(path);
            QVERIFY(out.open(QIODevice::WriteOnly));
            out.write(content);
            QTest::newRow(name) << path;
        };
        QTest::newRow("missing") << folder_.filePath("none.gguf");
        QTest::newRow("a folder") << folder_.path();
        QTest::newRow("empty name") << QString("");
        file("empty.gguf", "");
        file("magic.gguf", "GGUF");
        file("text.gguf", QByteArray("hello ").repeated(100));
        QFile model(embedded_model);
        QVERIFY(model.open(QIODevice::ReadOnly));
        file("cut.gguf", model.read(5 << 20));
    }
    void a_model_that_cannot_be_opened_is_status_2() {
        QFETCH(QString, path);
        const Ran ran = run_cli({"probe", "--model", path}, "{\"op\":\"info\"}\n");
        QCOMPARE(ran.status, 2);
        QCOMPARE(ran.out, QByteArray());
        QVERIFY2(ran.err.trimmed().endsWith('.') && ran.err.trimmed().count('\n') == 0, ran.err.constData());
    }

    void flags_are_checked_data() {
        QTest::addColumn<QStringList>("flags");
        for (const QStringList& flags : {QStringList{"--threads", "-1"},
                                         {"--threads", "two"},
                                         {"--threads", "1.5"},
                                         {"--chunk", "0"},
                                         {"--chunk", "99999999999999999999"},
                                         {"--block-size", "7"},
                                         {"--block-size", "0"},
                                         {"--block-size", "12"},
                                         {"--kv", "f8"},
                                         {"--device", "tpu"},
                                         {"--prefix-cache", "maybe"},
                                         {"--cache", "x"},
                                         {"--nonsense"},
                                         {"extra"}})
            QTest::newRow(flags.join(' ').toLatin1().constData()) << flags;
    }
    void flags_are_checked() {
        QFETCH(QStringList, flags);
        const Ran ran =
            run_cli(QStringList{"probe", "--model", embedded_model} + flags, "{\"op\":\"info\"}\n");
        QCOMPARE(ran.status, 2);
        QCOMPARE(ran.out, QByteArray());
        QVERIFY(ran.err.size() > 10);
    }

    void a_reader_that_leaves_ends_it() {
        QProcess shell;
        shell.start("sh", {"-c",
                           "{ yes '{\"op\":\"info\"}' | head -n 20000 | \"$0\" probe --model \"$1\" "
                           "--vocab-only; echo $? >&2; } | head -n 1",
                           VITRINE_CLI, embedded_model});
        QVERIFY(shell.waitForFinished(patience_ms));
        QCOMPARE(shell.readAllStandardError().trimmed(), QByteArray("1"));  // not 141: no signal
    }
};

QTEST_GUILESS_MAIN(TestProbeErrors)
#include "tst_probe_errors.moc"
