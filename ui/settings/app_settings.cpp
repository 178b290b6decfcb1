#include "ui/settings/app_settings.h"

#include <cmath>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>

namespace vitrine::ui {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(AppSettings)
};

// QSettings reads nearly anything; bytes that no text file has are the sign that this is none.
bool is_text(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return true;  // absent or unreadable: not damaged
    const QByteArray start = file.read(1 << 16);
    return !start.contains('\0');
}

}  // namespace

AppSettings::AppSettings(const QString& folder) {
    QDir().mkpath(folder);
    const QString path = QDir(folder).filePath(QStringLiteral("vitrine.ini"));
    file_ = std::make_unique<QSettings>(path, QSettings::IniFormat);
    if (file_->status() == QSettings::FormatError || !is_text(path)) {
        file_.reset();
        const QString kept = path + QStringLiteral(".damaged-") +
                             QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss"));
        if (QFile::rename(path, kept)) {
            notices_ << Words::tr(
                            "The settings file was damaged. It was kept as %1; the settings begin anew.")
                            .arg(QDir::toNativeSeparators(kept));
        } else {
            notices_
                << Words::tr(
                       "The settings file %1 is damaged and could not be set aside; the settings begin anew.")
                       .arg(QDir::toNativeSeparators(path));
            QFile::remove(path);
        }
        file_ = std::make_unique<QSettings>(path, QSettings::IniFormat);
    }
    if (!file_->isWritable())
        notices_
            << Words::tr(
                   "Settings cannot be saved in %1: it is not writable. They hold until the window closes.")
                   .arg(QDir::toNativeSeparators(path));
}

void AppSettings::complain(const QString& key, const QVariant& value, const QString& used) const {
    if (complained_.contains(key)) return;
    complained_ << key;
    notices_ << Words::tr("The setting \"%1\" had the value \"%2\", which means nothing; %3 is used.")
                    .arg(key, value.toString().left(40), used);
}

int AppSettings::number(const QString& key, int standard, int least, int most) const {
    const QVariant value = file_->value(key);
    if (!value.isValid()) return standard;
    bool ok = false;
    const int n = value.toString().toInt(&ok);
    if (ok && n >= least && n <= most) return n;
    complain(key, value, QString::number(standard));
    return standard;
}

ThemeChoice AppSettings::theme() const {
    const QVariant value = file_->value(QStringLiteral("window/theme"));
    if (!value.isValid() || value.toString() == QLatin1String("system")) return ThemeChoice::System;
    if (value.toString() == QLatin1String("light")) return ThemeChoice::Light;
    if (value.toString() == QLatin1String("dark")) return ThemeChoice::Dark;
    complain(QStringLiteral("window/theme"), value, QStringLiteral("system"));
    return ThemeChoice::System;
}

void AppSettings::set_theme(ThemeChoice theme) {
    file_->setValue(QStringLiteral("window/theme"), theme == ThemeChoice::Light  ? QStringLiteral("light")
                                                    : theme == ThemeChoice::Dark ? QStringLiteral("dark")
                                                                                 : QStringLiteral("system"));
}

double AppSettings::text_zoom() const {
    return number(QStringLiteral("window/text_zoom_percent"), 100, 70, 250) / 100.0;
}
void AppSettings::set_text_zoom(double zoom) {
    file_->setValue(QStringLiteral("window/text_zoom_percent"), static_cast<int>(std::lround(zoom * 100)));
}

int AppSettings::threads() const { return number(QStringLiteral("engine/threads"), 0, 0, 1024); }
void AppSettings::set_threads(int threads) { file_->setValue(QStringLiteral("engine/threads"), threads); }

QString AppSettings::kv_dtype() const {
    const QVariant value = file_->value(QStringLiteral("engine/kv_dtype"));
    QString name = value.toString();
    if (name == QLatin1String("F32") || name == QLatin1String("F16") || name == QLatin1String("BF16"))
        return name;
    if (value.isValid()) complain(QStringLiteral("engine/kv_dtype"), value, QStringLiteral("F16"));
    return QStringLiteral("F16");
}
void AppSettings::set_kv_dtype(const QString& dtype) {
    file_->setValue(QStringLiteral("engine/kv_dtype"), dtype);
}

int AppSettings::block_size() const {
    const int n = number(QStringLiteral("engine/block_size"), 16, 8, 256);
    if (n % 8 == 0) return n;
    complain(QStringLiteral("engine/block_size"), n, QStringLiteral("16"));
    return 16;
}
void AppSettings::set_block_size(int tokens) { file_->setValue(QStringLiteral("engine/block_size"), tokens); }

int AppSettings::slow_pace() const { return number(QStringLiteral("engine/slow_pace"), 4, 1, 20); }
void AppSettings::set_slow_pace(int per_second) {
    file_->setValue(QStringLiteral("engine/slow_pace"), per_second);
}

QString AppSettings::device() const {
    const QVariant value = file_->value(QStringLiteral("engine/device"));
    const QString name = value.toString();
    if (name == QLatin1String("auto") || name == QLatin1String("cpu") || name == QLatin1String("cuda"))
        return name;
    if (value.isValid()) complain(QStringLiteral("engine/device"), value, QStringLiteral("auto"));
    return QStringLiteral("auto");
}
void AppSettings::set_device(const QString& device) {
    file_->setValue(QStringLiteral("engine/device"), device);
}

int AppSettings::context() const { return number(QStringLiteral("engine/context"), 0, 0, 10'000'000); }
void AppSettings::set_context(int tokens) { file_->setValue(QStringLiteral("engine/context"), tokens); }

int AppSettings::memory_budget_mib() const {
    return number(QStringLiteral("engine/memory_budget_mib"), 0, 0, 1 << 24);
}
void AppSettings::set_memory_budget_mib(int mib) {
    file_->setValue(QStringLiteral("engine/memory_budget_mib"), mib);
}

int AppSettings::panel_refresh() const { return number(QStringLiteral("window/panel_refresh"), 20, 1, 60); }
void AppSettings::set_panel_refresh(int per_second) {
    file_->setValue(QStringLiteral("window/panel_refresh"), per_second);
}

QStringList AppSettings::model_folders() const {
    return file_->value(QStringLiteral("model/folders")).toStringList();
}
void AppSettings::set_model_folders(const QStringList& folders) {
    file_->setValue(QStringLiteral("model/folders"), folders);
}

bool AppSettings::search_other_programs() const {
    return number(QStringLiteral("model/other_programs"), 1, 0, 1) == 1;
}
void AppSettings::set_search_other_programs(bool search) {
    file_->setValue(QStringLiteral("model/other_programs"), search ? 1 : 0);
}

QString AppSettings::language() const {
    const QVariant value = file_->value(QStringLiteral("window/language"));
    const QString name = value.toString();
    if (name.isEmpty() || name == QLatin1String("de") || name == QLatin1String("en")) return name;
    complain(QStringLiteral("window/language"), value, QStringLiteral("the system's"));
    return {};
}
QString AppSettings::stored_language(const QString& folder) {
    const QString path = QDir(folder).filePath(QStringLiteral("vitrine.ini"));
    if (!QFileInfo(path).isFile() || !is_text(path)) return {};
    const QString name =
        QSettings(path, QSettings::IniFormat).value(QStringLiteral("window/language")).toString();
    return name == QLatin1String("de") || name == QLatin1String("en") ? name : QString();
}
void AppSettings::set_language(const QString& language) {
    file_->setValue(QStringLiteral("window/language"), language);
}

QByteArray AppSettings::presets() const { return file_->value(QStringLiteral("chat/presets")).toByteArray(); }
void AppSettings::set_presets(const QByteArray& json) {
    file_->setValue(QStringLiteral("chat/presets"), json);
}

QString AppSettings::last_model() const { return file_->value(QStringLiteral("model/last")).toString(); }
void AppSettings::set_last_model(const QString& path) { file_->setValue(QStringLiteral("model/last"), path); }

qint64 AppSettings::last_chat() const { return file_->value(QStringLiteral("window/chat")).toLongLong(); }
void AppSettings::set_last_chat(qint64 id) { file_->setValue(QStringLiteral("window/chat"), id); }

QByteArray AppSettings::geometry() const {
    return file_->value(QStringLiteral("window/geometry")).toByteArray();
}
QByteArray AppSettings::layout() const { return file_->value(QStringLiteral("window/layout")).toByteArray(); }
void AppSettings::set_window(const QByteArray& geometry, const QByteArray& layout) {
    file_->setValue(QStringLiteral("window/geometry"), geometry);
    file_->setValue(QStringLiteral("window/layout"), layout);
}

int AppSettings::list_width() const { return number(QStringLiteral("window/list_width"), 236, 160, 600); }
void AppSettings::set_list_width(int width) { file_->setValue(QStringLiteral("window/list_width"), width); }

QByteArray AppSettings::chat_defaults() const {
    return file_->value(QStringLiteral("chat/defaults")).toByteArray();
}
void AppSettings::set_chat_defaults(const QByteArray& json) {
    file_->setValue(QStringLiteral("chat/defaults"), json);
}

QString AppSettings::path() const { return file_->fileName(); }

void AppSettings::sync() {
    file_->sync();
    if (file_->status() == QSettings::AccessError && !std::exchange(write_failure_said_, true))
        notices_ << Words::tr("Settings could not be saved in %1.").arg(QDir::toNativeSeparators(path()));
}

QStringList AppSettings::take_notices() { return std::exchange(notices_, {}); }

}  // namespace vitrine::ui
