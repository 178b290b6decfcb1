// MainWindow: menu, shortcuts, what stands under F1.
#include <algorithm>

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QDockWidget>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/chat/chat_list.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_settings_card.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/panels/panel.h"
#include "ui/settings/theme.h"
#include "ui/window/about_dialog.h"
#include "ui/window/main_window.h"
#include "ui/window/status_strip.h"
#include "ui/window/step_control.h"
#include "ui/window/top_bar.h"

namespace vitrine::ui {

QAction* MainWindow::add_action(QMenu* menu, const QString& text, const QKeySequence& keys,
                                std::function<void()> run) {
    auto* action = new QAction(text, this);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    addAction(action);  // the shortcut works while the menu is closed
    if (menu != nullptr) menu->addAction(action);
    if (!keys.isEmpty()) listed_.push_back(action);
    return action;
}

void MainWindow::build_actions() {
    auto* menu = new QMenu(this);
    add_action(menu, tr("New chat"), QKeySequence::New, [this] {
        start_chat();
        page_->composer()->focus();
    });
    add_action(menu, tr("Models…"), QKeySequence(tr("Ctrl+M")), [this] { show_picker(); });
    add_action(menu, tr("Open a model…"), QKeySequence::Open, [this] { choose_file(); });
    add_action(menu, tr("Search chats"), QKeySequence(tr("Ctrl+K")), [this] {
        chat_list_->search()->setFocus();
        chat_list_->search()->selectAll();
    });
    menu->addSeparator();

    QMenu* chat = menu->addMenu(tr("Chat"));
    add_action(chat, tr("Settings of this chat"), QKeySequence(tr("Ctrl+,")), [this] {
        const bool show = page_->settings()->isHidden();
        page_->show_settings(show);
        if (!show) page_->composer()->focus();
    });
    add_action(chat, tr("Chat template…"), QKeySequence(tr("Ctrl+T")), [this] { show_template(); });
    add_action(chat, tr("Regenerate the last answer"), QKeySequence(tr("Ctrl+R")), [this] {
        const ChatModel* model = controller_.chat(current_);
        if (model != nullptr && model->rowCount() > 0 &&
            model->message(model->rowCount() - 1).role == Role::Assistant)
            controller_.regenerate(current_, model->message(model->rowCount() - 1).id);
    });
    add_action(chat, tr("Copy the last answer"), QKeySequence(tr("Ctrl+Shift+C")), [this] {
        const ChatModel* model = controller_.chat(current_);
        for (int row = model ? model->rowCount() - 1 : -1; row >= 0; --row)
            if (model->message(row).role == Role::Assistant)
                return page_->view()->copy_message(model->message(row).id);
    });
    add_action(chat, tr("Continue the last answer"), QKeySequence(tr("Ctrl+G")), [this] {
        if (const ChatModel* model = controller_.chat(current_))
            controller_.resume(current_, model->conversation().leaf());
    });
    add_action(chat, tr("Edit the last message"), QKeySequence(tr("Ctrl+E")), [this] {
        const ChatModel* model = controller_.chat(current_);
        for (int row = model ? model->rowCount() - 1 : -1; row >= 0; --row)
            if (model->message(row).role == Role::User) return begin_edit(model->message(row).id);
    });
    add_action(chat, tr("Version before"), QKeySequence(tr("Alt+Left")), [this] { step_version(-1); });
    add_action(chat, tr("Version after"), QKeySequence(tr("Alt+Right")), [this] { step_version(1); });
    chat->addSeparator();
    add_action(chat, tr("Pin or unpin"), QKeySequence(tr("Ctrl+D")), [this] {
        if (const Chat* shown = controller_.list()->find(current_))
            controller_.set_pinned(current_, !shown->pinned);
    });
    add_action(chat, tr("Rename"), QKeySequence(Qt::Key_F2), [this] {
        if (const QModelIndex index = chat_list_->view()->currentIndex(); index.isValid())
            chat_list_->view()->edit(index);
    });
    add_action(chat, tr("Delete"), QKeySequence(tr("Ctrl+Shift+Backspace")),
               [this] { remove_chat(current_); });
    chat->addSeparator();
    add_action(chat, tr("Export as Markdown…"), QKeySequence(tr("Ctrl+S")),
               [this] { export_chat(current_, true); });
    add_action(chat, tr("Export as JSON…"), QKeySequence(tr("Ctrl+Shift+S")),
               [this] { export_chat(current_, false); });
    add_action(chat, tr("Import…"), QKeySequence(tr("Ctrl+I")), [this] { import_chats(); });
    chat->addSeparator();
    build_reading_actions(chat);
    chat->addSeparator();
    add_action(chat, tr("Chat before"), QKeySequence(tr("Ctrl+PgUp")), [this] { step_chat(-1); });
    add_action(chat, tr("Chat after"), QKeySequence(tr("Ctrl+PgDown")), [this] { step_chat(1); });

    QMenu* view = menu->addMenu(tr("View"));
    int number = 1;
    for (QDockWidget* dock : panels_->docks()) {
        QAction* toggle = dock->toggleViewAction();
        toggle->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(number++)));
        addAction(toggle);
        view->addAction(toggle);
        listed_.push_back(toggle);
    }
    QMenu* save = view->addMenu(tr("Save a panel"));
    for (Panel* panel : panels_->panels()) {
        save->addAction(tr("%1 as picture…").arg(panel->title()), panel, &Card::export_picture);
        QAction* table = save->addAction(tr("%1 as CSV…").arg(panel->title()), panel, &Card::export_table);
        connect(save, &QMenu::aboutToShow, table, [table, panel] { table->setEnabled(panel->has_table()); });
    }
    add_action(view, tr("Panels as in the beginning"), QKeySequence(tr("Ctrl+Shift+0")), [this] {
        panels_->reset();
        panels_->fit(width(), settings_.list_width());
    });
    view->addSeparator();
    QMenu* themes = view->addMenu(tr("Theme"));
    auto* group = new QActionGroup(this);
    const std::pair<QString, ThemeChoice> choices[] = {{tr("As the desktop"), ThemeChoice::System},
                                                       {tr("Light"), ThemeChoice::Light},
                                                       {tr("Dark"), ThemeChoice::Dark}};
    for (const auto& [name, choice] : choices) {
        QAction* action = themes->addAction(name, this, [this, choice = choice] { set_theme(choice); });
        action->setCheckable(true);
        action->setChecked(settings_.theme() == choice);
        action->setShortcut(QKeySequence(QStringLiteral("Ctrl+Alt+%1").arg(static_cast<int>(choice))));
        action->setProperty("listed", tr("Theme: %1").arg(name));  // under F1, where no menu stands around it
        addAction(action);
        listed_.push_back(action);
        group->addAction(action);
    }
    add_action(view, tr("Larger text"), QKeySequence::ZoomIn, [this] { zoom_text(1.1); });
    add_action(view, tr("Smaller text"), QKeySequence::ZoomOut, [this] { zoom_text(1 / 1.1); });
    add_action(view, tr("Text as in the beginning"), QKeySequence(tr("Ctrl+0")), [this] { zoom_text(0); });

    QMenu* engine = menu->addMenu(tr("Engine"));
    add_action(engine, tr("Pause"), QKeySequence(Qt::Key_F6), [this] { worker_.pause(); });
    add_action(engine, tr("One iteration"), QKeySequence(Qt::Key_F7), [this] { worker_.step_once(); });
    add_action(engine, tr("Run"), QKeySequence(Qt::Key_F8), [this] { worker_.resume(); });
    const auto pace = [this](int by) { run_slowly(top_bar_->steps()->slow_pace() + by); };
    add_action(engine, tr("Run slowly"), QKeySequence(Qt::Key_F9), [pace] { pace(0); });
    add_action(engine, tr("Slowly, but faster"), QKeySequence(tr("Shift+F9")), [pace] { pace(1); });
    add_action(engine, tr("Slowly, and slower"), QKeySequence(tr("Ctrl+F9")), [pace] { pace(-1); });

    menu->addSeparator();
    add_action(menu, tr("Settings…"), QKeySequence(tr("Ctrl+Alt+S")), [this] { show_settings(); });
    add_action(menu, tr("Open the data folder"), QKeySequence(tr("Ctrl+Alt+D")),
               [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder_)); });
    add_action(menu, tr("Keyboard shortcuts"), QKeySequence(Qt::Key_F1), [this] { show_shortcuts(); });
    add_action(menu, tr("About Vitrine"), QKeySequence(tr("Shift+F1")), [this] { show_about(); });
    menu->addSeparator();
    add_action(menu, tr("Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), [this] { close(); });
    top_bar_->menu_button()->setMenu(menu);
    add_action(nullptr, tr("Menu"), QKeySequence(Qt::Key_F10),
               [this] { top_bar_->menu_button()->showMenu(); });

    // Esc: the innermost thing that is open.
    add_action(nullptr, tr("Stop the answer"), QKeySequence(Qt::Key_Escape), [this] {
        if (close_over_text()) return;
        if (!page_->settings()->isHidden()) {
            page_->show_settings(false);
            page_->composer()->focus();
        } else if (page_->composer()->editing()) {
            leave_edit();
        } else {
            controller_.stop(current_);
        }
    });
}

void MainWindow::show_steps() {
    top_bar_->steps()->show_state({model_.valid(), worker_.paused(), worker_.pace(), iteration_});
    // Who runs slowly wants to read as well.
    panels_->set_paused(worker_.paused() || worker_.pace() > 0);
}

void MainWindow::run_slowly(int per_second) {
    top_bar_->steps()->set_slow_pace(per_second);
    settings_.set_slow_pace(top_bar_->steps()->slow_pace());
    worker_.run_slowly(top_bar_->steps()->slow_pace());
}

void MainWindow::step_chat(int by) {
    const int rows = controller_.list()->rowCount();
    if (rows == 0) return;
    const int row = controller_.list()->row_of(current_);
    const int next = row < 0 ? 0 : std::clamp(row + by, 0, rows - 1);
    show_chat(controller_.list()->index(next).data(ChatListModel::IdRole).toLongLong());
}

void MainWindow::zoom_text(double factor) {
    const double zoom = factor == 0 ? 1.0 : std::clamp(settings_.text_zoom() * factor, 0.7, 2.5);
    settings_.set_text_zoom(zoom);
    apply_theme();
}

void MainWindow::show_shortcuts() {
    QDialog dialog(this);
    dialog.setWindowTitle(tr("Keyboard shortcuts"));
    auto* column = new QVBoxLayout(&dialog);
    column->setContentsMargins(20, 16, 20, 16);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(32);
    grid->setVerticalSpacing(6);
    std::vector<std::pair<QString, QString>> rows = {{tr("Send"), tr("Enter")},
                                                     {tr("New line"), tr("Shift+Enter")},
                                                     {tr("Earlier messages"), tr("Up, Down")}};
    for (const QAction* action : listed_) {
        const QString named = action->property("listed").toString();
        rows.emplace_back(named.isEmpty() ? action->text().remove(u'…') : named,
                          action->shortcut().toString(QKeySequence::NativeText));
    }
    const int half = (static_cast<int>(rows.size()) + 1) / 2;
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
        const auto& [what, keys] = rows[static_cast<std::size_t>(i)];
        auto* label = new QLabel(what, &dialog);
        auto* value = new QLabel(keys, &dialog);
        value->setProperty("role", "second");
        grid->addWidget(label, i % half, i / half * 2);
        grid->addWidget(value, i % half, i / half * 2 + 1);
    }
    column->addLayout(grid);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, &dialog);
    connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    column->addSpacing(8);
    column->addWidget(buttons);
    dialog.exec();
}

void MainWindow::show_about() {
    AboutFacts facts;
    facts.version = QStringLiteral(VITRINE_VERSION);
    facts.folder = folder_;
    if (model_.valid()) {
        facts.model = model_.name + u' ' + model_.format;
        facts.device = (model_.device + u' ' + model_.device_note).trimmed();
    }
    AboutDialog(facts, this).exec();
}

}  // namespace vitrine::ui
