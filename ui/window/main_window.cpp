#include "ui/window/main_window.h"

#include <algorithm>

#include <QApplication>
#include <QCloseEvent>
#include <QFileInfo>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QPushButton>
#include <QScreen>
#include <QSplitter>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/chat/chat_list.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_settings_card.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/notice_bar.h"
#include "ui/models/figures.h"
#include "ui/panels/kv_panel.h"
#include "ui/settings/theme.h"
#include "ui/window/model_finder.h"
#include "ui/window/status_strip.h"
#include "ui/window/step_control.h"
#include "ui/window/top_bar.h"

namespace vitrine::ui {
MainWindow::MainWindow(const Options& options, const QString& folder, std::unique_ptr<Backend> backend)
    : options_(options),
      folder_(folder),
      settings_(folder),
      marker_(folder),
      store_(folder),
      worker_(std::move(backend)),
      controller_(&worker_, &store_),
      recorder_(&worker_, &store_, &controller_) {
    system_dark_ = is_dark_palette(QApplication::palette());
    setAcceptDrops(true);
    apply_theme();
    controller_.set_defaults(ChatSettings::from_json(settings_.chat_defaults()));
    build();
    build_model_menus();
    build_actions();
    connect_parts();
    connect_tokens();
    resize(1440, 900);
    if (!options_.scripted()) {
        if (!settings_.geometry().isEmpty()) restoreGeometry(settings_.geometry());
        if (!settings_.layout().isEmpty()) restoreState(settings_.layout(), PanelDocks::layout_version);
    }
    if (!options_.scripted()) keep_on_screen();
    if (options_.size.isValid()) resize(options_.size);
    if (options_.scripted() || settings_.layout().isEmpty()) panels_->fit(width(), settings_.list_width());
    start_chat();
    store_.open();
    show_notices();
    update_visibility();
    page_->composer()->focus();
}

MainWindow::~MainWindow() {
    // The widgets show what the members hold, so they go before them.
    panels_.reset();
    page_->view()->set_model(nullptr);
    for (QWidget* part : {static_cast<QWidget*>(chat_list_), static_cast<QWidget*>(page_)}) delete part;
}

void MainWindow::build() {
    setWindowTitle(QStringLiteral("Vitrine"));
    setMinimumSize(720, 480);
    setDockOptions(QMainWindow::AllowNestedDocks | QMainWindow::AllowTabbedDocks);
    top_bar_ = new TopBar(this);
    setMenuWidget(top_bar_);

    chat_list_ = new ChatList(controller_.list(), &colors_, this);
    page_ = new ChatPage(this);
    splitter_ = new QSplitter(Qt::Horizontal, this);
    splitter_->addWidget(chat_list_);
    splitter_->addWidget(page_);
    splitter_->setStretchFactor(1, 1);
    splitter_->setHandleWidth(1);
    splitter_->setChildrenCollapsible(false);
    chat_list_->setMinimumWidth(160);
    page_->setMinimumWidth(360);
    splitter_->setSizes({settings_.list_width(), 700});
    setCentralWidget(splitter_);

    top_bar_->steps()->set_slow_pace(settings_.slow_pace());
    status_ = new StatusStrip(this);
    setStatusBar(status_);

    panels_ = std::make_unique<PanelDocks>(this, &colors_);
    connect(panels_.get(), &PanelDocks::visibility_changed, this, &MainWindow::update_visibility);
}

void MainWindow::connect_parts() {
    Composer* composer = page_->composer();
    ChatView* view = page_->view();

    connect(chat_list_, &ChatList::chosen, this, &MainWindow::show_chat);
    connect(chat_list_, &ChatList::new_requested, this, [this] {
        start_chat();
        page_->composer()->focus();
    });
    connect(chat_list_, &ChatList::rename_requested, &controller_, &ChatController::rename);
    connect(chat_list_, &ChatList::pin_requested, &controller_, &ChatController::set_pinned);
    connect(chat_list_, &ChatList::remove_requested, this, &MainWindow::remove_chat);
    connect_files();

    connect(composer, &Composer::send_requested, this, [this, composer](const QString& text) {
        if (editing_ != 0) {
            const qint64 message = editing_;
            leave_edit();
            controller_.edit(current_, message, text);
        } else {
            if (ChatModel* chat = controller_.chat(current_); chat == nullptr || !chat->loaded()) return;
            draft_timer_.stop();
            composer->clear();
            controller_.send(current_, text);
        }
        page_->view()->scroll_to_end();
        chat_list_->select(current_);
        ask_count();
    });
    connect(composer, &Composer::stop_requested, this, [this] { controller_.stop(current_); });
    connect(composer, &Composer::settings_requested, this,
            [this] { page_->show_settings(page_->settings()->isHidden()); });
    connect(composer, &Composer::editing_cancelled, this, &MainWindow::leave_edit);
    connect(composer, &Composer::model_dropped, this, &MainWindow::open_model);
    composer->set_history([this] { return earlier_messages(); });
    connect(composer, &Composer::refused, this, [this](const QString& why) {
        page_->notices()->show_notice({Notice::Caution, why, {}, QStringLiteral("attach"), 8000});
    });
    connect(composer, &Composer::changed, this, [this] {
        count_timer_.start(controller_.answering() ? 500 : 120);
        draft_timer_.start(800);
    });
    count_timer_.setSingleShot(true);
    draft_timer_.setSingleShot(true);
    connect(&count_timer_, &QTimer::timeout, this, &MainWindow::ask_count);
    connect(&draft_timer_, &QTimer::timeout, this, &MainWindow::keep_draft);

    connect(view, &ChatView::regenerate_requested, this,
            [this](qint64 answer) { controller_.regenerate(current_, answer); });
    connect(view, &ChatView::continue_requested, this,
            [this](qint64 answer) { controller_.resume(current_, answer); });
    connect(view, &ChatView::sibling_requested, this, &MainWindow::choose_version);
    connect(view, &ChatView::edit_requested, this, &MainWindow::begin_edit);

    connect_settings();

    connect(&controller_, &ChatController::chats_ready, this, [this] {
        chats_ready_ = true;
        const qint64 last = settings_.last_chat();
        const ChatModel* now = controller_.chat(current_);
        const bool untouched = now != nullptr && now->rowCount() == 0 && page_->composer()->empty();
        if (!options_.scripted() && options_.new_chats.isEmpty() && untouched &&
            controller_.list()->find(last))
            show_chat(last);
    });
    connect(&controller_, &ChatController::answering_changed, this, [this](qint64 chat, bool answering) {
        if (chat == current_) {
            update_composer();
            if (!answering) ask_count();
        }
        show_steps();
    });
    connect(&controller_, &ChatController::not_sent, this, &MainWindow::on_not_sent);
    connect(&controller_, &ChatController::counted, this, &MainWindow::on_counted);
    connect(&controller_, &ChatController::titles_changed, this, [this] {
        const auto titles = controller_.titles();
        panels_->set_names(titles);
        setWindowTitle(titles.contains(current_) ? tr("%1 – Vitrine").arg(titles.value(current_))
                                                 : QStringLiteral("Vitrine"));
    });
    connect(&controller_, &ChatController::request_started, panels_.get(), &PanelDocks::set_request_session);
    connect(&controller_, &ChatController::live_changed, this,
            [this, before = std::vector<qint64>()](const std::vector<qint64>& live) mutable {
                for (const qint64 id : live) colors_.index_of(id);
                for (const qint64 id : before)
                    if (std::find(live.begin(), live.end(), id) == live.end()) colors_.release(id);
                before = live;
            });
    connect(&store_, &StoreThread::notice, this, [this](const QString& text) {
        page_->notices()->show_notice({Notice::Caution, text, {}, QStringLiteral("store"), 0});
    });

    connect(&worker_, &EngineWorker::snapshot, this,
            [this](const std::shared_ptr<const KvSnapshot>& snapshot) {
                iteration_ = snapshot->iteration;
                panels_->set_snapshot(snapshot);
                if (worker_.paused()) show_steps();
            });
    connect(&worker_, &EngineWorker::records, this, &MainWindow::on_records);
    connect(&worker_, &EngineWorker::figures, this, [this](const EngineFigures& figures) {
        figures_ = figures;
        panels_->set_free_memory(figures.memory_free);
    });
    connect(panels_->kv(), &KvPanel::text_wanted, &worker_, &EngineWorker::ask_block_text);
    connect(&worker_, &EngineWorker::block_text, panels_->kv(), &KvPanel::set_block_text);
    connect(panels_.get(), &PanelDocks::chat_clicked, this, &MainWindow::show_chat);
    connect(&worker_, &EngineWorker::read_bandwidth, this, [this](double gb_s) { read_gb_s_ = gb_s; });
    connect(&worker_, &EngineWorker::model_loaded, this, &MainWindow::on_loaded);
    connect(&worker_, &EngineWorker::load_failed, this, &MainWindow::on_load_failed);
    connect(&worker_, &EngineWorker::load_progress, this, [this](quint64 done, quint64 total) {
        if (worker_.loading())
            top_bar_->show_loading(QFileInfo(loading_path_).completeBaseName(),
                                   total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0);
    });
    connect(&worker_, &EngineWorker::engine_failed, this, [this](const Error& error) {
        const QString path = model_.path;
        model_ = {};
        top_bar_->show_model({});
        status_->set_model({});
        panels_->set_model({});
        update_composer();
        update_empty_text();
        page_->notices()->show_notice({Notice::Bad,
                                       QString::fromStdString(error.message),
                                       {{tr("Open the model again"), [this, path] { open_model(path); }}},
                                       QStringLiteral("engine"),
                                       0});
    });
    connect(&worker_, &EngineWorker::paused_changed, this, &MainWindow::show_steps);
    connect(&worker_, &EngineWorker::pace_changed, this, &MainWindow::show_steps);
    const StepControl* steps = top_bar_->steps();
    connect(steps, &StepControl::pause_requested, &worker_, &EngineWorker::pause);
    connect(steps, &StepControl::step_requested, &worker_, &EngineWorker::step_once);
    connect(steps, &StepControl::run_requested, &worker_, &EngineWorker::resume);
    connect(steps, &StepControl::slow_requested, this, &MainWindow::run_slowly);

    setTabOrder(chat_list_->view(), page_->view());
    setTabOrder(page_->view(), page_->composer());
}

void MainWindow::on_records(const std::vector<Record>& records) {
    panels_->append(records);
    throughput_.append(records);
    const auto steps = throughput_.steps_s();
    std::optional<double> gb_s;
    if (steps && figures_.weight_bytes_per_step > 0)
        gb_s = *steps * static_cast<double>(figures_.weight_bytes_per_step) / 1e9;
    status_->set_speed(throughput_.tok_s(), gb_s, read_gb_s_);
    panels_->set_bandwidth(gb_s.value_or(0), read_gb_s_);
}

void MainWindow::update_visibility() {
    if (panels_) worker_.set_panels_visible(panels_->any_visible());
}

void MainWindow::show_notices() {
    const QStringList notices = settings_.take_notices();
    if (!notices.isEmpty())
        page_->notices()->show_notice(
            {Notice::Caution, notices.join(u'\n'), {}, QStringLiteral("settings"), 0});
}

void MainWindow::set_theme(ThemeChoice choice) {
    options_.dark.reset();
    settings_.set_theme(choice);
    apply_theme();
}

void MainWindow::apply_theme() {
    const ThemeChoice choice = settings_.theme();
    const bool dark = options_.dark.value_or(choice == ThemeChoice::Dark ||
                                             (choice == ThemeChoice::System && system_dark_));
    const double zoom = settings_.text_zoom();
    apply(*qApp, dark ? Theme::dark(zoom) : Theme::light(zoom));
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::ActivationChange || event->type() == QEvent::WindowStateChange)
        update_visibility();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    keep_draft();
    marker_.end();  // leaving while a model loads is no crash
    controller_.shut_down();
    if (!options_.scripted()) {
        settings_.set_window(saveGeometry(), saveState(PanelDocks::layout_version));
        settings_.set_list_width(std::clamp(splitter_->sizes().value(0, 236), 160, 600));
        settings_.set_last_chat(current_);
    }
    settings_.sync();
    store_.flush();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) return event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    for (const QUrl& url : event->mimeData()->urls()) {
        if (!url.isLocalFile()) continue;
        const QString path = url.toLocalFile();
        if (path.endsWith(QLatin1String(".gguf"), Qt::CaseInsensitive) || looks_like_model(path)) {
            event->acceptProposedAction();
            return open_model(path);
        }
    }
    // By name and not as an event: one that the composer did not take would come back here.
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) page_->composer()->attach_file(url.toLocalFile());
    event->acceptProposedAction();
}

}  // namespace vitrine::ui
