// The commands of vitrine-cli from outside: what they print, and their exit status.
#include <cmath>
#include <csignal>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QElapsedTimer>
#include <QtTest>

#include "tests/app/cli_process.h"

namespace {

QJsonObject json_of(const QByteArray& text) { return QJsonDocument::fromJson(text).object(); }

// vitrine-cli on a terminal of its own.
class Terminal {
  public:
    explicit Terminal(const QStringList& arguments) {
        QList<QByteArray> words = {QByteArray(VITRINE_CLI)};
        for (const QString& argument : arguments) words.append(argument.toLocal8Bit());
        std::vector<char*> argv;
        for (QByteArray& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        pid_ = forkpty(&fd_, nullptr, nullptr, nullptr);
        if (pid_ == 0) {
            execv(argv[0], argv.data());
            _exit(127);
        }
    }
    ~Terminal() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        if (fd_ >= 0) close(fd_);
    }
    void type(const QByteArray& keys) {
        QVERIFY(::write(fd_, keys.constData(), static_cast<size_t>(keys.size())) == keys.size());
    }
    // Reads until the text is there (true) or the program ended or patience did.
    bool see(const QByteArray& text) {
        QElapsedTimer timer;
        timer.start();
        while (timer.elapsed() < patience_ms) {
            if (const auto at = seen_.indexOf(text); at >= 0) {
                seen_.remove(0, at + text.size());
                return true;
            }
            char bytes[4096];
            const ssize_t got = ::read(fd_, bytes, sizeof bytes);
            if (got <= 0) return false;
            seen_.append(bytes, static_cast<qsizetype>(got));
        }
        return false;
    }
    // Exit status, −1 by a signal.
    int end() {
        char bytes[4096];
        while (::read(fd_, bytes, sizeof bytes) > 0) {
        }
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t pid_ = -1;
    int fd_ = -1;
    QByteArray seen_;
};

}  // namespace

class TestCli : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString text_;

    static QStringList with_model(const char* command, const QStringList& rest = {}) {
        return QStringList{QString::fromLatin1(command), "--model", embedded_model} + rest;
    }

  private slots:
    void initTestCase() {
        text_ = folder_.filePath("text.txt");
        QFile file(text_);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(
            QByteArray("The museum opens at nine in the morning. A guide shows the visitors a glass case. ")
                .repeated(8));
    }

    void help_and_version() {
        const Ran version = run_cli({"--version"});
        QCOMPARE(version.status, 0);
        QCOMPARE(version.out, QByteArray("vitrine-cli " VITRINE_VERSION "\n"));
        const Ran help = run_cli({"--help"});
        QCOMPARE(help.status, 0);
        for (const char* command :
             {"chat", "run", "tokenize", "perplexity", "inspect", "quantize", "bench", "probe"}) {
            QVERIFY(help.out.contains(command));
            const Ran one = run_cli({command, "--help"});
            QCOMPARE(one.status, 0);
            QVERIFY(one.out.size() > 100);
        }
    }

    void usage_errors_are_status_2_data() {
        QTest::addColumn<QStringList>("arguments");
        const QString model = embedded_model;
        for (const QStringList& arguments :
             {QStringList{},
              {"dance"},
              {"--dance"},
              {"probe"},
              {"inspect"},
              {"quantize", model},
              {"perplexity"},
              {"quantize", model, "/nowhere/x.gguf", "--type", "q5_9"},
              {"run", "--prompt"},
              {"run", "--model", model, "--prompt", "a", "--temperature", "-1"},
              {"run", "--model", model, "--prompt", "a", "--temperature", "nan"},
              {"run", "--model", model, "--prompt", "a", "--temperature", "1e999"},
              {"run", "--model", model, "--prompt", "a", "--temperature", "0,5"},
              {"run", "--model", model, "--prompt", "a", "--top-p", "1.5"},
              {"run", "--model", model, "--prompt", "a", "--top-k", "-3"},
              {"run", "--model", model, "--prompt", "a", "--seed", "-1"},
              {"run", "--model", model, "--prompt", "a", "--seed", "18446744073709551616"},
              {"run", "--model", model, "--prompt", "a", "--max-tokens", "many"},
              {"run", "--model", model, "--prompt", "a", "--raw", "--system", "x"},
              {"run", "--model", "/nowhere/model.gguf", "--prompt", "a"},
              {"chat", "--model", "/nowhere/model.gguf"},
              {"bench", "--model", "/nowhere/model.gguf"},
              {"perplexity", "--model", model, "--file", "/nowhere/text"},
              {"quantize", "/nowhere/a.gguf", "/nowhere/b.gguf"},
              {"bench", "--model", model, "--prefill", "0"},
              {"bench", "--model", model, "--prefill", "1,,2"},
              {"bench", "--model", model, "--decode", "x"},
              {"bench", "--model", model, "--repeat", "0"}})
            QTest::newRow(arguments.join(' ').replace(model, "MODEL").toLatin1().constData()) << arguments;
    }
    void usage_errors_are_status_2() {
        QFETCH(QStringList, arguments);
        const Ran ran = run_cli(arguments);
        QCOMPARE(ran.status, 2);
        QCOMPARE(ran.out, QByteArray());
        QVERIFY(ran.err.size() > 10);
    }

    void run_gives_one_answer() {
        const Ran ran = run_cli(with_model("run", {"--prompt", "Hi", "--max-tokens", "12"}));
        QCOMPARE(ran.status, 0);
        QVERIFY(ran.out.trimmed().size() > 3 && ran.out.endsWith('\n'));
        const Ran again = run_cli(with_model("run", {"--max-tokens", "12"}), "Hi\n");  // the prompt by pipe
        QCOMPARE(again.out, ran.out);
        const auto json =
            json_of(run_cli(with_model("run", {"--prompt", "Hi", "--max-tokens", "12", "--json"})).out);
        QCOMPARE((json["text"].toString() + "\n").toUtf8().trimmed(), ran.out.trimmed());
        QCOMPARE(json["finish"].toString(), QString("length"));
        QCOMPARE(json["generated_tokens"].toInt(), 12);
    }

    void run_is_repeated_by_its_seed() {
        const QStringList rest = {
            "--prompt", "Tell me of the sea", "--max-tokens", "16", "--temperature", "1", "--json"};
        const auto first = json_of(run_cli(with_model("run", rest)).out);
        const QString seed = QString::number(first["seed"].toInteger());
        QCOMPARE(json_of(run_cli(with_model("run", rest + QStringList{"--seed", seed})).out)["text"],
                 first["text"]);
        const auto other = json_of(run_cli(with_model("run", rest + QStringList{"--seed", "5"})).out);
        QVERIFY(other["text"] != first["text"]);
    }

    void run_takes_a_text_as_it_is() {
        const auto raw = json_of(
            run_cli(with_model("run", {"--raw", "--prompt", "Once upon", "--max-tokens", "4", "--json"}))
                .out);
        const auto tokens = json_of(run_cli(with_model("tokenize", {"Once upon", "--json"})).out);
        QCOMPARE(raw["prompt_tokens"].toInt(), static_cast<int>(tokens["ids"].toArray().size()));
        const Ran empty = run_cli(with_model("run", {"--raw", "--prompt", ""}));
        QCOMPARE(empty.status, 1);
        QVERIFY(empty.err.contains("empty"));
    }

    void run_says_when_the_context_is_too_short() {
        const QString model = model_with_context(folder_, 64);
        const Ran ran = run_cli({"run", "--model", model, "--prompt", QString("word ").repeated(200)});
        QCOMPARE(ran.status, 1);
        QVERIFY(ran.err.contains("64"));
        const auto full =
            json_of(run_cli({"run", "--model", model, "--raw", "--prompt", QString("word ").repeated(40),
                             "--json", "--temperature", "1", "--seed", "1"})
                        .out);
        QVERIFY(full["finish"].toString() == "context" || full["finish"].toString() == "stop");
        QVERIFY(full["prompt_tokens"].toInt() + full["generated_tokens"].toInt() <= 64);
    }

    void tokenize_shows_ids_and_pieces() {
        const auto json = json_of(run_cli(with_model("tokenize", {"a b", "--json"})).out);
        QCOMPARE(json["ids"].toArray().size(), 2);
        QCOMPARE(json["pieces"].toArray(), QJsonArray({"a", " b"}));
        const Ran table = run_cli(with_model("tokenize", {"--special"}), QByteArray("<|im_end|>\x1b[2J"));
        QCOMPARE(table.status, 0);
        QVERIFY(table.out.contains("control"));
        QVERIFY(!table.out.contains('\x1b'));
        QCOMPARE(run_cli(with_model("tokenize", {"", "--json"})).out.trimmed(),
                 QByteArray(R"({"ids":[],"pieces":[]})"));
    }

    void perplexity_is_that_of_score() {
        const Ran ran = run_cli(
            with_model("perplexity", {"--file", text_, "--window", "64", "--stride", "32", "--json"}));
        QCOMPARE(ran.status, 0);
        const auto json = json_of(ran.out);
        QCOMPARE(json.keys(), QStringList({"perplexity", "tokens"}));
        QFile file(text_);
        QVERIFY(file.open(QIODevice::ReadOnly));
        ProbeProcess probe;
        const auto ids =
            probe.ask({{"op", "tokenize"}, {"text", QString::fromUtf8(file.readAll())}})["ids"].toArray();
        const auto nll =
            probe.ask({{"op", "score"}, {"ids", ids}, {"window", 64}, {"stride", 32}})["nll"].toArray();
        double sum = 0;
        for (const auto& value : nll) sum += value.toDouble();
        QCOMPARE(json["tokens"].toInt(), static_cast<int>(nll.size()));
        QVERIFY(std::abs(json["perplexity"].toDouble() / std::exp(sum / static_cast<double>(nll.size())) -
                         1) < 1e-9);

        const QString short_text = folder_.filePath("short.txt");
        QFile out(short_text);
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.close();
        QCOMPARE(run_cli(with_model("perplexity", {"--file", short_text})).status, 1);
        QCOMPARE(
            run_cli(with_model("perplexity", {"--file", text_, "--window", "8", "--stride", "8"})).status, 1);
    }

    void inspect_tells_whether_a_file_is_usable() {
        const Ran good = run_cli({"inspect", embedded_model});
        QCOMPARE(good.status, 0);
        QVERIFY(good.out.contains("token_embd.weight"));
        const Ran json = run_cli({"inspect", embedded_model, "--json"});
        QCOMPARE(json.status, 0);
        QVERIFY(!json_of(json.out).isEmpty());
        const QString broken = folder_.filePath("broken.gguf");
        QFile file(broken);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("GGUF");
        file.close();
        for (const QStringList& arguments : {QStringList{"inspect", broken},
                                             {"inspect", broken, "--json"},
                                             {"inspect", "/nowhere/x.gguf"}}) {
            const Ran bad = run_cli(arguments);
            QCOMPARE(bad.status, 1);
            QVERIFY(!bad.out.isEmpty());
        }
    }

    // What only the tokenizer finds is found as well, and named with the file and its key.
    void inspect_builds_the_tokenizer() {
        QFile source(embedded_model);
        QVERIFY(source.open(QIODevice::ReadOnly));
        QByteArray bytes = source.readAll();
        const QByteArray key = "tokenizer.ggml.pre";
        const auto at = bytes.indexOf(key);
        QVERIFY(at > 0);
        bytes[at + key.size() + 12] = 'X';  // behind the type and the length
        const QString path = folder_.filePath("unknown pre.gguf");
        QFile copy(path);
        QVERIFY(copy.open(QIODevice::WriteOnly));
        copy.write(bytes);
        copy.close();
        const Ran report = run_cli({"inspect", path, "--json"});
        QCOMPARE(report.status, 1);
        QVERIFY(!json_of(report.out)["usable"].toBool());
        QVERIFY(report.out.contains("tokenizer.ggml.pre"));
        const Ran ran = run_cli({"run", "--model", path, "--prompt", "x"});
        QCOMPARE(ran.status, 2);
        QVERIFY2(ran.err.contains("unknown pre.gguf") && ran.err.contains("tokenizer.ggml.pre"),
                 ran.err.constData());
    }

    // A stream that is closed must not become the program's own pipe or somebody's file.
    void closed_streams() {
        const QString trace = folder_.filePath("closed.jsonl");
        const auto shell = [&](const QString& rest) {
            QProcess process;
            process.start("/bin/sh", {"-c", QStringLiteral("exec \"$0\" ") + rest,
                                      QStringLiteral(VITRINE_CLI), embedded_model, trace});
            return process.waitForFinished(60'000) ? process.exitCode() : -1;
        };
        QCOMPARE(shell("chat --model \"$1\" --max-tokens 3 <&-"), 1);
        QVERIFY(shell("run --model \"$1\" --raw --prompt hi --max-tokens 3 --trace \"$2\" >&-") > 0);
        QFile file(trace);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.read(1) == "{");
    }

    void quantize_goes_round() {
        const QString wide = folder_.filePath("wide é.gguf");
        const QString back = folder_.filePath("back.gguf");
        QCOMPARE(run_cli({"quantize", embedded_model, wide, "--type", "f32"}).status, 0);
        QCOMPARE(run_cli({"quantize", wide, back, "--type", "q8_0"}).status, 0);
        // Rounding what is already round changes nothing: the answers are the same.
        const QStringList rest = {"--prompt", "Hi", "--max-tokens", "8", "--exact", "--kv", "f32"};
        const Ran before = run_cli(QStringList{"run", "--model", embedded_model} + rest);
        QCOMPARE(before.status, 0);
        QCOMPARE(run_cli(QStringList{"run", "--model", back} + rest).out, before.out);
        QCOMPARE(run_cli(QStringList{"run", "--model", wide} + rest).out, before.out);
        for (const char* type : {"q4_0", "q4_1", "f16", "bf16"}) {
            const QString path = folder_.filePath(QString::fromLatin1(type) + ".gguf");
            QCOMPARE(run_cli({"quantize", embedded_model, path, "--type", type}).status, 0);
            QCOMPARE(run_cli({"inspect", path}).status, 0);
            QVERIFY(!run_cli({"run", "--model", path, "--prompt", "Hi", "--max-tokens", "3"}).out.isEmpty());
        }
        QCOMPARE(run_cli({"quantize", embedded_model, embedded_model}).status, 1);
        QCOMPARE(run_cli({"quantize", embedded_model, folder_.filePath("no/such/folder/x.gguf")}).status, 1);
    }

    void bench_gives_what_scripts_rely_on() {
        const Ran ran =
            run_cli(with_model("bench", {"--prefill", "8,16", "--decode", "4", "--depth", "0,32", "--batch",
                                         "1,3", "--step", "1,5", "--repeat", "2", "--json"}));
        QCOMPARE(ran.status, 0);
        QCOMPARE(ran.out.count('\n'), 1);
        const auto json = json_of(ran.out);
        QCOMPARE(json.keys(), QStringList({"machine", "results"}));
        const auto machine = json["machine"].toObject();
        QCOMPARE(machine.keys(), QStringList({"cpu", "gpu", "read_gb_s"}));
        QVERIFY(machine["gpu"].isNull());
        QVERIFY(machine["read_gb_s"].toDouble() > 0);
        int prefill = 0;
        int decode = 0;
        int step = 0;
        for (const auto& value : json["results"].toArray()) {
            const auto result = value.toObject();
            for (const char* key : {"test", "tokens", "depth", "batch", "tok_s_median", "tok_s_min",
                                    "tok_s_max", "weights_gb_s", "share_of_read_bandwidth"})
                QVERIFY2(result.contains(QLatin1String(key)), key);
            if (result["test"].toString() == "prefill")
                ++prefill;
            else if (result["step"].toBool())
                ++step;
            else if (result["test"].toString() == "decode")
                ++decode;
            else
                QFAIL("an unknown test");
            QVERIFY(result["tok_s_min"].toDouble() > 0);
            QVERIFY(result["tok_s_min"].toDouble() <= result["tok_s_median"].toDouble());
            QVERIFY(result["tok_s_median"].toDouble() <= result["tok_s_max"].toDouble());
            QVERIFY(result["weights_gb_s"].toDouble() > 0);
            const double share = result["weights_gb_s"].toDouble() / machine["read_gb_s"].toDouble();
            QVERIFY(std::abs(result["share_of_read_bandwidth"].toDouble() / share - 1) < 1e-9);
            // The phases are all of the time, and between them they read what the iteration read.
            QStringList names;
            double time = 0;
            double bytes = 0;
            for (const auto& each : result["phases"].toArray()) {
                const auto phase = each.toObject();
                names << phase["phase"].toString();
                time += phase["share_of_time"].toDouble();
                bytes += phase["bytes"].toDouble();
                QVERIFY(phase["seconds"].toDouble() > 0);
                if (names.back() == "host") continue;
                QVERIFY2(phase["bytes"].toDouble() > 0, qPrintable(names.back()));
                const double gb_s = phase["bytes"].toDouble() / phase["seconds"].toDouble() * 1e-9;
                QVERIFY(std::abs(phase["gb_s"].toDouble() / gb_s - 1) < 1e-9);
            }
            QCOMPARE(names,
                     QStringList({"embed", "qkv", "attention", "project", "feed_forward", "logits", "host"}));
            QVERIFY(std::abs(time - 1) < 1e-9);
            QVERIFY2(bytes > 15e6 && bytes < 25e6, qPrintable(QString::number(bytes)));
        }
        QCOMPARE(prefill, 8);
        QCOMPARE(decode, 4);
        QCOMPARE(step, 4);
        const Ran table = run_cli(with_model("bench", {"--decode", "2", "--repeat", "1"}));
        QCOMPARE(table.status, 0);
        QVERIFY(table.out.contains("\n  feed_forward") && table.out.contains("\n  host"));
        QVERIFY(table.out.contains("tok/s") && table.out.contains("GB/s") && table.out.contains(" %"));
        QCOMPARE(run_cli(with_model("bench", {"--prefill", "9000", "--repeat", "1"})).status,
                 1);  // beyond the context
    }

    void chat_in_a_pipe_answers_each_line() {
        const QByteArray lines =
            "Hello\n\n/stats\n/regen\n/system Be brief.\nWhat is a museum?\n/temp hot\n/undo\n/quit\nnever\n";
        const Ran ran = run_cli(with_model("chat", {"--seed", "3", "--max-tokens", "10"}), lines);
        QCOMPARE(ran.status, 0);
        QCOMPARE(ran.out.trimmed().count("\n\n") >= 2, true);
        QVERIFY(!ran.out.contains("> "));
        QVERIFY(ran.err.contains("Model: "));
        QVERIFY(ran.err.contains("seed 3"));
        QVERIFY(ran.err.contains("/temp needs"));
        QCOMPARE(run_cli(with_model("chat", {"--seed", "3", "--max-tokens", "10"}), lines).out, ran.out);
        QCOMPARE(run_cli(with_model("chat")).status, 0);  // nothing said
    }

    void chat_survives_a_message_that_does_not_fit() {  // CTX-02
        const QString model = model_with_context(folder_, 64);
        const Ran ran = run_cli({"chat", "--model", model, "--max-tokens", "4", "--temperature", "0"},
                                QByteArray("word ").repeated(100) + "\nHi\n");
        QCOMPARE(ran.status, 1);  // one message failed
        QVERIFY(ran.err.contains("64"));
        QVERIFY(ran.out.trimmed().size() > 0);  // the other one was answered
    }

    void the_model_that_answers_is_named() {
        auto environment = QProcessEnvironment::systemEnvironment();
        const QString data = folder_.filePath("Загрузки ü 😀　space");
        environment.insert("XDG_DATA_HOME", data);
        const Ran embedded = run_cli({"chat"}, "", environment);
        QCOMPARE(embedded.status, 0);
        QVERIFY(embedded.err.contains("embedded"));
        QVERIFY(QDir().mkpath(data + "/vitrine/models"));
        QVERIFY(QFile::copy(embedded_model, data + "/vitrine/models/SmolLM2-135M-Instruct.Q4_1.gguf"));
        const Ran own = run_cli({"run", "--prompt", "Hi", "--max-tokens", "2"}, "", environment);
        QCOMPARE(own.status, 0);
        QVERIFY(own.err.contains("SmolLM2-135M-Instruct.Q4_1.gguf"));
        QVERIFY(!own.err.contains("embedded"));
        environment.insert("XDG_DATA_HOME", "relative");  // not absolute: does not count
        environment.insert("HOME", folder_.path());
        QVERIFY(run_cli({"chat"}, "", environment)
                    .err.contains((folder_.path() + "/.local/share/vitrine/models").toUtf8()));
    }

    void a_terminal_can_stop_an_answer_and_leave() {
        // An answer without an end: the ids that would end it are banned.
        Terminal terminal(
            with_model("chat", {"--temperature", "0", "--logit-bias", "0:-inf", "--logit-bias", "2:-inf"}));
        QVERIFY(terminal.see("> "));
        terminal.type("/help\n");
        QVERIFY(terminal.see("/regen"));
        terminal.type("/nonsense\n");
        QVERIFY(terminal.see("no command"));
        QVERIFY(terminal.see("> "));
        terminal.type("\x03");
        QVERIFY(terminal.see("Ctrl+C again"));
        QVERIFY(terminal.see("> "));  // what is typed earlier would be thrown away with the next Ctrl+C
        terminal.type("Please write a very long story about a ship.\n");
        QVERIFY(terminal.see("ship.\r\n"));
        QVERIFY(terminal.see(" "));  // the answer began
        terminal.type("\x03");
        QVERIFY(terminal.see("(stopped)"));
        QVERIFY(terminal.see("> "));
        terminal.type("\x03");
        QVERIFY(terminal.see("Ctrl+C again"));
        terminal.type("\x03");
        QCOMPARE(terminal.end(), 0);
    }

    void a_terminal_ends_with_the_input() {
        Terminal terminal(with_model("chat"));
        QVERIFY(terminal.see("> "));
        terminal.type("\x04");
        QCOMPARE(terminal.end(), 0);
    }
};

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
