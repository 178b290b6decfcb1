// The parts of vitrine-cli that can be tested without a process.
#include <cmath>
#include <limits>
#include <unistd.h>

#include <QtTest>

#include "app/cli/bench.h"
#include "app/cli/line_reader.h"
#include "app/cli/output.h"
#include "app/cli/rows.h"
#include "app/cli/strict_json.h"

using namespace vitrine;
using namespace vitrine::cli;

class TestCliParts : public QObject {
    Q_OBJECT

  private slots:
    void a_terminal_gets_no_control_character_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("shown");
        QTest::newRow("plain") << QByteArray("a é 😀\n\tb") << QByteArray("a é 😀\n\tb");
        QTest::newRow("escape") << QByteArray("\x1b[2J") << QByteArray("␛[2J");
        QTest::newRow("bell, return, NUL, DEL") << QByteArray("\a\r\0\x7f", 4) << QByteArray("␇␍␀␡");
        QTest::newRow("C1") << QByteArray(
                                   "\xc2\x9b"
                                   "31m")
                            << QByteArray("<U+009B>31m");
        QTest::newRow("bidi") << QByteArray(
                                     "a\xe2\x80\xae"
                                     "b\xe2\x81\xa6")
                              << QByteArray("a<U+202E>b<U+2066>");
        QTest::newRow("line separators") << QByteArray("\xe2\x80\xa8") << QByteArray("<U+2028>");
        QTest::newRow("invalid") << QByteArray("a\xff\xe2\x82") << QByteArray("a\xef\xbf\xbd\xef\xbf\xbd");
    }
    void a_terminal_gets_no_control_character() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, shown);
        QCOMPARE(QByteArray::fromStdString(terminal_text(text.toStdString())), shown);
    }

    void numbers_are_printed_without_a_locale() {
        QCOMPARE(fixed(1234.5678, 2), std::string("1234.57"));
        OrderedJson value = {
            {"a", 0.5}, {"nan", std::nan("")}, {"inf", std::numeric_limits<double>::infinity()}};
        QCOMPARE(to_line(value), std::string("{\"a\":0.5,\"nan\":null,\"inf\":null}\n"));
        QCOMPARE(to_line(OrderedJson("\xff\xc3\xa9")), std::string("\"\\ufffd\\u00e9\"\n"));
    }

    void json_keeps_order_and_values() {
        const auto value = parse_strict(R"({"b":[1,-2,3.5,1e3,true,null,"\u00e9"],"a":{"z":{},"y":[]}})");
        QVERIFY(value.ok());
        QCOMPARE(value->dump(), std::string(R"({"b":[1,-2,3.5,1000.0,true,null,"é"],"a":{"z":{},"y":[]}})"));
        QVERIFY(parse_strict("[[[]]]", {3, 10}).ok());
        QVERIFY(!parse_strict("[[[[]]]]", {3, 10}).ok());
        QVERIFY(parse_strict("[1,2,3]", {3, 4}).ok());
        QVERIFY(!parse_strict("[1,2,3,4]", {3, 4}).ok());
        QVERIFY(parse_strict("  5 ").ok());
        QVERIFY(!parse_strict("").ok());
    }

    void lines_come_whole_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("lines");  // joined with |, T for one that is too long
        QTest::newRow("none") << QByteArray("") << QByteArray("");
        QTest::newRow("one without an end") << QByteArray("ab") << QByteArray("ab|");
        QTest::newRow("empty lines") << QByteArray("\n\r\n\n") << QByteArray("|||");
        QTest::newRow("at the limit") << QByteArray("0123456789\n") << QByteArray("0123456789|");
        QTest::newRow("beyond the limit") << QByteArray("01234567890\nx\n") << QByteArray("T|x|");
        QTest::newRow("far beyond") << QByteArray(300000, 'y') + "\nx" << QByteArray("T|x|");
        QTest::newRow("too long at the end")
            << QByteArray("x\n") + QByteArray(300000, 'y') << QByteArray("x|T|");
        QTest::newRow("NUL inside") << QByteArray("a\0b\n", 4) << QByteArray("a\0b|", 4);
    }
    void lines_come_whole() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, lines);
        QTemporaryFile file;
        QVERIFY(file.open());
        file.write(bytes);
        file.flush();
        file.seek(0);
        LineReader reader(file.handle(), 10);
        QByteArray got;
        std::string line;
        for (;;) {
            const auto what = reader.next(line);
            if (what == LineReader::Got::End) break;
            got +=
                (what == LineReader::Got::TooLong ? QByteArray("T") : QByteArray::fromStdString(line)) + "|";
        }
        QCOMPARE(got, lines);
    }

    void waiting_can_be_ended() {
        int input[2];
        int wake[2];
        QVERIFY(pipe(input) == 0 && pipe(wake) == 0);
        QVERIFY(::write(wake[1], "x", 1) == 1);
        LineReader reader(input[0], 10, wake[0]);
        std::string line;
        QVERIFY(reader.next(line) == LineReader::Got::Interrupted);
        char byte = 0;
        QVERIFY(::read(wake[0], &byte, 1) == 1);
        QVERIFY(::write(input[1], "ok\n", 3) == 3);
        QVERIFY(reader.next(line) == LineReader::Got::Line);
        QCOMPARE(line, std::string("ok"));
        for (const int end : {input[0], input[1], wake[0], wake[1]}) close(end);
    }

    void peaks_of_odd_rows() {  // SMP-01, SMP-02
        constexpr float inf = std::numeric_limits<float>::infinity();
        const std::vector<float> ties = {1, 3, 3, -inf};
        QCOMPARE(peak_of(ties, 0)->argmax, 1);
        QCOMPARE(*peak_of(ties, 0)->gap, 0.0);
        QCOMPARE(top_ids(ties, 9), (std::vector<std::int32_t>{1, 2, 0}));
        const std::vector<float> one = {-inf, 2};
        QCOMPARE(peak_of(one, 0)->argmax, 1);
        QVERIFY(!peak_of(one, 0)->gap);
        QCOMPARE(log_sum_exp(one), 2.0);
        for (std::size_t place = 0; place < 3; ++place)
            for (const float bad : {std::nanf(""), inf}) {
                std::vector<float> row = {0, 0, 0};
                row[place] = bad;
                QVERIFY(!peak_of(row, 0).ok());
            }
        QVERIFY(!peak_of(std::vector<float>{-inf, -inf}, 0).ok());
    }

    void medians_and_areas() {
        QCOMPARE(median({3}), 3.0);
        QCOMPARE(median({5, 1, 3}), 3.0);
        QCOMPARE(median({4, 1, 3, 2}), 2.5);
        constexpr std::uint64_t mib = 1ULL << 20;
        QCOMPARE(read_area_bytes(0, 0), 256 * mib);
        QCOMPARE(read_area_bytes(260 * mib, 64ULL << 30), 1040 * mib);
        QCOMPARE(read_area_bytes(260 * mib, 1ULL << 30), 256 * mib);  // bounded by what is free
        QCOMPARE(read_area_bytes(32 * mib, 1), 2 * mib);
        QVERIFY(read_area_bytes(std::numeric_limits<std::uint64_t>::max(), 0) > 0);
    }
};

QTEST_GUILESS_MAIN(TestCliParts)
#include "tst_cli_parts.moc"
