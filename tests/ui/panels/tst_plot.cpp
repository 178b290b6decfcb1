// Figures as text, axes, points.
#include <cmath>
#include <random>

#include <QImage>
#include <QLocale>
#include <QPainter>
#include <QRegularExpression>
#include <QTest>

#include "ui/plot/axis.h"
#include "ui/plot/figure_format.h"
#include "ui/plot/point_series.h"

using namespace vitrine::ui;

namespace {

// Narrow and no-break spaces as plain ones, to be readable here.
QString plain(QString text) { return text.replace(QChar(0x202F), ' ').replace(QChar(0x00A0), ' '); }

}  // namespace

class TestPlot : public QObject {
    Q_OBJECT

  private slots:
    void significant_data() {
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("text");
        const auto row = [](double v, const char* t) { QTest::newRow(t) << v << QString::fromUtf8(t); };
        row(5.8, "5.80");
        row(171.3, "171");
        row(64, "64.0");
        row(1234, "1 230");
        row(1235000, "1 240 000");
        row(9.996, "10.0");
        row(99.96, "100");
        row(999.6, "1 000");
        row(0.99951, "1.00");
        row(0.0412, "0.0412");
        row(0.0004, "0.000400");
        row(-2, "−2.00");
        QTest::newRow("zero") << 0.0 << QStringLiteral("0");
        QTest::newRow("nan") << std::nan("") << QStringLiteral("–");
        QTest::newRow("inf") << double(INFINITY) << QStringLiteral("–");
        QTest::newRow("-inf") << -double(INFINITY) << QStringLiteral("–");
    }
    void significant() {
        QFETCH(double, value);
        QFETCH(QString, text);
        QCOMPARE(plain(format_significant(value)), text);
    }

    void significant_always_has_three_digits() {
        std::mt19937 random(7);
        std::uniform_real_distribution<double> exponent(-6, 9);
        for (int i = 0; i < 20000; ++i) {
            const double value = std::pow(10.0, exponent(random));
            QString text = plain(format_significant(value)).remove(' ');
            bool ok = false;
            const double back = text.toDouble(&ok);
            QVERIFY2(ok, qPrintable(text));
            QVERIFY2(std::abs(back - value) <= 0.00501 * value, qPrintable(text));
            // As short as it is exact.
            QVERIFY2(text.remove('.').remove(QRegularExpression("^0+")).size() >= 3, qPrintable(text));
        }
        for (const double huge : {1e300, 1e-300, 5e-324, 1.7e308})
            QVERIFY(format_significant(huge).size() < 24);
    }

    void counts() {
        QCOMPARE(plain(format_count(0)), "0");
        QCOMPARE(plain(format_count(999)), "999");
        QCOMPARE(plain(format_count(8192)), "8 192");
        QCOMPARE(plain(format_count(1234567)), "1 234 567");
        QCOMPARE(plain(format_count(-1000)), "−1 000");
        QCOMPARE(plain(format_count(INT64_MIN)), "−9 223 372 036 854 775 808");
    }

    void durations_data() {
        QTest::addColumn<double>("seconds");
        QTest::addColumn<QString>("text");
        const auto row = [](double v, const char* t) { QTest::newRow(t) << v << QString::fromUtf8(t); };
        row(0.0058, "5.80 ms");
        row(0.041, "41.0 ms");
        row(0.00095, "950 µs");
        row(0.0009996, "1.00 ms");
        row(0.99960, "1.00 s");
        row(1.25, "1.25 s");
        row(99.99, "1 min 40 s");
        row(125, "2 min 5 s");
        row(0, "0 ms");
        QTest::newRow("unknown") << unknown << QStringLiteral("–");
    }
    void durations() {
        QFETCH(double, seconds);
        QFETCH(QString, text);
        QCOMPARE(plain(format_duration(seconds)), text);
    }

    void bytes_data() {
        QTest::addColumn<quint64>("bytes");
        QTest::addColumn<QString>("text");
        const auto row = [](quint64 v, const char* t) { QTest::newRow(t) << v << QString::fromUtf8(t); };
        row(0, "0 B");
        row(512, "512 B");
        row(1023, "1 023 B");
        row(1024, "1 KiB");
        row(23040, "22.5 KiB");
        row(87ULL << 20, "87 MiB");
        row((1ULL << 30) + (50ULL << 20), "1.05 GiB");
        row(1023ULL << 20, "1 023 MiB");
        row((1ULL << 30) - 1, "1 GiB");
        row(UINT64_MAX, "16 EiB");
    }
    void bytes() {
        QFETCH(quint64, bytes);
        QFETCH(QString, text);
        QCOMPARE(plain(format_bytes(bytes)), text);
    }

    void shares_and_ratios() {
        QCOMPARE(plain(format_percent(0.024)), "2.40 %");
        QCOMPARE(plain(format_percent(0)), "0 %");
        QCOMPARE(plain(format_percent(1)), "100 %");
        QCOMPARE(format_percent(unknown), QStringLiteral("–"));
        QCOMPARE(format_times(12.3), QStringLiteral("12.3×"));
        QCOMPARE(format_times(unknown), QStringLiteral("–"));
        QCOMPARE(plain(format_figure(16.2, "GB/s")), "16.2 GB/s");
        QCOMPARE(format_figure(unknown, "GB/s"), QStringLiteral("–"));  // never a unit without a value
    }

    void no_locale_changes_a_figure() {
        const QLocale before;
        QLocale::setDefault(QLocale(QLocale::German));
        const QString german = format_significant(5.8) + format_count(8192) + format_bytes(23040);
        const QString tick = axis_from_zero(1).label(0.5);
        QLocale::setDefault(before);
        QCOMPARE(german, format_significant(5.8) + format_count(8192) + format_bytes(23040));
        QVERIFY(german.contains("5.80"));
        QVERIFY(tick.contains('.'));
    }

    void axis_is_readable() {
        const Axis axis = axis_from_zero(13.9, 3);
        QCOMPARE(axis.high, 15.0);
        QCOMPARE(axis.ticks, (std::vector<double>{0, 5, 10, 15}));
        QCOMPARE(axis.label(10), "10");
        QCOMPARE(axis_from_zero(0.3, 3).ticks.size(), std::size_t(4));
        QCOMPARE(axis_from_zero(0.3, 3).label(0.1), "0.1");
    }

    void axis_properties() {
        std::mt19937 random(3);
        std::uniform_real_distribution<double> exponent(-9, 12);
        for (int i = 0; i < 5000; ++i) {
            const double high = std::pow(10.0, exponent(random));
            const int most = 1 + i % 9;
            const Axis axis = axis_from_zero(high, most);
            QVERIFY(axis.high >= high * (1 - 1e-9));
            QVERIFY(axis.ticks.size() >= 2);
            QVERIFY(axis.ticks.size() <= static_cast<std::size_t>(most) + 1);
            QCOMPARE(axis.ticks.front(), 0.0);
            QVERIFY(std::abs(axis.ticks.back() - axis.high) < 1e-6 * axis.high);
            const double mantissa = axis.step / std::pow(10.0, std::floor(std::log10(axis.step) + 1e-9));
            QVERIFY(std::abs(mantissa - 1) < 1e-6 || std::abs(mantissa - 2) < 1e-6 ||
                    std::abs(mantissa - 5) < 1e-6);
            for (const double tick : axis.ticks) QVERIFY(!axis.label(tick).isEmpty());
        }
    }

    void axis_of_nonsense() {
        for (const double bad :
             {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY), 1e308, 5e-324}) {
            const Axis axis = axis_from_zero(bad, 3);
            QVERIFY(std::isfinite(axis.high) && axis.high > 0);
            QVERIFY(axis.ticks.size() >= 2 && axis.ticks.size() < 10);
        }
        QVERIFY(axis_over(5, 5).high > axis_over(5, 5).low);
        QVERIFY(axis_over(NAN, 1).ticks.size() < 200);
        QVERIFY(axis_from_zero(1, 1'000'000).ticks.size() <= 102);
        QCOMPARE(axis_over(-1, 1, 4).ticks, (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
        QCOMPARE(axis_over(-1, 1, 4).label(-0.5), QStringLiteral("−0.5"));
        QCOMPARE(axis_over(-1, 1, 4).label(-0.0), QStringLiteral("0.0"));
    }

    void axis_maps_there_and_back() {
        const Axis axis = axis_over(2, 12);
        QCOMPARE(axis.map(2, 100, 0), 100.0);
        QCOMPARE(axis.map(12, 100, 0), 0.0);
        QCOMPARE(axis.unmap(axis.map(7, 100, 0), 100, 0), 7.0);
    }

    void points_are_bounded_by_pixels() {
        PointSeries series(QRectF(0, 0, 100, 50), 2);
        std::mt19937 random(1);
        std::uniform_real_distribution<double> x(-10, 110);
        std::uniform_real_distribution<double> y(-10, 60);
        for (int i = 0; i < 200'000; ++i) series.add(x(random), y(random), i % 3);
        QVERIFY(series.size() <= series.capacity());
        QVERIFY(series.capacity() <= 51 * 26);
        QVERIFY(!series.add(NAN, 1, 0));
        QVERIFY(!series.add(1, INFINITY, 0));
        QVERIFY(!series.add(1, 1, -1));
        QImage image(100, 50, QImage::Format_RGB32);
        QPainter painter(&image);
        QVERIFY(series.paint(painter, 3, {Qt::red, Qt::green, Qt::blue}) <=
                static_cast<int>(series.capacity()));
    }

    void newest_point_wins_its_spot() {
        PointSeries series(QRectF(0, 0, 20, 20), 2);
        QVERIFY(series.add(10.2, 10.2, 0));
        QVERIFY(!series.add(10.4, 10.4, 1));
        QImage image(20, 20, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        QCOMPARE(series.paint(painter, 4, {Qt::red, Qt::green}), 1);
        painter.end();
        QCOMPARE(image.pixelColor(10, 10), QColor(Qt::green));
    }

    void empty_area() {
        PointSeries series(QRectF(0, 0, -5, 0), 2);
        QVERIFY(!series.add(1, 1, 0));
        QCOMPARE(series.size(), std::size_t(0));
    }
};

QTEST_MAIN(TestPlot)
#include "tst_plot.moc"
