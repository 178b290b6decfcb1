// MainWindow: the chat that is shown: its draft, its tokens, what happens when it is not sent, its branches.
#include <algorithm>

#include <QFileInfo>

#include "ui/chat/chat_list.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_settings_card.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/notice_bar.h"
#include "ui/models/figures.h"
#include "ui/window/main_window.h"
#include "ui/window/model_finder.h"

namespace vitrine::ui {

qint64 MainWindow::start_chat() {
    // An empty new chat that is there already serves as well.
    if (const ChatModel* now = current_ != 0 ? controller_.chat(current_) : nullptr;
        now != nullptr && now->rowCount() == 0 && now->loaded() && page_->composer()->empty() &&
        controller_.list()->row_of(current_) < 0) {
        chat_list_->select(0);
        return current_;
    }
    const qint64 id = controller_.new_chat();
    show_chat(id);
    return id;
}

void MainWindow::show_chat(qint64 id) {
    ChatModel* chat = controller_.chat(id);
    if (chat == nullptr || id == current_) return;
    keep_draft();
    if (editing_ != 0) leave_edit();
    current_ = id;
    page_->view()->set_model(chat);
    page_->composer()->set_text(chat->chat().draft);
    page_->settings()->set_settings(chat->chat().settings);
    page_->composer()->set_settings_summary(ChatSettingsCard::summary(chat->chat().settings));
    chat_list_->select(id);
    panels_->set_selected(id);
    setWindowTitle(chat->chat().title.isEmpty() ? QStringLiteral("Vitrine")
                                                : tr("%1 – Vitrine").arg(chat->chat().title));
    page_->notices()->dismiss(QStringLiteral("not-sent"));
    connect(chat, &QAbstractItemModel::modelReset, this, &MainWindow::ask_count, Qt::UniqueConnection);
    update_empty_text();
    update_composer();
    ask_count();
}

void MainWindow::keep_draft() {
    draft_timer_.stop();
    if (editing_ != 0) return;
    if (ChatModel* chat = controller_.chat(current_)) chat->set_draft(page_->composer()->text());
}

void MainWindow::leave_edit() {
    if (editing_ == 0) return;
    editing_ = 0;
    page_->composer()->set_editing(false);
    page_->composer()->set_text(std::exchange(kept_text_, {}));
}

void MainWindow::ask_count() {
    if (!model_.valid() || !model_.has_template) {
        page_->composer()->set_figures(-1, 0, model_.context);
        return;
    }
    controller_.count(current_, page_->composer()->text(), page_->composer()->pieces());
}

void MainWindow::on_counted(qint64 chat, const CountAnswer& answer) {
    if (chat != current_) return;
    const int context = answer.context > 0 ? answer.context : model_.context;
    Composer* composer = page_->composer();
    too_long_.clear();
    composer->set_piece_tokens({answer.pieces.begin(), answer.pieces.end()});
    if (answer.error) {
        // Said when it is sent: while somebody is typing it would only disturb.
        composer->set_figures(-1, answer.draft, context);
    } else {
        composer->set_figures(answer.total, answer.draft, context, answer.system);
    }
    if (answer.error || answer.total < context || composer->empty()) {
        if (!answer.error && answer.total >= context)
            too_long_ = tr("The conversation fills the context of %1 tokens.").arg(count_text(context));
        page_->notices()->dismiss(QStringLiteral("too-long"));
    } else {
        announce_overflow(answer, context);
    }
    update_composer();
}

namespace {

QString turns_text(int turns) {
    return turns == 1 ? MainWindow::tr("the oldest turn") : MainWindow::tr("the oldest %1 turns").arg(turns);
}

}  // namespace

// Before anything is sent: what does not fit, and what can be done about it.
void MainWindow::announce_overflow(const CountAnswer& answer, int context) {
    Notice notice{Notice::Caution, {}, {}, QStringLiteral("too-long"), 0};
    const ChatModel* chat = controller_.chat(current_);
    const bool cut = chat != nullptr && chat->chat().settings.cut_oldest;
    if (answer.cut && cut) {
        notice.kind = Notice::Info;
        notice.text = tr("%1 tokens, and the context holds %2: %3 (%4 tokens) will not be seen by the model.")
                          .arg(count_text(answer.total), count_text(context), turns_text(answer.cut->turns),
                               count_text(answer.cut->tokens));
        notice.actions.push_back({tr("Do not leave out anything"), [this] { set_cut_oldest(false); },
                                  tr("Messages that do not fit are refused in this chat from now on")});
    } else {
        too_long_ = tr("Too long: %1 tokens, and the context holds %2 with room for an answer. Nothing is "
                       "cut; shorten the message or begin a new chat.")
                        .arg(count_text(answer.total), count_text(context));
        notice.text = too_long_;
        if (answer.cut) {
            notice.text = too_long_ = tr("Too long: %1 tokens, and the context holds %2 with room for an "
                                         "answer. Nothing is cut unless you want it.")
                                          .arg(count_text(answer.total), count_text(context));
            notice.actions.push_back(
                {tr("Leave out %1 (%2 tokens)")
                     .arg(turns_text(answer.cut->turns), count_text(answer.cut->tokens)),
                 [this] { set_cut_oldest(true); },
                 tr("The oldest turns that do not fit are not given to the model, in this chat from now on. "
                    "They stay in the chat, and are marked.")});
        }
    }
    page_->notices()->show_notice(std::move(notice));
}

void MainWindow::set_cut_oldest(bool cut) {
    ChatModel* chat = controller_.chat(current_);
    if (chat == nullptr) return;
    ChatSettings settings = chat->chat().settings;
    settings.cut_oldest = cut;
    chat->set_settings(settings);
    page_->settings()->set_settings(settings);
    page_->notices()->dismiss(QStringLiteral("too-long"));
    ask_count();
}

void MainWindow::update_composer() {
    Composer* composer = page_->composer();
    composer->set_answering(controller_.answering(current_));
    QString reason;
    if (!model_.valid() && !worker_.loading()) {
        reason = tr("No model is open. Open one first (Ctrl+O).");
    } else if (model_.valid() && !model_.has_template) {
        reason = tr("This model has no usable chat template.");
    } else {
        reason = too_long_;
    }
    composer->set_blocked(reason);
    if (!model_.valid()) composer->set_figures(-1, 0, 0);
}

void MainWindow::on_not_sent(qint64 chat, const QString& text, const Error& error,
                             const std::vector<Turn>& turns) {
    if (!text.isEmpty()) {
        if (chat == current_) {
            const QString now = page_->composer()->text();
            page_->composer()->set_text(now.isEmpty() ? text : text + QStringLiteral("\n\n") + now);
        } else if (ChatModel* other = controller_.chat(chat)) {
            other->set_draft(text);
        }
    }
    Notice notice{Notice::Bad, {}, {}, QStringLiteral("not-sent"), 0};
    QString why = QString::fromStdString(error.message);
    if (!why.endsWith(u'.')) why += u'.';
    notice.text = tr("Not sent: %1").arg(why);
    if (!text.isEmpty()) notice.text += u' ' + tr("Your text is back in the field below.");
    const auto retry_with = [this, chat](auto change) {
        return [this, chat, change] {
            ChatModel* model = controller_.chat(chat);
            if (model == nullptr) return;
            ChatSettings settings = model->chat().settings;
            change(settings);
            model->set_settings(settings);
            if (chat != current_) return;
            page_->settings()->set_settings(settings);
            const QString again = page_->composer()->text();
            if (again.trimmed().isEmpty()) return;
            page_->composer()->clear();
            controller_.send(chat, again);
        };
    };
    const ChatModel* model = controller_.chat(chat);
    if (error.kind == ErrorKind::TooLarge && model != nullptr && !model->chat().settings.cut_oldest &&
        turns.size() > 2)
        notice.actions.push_back(
            {text.isEmpty() ? tr("Leave out the oldest turns") : tr("Leave out the oldest turns and send"),
             retry_with([](ChatSettings& s) { s.cut_oldest = true; }),
             tr("What does not fit is not given to the model, in this chat from now on")});
    if (error.kind == ErrorKind::Template) {
        if (has_neighbours_of_one_role(turns))
            notice.actions.push_back(
                {tr("Join and send"), retry_with([](ChatSettings& s) { s.merge_turns = true; }),
                 tr("Neighbouring messages of one side are sent as one, in this chat from now on")});
        if (!turns.empty() && turns.front().role == QLatin1String("system"))
            notice.actions.push_back(
                {tr("Move system prompt and send"),
                 retry_with([](ChatSettings& s) { s.system_in_first_turn = true; }),
                 tr("The system prompt is put in front of your first message, in this chat from now on")});
    }
    page_->notices()->show_notice(std::move(notice));
    update_composer();
    ask_count();
}

void MainWindow::remove_chat(qint64 id) {
    const Chat* chat = controller_.list()->find(id);
    if (chat == nullptr) return;
    const QString title = ChatListModel::shown_title(*chat);
    const int row = controller_.list()->row_of(id);
    const bool was_current = id == current_;
    controller_.remove(id);
    colors_.release(id);
    if (was_current) {
        if (const int rows = controller_.list()->rowCount(); rows > 0) {
            show_chat(
                controller_.list()->index(std::min(row, rows - 1)).data(ChatListModel::IdRole).toLongLong());
        } else {
            start_chat();
        }
    }
    page_->notices()->show_notice({Notice::Info,
                                   tr("“%1” was deleted.").arg(title),
                                   {{tr("Undo"),
                                     [this, id] {
                                         controller_.undo_remove(id);
                                         show_chat(id);
                                     }}},
                                   QStringLiteral("deleted"),
                                   12000});
}

void MainWindow::update_empty_text() {
    QString heading = tr("Write a message below");
    QString text;
    if (worker_.loading()) {
        heading = tr("Opening %1 …").arg(QFileInfo(loading_path_).completeBaseName());
        text = tr("You can write already; the message is sent when the model is ready.");
    } else if (!model_.valid()) {
        heading = tr("No model is open");
        text =
            tr("Drop a .gguf file here, or open one with Ctrl+O. It stays where it is, and nothing you write "
               "leaves this computer.");
    } else if (!model_.has_template) {
        heading = tr("%1 cannot chat").arg(model_.name);
        text = model_.template_error.isEmpty()
                   ? tr("The file has no chat template, so there is no way to tell how a conversation has to "
                        "look. Its name would "
                        "be a guess, and a wrong guess makes a model talk nonsense. Open another one with "
                        "Ctrl+O.")
                   : tr("Its chat template cannot be used: %1").arg(model_.template_error);
    } else {
        text = is_embedded_model(model_.path)
                   ? tr("%1 answers: the small built-in model, fluent but without much knowledge. Open a "
                        "better one with Ctrl+O.\n\n"
                        "While it writes, the KV cache fills block by block on the right, and each token "
                        "becomes a point on the "
                        "time line. Begin a second chat with the same words to see blocks shared.")
                         .arg(model_.name)
                   : tr("%1 answers, on this computer. While it writes, the KV cache fills block by block on "
                        "the right, and each "
                        "token becomes a point on the time line. Begin a second chat with the same words to "
                        "see blocks shared.")
                         .arg(model_.name);
    }
    page_->view()->set_empty_text(heading, text);
}

// What was written in this chat, the newest first.
QStringList MainWindow::earlier_messages() const {
    QStringList all;
    const ChatModel* chat = const_cast<ChatController&>(controller_).chat(current_);
    for (int row = chat ? chat->rowCount() - 1 : -1; row >= 0; --row) {
        const Message& message = chat->message(row);
        if (message.role == Role::User && (all.isEmpty() || all.back() != message.text)) all << message.text;
    }
    return all;
}

void MainWindow::begin_edit(qint64 message) {
    const ChatModel* chat = controller_.chat(current_);
    if (chat == nullptr || controller_.answering(current_)) return;
    if (editing_ == 0) kept_text_ = page_->composer()->text();
    editing_ = message;
    page_->composer()->set_text(chat->conversation().at(message).text);
    page_->composer()->set_editing(true);
    page_->composer()->focus();
}

void MainWindow::choose_version(qint64 message, int by) {
    ChatModel* chat = controller_.chat(current_);
    if (chat == nullptr || controller_.answering(current_)) return;
    if (chat->choose_sibling(message, by)) ask_count();
}

// The last message on the path that has others beside it.
void MainWindow::step_version(int by) {
    const ChatModel* chat = controller_.chat(current_);
    for (int row = chat ? chat->rowCount() - 1 : -1; row >= 0; --row) {
        const qint64 id = chat->message(row).id;
        if (chat->conversation().siblings(id).size() < 2) continue;
        choose_version(id, by);
        return;
    }
}

}  // namespace vitrine::ui
