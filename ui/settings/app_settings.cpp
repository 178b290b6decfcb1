#include "ui/settings/app_settings.h"

#include <cmath>

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>

namespace vitrine::ui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("AppSettings", text); }

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
            notices_ << tr("The settings file was damaged. It was kept as %1; the settings begin anew.")
                            .arg(QDir::toNativeSeparators(kept));
        } else {
            notices_
                << tr("The settings file %1 is damaged and could not be set aside; the settings begin anew.")
                       .arg(QDir::toNativeSeparators(path));
            QFile::remove(path);
        }
        file_ = std::make_unique<QSettings>(path, QSettings::IniFormat);
    }
    if (!file_->isWritable())
        notices_
            << tr("Settings cannot be saved in %1: it is not writable. They hold until the window closes.")
                   .arg(QDir::toNativeSeparators(path));
}

void AppSettings::complain(const QString& key, const QVariant& value, const QString& used) const {
    if (complained_.contains(key)) return;
    complained_ << key;
    notices_ << tr("The setting \"%1\" had the value \"%2\", which means nothing; %3 is used.")
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
        notices_ << tr("Settings could not be saved in %1.").arg(QDir::toNativeSeparators(path()));
}

QStringList AppSettings::take_notices() { return std::exchange(notices_, {}); }

}  // namespace vitrine::ui
