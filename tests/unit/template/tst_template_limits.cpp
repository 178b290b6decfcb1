// TPL-13: whatever a template does, it ends soon, takes bounded memory and a bounded part of a small stack,
// and can be stopped.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <QDir>
#include <QThread>
#include <QtTest>

#include "tests/growth.h"
#include "tests/unit/template/rendering.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

Error failure(std::string_view source, const RenderInput& input = {}, TemplateLimits limits = {}) {
    const auto chat_template = ChatTemplate::parse(source, limits);
    if (!chat_template.ok()) return chat_template.error();
    const auto text = (*chat_template)->render(input);
    return text.ok() ? Error{ErrorKind::Internal, "it rendered"} : text.error();
}

std::string times(std::string_view text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
}

// Runs on a thread with a stack as small as workers may have.
#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned small_stack = 3U << 20U;  // frames are some times larger there
#else
constexpr unsigned small_stack = 512U << 10U;
#endif

void on_small_stack(const std::function<void()>& work) {
    class Small : public QThread {
      public:
        explicit Small(const std::function<void()>& w) : work_(w) { setStackSize(small_stack); }
        void run() override { work_(); }

      private:
        const std::function<void()>& work_;
    };
    Small thread(work);
    thread.start();
    thread.wait();
}

}  // namespace

class TemplateLimitsTest : public QObject {
    Q_OBJECT

  private slots:
    void every_beginning_of_a_template_ends();
    void refused_TPL_13_data();
    void refused_TPL_13();
    void deep_sources_on_a_small_stack_TPL_13_data();
    void deep_sources_on_a_small_stack_TPL_13();
    void deep_conversation();
    void cycles_are_taken_apart();
    void reasonable_nesting_works();
    void steps_and_time_are_limits();
    void cancel_stops();
    void large_conversations_work();
    void work_grows_with_the_input();
    void searching_is_linear_TPL_13_data();
    void searching_is_linear_TPL_13();
};

// Cut anywhere, a template is read to its end or refused, and never read for ever.
void TemplateLimitsTest::every_beginning_of_a_template_ends() {
    std::vector<std::string> sources = {
        "{% from x import y with context %}{% import 'a' as b %}{% include 'c' ignore missing %}{% extends "
        "'d' %}",
        "{% for a, (b, c) in x if y recursive %}{% call(d, e=1) f(*g, **h) %}{% endcall %}{% endfor %}",
        "{% with a = 1, b = {'c': [2, (3,)]} %}{% print 1, 2 %}{% block z %}{% endblock z %}{% endwith %}"};
    const QDir folder(QStringLiteral(VITRINE_GOLDEN_DIR "/templates"));
    std::vector<std::string> files;
    for (const QString& name : folder.entryList({"*.json"}, QDir::Files))
        files.push_back(folder.filePath(name).toStdString());
    for (const GoldenCase& golden : golden_cases(files)) {
        if (sources.back() != golden.source && !golden.model_template) sources.push_back(golden.source);
    }
    TemplateLimits limits;
    limits.steps = 5000;
    int read = 0;
    for (std::size_t s = 0; s < sources.size(); ++s) {
        const std::string& source = sources[s];
        for (std::size_t length = 0; length <= source.size(); length += s < 3 ? 1 : 11) {
            const auto chat_template =
                ChatTemplate::parse(std::string_view(source).substr(0, length), limits);
            if (!chat_template.ok()) continue;
            ++read;
            (void)(*chat_template)->render({});
        }
    }
    QVERIFY(read > 50);
}

void TemplateLimitsTest::refused_TPL_13_data() {
    QTest::addColumn<QString>("source");
    const auto row = [](const char* source) { QTest::newRow(source) << source; };
    row("{% for i in range(10000000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}");
    row("{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}");
    row("{{ 'a' * 10 ** 10 }}");
    row("{{ 'a' * 10 ** 18 * 10 }}");
    row("{{ ['a'] * 10 ** 10 }}");
    row("{{ (1, 2) * 9223372036854775807 }}");
    row("{{ range(10 ** 9) | list }}");
    row("{{ range(-9223372036854775807, 9223372036854775807) }}");
    row("{{ 9 ** 9 ** 9 }}");
    row("{{ 2 ** 63 }}");
    row("{{ 9223372036854775807 + 1 }}");
    row("{{ -9223372036854775807 - 2 }}");
    row("{{ (-9223372036854775807 - 1) // -1 }}");
    row("{{ -(-9223372036854775807 - 1) }}");
    row("{{ (-9223372036854775807 - 1) | abs }}");
    row("{{ 1e300 | int }}");
    row("{{ '99999999999999999999' | int }}");
    row("{{ 'x'.center(10 ** 12) }}");
    row("{{ 'x'.ljust(9223372036854775807) }}");
    row("{{ 'x'.zfill(10 ** 12) }}");
    row("{{ 'x' | center(10 ** 12) }}");
    row("{{ 'x' | indent(10 ** 12) }}");
    row("{{ '\\t'.expandtabs(10 ** 12) }}");
    row("{{ '%1000000000000d' % 1 }}");
    row("{{ '%.999999999f' % 1.5 }}");
    row("{{ '%*d' % (10 ** 12, 1) }}");
    row("{{ '{:1000000000000}'.format(1) }}");
    row("{{ '{:.1000000000f}'.format(1.5) }}");
    row("{{ [1] | batch(10 ** 12, 0) | list }}");
    row("{{ [1] | slice(10 ** 12) | list }}");
    row("{{ [] | tojson(indent=10 ** 12) }}");
    row("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}");
    row("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s | replace('', 'xy') %}{% "
        "endfor %}");
    row("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = (ns.s, ns.s) | join(ns.s) "
        "%}{% endfor %}");
    row("{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}");
    row("{% set ns = namespace(s=[1]) %}{% for i in range(150) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ "
        "ns.s }}");
    row("{% set ns = namespace(s=[1]) %}{% for i in range(150) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ "
        "ns.s | tojson }}");
    row("{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(150) %}{% set ns.s = [ns.s, ns.s] %}{% set "
        "ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.s == ns.t }}");
    row("{% set ns = namespace(s=(1,)) %}{% for i in range(150) %}{% set ns.s = (ns.s, ns.s) %}{% endfor "
        "%}{{ {ns.s: 1} }}");
    row("{% set ns = namespace(s=[]) %}{% for i in range(99999) %}{% set ns.s = [ns.s] %}{% endfor %}");
    row("{% set ns = namespace(s=1) %}{% for i in range(99999) %}{% set ns.s = {1: ns.s} %}{% endfor %}");
    row("{% set ns = namespace(s=[1]) %}{% for i in range(99999) %}{% set ns.s = ns.s | map('string') %}{% "
        "endfor %}{{ ns.s | list }}");
    row("{% set ns = namespace(s=1) %}{% for i in range(99999) %}{% set ns.s = cycler(ns.s) %}{% endfor %}");
    row("{% set ns = namespace(s=1) %}{% for i in range(99999) %}{% set ns.s = joiner(ns.s) %}{% endfor %}");
    row("{% set ns = namespace(s=1) %}{% for i in range(99999) %}{% set ns.s = namespace(a=ns.s) %}{% endfor "
        "%}");
    row("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    row("{% macro a(n) %}{{ b(n) }}{% endmacro %}{% macro b(n) %}{{ a(n) }}{% endmacro %}{{ a(0) }}");
    row("{% macro m() %}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}");
    row("{% macro m(x=m()) %}{% endmacro %}{{ m() }}");
    row("{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}");
    row("{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}{% endcall %}{% "
        "endmacro %}{{ n() }}");
    row("{{ ''.__class__.__mro__ }}");
    row("{{ messages.__class__.x }}");
    row("{{ raise_exception.__globals__['os'] }}");
    row("{{ ''['__class__'].x }}");
    row("{{ ('' | attr('__class__')).x }}");
    row("{{ '{0.__class__.x}'.format(1) }}");
    row("{{ [].append(1) }}");
    row("{{ {}.update({}) }}");
    row("{{ messages.pop() }}");
    row("{% set messages.x = 1 %}");
    row("{% include '/etc/passwd' %}");
    row("{% import '/etc/passwd' as x %}");
    row("{% extends 'x' %}");
}

void TemplateLimitsTest::refused_TPL_13() {
    QFETCH(QString, source);
    const Error error = failure(source.toStdString());
    QVERIFY2(error.kind == ErrorKind::Template || error.kind == ErrorKind::TooLarge, error.message.c_str());
    QVERIFY(error.message.size() > 8);
}

void TemplateLimitsTest::deep_sources_on_a_small_stack_TPL_13_data() {
    QTest::addColumn<QString>("open");
    QTest::addColumn<QString>("middle");
    QTest::addColumn<QString>("close");
    const auto row = [](const char* open, const char* middle, const char* close) {
        QTest::newRow(open) << open << middle << close;
    };
    row("(", "1", ")");
    row("[", "1", "]");
    row("{1: ", "1", "}");
    row("-", "1", "");
    row("not ", "1", "");
    row("x[", "1", "]");
    row("x(", "1", ")");
    row("x(a=", "1", ")");
    row("x|join(", "1", ")");
    row("1 is eq ", "1", "");
    row("1 if 1 else ", "1", "");
    row("1 + 2 * (", "1", ")");
    row("not 1 in [1, -(", "1", ")]");
    row("", "x", "|trim");
    row("", "x", ".y");
    row("", "x", "[0]");
    row("", "x", "()");
    row("", "1", " if 1");
    row("%{% if 1 %}", "", "{% endif %}");
    row("%{% for x in [1] %}", "", "{% endfor %}");
    row("%{% with x = 1 %}", "", "{% endwith %}");
    row("%{% set x %}", "", "{% endset %}");
    row("%{% filter trim %}", "", "{% endfilter %}");
    row("%{% macro m() %}", "", "{% endmacro %}");
    row("%{% call x() %}", "", "{% endcall %}");
    row("%{% generation %}", "", "{% endgeneration %}");
}

void TemplateLimitsTest::deep_sources_on_a_small_stack_TPL_13() {
    QFETCH(QString, open);
    QFETCH(QString, middle);
    QFETCH(QString, close);
    const bool blocks = open.startsWith('%');
    const std::string front = open.mid(blocks ? 1 : 0).toStdString();
    for (const int levels : {10, 60, 150, 10'000}) {
        const std::string inside =
            times(front, levels) + middle.toStdString() + times(close.toStdString(), levels);
        const std::string source = blocks ? inside : "{{ " + inside + " }}";
        on_small_stack([&] {
            const auto chat_template = ChatTemplate::parse(source);
            if (levels == 10)
                QVERIFY2(chat_template.ok(), chat_template.ok() ? "" : chat_template.error().message.c_str());
            if (levels == 10'000) QVERIFY(!chat_template.ok());
            // Whether it renders does not matter here; that it ends does.
            if (chat_template.ok()) (void)(*chat_template)->render({});
        });
    }
}

void TemplateLimitsTest::deep_conversation() {
    for (const int levels : {50, 150, 5000}) {
        OrderedJson nested = OrderedJson::array();
        OrderedJson object = OrderedJson::object();
        for (int i = 0; i < levels; ++i) {
            nested = OrderedJson::array({std::move(nested)});
            OrderedJson outer = OrderedJson::object();
            outer["k"] = std::move(object);
            object = std::move(outer);
        }
        RenderInput input;
        input.messages = OrderedJson::array({nested, object});
        on_small_stack([&] {
            const std::string text = render(
                "{{ messages | tojson | length }}|{{ messages | string | length }}|{{ messages == messages "
                "}}",
                input);
            QCOMPARE(is_error(text), levels > 200);
        });
    }
}

// The leak checker of a sanitizer build watches.
void TemplateLimitsTest::cycles_are_taken_apart() {
    QVERIFY(render("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}").find("{...}") !=
            std::string::npos);
    QCOMPARE(render("{% set ns = namespace() %}{% macro m() %}{{ ns.x is defined }}{% endmacro %}{% set ns.x "
                    "= m %}{{ m() }}"),
             std::string("True"));
    QCOMPARE(render("{% for x in [1, 2] %}{% set y = loop %}{{ loop.changed(loop) }}{% endfor %}"),
             std::string("TrueFalse"));
    QCOMPARE(render("{% set ns = namespace(f=none) %}{% for x in [1, 2] if x %}{% macro m() %}{{ x }}{% "
                    "endmacro %}{% set ns.f = m %}{% set ns.l = loop %}"
                    "{% endfor %}{{ ns.f is callable }}"),
             std::string("True"));
    // A list of namespaces, each knowing the next.
    QCOMPARE(render("{% set h = namespace(tail=namespace()) %}{% set h.head = h.tail %}{% for i in "
                    "range(20000) %}{% set cur = h.tail %}"
                    "{% set n = namespace() %}{% set cur.next = n %}{% set h.tail = n %}{% endfor %}{{ "
                    "h.head.next is defined }}"),
             std::string("True"));
}

void TemplateLimitsTest::reasonable_nesting_works() {
    on_small_stack([] {
        QCOMPARE(render("{% macro count(n) %}{{ n }}{% if n > 1 %},{{ count(n - 1) }}{% endif %}{% endmacro "
                        "%}{{ count(20) | length }}"),
                 std::string("50"));
        QCOMPARE(render("{{ " + times("(", 50) + "1" + times(")", 50) + " }}"), std::string("1"));
        QCOMPARE(render("{{ 0" + times(" + 1", 5000) + " }}"), std::string("5000"));
        QCOMPARE(render("{{ ''" + times(" ~ 'x'", 5000) + " }}").size(), std::size_t{5000});
        QCOMPARE(render("{% if 0 %}" + times("{% elif 0 %}", 5000) + "{% else %}e{% endif %}"),
                 std::string("e"));
        QCOMPARE(render("{{ true" + times(" and true", 5000) + " }}"), std::string("True"));
    });
}

void TemplateLimitsTest::steps_and_time_are_limits() {
    TemplateLimits limits;
    limits.steps = 1000;
    QCOMPARE(failure("{% for i in range(5000) %}{% endfor %}", {}, limits).kind, ErrorKind::TooLarge);
    QCOMPARE(render("{% for i in range(100) %}{% endfor %}ok", {}, limits), std::string("ok"));
    limits = {};
    limits.output_bytes = 100;
    QCOMPARE(failure("{% for i in range(101) %}x{% endfor %}", {}, limits).kind, ErrorKind::TooLarge);
    QCOMPARE(render("{% for i in range(100) %}x{% endfor %}", {}, limits).size(), std::size_t{100});
    limits = {};
    limits.steps = ~std::uint64_t{0};
    limits.time = std::chrono::milliseconds(30);
    QCOMPARE(
        failure("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", {}, limits)
            .kind,
        ErrorKind::TooLarge);
    limits.depth = 5;
    QVERIFY(is_error(render("{{ ((((((1)))))) }}", {}, limits)));
    QVERIFY(is_error(
        render("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(6) }}", {}, limits)));
}

void TemplateLimitsTest::cancel_stops() {
    TemplateLimits limits;
    limits.steps = ~std::uint64_t{0};
    limits.time = std::chrono::minutes(10);
    std::atomic<bool> cancel{false};
    RenderInput input;
    input.cancel = &cancel;
    std::thread stopper([&cancel] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        cancel = true;
    });
    const Error error = failure(
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", input, limits);
    stopper.join();
    QCOMPARE(error.kind, ErrorKind::Cancelled);
}

void TemplateLimitsTest::large_conversations_work() {
    RenderInput input;
    const std::string page(1'000'000, 'x');
    input.messages.push_back({{"role", "user"}, {"content", page}});
    std::string lines;
    for (int i = 0; i < 50'000; ++i) lines += "é a line of text, number " + std::to_string(i) + "\n";
    input.messages.push_back({{"role", "user"}, {"content", lines}});
    const std::string text = render(
        "{% for m in messages %}{{ m.content.split('\\n') | length }} {{ m.content | replace('\\n', ' / ') | "
        "length }} "
        "{{ m.content | trim | upper | length }} {{ m.content.splitlines() | join('\\n') | length }} {{ (m | "
        "tojson) | length > 100000 }} "
        "{{ m.content | indent | length > 1 }};{% endfor %}{{ messages[0].content }}",
        input);
    QVERIFY2(!is_error(text), text.substr(0, 200).c_str());
    QVERIFY(text.size() > page.size());

    input.messages = OrderedJson::array();
    for (int i = 0; i < 3000; ++i)
        input.messages.push_back(
            {{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", "message " + std::to_string(i)}});
    const std::string chat = render(
        "{% set ns = namespace(text='') %}{% for m in messages %}{% if m.role == 'user' and not loop.last "
        "%}{% set ns.text = ns.text + m.content | trim %}"
        "{% endif %}{{ '<|' ~ m.role ~ '|>' ~ m['content'] }}{% endfor %}{{ ns.text | length }}",
        input);
    QVERIFY2(!is_error(chat), chat.substr(0, 200).c_str());
}

void TemplateLimitsTest::work_grows_with_the_input() {
    const auto chat_template = ChatTemplate::parse(
        "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' ~ m.content | trim ~ '<|end|>' }}{{ m | tojson }}{{ "
        "m.content.split() | join('_') }}{% endfor %}");
    QVERIFY(chat_template.ok());
    QVERIFY(test::grows_linearly(2000, [&](std::size_t messages) {
        RenderInput input;
        for (std::size_t i = 0; i < messages; ++i)
            input.messages.push_back(
                {{"role", "user"}, {"content", "some words of message number " + std::to_string(i)}});
        const auto text = (*chat_template)->render(input);
        QVERIFY(text.ok());
    }));
}

// The limits are looked at between operations; so no operation may take long for its size, whatever the
// texts.
void TemplateLimitsTest::searching_is_linear_TPL_13_data() {
    QTest::addColumn<QString>("source");
    for (const char* source :
         {"{{ ('b' * h ~ w) in ('a' * n) }}", "{{ ('a' * n).count('a' * h ~ 'b') }}",
          "{{ ('a' * n).find('a' * h ~ 'b') }}", "{{ ('a' * n).rfind('b' ~ 'a' * h) }}",
          "{{ ('a' * n).replace('a' * h ~ 'b', '') | length }}",
          "{{ ('a' * n) | replace('a' * h ~ 'b', '') | length }}",
          "{{ ('a' * n).split('a' * h ~ 'b') | length }}", "{{ ('a' * n).rsplit('b' ~ 'a' * h) | length }}",
          "{{ ('a' * n).rsplit('a') | length }}", "{{ ('a' * n).partition('a' * h ~ 'b') | length }}",
          "{{ ('a' * n).rpartition('b' ~ 'a' * h) | length }}",
          "{{ ('a' * n).strip('b' * h ~ 'a') | length }}"})
        QTest::newRow(source) << source;
}

void TemplateLimitsTest::searching_is_linear_TPL_13() {
    QFETCH(QString, source);
    QVERIFY(grows_linearly(std::size_t{1} << 16U, [&](std::size_t n) {
        TemplateLimits limits;
        limits.steps = ~std::uint64_t{0};
        const auto parsed =
            ChatTemplate::parse("{% set n = " + std::to_string(n) +
                                    " %}{% set h = n // 2 %}{% set w = 'c' %}" + source.toStdString(),
                                limits);
        QVERIFY(parsed.ok());
        RenderInput input;
        const auto text = (*parsed)->render(input);
        QVERIFY2(text.ok(), text.ok() ? "" : text.error().message.c_str());
    }));
}

QTEST_GUILESS_MAIN(TemplateLimitsTest)
#include "tst_template_limits.moc"
