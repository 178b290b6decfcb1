#include "ui/settings/translation.h"

#include <QCoreApplication>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

namespace vitrine::ui {

bool load_translation(const QString& language) {
    QLocale locale = language.isEmpty() ? QLocale::system() : QLocale(language);
    QCoreApplication* application = QCoreApplication::instance();
    auto* ours = new QTranslator(application);
    const auto load = [&] {
        return ours->load(locale, QStringLiteral("vitrine"), QStringLiteral("_"),
                          QStringLiteral(":/vitrine/translations"));
    };
    const bool known = locale.language() != QLocale::C && load();
    if (!known) {
        // English has a file as well: its plurals.
        locale = QLocale(QLocale::English);
        if (!load()) {
            delete ours;
            return false;
        }
    }
    // Qt's own words first: where both know one, ours count.
    auto* qt = new QTranslator(application);
    if (qt->load(locale, QStringLiteral("qtbase"), QStringLiteral("_"),
                 QLibraryInfo::path(QLibraryInfo::TranslationsPath)))
        QCoreApplication::installTranslator(qt);
    QCoreApplication::installTranslator(ours);
    return locale.language() != QLocale::English;
}

}  // namespace vitrine::ui
