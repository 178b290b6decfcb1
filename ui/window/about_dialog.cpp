#include "ui/window/about_dialog.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSysInfo>
#include <QVBoxLayout>

#include "ui/settings/log_file.h"

namespace vitrine::ui {
namespace {

// Name, what it does here, licence.
constexpr const char* parts[][3] = {
    {"Qt 6", QT_TRANSLATE_NOOP("About", "window, threads, database, network"), "LGPL-3.0"},
    {"Google Highway", QT_TRANSLATE_NOOP("About", "vector instructions"), "Apache-2.0"},
    {"SentencePiece", QT_TRANSLATE_NOOP("About", "vocabularies"), "Apache-2.0"},
    {"PCRE2", QT_TRANSLATE_NOOP("About", "splitting text as the models do"), "BSD-3-Clause"},
    {"ICU", QT_TRANSLATE_NOOP("About", "Unicode"), "Unicode-3.0"},
    {"nlohmann/json", QT_TRANSLATE_NOOP("About", "JSON"), "MIT"},
    {"CLI11", QT_TRANSLATE_NOOP("About", "command lines of vitrine-cli"), "BSD-3-Clause"},
    {"xxHash", QT_TRANSLATE_NOOP("About", "hashes of blocks"), "BSD-2-Clause"},
    {"SQLite", QT_TRANSLATE_NOOP("About", "chats on disk"), QT_TRANSLATE_NOOP("About", "public domain")},
};

QString about(const char* text) { return QCoreApplication::translate("About", text); }

}  // namespace

QString diagnostics_text(const AboutFacts& facts) {
    QStringList lines;
    lines << QStringLiteral("Vitrine %1, Qt %2 (%3)")
                 .arg(facts.version, QString::fromLatin1(qVersion()), QGuiApplication::platformName());
    lines << QStringLiteral("%1, kernel %2, %3")
                 .arg(QSysInfo::prettyProductName(), QSysInfo::kernelVersion(),
                      QSysInfo::currentCpuArchitecture());
    lines << QStringLiteral("Locale: %1").arg(QLocale::system().name());
    lines << QStringLiteral("Model: %1").arg(facts.model.isEmpty() ? QStringLiteral("none") : facts.model);
    lines << QStringLiteral("Device: %1").arg(facts.device.isEmpty() ? QStringLiteral("none") : facts.device);
    // The name of the user says nothing about a fault.
    QString folder = QDir::toNativeSeparators(facts.folder);
    if (folder.startsWith(QDir::homePath())) folder.replace(0, QDir::homePath().size(), QStringLiteral("~"));
    lines << QStringLiteral("Data: %1").arg(folder);
    if (const QStringList log = last_log_lines(40); !log.isEmpty()) lines << QStringLiteral("Log:") << log;
    return lines.join(u'\n');
}

AboutDialog::AboutDialog(const AboutFacts& facts, QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("About Vitrine"));
    resize(560, 480);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 16, 20, 16);
    column->setSpacing(12);
    auto* title = new QLabel(tr("Vitrine %1").arg(facts.version), this);
    title->setProperty("role", "heading");
    column->addWidget(title);
    auto* what =
        new QLabel(tr("Chat with a local language model and see the engine that answers. Nothing leaves this "
                      "computer.\nApache License 2.0, without any warranty."),
                   this);
    what->setWordWrap(true);
    column->addWidget(what);

    auto* third = new QPlainTextEdit(this);
    third->setReadOnly(true);
    third->setTabChangesFocus(true);
    third->setAccessibleName(tr("Built from"));
    QStringList lines{tr("Built from the work of others:"), QString()};
    for (const auto& [name, use, licence] : parts)
        lines << tr("%1: %2 (%3)").arg(QString::fromLatin1(name), about(use), about(licence));
    lines << QString()
          << tr("The small model that comes with Vitrine is its own and has the licence of the program. "
                "Each model of others has the licence that its makers gave it.");
    third->setPlainText(lines.join(u'\n'));
    column->addWidget(third, 1);

    auto* lies =
        new QLabel(tr("Chats, settings and the log lie in %1. To remove all of it, close Vitrine and delete "
                      "that folder.")
                       .arg(QDir::toNativeSeparators(facts.folder)),
                   this);
    lies->setWordWrap(true);
    lies->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(lies);

    auto* row = new QHBoxLayout;
    auto* copy = new QPushButton(tr("Copy diagnostics"), this);
    copy->setToolTip(
        tr("Versions, system, device and the newest lines of the log, for a report of a fault. No text of "
           "any chat is in it."));
    auto* close = new QPushButton(tr("Close"), this);
    close->setDefault(true);
    row->addWidget(copy);
    row->addStretch(1);
    row->addWidget(close);
    column->addLayout(row);
    connect(copy, &QPushButton::clicked, this, [copy, facts] {
        QGuiApplication::clipboard()->setText(diagnostics_text(facts));
        copy->setText(tr("Copied"));
    });
    connect(close, &QPushButton::clicked, this, &QDialog::accept);
}

}  // namespace vitrine::ui
