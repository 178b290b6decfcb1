// Colours, contrast, style sheet, who has which colour, digits of one width.
#include <cmath>

#include <QApplication>
#include <QFontMetricsF>
#include <QImage>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include "ui/settings/sequence_colors.h"
#include "ui/settings/tabular.h"
#include "ui/settings/theme.h"

using namespace vitrine::ui;

namespace {

void both_themes() {
    QTest::addColumn<bool>("dark");
    QTest::newRow("light") << false;
    QTest::newRow("dark") << true;
}

Theme theme_of(bool dark) { return dark ? Theme::dark() : Theme::light(); }

}  // namespace

class TestTheme : public QObject {
    Q_OBJECT

  private slots:
    void contrast_known_values() {
        QCOMPARE(contrast(Qt::black, Qt::white), 21.0);
        QCOMPARE(contrast(Qt::white, Qt::white), 1.0);
        QVERIFY(std::abs(contrast(QColor(0x77, 0x77, 0x77), Qt::white) - 4.48) <
                0.005);  // the textbook near miss
        QCOMPARE(contrast(Qt::red, Qt::blue), contrast(Qt::blue, Qt::red));
    }

    void with_contrast_moves_least() {
        for (int i = 0; i < 4096; i += 7) {
            const QColor color((i & 15) * 17, (i >> 4 & 15) * 17, (i >> 8 & 15) * 17);
            for (const QColor& ground :
                 {QColor(Qt::white), QColor(0x1C, 0x1F, 0x24), QColor(0xE6, 0xEE, 0xFD)}) {
                for (const double ratio : {3.0, 4.5}) {
                    const QColor moved = with_contrast(color, ground, ratio);
                    QVERIFY(contrast(moved, ground) >= ratio);
                    if (contrast(color, ground) >= ratio) {
                        QCOMPARE(moved, color);
                    } else {
                        // Not more than one step (1/64 of the way) over what was needed.
                        QVERIFY(contrast(moved, ground) < ratio * 1.12);
                    }
                }
            }
        }
    }

    void text_contrast_data() { both_themes(); }
    void text_contrast() {
        QFETCH(bool, dark);
        const Theme t = theme_of(dark);
        for (const QColor& ground : {t.window, t.surface, t.raised, t.selection}) {
            QVERIFY(contrast(t.text, ground) >= 4.5);
            QVERIFY(contrast(t.text_second, ground) >= 4.5);
            for (const QColor& color : {t.accent, t.good, t.bad, t.caution}) {
                QVERIFY(contrast(ink(color, ground), ground) >= 4.5);
            }
        }
        for (const QColor& color : {t.accent, t.good, t.bad, t.caution}) {
            QVERIFY(contrast(color, t.surface) >= 4.5);  // as they are on cards
        }
        QVERIFY(contrast(t.accent_text, t.accent) >= 4.5);
    }

    void sequences_stand_out_data() { both_themes(); }
    void sequences_stand_out() {
        QFETCH(bool, dark);
        const Theme t = theme_of(dark);
        for (int i = -1; i < 3 * sequence_hues; ++i) {
            const SequenceColor c = sequence_color(i, t);
            QVERIFY2(contrast(c.outline, t.surface) >= 3.0, qPrintable(QString::number(i)));
            QVERIFY2(contrast(c.text, c.fill) >= 4.5, qPrintable(QString::number(i)));
            QVERIFY(c.text == QColor(Qt::black) || c.text == QColor(Qt::white));
            // Faded lies between the surface and the fill, nearer to the surface.
            QVERIFY(contrast(c.faded, t.surface) < contrast(c.fill, t.surface) || !dark);
            QVERIFY(c.faded != t.surface);
            if (dark) QVERIFY(!c.outlined());  // lightened instead
        }
        if (!dark) {
            QCOMPARE(sequence_color(0, t).fill, QColor(0x00, 0x72, 0xB2));  // untouched on white
            QVERIFY(!sequence_color(0, t).outlined());
            QCOMPARE(sequence_color(7, t).fill, QColor(0xF0, 0xE4, 0x42));  // yellow: a darker outline
            QVERIFY(sequence_color(7, t).outlined());
        } else {
            QVERIFY(sequence_color(6, t).fill != QColor(0x7A, 0x51, 0x95));  // violet: lightened
        }
    }

    void sequences_differ() {
        // Hue or pattern is another one for the first forty.
        for (const bool dark : {false, true}) {
            const Theme t = theme_of(dark);
            QSet<QString> seen;
            for (int i = 0; i < 5 * sequence_hues; ++i) {
                const SequenceColor c = sequence_color(i, t);
                seen.insert(c.fill.name() + QString::number(static_cast<int>(c.pattern)));
            }
            QCOMPARE(seen.size(), 5 * sequence_hues);
            QCOMPARE(sequence_color(3, t).pattern, SequencePattern::Solid);
            QVERIFY(sequence_color(1'000'000, t).pattern != SequencePattern::Solid);
        }
    }

    void patterns_show() {
        const Theme t = Theme::light();
        for (const int index : {8, 16, 24, 32}) {
            QImage plain(24, 24, QImage::Format_RGB32);
            plain.fill(Qt::white);
            QImage patterned = plain;
            {
                QPainter p(&plain);
                paint_sequence(p, QRectF(2, 2, 20, 20), sequence_color(0, t), 2);
                QPainter q(&patterned);
                paint_sequence(q, QRectF(2, 2, 20, 20), sequence_color(index, t), 2);
            }
            QVERIFY(plain != patterned);
            QCOMPARE(plain.pixelColor(0, 0), QColor(Qt::white));  // nothing outside
            QCOMPARE(patterned.pixelColor(23, 12), QColor(Qt::white));
        }
    }

    void colours_are_handed_out_and_stay() {
        SequenceColors colors;
        QCOMPARE(colors.peek(5), -1);
        QCOMPARE(colors.index_of(50), 0);
        QCOMPARE(colors.index_of(40), 1);
        QCOMPARE(colors.index_of(-3), 2);
        QCOMPARE(colors.index_of(50), 0);
        colors.release(40);
        QCOMPARE(colors.peek(40), -1);
        QCOMPARE(colors.index_of(60), 1);
        QCOMPARE(colors.index_of(50), 0);
        colors.release(12345);  // unknown: nothing happens
    }

    void idle_hues_are_taken_over_oldest_first() {
        SequenceColors colors;
        QSignalSpy released(&colors, &SequenceColors::released);
        QSet<qint64> live;
        for (qint64 s = 1; s <= 8; ++s) {
            QCOMPARE(colors.index_of(s), static_cast<int>(s - 1));
            live.insert(s);
        }
        colors.set_live(live);
        QCOMPARE(colors.index_of(100), 8);  // all live: a pattern
        live.remove(3);
        live.insert(100);
        colors.set_live(live);
        live.remove(2);
        colors.set_live(live);
        QCOMPARE(colors.peek(3), 2);  // idle keeps its colour while nobody needs it
        QCOMPARE(colors.index_of(101), 2);
        QCOMPARE(released.size(), 1);
        QCOMPARE(released[0][0].toLongLong(), 3);
        QCOMPARE(colors.index_of(102), 1);
        QCOMPARE(colors.index_of(103), 9);
        QCOMPARE(colors.index_of(3), 10);  // asks again: as a new one
    }

    void sheet_is_whole_data() { both_themes(); }
    void sheet_is_whole() {
        QFETCH(bool, dark);
        const QString sheet = make_style_sheet(theme_of(dark));
        QVERIFY(!sheet.contains('@'));
        QVERIFY(!sheet.contains('$'));
        QVERIFY(!sheet.contains(QStringLiteral(": ;")));
        QCOMPARE(sheet.count('{'), sheet.count('}'));
    }

    void apply_dresses_the_application_data() { both_themes(); }
    void apply_dresses_the_application() {
        QFETCH(bool, dark);
        const Theme t = theme_of(dark);
        QTest::failOnWarning(QRegularExpression("[Pp]arse|stylesheet|style sheet|url|image"));
        QSignalSpy changed(theme_signal(), &ThemeSignal::changed);
        apply(*qApp, t);
        QCOMPARE(changed.size(), 1);
        QCOMPARE(current_theme().is_dark, dark);
        QCOMPARE(is_dark_palette(QApplication::palette()), dark);

        QWidget window;
        window.resize(160, 80);
        QPushButton button(QStringLiteral("Stop"), &window);
        button.setProperty("role", "primary");
        button.setGeometry(20, 20, 120, 40);
        window.show();
        const QImage image = window.grab().toImage();
        QCOMPARE(image.pixelColor(2, 2), t.window);
        QCOMPARE(image.pixelColor(28, 40), t.accent);
    }

    void icons_are_in_the_library() {
        apply(*qApp, Theme::light());
        for (const char* name :
             {"down-light", "down-dark", "up-light", "up-dark", "check-light", "check-dark"}) {
            QVERIFY2(QFile::exists(QStringLiteral(":/vitrine/theme/icons/%1.svg").arg(name)), name);
        }
    }

    void text_zoom_scales() {
        QVERIFY(std::abs(Theme::light(2).fonts.answer.pointSizeF() -
                         2 * Theme::light().fonts.answer.pointSizeF()) < 0.01);
        QVERIFY(Theme::light(1e9).fonts.answer.pointSizeF() < 100);
        QVERIFY(Theme::light(-1).fonts.answer.pointSizeF() > 1);
    }

    void digits_have_one_width() {
        const QFont font = Theme::light().fonts.figure;
        const double width = tabular_width(QStringLiteral("111.1 ms"), font);
        for (const char* text : {"000.0 ms", "888.8 ms", "174.9 ms"})
            QCOMPARE(tabular_width(text, font), width);
        QCOMPARE(tabular_width({}, font), 0.0);
        QCOMPARE(tabular_width(QStringLiteral("abc"), font), QFontMetricsF(font).horizontalAdvance("abc"));
    }
};

QTEST_MAIN(TestTheme)
#include "tst_theme.moc"
