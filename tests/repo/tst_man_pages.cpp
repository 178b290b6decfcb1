// The manual pages tell the options and commands that the programs have, and no others.
#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

namespace {

QString output_of(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    if (!process.waitForFinished(60000) || process.exitCode() != 0) return {};
    return QString::fromUtf8(process.readAllStandardOutput());
}

// Spellings at the beginning of help lines: "  -n,--max-tokens N  End …".
QSet<QString> options_in_help(const QString& help) {
    static const QRegularExpression line(QStringLiteral("^  (-[^ ,]+(?:, ?-[^ ,]+)*)"),
                                         QRegularExpression::MultilineOption);
    static const QRegularExpression comma(QStringLiteral(", ?"));
    QSet<QString> found;
    for (auto it = line.globalMatch(help); it.hasNext();)
        for (const QString& option : it.next().captured(1).split(comma)) found.insert(option);
    return found;
}

// Spellings in the tag lines of .TP entries: "\fB\-n\fR, \fB\-\-max\-tokens\fR \fIN\fR".
QSet<QString> options_in_page(const QString& page) {
    static const QRegularExpression tag(QStringLiteral("^\\.TP\\n(.*)$"),
                                        QRegularExpression::MultilineOption);
    static const QRegularExpression option(QStringLiteral("(?<![\\w-])--?[a-z][a-z0-9-]*"));
    QSet<QString> found;
    for (auto it = tag.globalMatch(page); it.hasNext();) {
        QString line = it.next().captured(1);
        line.replace(QStringLiteral("\\fB"), QStringLiteral(" "))
            .replace(QStringLiteral("\\fR"), QStringLiteral(" "));
        line.replace(QStringLiteral("\\-"), QStringLiteral("-"));
        for (auto inner = option.globalMatch(line); inner.hasNext();) found.insert(inner.next().captured());
    }
    return found;
}

QString page_text(const QString& name) {
    QFile file(QStringLiteral(VITRINE_SOURCE_DIR "/packaging/linux/") + name);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QString list(const QSet<QString>& set) {
    QStringList sorted(set.begin(), set.end());
    sorted.sort();
    return sorted.join(u' ');
}

}  // namespace

class TestManPages : public QObject {
    Q_OBJECT

  private slots:
    void terminal_program() {
        const QString help = output_of(QStringLiteral(VITRINE_CLI), {QStringLiteral("--help")});
        const QString page = page_text(QStringLiteral("vitrine-cli.1"));
        QVERIFY(!help.isEmpty() && !page.isEmpty());
        const auto begin = help.indexOf(QStringLiteral("Subcommands:"));
        QVERIFY(begin >= 0);
        static const QRegularExpression command(QStringLiteral("^  ([a-z]+) "),
                                                QRegularExpression::MultilineOption);
        static const QRegularExpression section(QStringLiteral("^\\.SS ([a-z]+)"),
                                                QRegularExpression::MultilineOption);
        QSet<QString> commands, described, options = options_in_help(help);
        for (auto it = command.globalMatch(help.mid(begin)); it.hasNext();)
            commands.insert(it.next().captured(1));
        for (auto it = section.globalMatch(page); it.hasNext();) described.insert(it.next().captured(1));
        QVERIFY(commands.size() >= 8);
        QCOMPARE(list(described), list(commands));
        for (const QString& name : commands) {
            const QString own = output_of(QStringLiteral(VITRINE_CLI), {name, QStringLiteral("--help")});
            QVERIFY2(!own.isEmpty(), qPrintable(name));
            options += options_in_help(own);
        }
        QCOMPARE(list(options_in_page(page)), list(options));
    }

    void window() {
#ifdef VITRINE_WINDOW
        const QString help = output_of(QStringLiteral(VITRINE_WINDOW), {QStringLiteral("--help")});
        QVERIFY(!help.isEmpty());
        const QSet<QString> options = options_in_help(help);
        QVERIFY(options.contains(QStringLiteral("--model")));
        QCOMPARE(list(options_in_page(page_text(QStringLiteral("vitrine.1")))), list(options));
#else
        QSKIP("built without the window");
#endif
    }

    void a_difference_shows() {
        QCOMPARE(
            list(options_in_page(QStringLiteral(".TP\n\\fB\\-n\\fR, \\fB\\-\\-max\\-tokens\\fR \\fIN\\fR\n"
                                                "End after \\-\\-n tokens.\n"))),
            QStringLiteral("--max-tokens -n"));
        QCOMPARE(list(options_in_help(QStringLiteral("  -h, --help  This.\n  --size <WxH>  With --dark.\n"
                                                     "        --not-this\n"))),
                 QStringLiteral("--help --size -h"));
    }
};

QTEST_GUILESS_MAIN(TestManPages)
#include "tst_man_pages.moc"
