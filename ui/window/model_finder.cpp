#include "ui/window/model_finder.h"

#include <filesystem>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>

#include "core/io/model_list.h"

namespace vitrine::ui {

QString models_folder() {
    return QDir(QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation))
        .filePath(QStringLiteral("vitrine/models"));
}

QString default_model_path() {
    return QDir(models_folder()).filePath(QStringLiteral("SmolLM2-135M-Instruct.Q4_1.gguf"));
}

QString embedded_model_path() {
    const QString path =
        QDir::cleanPath(QDir(QCoreApplication::applicationDirPath())
                            .filePath(QStringLiteral("../share/vitrine/models/draft16m-q8_0.gguf")));
    return QFileInfo(path).isFile() ? path : QString();
}

bool is_embedded_model(const QString& path) {
    const QString embedded = embedded_model_path();
    return !embedded.isEmpty() && QFileInfo(path) == QFileInfo(embedded);
}

QString shown_model_name(const QString& path, const QString& own_name) {
    if (is_embedded_model(path) && !own_name.isEmpty()) return own_name;
    static const QRegularExpression format(
        QStringLiteral("[-._ ](I?Q[0-9][0-9A-Z_]*|BF16|F16|F32|FP16|FP32)$"),
        QRegularExpression::CaseInsensitiveOption);
    QString name = QFileInfo(path).completeBaseName();
    name.remove(format);
    return name.isEmpty() ? own_name : name;
}

std::vector<FoundModel> installed_models() {
    std::vector<FoundModel> found;
    const std::filesystem::path folder(models_folder().toStdString());
    for (const ListedModel& model : list_models(folder))
        found.push_back({QString::fromStdString(model.path.string()), QString::fromStdString(model.name),
                         static_cast<qint64>(model.bytes), QString::fromStdString(model.problem)});
    return found;
}

bool looks_like_model(const QString& path) {
    const QFileInfo info(path);
    if (info.isDir()) return QFileInfo(QDir(path).filePath(QStringLiteral("config.json"))).isFile();
    return info.isFile() && path.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive);
}

StartModel choose_start_model(const QString& asked, const QString& last, const QString& unfinished) {
    StartModel start;
    if (!asked.isEmpty()) {
        start.path = asked;  // somebody wants exactly this one, now
        return start;
    }
    QString candidate;
    if (!last.isEmpty()) {
        if (QFileInfo(last).isFile() || looks_like_model(last)) {
            candidate = last;
        } else {
            start.missing = last;
        }
    }
    if (candidate.isEmpty() && QFileInfo(default_model_path()).isFile()) candidate = default_model_path();
    if (candidate.isEmpty()) candidate = embedded_model_path();
    if (!candidate.isEmpty() && candidate == unfinished) {
        start.held_back = candidate;
        return start;
    }
    start.path = candidate;
    return start;
}

}  // namespace vitrine::ui
