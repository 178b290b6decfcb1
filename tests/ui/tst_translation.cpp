// The German window: every text is there, with its figures, and the program speaks it.
#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QXmlStreamReader>
#include <QtTest>

namespace {

struct Text {
    QString context;
    QString source;
    QStringList translations;  // several where there are plurals
    QString type;              // "unfinished", "vanished", "obsolete"
};

std::vector<Text> texts_of(const QString& name) {
    std::vector<Text> all;
    QFile file(QStringLiteral(VITRINE_SOURCE_DIR) + QStringLiteral("/translations/") + name);
    if (!file.open(QIODevice::ReadOnly)) return all;
    QXmlStreamReader xml(&file);
    QString context;
    Text text;
    while (!xml.atEnd()) {
        const auto token = xml.readNext();
        if (token == QXmlStreamReader::StartElement) {
            if (xml.name() == u"message") text = {context, {}, {}, {}};
            if (xml.name() == u"name") context = xml.readElementText();
            if (xml.name() == u"source") text.source = xml.readElementText();
            if (xml.name() == u"translation") {
                text.type = xml.attributes().value(QLatin1String("type")).toString();
                QString plain;
                while (!(xml.readNext() == QXmlStreamReader::EndElement && xml.name() == u"translation") &&
                       !xml.atEnd()) {
                    if (xml.isStartElement() && xml.name() == u"numerusform") {
                        text.translations << xml.readElementText();
                    } else if (xml.isCharacters() && !xml.isWhitespace()) {
                        plain += xml.text();
                    } else if (xml.isCharacters() && !plain.isEmpty()) {
                        plain += xml.text();
                    }
                }
                if (text.translations.isEmpty()) text.translations << plain;
            }
        } else if (token == QXmlStreamReader::EndElement && xml.name() == u"message") {
            all.push_back(text);
        }
    }
    if (xml.hasError()) qWarning("%s", qPrintable(xml.errorString()));
    return all;
}

QStringList places(const QString& text) {
    static const QRegularExpression place(QStringLiteral("%[0-9Ln]+"));
    QStringList found;
    for (auto it = place.globalMatch(text); it.hasNext();) found << it.next().captured();
    found.sort();
    return found;
}

}  // namespace

class TestTranslation : public QObject {
    Q_OBJECT

  private slots:
    void no_text_is_unfinished_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("least");
        QTest::newRow("German") << QStringLiteral("vitrine_de.ts") << 400;
        QTest::newRow("plurals of English") << QStringLiteral("vitrine_en.ts") << 1;
    }
    void no_text_is_unfinished() {
        QFETCH(QString, file);
        QFETCH(int, least);
        const auto texts = texts_of(file);
        QVERIFY(texts.size() >= static_cast<std::size_t>(least));
        static const QRegularExpression keys(
            QStringLiteral("^((Ctrl|Alt|Shift)\\+)+([A-Z0-9,]|F[0-9]+|[A-Z][a-z]+)$"));
        for (const Text& text : texts) {
            const QString where = text.context + QStringLiteral(": ") + text.source;
            QVERIFY2(text.type.isEmpty(), qPrintable(where));
            for (const QString& translation : text.translations) {
                QVERIFY2(!translation.isEmpty(), qPrintable(where));
                // The figures of a sentence are in its translation as well.
                QVERIFY2(places(translation) == places(text.source), qPrintable(where));
                QVERIFY2(translation.startsWith(u' ') == text.source.startsWith(u' ') &&
                             translation.endsWith(u' ') == text.source.endsWith(u' '),
                         qPrintable(where));
                // Keys stay where they are.
                if (keys.match(text.source).hasMatch() && text.source != QStringLiteral("Shift+Enter"))
                    QCOMPARE(translation, text.source);
            }
        }
    }

    void the_program_speaks_the_systems_language_data() {
        QTest::addColumn<QString>("locale");
        QTest::addColumn<bool>("german");
        QTest::newRow("German") << QStringLiteral("de_DE.UTF-8") << true;
        QTest::newRow("Austrian") << QStringLiteral("de_AT.UTF-8") << true;
        QTest::newRow("English") << QStringLiteral("en_GB.UTF-8") << false;
        QTest::newRow("none of ours") << QStringLiteral("fr_FR.UTF-8") << false;
        QTest::newRow("C") << QStringLiteral("C") << false;
    }
    void the_program_speaks_the_systems_language() {
#ifndef VITRINE_TRANSLATED
        QSKIP("This build has no translations: Qt's translation tools were not there.");
#else
        QFETCH(QString, locale);
        QFETCH(bool, german);
        QProcess program;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        for (const char* name : {"LC_ALL", "LANG", "LC_MESSAGES"})
            environment.insert(QLatin1String(name), locale);
        environment.remove(QStringLiteral("LANGUAGE"));
        program.setProcessEnvironment(environment);
        program.start(QStringLiteral(VITRINE_PROGRAM), {QStringLiteral("--help")});
        QVERIFY(program.waitForFinished(30'000));
        QCOMPARE(program.exitCode(), 0);
        const QString out = QString::fromUtf8(program.readAllStandardOutput());
        QCOMPARE(out.contains(QStringLiteral("mit einem lokalen Sprachmodell")), german);
        QCOMPARE(out.contains(QStringLiteral("chat with a local language model")), !german);
#endif
    }
};

QTEST_GUILESS_MAIN(TestTranslation)
#include "tst_translation.moc"
