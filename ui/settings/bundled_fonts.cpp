#include "ui/settings/bundled_fonts.h"

#include <QCoreApplication>
#include <QDir>
#include <QFontDatabase>

namespace vitrine::ui {

QString bundled_fonts_folder() {
    return QDir::cleanPath(
        QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("../share/vitrine/fonts")));
}

int add_fonts(const QString& folder) {
    int usable = 0;
    const QDir dir(folder);
    for (const QString& name : dir.entryList({QStringLiteral("*.otf"), QStringLiteral("*.ttf")}, QDir::Files))
        if (QFontDatabase::addApplicationFont(dir.filePath(name)) >= 0) ++usable;
    return usable;
}

}  // namespace vitrine::ui
