// The files of the repository, for tests that look at all of them.
#pragma once

#include <QString>
#include <QStringList>

namespace vitrine::repo {

// Paths relative to the root, sorted: what git tracks or would track; without git everything but build
// folders, caches and git's own.
QStringList tracked_files();

QString root();
QByteArray contents(const QString& relative_path);
bool is_cpp(const QString& path);

}  // namespace vitrine::repo
