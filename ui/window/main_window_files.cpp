// MainWindow: chats as files, and the search through their messages.
#include <memory>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QPointer>
#include <QSaveFile>
#include <QStandardPaths>
#include <QThreadPool>

#include "ui/chat/chat_list.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/notice_bar.h"
#include "ui/models/chat_export.h"
#include "ui/models/figures.h"
#include "ui/window/main_window.h"

namespace vitrine::ui {
namespace {

// Disks can be slow, the window is not: `work` runs elsewhere, `then` with its result back here, unless the
// window is gone by then.
template <class Work, class Then>
void elsewhere(MainWindow* window, Work work, Then then) {
    QThreadPool::globalInstance()->start(
        [window = QPointer<MainWindow>(window), work = std::move(work), then = std::move(then)]() mutable {
            auto result = std::make_shared<decltype(work())>(work());
            QMetaObject::invokeMethod(
                QCoreApplication::instance(),
                [window, result, then = std::move(then)] {
                    if (window) then(*result);
                },
                Qt::QueuedConnection);
        });
}

QString written_or_why(const QString& path, const QByteArray& bytes) {
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
    return file.errorString();
}

}  // namespace

void MainWindow::connect_files() {
    connect(chat_list_, &ChatList::export_requested, this, &MainWindow::export_chat);
    connect(chat_list_, &ChatList::import_requested, this, &MainWindow::import_chats);
    connect(chat_list_, &ChatList::search_requested, &store_, &StoreThread::search);
    connect(&store_, &StoreThread::found, chat_list_, &ChatList::show_hits);
}

void MainWindow::export_chat(qint64 id, bool markdown) {
    ChatModel* chat = controller_.chat(id);
    if (chat == nullptr) return;
    if (!chat->loaded()) {
        // Its messages are on their way from the disk.
        connect(
            chat, &QAbstractItemModel::modelReset, this, [this, id, markdown] { export_chat(id, markdown); },
            Qt::SingleShotConnection);
        return;
    }
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    const QString name =
        file_name_of(chat->chat().title) + (markdown ? QStringLiteral(".md") : QStringLiteral(".json"));
    const QString path =
        QFileDialog::getSaveFileName(this, tr("Export this chat"), QDir(folder).filePath(name),
                                     markdown ? tr("Markdown (*.md)") : tr("JSON, all branches (*.json)"));
    if (path.isEmpty()) return;
    write_export(id, path, markdown);
}

void MainWindow::write_export(qint64 id, const QString& path, bool markdown) {
    const auto exported = controller_.exported(id);
    if (!exported) return;
    elsewhere(
        this,
        [exported = *exported, path, markdown] {
            return written_or_why(path,
                                  markdown ? chat_to_markdown(exported).toUtf8() : chats_to_json({exported}));
        },
        [this, path](const QString& problem) {
            const QString shown = QDir::toNativeSeparators(path);
            Notice notice{Notice::Info, tr("Exported to %1.").arg(shown), {}, QStringLiteral("file"), 6000};
            if (!problem.isEmpty())
                notice = {Notice::Bad,
                          tr("%1 could not be written: %2. Choose another folder.").arg(shown, problem),
                          {},
                          QStringLiteral("file"),
                          0};
            page_->notices()->show_notice(std::move(notice));
        });
}

void MainWindow::import_chats() {
    const QString path = QFileDialog::getOpenFileName(
        this, tr("Import chats"), QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation),
        tr("Conversations (*.json);;All files (*)"));
    if (!path.isEmpty()) import_file(path);
}

void MainWindow::import_file(const QString& path) {
    elsewhere(
        this,
        [path] {
            ImportedChats imported;
            QFile file(path);
            if (!file.open(QIODevice::ReadOnly)) {
                imported.problem = file.errorString() + u'.';
            } else if (file.size() > largest_import) {
                imported.problem =
                    tr("It has %1; conversations up to %2 can be read.")
                        .arg(bytes_text(static_cast<std::uint64_t>(file.size())), bytes_text(largest_import));
            } else {
                imported = chats_from_json(file.readAll());
            }
            return imported;
        },
        [this, path](ImportedChats& imported) {
            const QString name = QFileInfo(path).fileName();
            if (!imported.problem.isEmpty()) {
                page_->notices()->show_notice({Notice::Bad,
                                               tr("%1 was not imported: %2").arg(name, imported.problem),
                                               {},
                                               QStringLiteral("file"),
                                               0});
                return;
            }
            const auto count = imported.chats.size();
            if (const qint64 id = controller_.add_imported(std::move(imported.chats)); id != 0) show_chat(id);
            page_->notices()->show_notice(
                {Notice::Info,
                 count == 1 ? tr("One chat was imported.") : tr("%1 chats were imported.").arg(count),
                 {},
                 QStringLiteral("file"),
                 6000});
        });
}

}  // namespace vitrine::ui
