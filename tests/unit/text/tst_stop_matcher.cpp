#include <optional>
#include <string>
#include <vector>

#include <QtTest>

#include "core/text/stop_matcher.h"
#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

struct Outcome {
    std::string text;
    bool matched = false;
    bool operator==(const Outcome&) const = default;
};

// The rule, read aloud: the stop string that begins first.
Outcome slow(const std::vector<std::string>& stops, const std::string& text) {
    std::size_t first = std::string::npos;
    for (const std::string& stop : stops) {
        if (!stop.empty()) first = std::min(first, text.find(stop));
    }
    return first == std::string::npos ? Outcome{text, false} : Outcome{text.substr(0, first), true};
}

Outcome streamed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
    StopMatcher matcher(stops);
    Outcome outcome;
    for (const std::string& piece : pieces) {
        const bool before = matcher.matched();
        const std::string out = matcher.push(piece);
        if (before && !out.empty()) return {"text after a match", true};
        outcome.text += out;
    }
    outcome.text += matcher.flush();
    outcome.matched = matcher.matched();
    return outcome;
}

}  // namespace

class TstStopMatcher : public QObject {
    Q_OBJECT

  private slots:
    // TOK-31: text that was held is not lost when the answer ends otherwise.
    void tok31_flush_without_a_match() {
        StopMatcher matcher({"\n"});
        QCOMPARE(matcher.push("?"), std::string("?"));
        QCOMPARE(matcher.flush(), std::string());
        QVERIFY(!matcher.matched());

        StopMatcher held({"five"});
        QCOMPARE(held.push("one two fi"), std::string("one two "));
        QCOMPARE(held.flush(), std::string("fi"));
        QVERIFY(!held.matched());
    }

    // TOK-31: nothing after the match comes out, not even on flush.
    void tok31_discards_from_the_match_on() {
        StopMatcher matcher({"five"});
        QCOMPARE(matcher.push("four "), std::string("four "));
        QCOMPARE(matcher.push("fi"), std::string());
        QCOMPARE(matcher.push("ve six"), std::string());
        QVERIFY(matcher.matched());
        QCOMPARE(matcher.push("seven"), std::string());
        QCOMPARE(matcher.flush(), std::string());
    }

    // TOK-31: no more is held than could still become a stop string.
    void tok31_holds_the_longest_proper_prefix_only() {
        StopMatcher matcher({"abab!", "b?"});
        QCOMPARE(matcher.push("xab"), std::string("x"));
        QCOMPARE(matcher.push("ab"), std::string());
        QCOMPARE(matcher.push("ab"), std::string("ab"));  // "abab" again, two further
        QCOMPARE(matcher.push("c"), std::string("ababc"));
        QCOMPARE(matcher.push("b"), std::string());
        QCOMPARE(matcher.push("x"), std::string("bx"));
        QVERIFY(!matcher.matched());
    }

    void no_stops_hold_nothing() {
        StopMatcher none;
        QCOMPARE(none.push("text"), std::string("text"));
        StopMatcher empty({"", ""});
        QCOMPARE(empty.push("text"), std::string("text"));
        QCOMPARE(empty.flush(), std::string());
        QVERIFY(!empty.matched());
    }

    void which_one_wins_data() {
        QTest::addColumn<QStringList>("stops");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("shown");
        QTest::addColumn<bool>("matched");
        QTest::newRow("earlier of two") << QStringList{"def", "bc"} << "abcdef"
                                        << "a" << true;
        QTest::newRow("longer one that began first") << QStringList{"abc", "b"} << "xabcx"
                                                     << "x" << true;
        QTest::newRow("longer one that failed") << QStringList{"abc", "b"} << "xabdx"
                                                << "xa" << true;
        QTest::newRow("longer one unfinished at the end") << QStringList{"abc", "b"} << "xab"
                                                          << "xa" << true;
        QTest::newRow("same beginning, shorter first") << QStringList{"stop now", "stop"} << "a stop now"
                                                       << "a " << true;
        QTest::newRow("one inside the other's tail") << QStringList{"aaab", "ab"} << "aaaab"
                                                     << "a" << true;
        QTest::newRow("overlapping candidates") << QStringList{"aab"} << "aaaab"
                                                << "aa" << true;
        QTest::newRow("itself a repeat") << QStringList{"abab"} << "aababab"
                                         << "a" << true;
        QTest::newRow("at once") << QStringList{"x"} << "x"
                                 << "" << true;
        QTest::newRow("whole text") << QStringList{"all of it"} << "all of it"
                                    << "" << true;
        QTest::newRow("not quite") << QStringList{"all of it!"} << "all of it"
                                   << "all of it" << false;
        QTest::newRow("characters of several bytes")
            << QStringList{QString::fromUtf8("終わり"), QString::fromUtf8("🙂")}
            << QString::fromUtf8("これで終わ、終わり🙂") << QString::fromUtf8("これで終わ、")
            << true;
        QTest::newRow("special token as text") << QStringList{"<|im_end|>"} << "a<|im_<|im_end|>b"
                                               << "a<|im_" << true;
    }
    void which_one_wins() {
        QFETCH(QStringList, stops);
        QFETCH(QString, text);
        QFETCH(QString, shown);
        QFETCH(bool, matched);
        std::vector<std::string> list;
        for (const QString& stop : stops) list.push_back(stop.toStdString());
        const std::string bytes = text.toStdString();
        const Outcome wanted{shown.toStdString(), matched};
        QVERIFY(streamed(list, {bytes}) == wanted);
        std::vector<std::string> single;
        for (const char c : bytes) single.emplace_back(1, c);
        QVERIFY(streamed(list, single) == wanted);
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            QVERIFY(streamed(list, {bytes.substr(0, cut), bytes.substr(cut)}) == wanted);
        }
    }

    // TOK-31: streamed in any pieces equals the whole text at once.
    void tok31_any_chunking_equals_one_shot() {
        std::mt19937 random(31);
        const auto letters = [&](std::size_t n) {
            std::string text;
            for (std::size_t i = 0; i < n; ++i) text.push_back("aab"[random() % 3]);
            return text;
        };
        int matches = 0;
        for (int round = 0; round < 20000; ++round) {
            std::vector<std::string> stops;
            for (std::size_t n = random() % 4; n > 0; --n) stops.push_back(letters(random() % 6));
            const std::string text = letters(random() % 24);
            std::vector<std::string> pieces;
            for (std::size_t i = 0; i < text.size();) {
                const std::size_t n = random() % 5;
                pieces.push_back(text.substr(i, n));
                i += n;
            }
            const Outcome wanted = slow(stops, text);
            matches += wanted.matched;
            QVERIFY(streamed(stops, pieces) == wanted);
            QVERIFY(streamed(stops, {text}) == wanted);
        }
        QVERIFY(matches > 5000);
    }

    // What is held is never more than one byte less than the longest stop string.
    void holding_is_bounded() {
        std::mt19937 random(5);
        for (int round = 0; round < 2000; ++round) {
            const std::string stop = std::string(1 + random() % 6, 'a') + "b";
            StopMatcher matcher({stop, "zz"});
            std::size_t in = 0;
            std::size_t out = 0;
            for (int i = 0; i < 40 && !matcher.matched(); ++i) {
                const std::string piece(1, "aaaaz"[random() % 5]);
                in += piece.size();
                out += matcher.push(piece).size();
                if (!matcher.matched()) QVERIFY(in - out < std::max<std::size_t>(stop.size(), 2));
            }
        }
    }

    void grows_with_the_text_alone() {
        const std::string stop = std::string(4000, 'a') + "b";
        QVERIFY(grows_linearly(1U << 19U, [&](std::size_t n) {
            StopMatcher matcher({stop});
            std::size_t out = 0;
            const std::string piece(16, 'a');
            for (std::size_t i = 0; i < n; i += piece.size()) out += matcher.push(piece).size();
            out += matcher.flush().size();
            QCOMPARE(out, n);
        }));
    }
};

QTEST_APPLESS_MAIN(TstStopMatcher)
#include "tst_stop_matcher.moc"
