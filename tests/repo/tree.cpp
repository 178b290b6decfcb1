#include "tests/repo/tree.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QProcess>

namespace vitrine::repo {

QString root() { return QDir::cleanPath(QStringLiteral(VITRINE_SOURCE_DIR)); }

QByteArray contents(const QString& relative_path) {
    QFile file(root() + '/' + relative_path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool is_cpp(const QString& path) {
    static const QStringList suffixes{"h",   "hpp", "hh",  "c",   "cc",  "cpp",
                                      "cxx", "cu",  "cuh", "inc", "inl", "ipp"};
    return suffixes.contains(QFileInfo(path).suffix().toLower());
}

QStringList tracked_files() {
    QStringList files;
    QProcess git;
    git.setWorkingDirectory(root());
    git.start(QStringLiteral("git"), {"ls-files", "-z", "--cached", "--others", "--exclude-standard"});
    if (git.waitForFinished(30000) && git.exitStatus() == QProcess::NormalExit && git.exitCode() == 0) {
        const QList<QByteArray> names = git.readAllStandardOutput().split('\0');
        for (const QByteArray& name : names) {
            const QString path = QString::fromUtf8(name);
            if (!path.isEmpty() && QFileInfo::exists(root() + '/' + path)) files << path;
        }
    }
    if (files.isEmpty()) {
        QDirIterator it(root(), QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
        while (it.hasNext()) {
            const QString path = QDir(root()).relativeFilePath(it.next());
            const QString top = path.section('/', 0, 0);
            if (top == ".git" || top == ".cache" || top.startsWith("build")) continue;
            if (path.contains("__pycache__/")) continue;
            files << path;
        }
    }
    files.sort();
    return files;
}

}  // namespace vitrine::repo
