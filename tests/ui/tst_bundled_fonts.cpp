// Typefaces that come with the program.
#include <QFontDatabase>
#include <QTemporaryDir>
#include <QTest>

#include "ui/settings/bundled_fonts.h"

using namespace vitrine::ui;

class TestBundledFonts : public QObject {
    Q_OBJECT

  private slots:
    void a_folder_of_fonts() {
        const QString font = QStringLiteral("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf");
        if (!QFile::exists(font)) QSKIP("fonts-dejavu-core is not installed");
        QTemporaryDir folder;
        QVERIFY(QFile::copy(font, folder.filePath(QStringLiteral("a.ttf"))));
        QFile broken(folder.filePath(QStringLiteral("b.ttf")));
        QVERIFY(broken.open(QIODevice::WriteOnly) && broken.write("no font") == 7);
        broken.close();
        QFile other(folder.filePath(QStringLiteral("notes.txt")));
        QVERIFY(other.open(QIODevice::WriteOnly));
        QCOMPARE(add_fonts(folder.path()), 1);
        QVERIFY(QFontDatabase::families().contains(QStringLiteral("DejaVu Sans")));
    }

    void no_folder() {
        QCOMPARE(add_fonts(QStringLiteral("/no/such/folder")), 0);
        QVERIFY(bundled_fonts_folder().endsWith(QStringLiteral("/share/vitrine/fonts")));
        QVERIFY(!bundled_fonts_folder().contains(QStringLiteral("..")));
    }
};

QTEST_MAIN(TestBundledFonts)
#include "tst_bundled_fonts.moc"
