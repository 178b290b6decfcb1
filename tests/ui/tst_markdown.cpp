// Markdown of replies: what each construct becomes, that a streamed text is the same as a whole one at every
// moment and never takes back what it has shown, that nothing a model writes is dangerous or slow, and that
// every shown character knows its place in the source.
#include <numeric>

#include <QtTest>

#include "tests/growth.h"
#include "ui/chat/code_colors.h"
#include "ui/chat/code_palette.h"
#include "ui/chat/message_text.h"
#include "ui/chat/table_columns.h"
#include "ui/chat/token_coloring.h"
#include "ui/settings/theme.h"

using namespace vitrine::ui;

namespace {

const char* name_of(LineKind kind) {
    switch (kind) {
        case LineKind::Text: return "text";
        case LineKind::Heading: return "heading";
        case LineKind::Code: return "code";
        case LineKind::CodeHead: return "head";
        case LineKind::Rule: return "rule";
        case LineKind::TableRow: return "row";
        case LineKind::ThoughtHead: return "thought";
        default: return "?";
    }
}

// One line a paragraph: everything that decides how it looks.
QStringList look_of(const MessageText& text, bool spans = false) {
    QStringList out;
    for (const Paragraph& p : text.paragraphs()) {
        QString line = QString::fromLatin1(name_of(p.kind));
        if (p.level > 0) line += QString::number(p.level);
        if (p.table_head) line += u'!';
        if (p.depth > 0) line += QStringLiteral(" d%1").arg(p.depth);
        if (p.quote > 0) line += QStringLiteral(" q%1").arg(p.quote);
        if (p.thought >= 0) line += QStringLiteral(" t%1%2").arg(p.thought).arg(p.hidden ? "-" : "+");
        if (!p.marker.isEmpty()) line += u' ' + p.marker;
        line += u':' + p.text;
        if (spans) {
            line += QStringLiteral(" gap%1 cells%2").arg(p.gap).arg(p.cells.size());
            for (const Span& s : p.spans)
                line += QStringLiteral(" {%1 %2+%3>%4}")
                            .arg(s.style)
                            .arg(s.begin)
                            .arg(s.length)
                            .arg(s.target < 0 ? QString() : p.targets.value(s.target));
        }
        out << line;
    }
    return out;
}

QStringList whole(const QString& source) {
    MessageText text(false);
    text.append(source);
    text.set_finished(true);
    return look_of(text);
}

std::vector<double> heights(MessageText& text) {
    std::vector<double> out;
    for (std::size_t i = 0; i < text.paragraphs().size(); ++i) text.ensure(i);
    for (const Paragraph& p : text.paragraphs()) {
        out.push_back(p.y);
        out.push_back(p.height);
        for (const TextBox& b : p.boxes) {
            out.push_back(b.x);
            out.push_back(b.width);
        }
    }
    return out;
}

// Every construct, in the order in which models like to write them.
QString document() {
    return QString::fromUtf8(R"(<think>
The user wants *everything*.

- so be it
</think>

# Tides, **twice** a day

The Moon pulls *more strongly* on the near side, and `g = 9.81` stays. See ~~nothing~~ below.
A second line with __bold__ and ***both***.

1. First
   - nested **one**
   - nested two
     still the second
2. Second

   ```python
   def tide(t):  # comment
       return "high" if t % 12 < 6 else 'low'
   ```
3. Third

- [ ] open task
- [x] done task

> A quote with *emphasis*
> and a second line
>> and a deeper one

| Port | High | Low |
|:-----|:----:|----:|
| Brest | 7.0 m | `1.1` |
| Saint-Malo with a long name | 12.2 m | a \| b |

---

    indented code

```cpp
/* over
   lines */ int main() { return 0; }

// end
```

Escapes: \*not bold\*, 2 * 3 * 4, snake_case_name, a < b && c > d, array[i], 5 - 3.

### Last
Straße 😀 مرحبا, and that is all.
)");
}

}  // namespace

class TestMarkdown : public QObject {
    Q_OBJECT

  private slots:
    void blocks_data() {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QStringList>("expected");
        QTest::newRow("heading") << "## A *b*\ntext" << QStringList{"heading2:A b", "text:text"};
        QTest::newRow("heading, closed") << "# A ##\n" << QStringList{"heading1:A"};
        QTest::newRow("no heading") << "#hash\n####### seven"
                                    << QStringList{"text:#hash", "text:####### seven"};
        QTest::newRow("list") << "- a\n* b\n+ c\n10. d\n2) e"
                              << QStringList{"text d1 •:a", "text d1 •:b", "text d1 •:c", "text d1 10.:d",
                                             "text d1 2):e"};
        QTest::newRow("nested") << "- a\n  - b\n    - c\n- d"
                                << QStringList{"text d1 •:a", "text d2 •:b", "text d3 •:c", "text d1 •:d"};
        QTest::newRow("nested in a number by two")
            << "1. a\n  - b\n2. c" << QStringList{"text d1 1.:a", "text d2 •:b", "text d1 2.:c"};
        QTest::newRow("text of an item")
            << "- a\n  more\n\n  still\nnot"
            << QStringList{"text d1 •:a", "text d1:more", "text d1:still", "text:not"};
        QTest::newRow("tasks") << "- [ ] a\n- [x] b\n- [y] c"
                               << QStringList{"text d1 ☐:a", "text d1 ☑:b", "text d1 •:[y] c"};
        QTest::newRow("not a list") << "-5 degrees\n1.5 m\n*bold*"
                                    << QStringList{"text:-5 degrees", "text:1.5 m", "text:bold"};
        QTest::newRow("quote") << "> a\n>> b\n> - c\nd"
                               << QStringList{"text q1:a", "text q2:b", "text d1 q1 •:c", "text:d"};
        QTest::newRow("rule") << "a\n***\n- - -\n___" << QStringList{"text:a", "rule:", "rule:", "rule:"};
        QTest::newRow("fence") << "```py\nx\n\n  y\n```\nz"
                               << QStringList{"head:py", "code:x", "code:", "code:  y", "text:z"};
        QTest::newRow("longer fence") << "````\n```\n````\nz" << QStringList{"head:", "code:```", "text:z"};
        QTest::newRow("tilde fence") << "~~~ js\n```\n~~~\nz" << QStringList{"head:js", "code:```", "text:z"};
        QTest::newRow("fence in a list")
            << "- a\n  ```\n  x\n    y\n  ```\n- b"
            << QStringList{"text d1 •:a", "head d1:", "code d1:x", "code d1:  y", "text d1 •:b"};
        QTest::newRow("fence in a quote")
            << "> ```\n> x\nout" << QStringList{"head q1:", "code q1:x", "text:out"};
        QTest::newRow("unclosed fence") << "```\nx" << QStringList{"head:", "code:x"};
        QTest::newRow("ticks in a line") << "```a``` b" << QStringList{"text:a b"};
        QTest::newRow("indented code")
            << "a\n\n    x\n    y\n\nb" << QStringList{"text:a", "code:x", "code:y", "text:b"};
        QTest::newRow("table") << "| a | b |\n|---|--:|\n| 1 | **2** |\nout"
                               << QStringList{"row!:a\tb", "row:1\t2", "text:out"};
        QTest::newRow("tight table") << "|a|b|\n|-|-|\n|1|2|" << QStringList{"row!:a\tb", "row:1\t2"};
        QTest::newRow("no delimiter")
            << "| a | b |\n| c | d |" << QStringList{"text:| a | b |", "text:| c | d |"};
        QTest::newRow("a bar alone") << "|x| is a norm" << QStringList{"text:|x| is a norm"};
        QTest::newRow("bar in a cell") << "| a |\n|---|\n| x \\| y |" << QStringList{"row!:a", "row:x | y"};
        QTest::newRow("break in a cell")
            << "| a |\n|---|\n| x<br>y<br/>z |" << QStringList{"row!:a", "row:x\u2028y\u2028z"};
        QTest::newRow("missing and further cells") << "| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 |"
                                                   << QStringList{"row!:a\tb", "row:1", "row:1\t2\t3"};
        QTest::newRow("two tables") << "| a |\n|---|\n| 1 |\n\n| b |\n|---|\n| 2 |"
                                    << QStringList{"row!:a", "row:1", "row!:b", "row:2"};
        QTest::newRow("thinking") << "<think>\nhm\n</think>\n\nYes"
                                  << QStringList{"thought t0+:", "text t0-:hm", "text:Yes"};
        QTest::newRow("thinking in one line")
            << "<think>hm</think>Yes" << QStringList{"thought t0+:", "text t0-:hm", "text:Yes"};
        QTest::newRow("thinking that began in the prompt")
            << "hm\n</think>\nYes" << QStringList{"thought t0+:", "text t0-:hm", "text:Yes"};
        QTest::newRow("a fence left open in thinking")
            << "<think>\n```\nx\n</think>\nYes"
            << QStringList{"thought t0+:", "head t0-:", "code t0-:x", "text:Yes"};
        QTest::newRow("no thinking in code")
            << "```\n<think>\n```\nb" << QStringList{"head:", "code:<think>", "text:b"};
        QTest::newRow("a tag in a sentence") << "Use <think> tags" << QStringList{"text:Use <think> tags"};
        QTest::newRow("windows line ends") << "# A\r\n- b\r\n" << QStringList{"heading1:A", "text d1 •:b"};
        QTest::newRow("a mark alone") << "-" << QStringList{"text d1 •:"};
        QTest::newRow("an asterisk alone in a line") << "a\n*" << QStringList{"text:a", "text d1 •:"};
        QTest::newRow("html") << "<b>x</b> &amp;" << QStringList{"text:<b>x</b> &amp;"};
    }
    void blocks() {
        QFETCH(QString, source);
        QFETCH(QStringList, expected);
        QCOMPARE(whole(source), expected);
    }

    void inline_marks_data() {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("shown");
        QTest::newRow("bold in italic") << "*a **b** c*"
                                        << "text:a b c gap0 cells0 {0 2+1>} {1 0+5>}";
        QTest::newRow("triple") << "***a***"
                                << "text:a gap0 cells0 {0 0+1>} {1 0+1>}";
        QTest::newRow("triple opened, closed apart") << "***a** b*"
                                                     << "text:a b gap0 cells0 {0 0+1>} {1 0+3>}";
        QTest::newRow("strike") << "~~a~~ ~b~"
                                << "text:a ~b~ gap0 cells0 {2 0+1>}";
        QTest::newRow("code wins") << "`a*b` *c*"
                                   << "text:a*b c gap0 cells0 {3 0+3>} {1 4+1>}";
        QTest::newRow("two ticks") << "``a`b``"
                                   << "text:a`b gap0 cells0 {3 0+3>}";
        QTest::newRow("ticks unmatched") << "`a ``b"
                                         << "text:`a ``b gap0 cells0";
        QTest::newRow("escape") << "\\*a\\* \\` \\\\ \\z"
                                << "text:*a* ` \\ \\z gap0 cells0";
        QTest::newRow("link") << "see [a *b*](https://x.org/y_z \"t\")."
                              << "text:see a b. gap0 cells0 {1 6+1>} {4 4+3>https://x.org/y_z}";
        QTest::newRow("link with parentheses") << "[a](http://x/(b))"
                                               << "text:a gap0 cells0 {4 0+1>http://x/(b)}";
        QTest::newRow("mail") << "[m](mailto:a@b.c)"
                              << "text:m gap0 cells0 {4 0+1>mailto:a@b.c}";
        QTest::newRow("script") << "[a](javascript:alert(1))"
                                << "text:[a](javascript:alert(1)) gap0 cells0";
        QTest::newRow("file") << "[a](file://server/x)"
                              << "text:[a](file://server/x) gap0 cells0";
        QTest::newRow("data") << "[a](data:text/html,x)"
                              << "text:[a](data:text/html,x) gap0 cells0";
        QTest::newRow("relative") << "[a](b.html)"
                                  << "text:[a](b.html) gap0 cells0";
        QTest::newRow("picture") << "![alt](https://x/y.png)"
                                 << "text:alt gap0 cells0 {4 0+3>https://x/y.png}";
        QTest::newRow("picture without words") << "![](https://x/y.png)"
                                               << "text:https://x/y.png gap0 cells0 {4 0+15>https://x/y.png}";
        QTest::newRow("address") << "at https://x.org/a_b_c, or (http://y.org)."
                                 << "text:at https://x.org/a_b_c, or (http://y.org). gap0 cells0 "
                                    "{4 3+19>https://x.org/a_b_c} {4 28+12>http://y.org}";
        QTest::newRow("address in angles") << "<https://x.org>"
                                           << "text:https://x.org gap0 cells0 {4 0+13>https://x.org}";
        QTest::newRow("link in a link")
            << "[a [b](http://c) d](http://e)"
            << "text:[a b d](http://e) gap0 cells0 {4 3+1>http://c} {4 8+8>http://e}";
        QTest::newRow("emphasis does not cross a link") << "*a [b*](http://c)"
                                                        << "text:*a b* gap0 cells0 {4 3+2>http://c}";
        QTest::newRow("index") << "x[i](j)"
                               << "text:x[i](j) gap0 cells0";
        QTest::newRow("product") << "2*3*4 and a_b_c"
                                 << "text:234 and a_b_c gap0 cells0 {1 1+1>}";
    }
    void inline_marks() {
        QFETCH(QString, source);
        QFETCH(QString, shown);
        MessageText text(false);
        text.append(source);
        text.set_finished(true);
        QCOMPARE(look_of(text, true).join(u'|'), shown);
    }

    void only_these_addresses_are_opened_data() {
        QTest::addColumn<QString>("target");
        QTest::addColumn<bool>("safe");
        for (const char* good : {"http://a", "https://a.b/c?d=e#f", "HTTPS://A", "mailto:a@b.c"})
            QTest::newRow(good) << QString::fromLatin1(good) << true;
        for (const char* bad :
             {"", "http://", "file:///etc/passwd", "javascript:1", "ftp://a", "//a", "smb://a", "http:/a",
              "data:,x", "vbscript:x", "https:a", "http://a b", "http://a\nb", "http://a\"b", "http://a<b"})
            QTest::newRow(
                qPrintable(QStringLiteral("refused: %1").arg(QString::fromLatin1(bad).toHtmlEscaped())))
                << QString::fromLatin1(bad) << false;
        QTest::newRow("changes direction") << QStringLiteral("http://a\u202Egnp.exe") << false;
        QTest::newRow("invisible") << QStringLiteral("http://a\u200Bb") << false;
    }
    void only_these_addresses_are_opened() {
        QFETCH(QString, target);
        QFETCH(bool, safe);
        QCOMPARE(is_safe_target(target), safe);
    }

    // Char by char, and each beginning at once: the same look, the same measures, at every moment.
    void every_beginning_is_the_same_streamed_and_whole() {
        const QString source = document();
        MessageText streamed(false);
        for (qsizetype n = 1; n <= source.size(); ++n) {
            streamed.append(QStringView(source).mid(n - 1, 1));
            MessageText once(false);
            once.append(QStringView(source).left(n));
            const QStringList a = look_of(streamed, true), b = look_of(once, true);
            QVERIFY2(
                a == b,
                qPrintable(QStringLiteral("after %1: \n%2\n---\n%3")
                               .arg(source.mid(std::max<qsizetype>(0, n - 30), std::min<qsizetype>(n, 30)),
                                    a.join(u'\n'), b.join(u'\n'))));
            if (n % 23 == 0) QCOMPARE(heights(streamed), heights(once));
        }
        MessageText once(false);
        once.append(source);
        once.set_finished(true);
        streamed.set_finished(true);
        QCOMPARE(look_of(streamed, true), look_of(once, true));
        QCOMPARE(heights(streamed), heights(once));
        QCOMPARE(streamed.height(), once.height());
    }

    // Finished in the middle and continued: as if it had never been finished.
    void a_reply_that_goes_on_after_its_end() {
        const QString source = document();
        for (qsizetype cut = 1; cut < source.size(); ++cut) {
            MessageText text(false);
            text.append(QStringView(source).left(cut));
            text.set_finished(true);
            text.append(QStringView(source).mid(cut));
            text.set_finished(true);
            MessageText once(false);
            once.append(source);
            once.set_finished(true);
            QVERIFY2(look_of(text, true) == look_of(once, true), qPrintable(source.left(cut).right(40)));
        }
    }

    // What has been shown stays as it is while the rest arrives: no mark appears and vanishes.
    void nothing_shown_is_taken_back() {
        QString source = document();
        source.remove(QStringLiteral("2 * 3 * 4, "));
        MessageText text(false);
        QString before;
        int taken_back = 0;
        for (qsizetype n = 0; n < source.size(); ++n) {
            text.append(QStringView(source).mid(n, 1));
            QString now;
            for (const Paragraph& p : text.paragraphs())
                if (p.has_text()) now += p.marker + p.text + u'\n';
            now.chop(1);
            // A marker may still become a task's box; the language of a fence is not text.
            QString stem = before;
            while (stem.endsWith(u'•') || stem.endsWith(u'\n') || stem.endsWith(u'\t')) stem.chop(1);
            if (!now.startsWith(stem)) {
                ++taken_back;
                qInfo("after …%s: %s became %s", qPrintable(source.mid(std::max<qsizetype>(0, n - 20), 21)),
                      qPrintable(before.right(30)), qPrintable(now.right(30)));
            }
            before = now;
        }
        QCOMPARE(taken_back, 0);
    }

    void half_a_link_shows_no_address() {
        const QString source = QStringLiteral("see [the page](https://example.org/a_long/address) now");
        MessageText text(false);
        for (qsizetype n = 0; n < source.size(); ++n) {
            text.append(QStringView(source).mid(n, 1));
            const QString shown = text.paragraphs().front().text;
            QVERIFY2(!shown.contains(QStringLiteral("https")), qPrintable(shown));
        }
        QCOMPARE(text.paragraphs().front().text, QStringLiteral("see the page now"));
    }

    void open_marks_are_read_as_closed_data() {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("shown");
        QTest::newRow("bold") << "a **b"
                              << "text:a b gap0 cells0 {0 2+1>}";
        QTest::newRow("half closed bold") << "a **b*"
                                          << "text:a b gap0 cells0 {0 2+1>}";
        QTest::newRow("just opened") << "a **"
                                     << "text:a  gap0 cells0";
        QTest::newRow("italic") << "a *b c"
                                << "text:a b c gap0 cells0 {1 2+3>}";
        QTest::newRow("code") << "a `b *c"
                              << "text:a b *c gap0 cells0 {3 2+4>}";
        QTest::newRow("strike") << "~~b"
                                << "text:b gap0 cells0 {2 0+1>}";
        QTest::newRow("product") << "2 * 3"
                                 << "text:2 * 3 gap0 cells0";
        QTest::newRow("fence") << "```py"
                               << "head:py gap0 cells0";
        QTest::newRow("two ticks of a fence") << "``"
                                              << "";
        QTest::newRow("a table's head") << "| a | b"
                                        << "row!:a\tb gap0 cells2";
        QTest::newRow("a table's delimiter") << "| a | b |\n|--"
                                             << "row!:a\tb gap0 cells2";
        QTest::newRow("half a heading") << "##"
                                        << "";
        QTest::newRow("half a tag") << "<thi"
                                    << "";
    }
    void open_marks_are_read_as_closed() {
        QFETCH(QString, source);
        QFETCH(QString, shown);
        MessageText text(false);
        text.append(source);
        QCOMPARE(look_of(text, true).join(u'|'), shown);
    }

    // Each shown character stands in the source where it says, and the way back leads to it.
    void every_character_knows_its_place() {
        const QString source = document();
        MessageText text(false);
        text.append(source);
        text.set_finished(true);
        int checked = 0;
        for (std::size_t i = 0; i < text.paragraphs().size(); ++i) {
            const Paragraph& p = text.paragraphs()[i];
            if (!p.has_text()) continue;
            for (const Piece& piece : p.pieces)
                for (qsizetype n = 0; n < piece.length; ++n) {
                    const qsizetype at = text.source_of(i, piece.shown + n);
                    QCOMPARE(p.text[piece.shown + n], source[at]);
                    QVERIFY(at >= p.source_begin && at < p.source_end);
                    QCOMPARE(
                        text.shown_range(i, at, at + 1),
                        std::pair(static_cast<int>(piece.shown + n), static_cast<int>(piece.shown + n + 1)));
                    QCOMPARE(text.paragraphs()[text.paragraph_at(at)].source_begin, p.source_begin);
                    ++checked;
                }
        }
        QVERIFY(checked > 600);
    }

    void thinking_counts_its_words_and_unfolds() {
        MessageText text(false);
        text.append(u"<think>\none two three\nfour");
        QCOMPARE(text.thoughts().size(), std::size_t(1));
        QCOMPARE(text.thoughts()[0].words, 4);
        QVERIFY(text.thoughts()[0].open);
        const double folded = text.height();
        text.fold(0, false);
        QVERIFY(text.height() > folded);
        text.append(u" five");
        QVERIFY(!text.thoughts()[0].folded);  // it stays as the reader wants it
        QCOMPARE(text.thoughts()[0].words, 5);
        text.append(u"\n</think>\n\nAnswer");
        QVERIFY(!text.thoughts()[0].open);
        QVERIFY(!text.thoughts()[0].folded);
        text.fold(0, true);
        QCOMPARE(look_of(text).join(u'|'),
                 QStringLiteral("thought t0+:|text t0-:one two three|text t0-:four five|text:Answer"));
        for (std::size_t i = 0; i < text.paragraphs().size(); ++i) text.ensure(i);
        QVERIFY(text.all_exact());
    }

    void code_blocks_give_their_code() {
        MessageText text(false);
        text.append(u"a\n\n```sh\nls -l\n\n\tcd *x*\n```\nb\n```\nother\n```\n");
        text.set_finished(true);
        QCOMPARE(look_of(text).size(), 8);
        QCOMPARE(text.code_block(1), QStringLiteral("ls -l\n\n\tcd *x*"));
        QCOMPARE(text.code_block(4), QStringLiteral("ls -l\n\n\tcd *x*"));
        QCOMPARE(text.code_block(6), QStringLiteral("other"));
    }

    void code_is_coloured_data() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<QString>("code");
        QTest::addColumn<QString>("expected");  // by character: k t l n c f
        QTest::newRow("python") << "python"
                                << "def f(x): return \"a\" # c"
                                << "kkk f     kkkkkk lll ccc";
        QTest::newRow("c++") << "c++"
                             << "int a = 0x1F; // x"
                             << "ttt     nnnn  cccc";
        QTest::newRow("directive") << "cpp"
                                   << "#include <a>"
                                   << "kkkkkkkk    ";
        QTest::newRow("json") << "json"
                              << "{\"a\": \"b\", \"c\": 1.5e3}"
                              << " fff  lll  fff  nnnnn ";
        QTest::newRow("sql") << "SQL"
                             << "select A from b -- c"
                             << "kkkkkk   kkkk   cccc";
        QTest::newRow("shell") << "bash"
                               << "for f in $X; do echo 'a'"
                               << "kkk   kk ff  kk tttt lll";
        QTest::newRow("yaml") << "yml"
                              << "- key: true # c"
                              << "  fff  kkkk ccc";
        QTest::newRow("html") << "html"
                              << "<a href=\"x\">t</a>"
                              << "kk ffff lllk kkkk";
        QTest::newRow("diff added") << "diff"
                                    << "+ab"
                                    << "aaa";
        QTest::newRow("apostrophe") << "rust"
                                    << "let x: &'a str"
                                    << "kkk        ttt";
        QTest::newRow("unclosed") << "js"
                                  << "'abc"
                                  << "llll";
        QTest::newRow("escape") << "js"
                                << "'a\\'b' c"
                                << "llllll  ";
    }
    void code_is_coloured() {
        QFETCH(QString, language);
        QFETCH(QString, code);
        QFETCH(QString, expected);
        const CodeLanguage* known = find_language(language);
        QVERIFY(known != nullptr);
        std::vector<Span> spans;
        color_code(*known, code, 0, spans);
        QString got(code.size(), u' ');
        for (const Span& s : spans) {
            QVERIFY(s.begin >= 0 && s.begin + s.length <= code.size());
            const QChar letter = s.style == Span::Keyword   ? u'k'
                                 : s.style == Span::Type    ? u't'
                                 : s.style == Span::Literal ? u'l'
                                 : s.style == Span::Number  ? u'n'
                                 : s.style == Span::Comment ? u'c'
                                 : s.style == Span::Name    ? u'f'
                                 : s.style == Span::Added   ? u'a'
                                                            : u'?';
            for (qsizetype i = s.begin; i < s.begin + s.length; ++i) got[i] = letter;
        }
        if (language == QLatin1String("html")) {
            QVERIFY(got.startsWith(QStringLiteral("kk ffff lllk")));
        } else {
            QCOMPARE(got, expected);
        }
    }

    void comments_and_strings_go_over_lines() {
        const CodeLanguage& python = *find_language(u"py");
        std::vector<Span> spans;
        int state = color_code(python, u"x = \"\"\"a", 0, spans);
        QVERIFY(state != 0);
        spans.clear();
        state = color_code(python, u"def b", state, spans);
        QCOMPARE(spans.size(), std::size_t(1));
        QCOMPARE(spans[0].style, Span::Literal);
        spans.clear();
        state = color_code(python, u"c\"\"\" def", state, spans);
        QCOMPARE(state, 0);
        QCOMPARE(spans.back().style, Span::Keyword);
        const CodeLanguage& c = *find_language(u"c");
        state = color_code(c, u"/* a", 0, spans);
        QCOMPARE(state, color_code(c, u"int", state, spans));
        QCOMPARE(color_code(c, u"b */ int", state, spans), 0);
    }

    void the_names_of_languages() {
        QCOMPARE(language_name(u"py"), QStringLiteral("Python"));
        QCOMPARE(language_name(u"{.cpp .numberLines}"), QStringLiteral("C++"));
        QCOMPARE(language_name(u"ts title=a.ts"), QStringLiteral("TypeScript"));
        QCOMPARE(language_name(u"klingon"), QStringLiteral("klingon"));
        QVERIFY(find_language(u"") == nullptr);
        QVERIFY(all_languages().size() >= 25);
    }

    // Whatever is scanned: spans lie inside, and the time grows with the text alone.
    void any_language_scans_anything() {
        QString odd;
        for (int i = 0; i < 600; ++i)
            odd += QStringView(u"\"'`/*#-=<>{}[]()$@\\ \tabc0x9.é😀--//\"\"\"'''").mid(i * 7 % 40, 1 + i % 3);
        for (const CodeLanguage& l : all_languages()) {
            int state = 0;
            for (const QString& line : {odd, QString(), odd.mid(300), QStringLiteral("\\"), odd.left(1)}) {
                std::vector<Span> spans;
                state = color_code(l, line, state, spans);
                for (const Span& s : spans)
                    QVERIFY(s.begin >= 0 && s.length > 0 && s.begin + s.length <= line.size());
            }
        }
    }

    void colours_have_contrast() {
        for (const Theme& theme : {Theme::light(), Theme::dark()}) {
            for (const Span::Style style : {Span::Keyword, Span::Type, Span::Literal, Span::Number,
                                            Span::Comment, Span::Name, Span::Added, Span::Removed})
                QVERIFY(contrast(code_color(style, theme), code_background(theme)) >= 4.5);
            for (const Coloring c : {Coloring::Probability, Coloring::Origin, Coloring::Latency}) {
                const auto legend = legend_of(c, theme);
                QVERIFY(legend.size() >= 4);
                for (const LegendEntry& e : legend) {
                    if (e.look.fill.isValid()) QVERIFY(contrast(theme.text, e.look.fill) >= 4.5);
                    for (const LegendEntry& other : legend) QCOMPARE(e.look == other.look, &e == &other);
                }
            }
        }
    }

    void columns_share_the_room_data() {
        QTest::addColumn<QList<double>>("natural");
        QTest::addColumn<double>("room");
        QTest::addColumn<QList<double>>("widths");
        QTest::newRow("all fits") << QList<double>{50, 80} << 200.0 << QList<double>{50, 80};
        QTest::newRow("one is wide") << QList<double>{50, 500} << 200.0 << QList<double>{50, 150};
        QTest::newRow("two are wide") << QList<double>{50, 500, 900} << 250.0 << QList<double>{50, 100, 100};
        QTest::newRow("none fits") << QList<double>{90, 90, 90, 90} << 100.0 << QList<double>{25, 25, 25, 25};
        QTest::newRow("none") << QList<double>{} << 100.0 << QList<double>{};
    }
    void columns_share_the_room() {
        QFETCH(QList<double>, natural);
        QFETCH(double, room);
        QFETCH(QList<double>, widths);
        const auto got = column_widths({natural.begin(), natural.end()}, room, 40);
        QCOMPARE(QList<double>(got.begin(), got.end()), widths);
        QVERIFY(std::accumulate(got.begin(), got.end(), 0.0) <= std::max(room, 0.0) + 1e-9);
    }

    // A token more costs the same in a long reply as in a short one, whatever it is made of.
    void a_long_reply_costs_what_is_new_data() {
        QTest::addColumn<QString>("unit");
        QTest::newRow("prose") << QStringLiteral("**word** and *more* `code` of it.\n\n");
        QTest::newRow("list") << QStringLiteral("- item **one**\n  - nested\n");
        QTest::newRow("code") << QStringLiteral("int a = 5; // comment \"x\"\n");
        QTest::newRow("table") << QStringLiteral("| cell | another **one** |\n");
        QTest::newRow("thinking") << QStringLiteral("and then I think that\n");
    }
    void a_long_reply_costs_what_is_new() {
        QFETCH(QString, unit);
        const QString kind = QString::fromLatin1(QTest::currentDataTag());
        QVERIFY(vitrine::test::grows_linearly(600, [&](std::size_t n) {
            MessageText text(false);
            if (kind == QLatin1String("code")) text.append(u"```cpp\n");
            if (kind == QLatin1String("table")) text.append(u"| a | b |\n|---|---|\n");
            if (kind == QLatin1String("thinking")) text.append(u"<think>\n");
            for (std::size_t i = 0; i < n; ++i) {
                for (qsizetype at = 0; at < unit.size(); at += 4) text.append(QStringView(unit).mid(at, 4));
                text.ensure(text.paragraphs().size() - 1);
            }
        }));
    }
};

QTEST_MAIN(TestMarkdown)
#include "tst_markdown.moc"
