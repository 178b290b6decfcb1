#include "ui/panels/request_book.h"

#include <algorithm>

#include <QCoreApplication>

namespace vitrine::ui {
namespace {

constexpr qint64 remembered = 4096;  // requests; older ones have left every picture

QString tr(const char* text) { return QCoreApplication::translate("RequestBook", text); }

}  // namespace

void RequestBook::insert(qint64 request, qint64 session) {
    sessions_.insert(request, session);
    newest_ = std::max(newest_, request);
    if (sessions_.size() > 2 * remembered)
        sessions_.removeIf([this](const auto& it) { return it.key() < newest_ - remembered; });
}

QString RequestBook::name_of(qint64 request) const {
    const qint64 session = session_of(request);
    if (const QString name = names_.value(session); session != 0 && !name.isEmpty()) return name;
    return session != 0 ? tr("chat %1").arg(session) : tr("request %1").arg(request);
}

QString RequestBook::quoted(qint64 request) const {
    const qint64 session = session_of(request);
    const QString name = names_.value(session);
    if (session == 0 || name.isEmpty()) return name_of(request);
    return QStringLiteral("“%1”").arg(name.size() > 32 ? name.left(31) + QStringLiteral("…") : name);
}

}  // namespace vitrine::ui
