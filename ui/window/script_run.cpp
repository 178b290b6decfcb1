#include "ui/window/script_run.h"

#include <QFileInfo>
#include <QImageWriter>
#include <QPixmap>

#include "ui/chat/chat_list.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_view.h"
#include "ui/window/main_window.h"

namespace vitrine::ui {
namespace {

constexpr int settle_ms =
    700;  // figures change at most four times a second: the last ones are on screen then

}  // namespace

ScriptRun::ScriptRun(MainWindow* window, const Options& options, QObject* parent)
    : QObject(parent), window_(window), options_(options), waiting_(options.new_chats) {
    connect(window_, &MainWindow::model_ready, this, [this] {
        if (std::exchange(begun_, true)) return;
        if (waiting_.isEmpty() && options_.scripted()) {
            QTimer::singleShot(settle_ms, this, &ScriptRun::take_picture);
            return;
        }
        begin_next();
    });
    connect(window_, &MainWindow::model_refused, this, [this](const QString& why) {
        if (options_.scripted() && !begun_) fail(why);
    });
    ChatController& chats = window_->chats();
    connect(&chats, &ChatController::first_text, this, [this](qint64 chat) {
        if (chat == newest_) begin_next();
    });
    connect(&chats, &ChatController::answer_ended, this, &ScriptRun::on_ended);
    connect(&chats, &ChatController::not_sent, this, [this](qint64, const QString&, const Error& error) {
        if (options_.scripted()) fail(QString::fromStdString(error.message));
    });
}

void ScriptRun::begin_next() {
    if (over_ || waiting_.isEmpty()) return;
    const QString text = waiting_.takeFirst();
    newest_ = window_->start_chat();
    ChatModel* chat = window_->chats().chat(newest_);
    ChatSettings settings = chat->chat().settings;
    if (options_.max_tokens > 0) settings.max_tokens = options_.max_tokens;
    if (options_.seed) {
        settings.seed = *options_.seed;
        settings.random_seed = false;
    }
    chat->set_settings(settings);
    ++running_;
    window_->chats().send(newest_, text);
    window_->page()->view()->scroll_to_end();
    window_->chat_list()->select(newest_);
}

void ScriptRun::on_ended(qint64 chat, const AnswerFinished& finished) {
    if (over_ || running_ == 0) return;
    --running_;
    if (options_.scripted() && finished.reason == FinishReason::Failed && finished.error)
        return fail(QString::fromStdString(finished.error->message));
    // An answer without any text lets the next one begin as well.
    if (chat == newest_ && !waiting_.isEmpty()) return begin_next();
    if (running_ == 0 && waiting_.isEmpty() && options_.scripted())
        QTimer::singleShot(settle_ms, this, &ScriptRun::take_picture);
}

void ScriptRun::fail(const QString& why) {
    if (std::exchange(over_, true)) return;
    emit ended(1, why);
}

void ScriptRun::take_picture() {
    if (std::exchange(over_, true)) return;
    const QPixmap picture = window_->grab();
    QImageWriter writer(options_.screenshot, "png");
    if (!writer.write(picture.toImage())) {
        emit ended(1, tr("%1 cannot be written: %2").arg(options_.screenshot, writer.errorString()));
        return;
    }
    emit ended(0, {});
}

}  // namespace vitrine::ui
