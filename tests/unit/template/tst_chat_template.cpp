// Rendering against the reference: every case of tests/golden/templates (computed by Jinja2 3.1.6 with the
// settings of Hugging Face's renderer), and the faults of the catalogue (TPL) by their names.
#include <clocale>
#include <locale>

#include <QDir>
#include <QtTest>

#include "core/io/model_source.h"
#include "tests/unit/template/rendering.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

std::string model_template() {
    const auto source = ModelSource::open(VITRINE_EMBEDDED_MODEL, {.vocabulary_only = true});
    return source.ok() ? (*source)->chat_template().value_or("") : std::string();
}

std::vector<std::string> files_of(const QString& folder) {
    std::vector<std::string> files;
    for (const QString& name : QDir(folder).entryList({"*.json"}, QDir::Files, QDir::Name)) {
        files.push_back((folder + "/" + name).toStdString());
    }
    return files;
}

constexpr const char* chatml =
    "{% for m in messages %}\n{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}\n{% "
    "endfor %}\n"
    "{% if add_generation_prompt %}\n{{- '<|im_start|>assistant\\n' -}}\n{% endif %}\n";

}  // namespace

class ChatTemplateTest : public QObject {
    Q_OBJECT

  private slots:
    void golden_data();
    void golden();
    void roles_that_do_not_alternate_TPL_01();
    void system_role_refused_TPL_02();
    void trim_and_lstrip_blocks_TPL_04();
    void one_final_newline_TPL_05_data();
    void one_final_newline_TPL_05();
    void constructs_that_others_miss_TPL_07();
    void own_assistant_turn_refused_TPL_08();
    void end_token_after_turns_TPL_11();
    void rendering_grows_at_its_end_TPL_16();
    void generation_prompt_both_ways_TPL_16();
    void json_under_any_locale_TPL_17();
    void syntax_errors_name_their_line_data();
    void syntax_errors_name_their_line();
    void runtime_errors_name_their_line();
    void variables_are_defined();
    void one_template_serves_many_renders();
    void time_data();
    void time();
    void civil_time_is_checked();
};

void ChatTemplateTest::golden_data() {
    QTest::addColumn<QByteArray>("source");
    QTest::addColumn<QByteArray>("row");
    std::vector<std::string> files = files_of(QStringLiteral(VITRINE_GOLDEN_DIR "/templates"));
    if (const QString more = qEnvironmentVariable("VITRINE_TEST_DATA"); !more.isEmpty()) {
        for (const std::string& file : files_of(more + "/templates")) files.push_back(file);
    }
    const std::string of_model = model_template();
    QVERIFY(!of_model.empty());
    int number = 0;
    for (const GoldenCase& golden : golden_cases(files)) {
        const std::string& source = golden.model_template ? of_model : golden.source;
        QTest::newRow((std::to_string(number++) + " " + golden.name).c_str())
            << QByteArray::fromStdString(source) << QByteArray::fromStdString(golden.row.dump());
    }
    QVERIFY(number > 150);
}

void ChatTemplateTest::golden() {
    QFETCH(QByteArray, source);
    QFETCH(QByteArray, row);
    const OrderedJson golden = OrderedJson::parse(row.toStdString());
    const std::string text = render(source.toStdString(), input_of(golden));
    if (golden.contains("error")) {
        QVERIFY2(is_error(text), text.c_str());
        const OrderedJson& error = golden["error"];
        if (error["kind"] == "raise_exception")
            QCOMPARE(text, "error: " + error["message"].get<std::string>());
    } else if (golden.contains("reason")) {
        QVERIFY2(is_error(text), text.c_str());
    } else {
        QCOMPARE(QString::fromStdString(text), QString::fromStdString(golden["expected"].get<std::string>()));
    }
}

void ChatTemplateTest::roles_that_do_not_alternate_TPL_01() {
    const char* source =
        "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Roles must alternate: \"user\" / assistant') }}{% endif %}{{ m.content }}{% "
        "endfor %}";
    const auto chat_template = ChatTemplate::parse(source);
    QVERIFY(chat_template.ok());
    const auto refused =
        (*chat_template)
            ->render(with_messages(R"([{"role":"user","content":"a"},{"role":"user","content":"b"}])"));
    QVERIFY(!refused.ok());
    QCOMPARE(refused.error().message, std::string("Roles must alternate: \"user\" / assistant"));
    QCOMPARE(refused.error().kind, ErrorKind::Template);
    // The same template goes on with a history it accepts.
    const auto accepted =
        (*chat_template)
            ->render(with_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])"));
    QVERIFY(accepted.ok());
    QCOMPARE(accepted->text, std::string("ab"));
}

void ChatTemplateTest::system_role_refused_TPL_02() {
    const std::string text = render(
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}x",
        with_messages(R"([{"role":"system","content":"s"}])"));
    QCOMPARE(text, std::string("error: System role not supported"));
}

void ChatTemplateTest::trim_and_lstrip_blocks_TPL_04() {
    const auto input = with_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])");
    QCOMPARE(render("{% for m in messages %}\n  {% if m.role == 'user' %}\nU {{ m.content }}\n  {% else "
                    "%}\nA\n  {% endif %}\n{% endfor %}\n",
                    input),
             std::string("U a\nA\n"));
    QCOMPARE(render("a\n   {{ 1 }}\n   {# c #}\n\t{% if true %}\n x\n{%+ endif %}", input),
             std::string("a\n   1\n x\n"));
}

void ChatTemplateTest::one_final_newline_TPL_05_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("expected");
    QTest::newRow("none") << "assistant"
                          << "assistant";
    QTest::newRow("one") << "assistant\n"
                         << "assistant";
    QTest::newRow("three") << "assistant\n\n\n"
                           << "assistant\n\n";
    QTest::newRow("carriage return") << "assistant\r\n"
                                     << "assistant";
    QTest::newRow("lone carriage return") << "a\rb\r"
                                          << "a\nb";
    QTest::newRow("space") << "assistant\n "
                           << "assistant\n ";
    QTest::newRow("newline alone") << "\n"
                                   << "";
    QTest::newRow("printed") << "{{ 'a\\n' }}\n"
                             << "a\n";
}

void ChatTemplateTest::one_final_newline_TPL_05() {
    QFETCH(QString, source);
    QFETCH(QString, expected);
    QCOMPARE(QString::fromStdString(render(source.toStdString())), expected);
}

void ChatTemplateTest::constructs_that_others_miss_TPL_07() {
    QCOMPARE(render("{{ 'a' if (x is defined and not x) else '' }}|{% if [1] is sequence %}s{% endif %}|"
                    "{% generation %}g{% endgeneration %}"),
             std::string("|s|g"));
    // What cannot be parsed says so when it is parsed, not when the first message is sent.
    QVERIFY(!ChatTemplate::parse("{{ x is nonsense }}").ok());
    QVERIFY(!ChatTemplate::parse("{{ x | nonsense }}").ok());
    QVERIFY(!ChatTemplate::parse("{% nonsense %}").ok());
    // Behind a condition an unknown filter is an error only where it is reached, as in the reference.
    QCOMPARE(render("{{ 1 if true else (2 | nonsense) }}"), std::string("1"));
    QVERIFY(is_error(render("{{ 1 if false else (2 | nonsense) }}")));
    QCOMPARE(render("{% if false %}{% include 'x' %}{% endif %}ok"), std::string("ok"));
}

void ChatTemplateTest::own_assistant_turn_refused_TPL_08() {
    const char* source =
        "{% for m in messages %}{% if m.content and m.tool_calls and m.reasoning_content %}"
        "{{ raise_exception('content, thinking and tool calls together') }}{% endif %}{{ m.content }};{% "
        "endfor %}";
    const auto all =
        with_messages(R"([{"role":"assistant","content":"c","reasoning_content":"r","tool_calls":[1]}])");
    QCOMPARE(render(source, all), std::string("error: content, thinking and tool calls together"));
    const auto two =
        with_messages(R"([{"role":"assistant","content":"","reasoning_content":"r","tool_calls":[1]}])");
    QCOMPARE(render(source, two), std::string(";"));
}

void ChatTemplateTest::end_token_after_turns_TPL_11() {
    auto input = with_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])");
    input.eos_token = "</s>";
    QCOMPARE(render("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{{ eos_token "
                    "}}\n{% endfor %}",
                    input),
             std::string("<|im_start|>user\na<|im_end|></s>\n<|im_start|>assistant\nb<|im_end|></s>\n"));
}

void ChatTemplateTest::rendering_grows_at_its_end_TPL_16() {
    for (const std::string& source : {std::string(chatml), model_template()}) {
        RenderInput input;
        input.add_generation_prompt = false;
        std::string before;
        for (int turn = 0; turn < 6; ++turn) {
            input.messages.push_back({{"role", turn % 2 == 0 ? "user" : "assistant"},
                                      {"content", "turn " + std::to_string(turn)}});
            const std::string now = render(source, input);
            QVERIFY(!is_error(now));
            QVERIFY(now.starts_with(before) && now.size() > before.size());
            before = now;
        }
    }
}

void ChatTemplateTest::generation_prompt_both_ways_TPL_16() {
    auto input = with_messages(R"([{"role":"user","content":"a"}])");
    const std::string with = render(chatml, input);
    input.add_generation_prompt = false;
    const std::string without = render(chatml, input);
    QCOMPARE(with, without + "<|im_start|>assistant\n");
    QCOMPARE(render("{{ messages[0].content }}", input), std::string("a"));
}

namespace {
struct CommaPoint : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};
}  // namespace

void ChatTemplateTest::json_under_any_locale_TPL_17() {
    const char* source =
        "{{ {'b': 1, 'a': 'é<', 'f': 0.5, 'n': 1234567.25} | tojson }} {{ 1234567 / 2 }} {{ 2.5 | round(1) "
        "}} "
        "{{ '%.2f' % 1234.5 }} {{ '{:.1f}'.format(0.25) }} {{ '1.5' | float + 1 }} {{ 1e-7 }}";
    const std::string expected =
        "{\"b\": 1, \"a\": \"é<\", \"f\": 0.5, \"n\": 1234567.25} 617283.5 2.5 1234.50 0.2 2.5 1e-07";
    QCOMPARE(render(source), expected);
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaPoint));
    const std::string c_before = std::setlocale(LC_ALL, nullptr);
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
        if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
    const std::string text = render(source);
    std::setlocale(LC_ALL, c_before.c_str());
    std::locale::global(before);
    QCOMPARE(text, expected);
}

void ChatTemplateTest::syntax_errors_name_their_line_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<int>("line");
    QTest::newRow("unclosed tag") << "a\nb {% if x " << 2;
    QTest::newRow("unknown tag") << "a\n\n{% launch %}" << 3;
    QTest::newRow("unclosed for") << "{% for m in x %}\n{{ m }}\n" << 2;
    QTest::newRow("wrong end") << "{% if x %}\n{% endfor %}" << 2;
    QTest::newRow("unclosed comment") << "a\n{# b\nc" << 2;
    QTest::newRow("unclosed raw") << "\n{% raw %}\nc" << 2;
    QTest::newRow("unclosed string") << "\n\n{{ 'abc }}" << 3;
    QTest::newRow("bracket") << "{{ (1]\n}}" << 1;
    QTest::newRow("character") << "\n{{ a ? b }}" << 2;
    QTest::newRow("empty print") << "\n{{ }}" << 2;
    QTest::newRow("assignment") << "\n{% set 1 = 2 %}" << 2;
    QTest::newRow("break outside") << "\n{% break %}" << 2;
    QTest::newRow("break in a macro")
        << "{% for x in y %}\n{% macro m() %}{% break %}{% endmacro %}{% endfor %}" << 2;
    QTest::newRow("unknown filter") << "\n\n{{ a | nope }}" << 3;
    QTest::newRow("repeated keyword") << "\n{{ f(a=1, a=2) }}" << 2;
    QTest::newRow("multi-line tag before") << "{{ 1 +\n 2 }}\n{% nope %}" << 3;
    QTest::newRow("number") << "\n{{ 99999999999999999999 }}" << 2;
}

void ChatTemplateTest::syntax_errors_name_their_line() {
    QFETCH(QString, source);
    QFETCH(int, line);
    const auto parsed = ChatTemplate::parse(source.toStdString());
    QVERIFY(!parsed.ok());
    QCOMPARE(parsed.error().kind, ErrorKind::Template);
    const std::string start = "line " + std::to_string(line) + ": ";
    QVERIFY2(parsed.error().message.starts_with(start), parsed.error().message.c_str());
}

void ChatTemplateTest::runtime_errors_name_their_line() {
    QCOMPARE(render("\n\n{{ nothing.here }}"), std::string("error: line 3: 'nothing' is undefined"));
    QCOMPARE(render("\n{{ 'a' + 1 }}"),
             std::string("error: line 2: can only concatenate str (not \"int\") to str"));
    QCOMPARE(render("{{ messages[0].x.y }}", with_messages("[{}]")),
             std::string("error: line 1: 'dict object' has no attribute 'x'"));
    QCOMPARE(render("{{ 1 / 0 }}"), std::string("error: line 1: division by zero"));
}

void ChatTemplateTest::variables_are_defined() {
    auto input = with_messages("[]");
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    input.add_generation_prompt = false;
    const char* source =
        "{{ messages }}{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ bos_token "
        "}}{{ eos_token }}"
        "{{ enable_thinking is defined }}";
    QCOMPARE(render(source, input), std::string("[]TrueTrueFalse<s></s>False"));
    // A member of extra takes the place of what is there.
    input.extra = OrderedJson::parse(R"({"bos_token": "B", "documents": [1], "enable_thinking": false})");
    QCOMPARE(render(source, input), std::string("[]TrueFalseFalseB</s>True"));
    input.extra = nullptr;
    QCOMPARE(render("{{ bos_token }}", input), std::string("<s>"));
}

void ChatTemplateTest::one_template_serves_many_renders() {
    const auto chat_template = ChatTemplate::parse(
        "{% set ns = namespace(n=0) %}{% macro m() %}{{ ns.n }}{% endmacro %}"
        "{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ m() }}");
    QVERIFY(chat_template.ok());
    const auto input = with_messages(R"([{"a":1},{"a":2}])");
    for (int i = 0; i < 3; ++i) {
        const auto text = (*chat_template)->render(input);
        QVERIFY(text.ok());
        QCOMPARE(text->text, std::string("2"));
    }
    QVERIFY(QString::fromStdString((*chat_template)->source()).startsWith("{% set ns"));
}

void ChatTemplateTest::time_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("moment");
    QTest::addColumn<QString>("expected");
    // Computed by Python's strftime.
    QTest::newRow("date") << "%d %b %Y"
                          << "2026-01-02T00:00:00"
                          << "02 Jan 2026";
    QTest::newRow("long") << "%A, %B %d, %Y %H:%M:%S"
                          << "2024-02-29T23:05:09"
                          << "Thursday, February 29, 2024 23:05:09";
    QTest::newRow("twelve hours") << "%I:%M %p|%-I|%l"
                                  << "2024-12-31T00:30:00"
                                  << "12:30 AM|12|12";
    QTest::newRow("weeks") << "%j %U %W %V %G %u %w"
                           << "2021-01-03T12:00:00"
                           << "003 01 00 53 2020 7 0";
    QTest::newRow("weeks at the end") << "%j %U %W %V %G %u %w"
                                      << "2024-12-30T12:00:00"
                                      << "365 52 53 01 2025 1 1";
    QTest::newRow("short") << "%a %y %-d %-m %e|%F|%T|%D|%R"
                           << "2005-07-09T08:04:01"
                           << "Sat 05 9 7  9|2005-07-09|08:04:01|07/09/05|08:04";
    QTest::newRow("others") << "%% %q %Z%z %f %"
                            << "2026-01-02"
                            << "% %q  000000 %";
    QTest::newRow("whole") << "%c|%x|%X|%h|%C"
                           << "2026-01-02T03:04:05"
                           << "Fri Jan  2 03:04:05 2026|01/02/26|03:04:05|Jan|20";
}

void ChatTemplateTest::time() {
    QFETCH(QString, format);
    QFETCH(QString, moment);
    QFETCH(QString, expected);
    RenderInput input;
    const auto now = parse_civil_time(moment.toStdString());
    QVERIFY(now.has_value());
    input.now = *now;
    QCOMPARE(QString::fromStdString(render("{{ strftime_now('" + format.toStdString() + "') }}", input)),
             expected);
}

void ChatTemplateTest::civil_time_is_checked() {
    for (const char* bad : {"", "2026", "2026-13-01", "2026-00-01", "2026-02-29", "2026-01-32",
                            "2026-01-02T24:00:00", "2026-01-02T00:60", "2026-01-02T00:00:00Z", "2026-1-2",
                            "x026-01-02", "2026-01-02T", "2026-01-02 10"}) {
        QVERIFY2(!parse_civil_time(bad).has_value(), bad);
    }
    QVERIFY(parse_civil_time("2024-02-29 10:20").has_value());
    const CivilTime now = local_now();
    QVERIFY(now.year >= 2024 && now.month >= 1 && now.month <= 12 && now.second < 60);
}

QTEST_GUILESS_MAIN(ChatTemplateTest)
#include "tst_chat_template.moc"
