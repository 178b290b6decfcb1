// MainWindow: settings of the chat and of the application, the list of models, what another start asks for.
#include <algorithm>

#include <QDesktopServices>
#include <QGuiApplication>
#include <QInputDialog>
#include <QLineEdit>
#include <QPointer>
#include <QScreen>
#include <QUrl>

#include "ui/chat/chat_list.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_settings_card.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/notice_bar.h"
#include "ui/chat/template_dialog.h"
#include "ui/models/presets.h"
#include "ui/window/main_window.h"
#include "ui/window/model_finder.h"
#include "ui/window/model_picker.h"
#include "ui/window/settings_dialog.h"
#include "ui/window/single_instance.h"

namespace vitrine::ui {

void MainWindow::connect_settings() {
    ChatSettingsCard* card = page_->settings();
    card->set_presets(presets_from_json(settings_.presets()));
    connect(card, &ChatSettingsCard::changed, this, [this](const ChatSettings& s) {
        if (ChatModel* chat = controller_.chat(current_)) chat->set_settings(s);
        page_->composer()->set_settings_summary(ChatSettingsCard::summary(s));
        count_timer_.start(250);
    });
    connect(card, &ChatSettingsCard::make_default_requested, this, [this](const ChatSettings& s) {
        // A template is made for one model; new chats begin with the model's own.
        ChatSettings defaults = s;
        defaults.own_template.clear();
        settings_.set_chat_defaults(defaults.to_json());
        controller_.set_defaults(defaults);
        page_->notices()->show_notice(
            {Notice::Info, tr("New chats begin with these settings."), {}, QStringLiteral("defaults"), 4000});
    });
    connect(card, &ChatSettingsCard::save_preset_requested, this, [this](const ChatSettings& s) {
        const QString name =
            QInputDialog::getText(this, tr("Save as preset"), tr("Name of the preset"), QLineEdit::Normal);
        save_preset(name, s);
    });
    connect(card, &ChatSettingsCard::remove_preset_requested, this, [this](const QString& name) {
        auto presets = presets_from_json(settings_.presets());
        std::erase_if(presets, [&](const SamplerPreset& p) { return p.name == name; });
        settings_.set_presets(presets_to_json(presets));
        page_->settings()->set_presets(presets);
    });
    connect(card, &ChatSettingsCard::template_requested, this, &MainWindow::show_template);
    worker_.set_panel_refresh(settings_.panel_refresh());
}

void MainWindow::save_preset(const QString& name, const ChatSettings& settings) {
    const SamplerPreset preset = preset_of(name, settings);
    if (preset.name.isEmpty()) return;
    auto presets = presets_from_json(settings_.presets());
    std::erase_if(presets, [&](const SamplerPreset& p) { return p.name == preset.name; });
    presets.push_back(preset);
    settings_.set_presets(presets_to_json(presets));
    page_->settings()->set_presets(presets);
}

TemplateDialog* MainWindow::show_template() {
    ChatModel* chat = controller_.chat(current_);
    if (chat == nullptr || !model_.valid()) return nullptr;
    auto* dialog = new TemplateDialog(model_.template_source, chat->chat().settings.own_template, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    const qint64 id = current_;
    connect(dialog, &TemplateDialog::preview_requested, this, [this, id](const QString& source) {
        const ChatModel* shown = controller_.chat(id);
        if (shown == nullptr) return;
        ChatSettings trial = shown->chat().settings;
        trial.own_template = source;
        controller_.preview(id, id == current_ ? page_->composer()->text() : QString(), trial);
    });
    connect(&controller_, &ChatController::previewed, dialog,
            [dialog, id](qint64 of, const PreviewAnswer& answer) {
                if (of != id) return;
                dialog->show_preview(
                    QString::fromStdString(answer.text), answer.tokens,
                    answer.error ? QString::fromStdString(answer.error->message) : QString());
            });
    connect(dialog, &TemplateDialog::chosen, this, [this, id](const QString& source) {
        ChatModel* shown = controller_.chat(id);
        if (shown == nullptr) return;
        ChatSettings settings = shown->chat().settings;
        settings.own_template = source;
        shown->set_settings(settings);
        if (id == current_) page_->settings()->set_settings(settings);
        ask_count();
    });
    dialog->open();
    return dialog;
}

SettingsDialog* MainWindow::show_settings() {
    auto* dialog = new SettingsDialog(&settings_, folder_, models_folder(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &SettingsDialog::window_changed, this, [this] {
        set_theme(settings_.theme());
        worker_.set_panel_refresh(settings_.panel_refresh());
    });
    connect(dialog, &SettingsDialog::engine_changed, this, [this] {
        if (!model_.path.isEmpty()) open_model(model_.path);
    });
    connect(dialog, &SettingsDialog::open_folder_requested, this,
            [](const QString& path) { QDesktopServices::openUrl(QUrl::fromLocalFile(path)); });
    connect(dialog, &QDialog::finished, this, [this] { show_notices(); });
    dialog->open();
    return dialog;
}

ModelPicker* MainWindow::show_picker() {
    ModelPicker::Conditions conditions;
    conditions.options = spec_for({}).options;
    conditions.device = settings_.device().toStdString();
    conditions.open_path = model_.path;
    if (model_.valid())
        conditions.given_back = model_.weights_bytes + model_.kv_bytes + model_.workspace_bytes;
    auto* dialog = new ModelPicker(
        model_places(models_folder(), settings_.model_folders(), settings_.search_other_programs()),
        conditions, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ModelPicker::chosen, this, [this, dialog](const QString& path) {
        settings_.set_context(dialog->options().context);
        settings_.set_kv_dtype(QString::fromStdString(std::string(info_of(dialog->options().kv_dtype).name)));
        open_model(path);
    });
    connect(dialog, &ModelPicker::file_wanted, this, &MainWindow::choose_file);
    connect(dialog, &ModelPicker::folder_wanted, this, &MainWindow::choose_folder);
    dialog->open();
    return dialog;
}

// A second start: this window comes forward and does what that one was asked for.
void MainWindow::take_over(const Handover& handover) {
    if (isMinimized()) setWindowState(windowState() & ~Qt::WindowMinimized);
    show();
    raise();
    activateWindow();
    if (!handover.model.isEmpty()) open_model(handover.model);
    for (const QString& text : handover.new_chats) {
        if (text.trimmed().isEmpty()) continue;
        const qint64 id = start_chat();
        controller_.send(id, text);
        chat_list_->select(id);
    }
}

// A screen that was there when the window closed may be gone: enough of it has to be where it can be taken
// hold of.
void MainWindow::keep_on_screen() {
    const QRect frame = frameGeometry();
    const QRect handle(frame.left() + 40, frame.top(), std::max(40, frame.width() - 80), 40);
    for (const QScreen* screen : QGuiApplication::screens())
        if (screen->availableGeometry().intersected(handle).width() >= 120 &&
            screen->availableGeometry().contains(handle.center()))
            return;
    const QScreen* screen = QGuiApplication::primaryScreen();
    if (screen == nullptr) return;
    const QRect room = screen->availableGeometry();
    resize(std::min(width(), room.width()), std::min(height(), room.height()));
    move(room.center() - QPoint(width() / 2, height() / 2));
}

}  // namespace vitrine::ui
