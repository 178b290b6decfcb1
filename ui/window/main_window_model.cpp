// MainWindow: opening models.
#include <QActionGroup>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>

#include "ui/chat/chat_page.h"
#include "ui/chat/chat_settings_card.h"
#include "ui/chat/chat_view.h"
#include "ui/chat/composer.h"
#include "ui/chat/notice_bar.h"
#include "ui/models/figures.h"
#include "ui/settings/log_file.h"
#include "ui/window/chip.h"
#include "ui/window/main_window.h"
#include "ui/window/model_finder.h"
#include "ui/window/status_strip.h"
#include "ui/window/top_bar.h"

namespace vitrine::ui {

LoadSpec MainWindow::spec_for(const QString& path) const {
    LoadSpec spec;
    spec.path = path.toStdString();
    spec.threads = settings_.threads();
    const QString dtype = settings_.kv_dtype();
    spec.options.kv_dtype = dtype == QLatin1String("F32")    ? DType::F32
                            : dtype == QLatin1String("BF16") ? DType::BF16
                                                             : DType::F16;
    spec.options.block_size = settings_.block_size();
    spec.options.context = settings_.context();
    spec.options.memory_budget = static_cast<std::uint64_t>(settings_.memory_budget_mib()) << 20U;
    spec.device = settings_.device().toStdString();
    return spec;
}

void MainWindow::open_first_model() {
    const StartModel start = choose_start_model(options_.model, settings_.last_model(), marker_.unfinished());
    if (!start.missing.isEmpty())
        page_->notices()->show_notice(
            {Notice::Info,
             tr("The model used last, %1, is not there any more.").arg(start.missing),
             {},
             QStringLiteral("missing"),
             10000});
    if (!start.held_back.isEmpty()) {
        page_->notices()->show_notice(
            {Notice::Caution,
             tr("Vitrine ended while it was opening %1 last time, so it was not opened again by itself.")
                 .arg(start.held_back),
             {{tr("Open it anyway"), [this, path = start.held_back] { open_model(path); }},
              {tr("Open another…"), [this] { choose_file(); }}},
             QStringLiteral("held-back"),
             0});
        emit model_refused(tr("The program ended while it was opening %1 last time.").arg(start.held_back));
    }
    if (start.path.isEmpty()) {
        update_empty_text();
        update_composer();
        if (start.held_back.isEmpty())
            emit model_refused(tr("There is no model to open: name one with --model."));
        return;
    }
    open_model(start.path);
}

void MainWindow::open_model(const QString& path) {
    loading_path_ = path;
    marker_.begin(path);
    page_->notices()->dismiss(QStringLiteral("load"));
    page_->notices()->dismiss(QStringLiteral("held-back"));
    worker_.load(spec_for(path));
    top_bar_->show_loading(QFileInfo(path).completeBaseName(), 0);
    update_empty_text();
    update_composer();
}

void MainWindow::on_loaded(const ModelInfo& loaded) {
    ModelInfo info = loaded;
    info.name = shown_model_name(loaded.path, loaded.name);
    if (!worker_.loading()) marker_.end();
    model_ = info;
    iteration_ = 0;
    throughput_.clear();
    read_gb_s_ = 0;
    controller_.set_model(info);
    page_->settings()->set_template(info.template_switches,
                                    info.has_template || !info.template_source.isEmpty());
    log_line(QStringLiteral("opened %1, %2, %3").arg(info.architecture, info.format, info.device));
    // The built-in model is where to go when there is nothing else; it is never "the one used last".
    if (!options_.scripted() && !is_embedded_model(info.path)) settings_.set_last_model(info.path);
    panels_->set_model(info);
    status_->set_model(info);
    top_bar_->show_model(info);
    top_bar_->model()->setToolTip(tr("%1\nClick to open another one (Ctrl+O).").arg(info.path));
    show_steps();
    update_empty_text();
    update_composer();
    ask_count();
    if (!info.has_template) {
        const QString why =
            info.template_error.isEmpty()
                ? tr("%1 has no chat template, so it cannot chat.").arg(info.name)
                : tr("The chat template of %1 cannot be used: %2").arg(info.name, info.template_error);
        page_->notices()->show_notice({Notice::Caution, why, {}, QStringLiteral("load"), 0});
    } else if (!info.warnings.isEmpty()) {
        page_->notices()->show_notice(
            {Notice::Info, info.warnings.join(u'\n'), {}, QStringLiteral("load"), 15000});
    }
    emit model_ready();
}

void MainWindow::on_load_failed(const QString& path, const Error& error, bool kept) {
    if (!worker_.loading()) marker_.end();
    if (!kept) {
        model_ = {};
        status_->set_model({});
        panels_->set_model({});
    }
    if (!worker_.loading()) top_bar_->show_model(model_);
    show_steps();
    update_empty_text();
    update_composer();
    if (error.kind == ErrorKind::Cancelled) return;
    log_line(QStringLiteral("a model was not opened: %1").arg(QString::fromStdString(error.message)));
    Notice notice{Notice::Bad, {}, {}, QStringLiteral("load"), 0};
    notice.text =
        tr("%1 was not opened: %2").arg(QFileInfo(path).fileName(), QString::fromStdString(error.message));
    if (kept) notice.text += u' ' + tr("%1 still answers.").arg(model_.name);
    notice.actions.push_back({tr("Open another…"), [this] { choose_file(); }});
    if (const QString embedded = embedded_model_path();
        !kept && !embedded.isEmpty() && !is_embedded_model(path))
        notice.actions.push_back({tr("Use the built-in model"), [this, embedded] { open_model(embedded); }});
    page_->notices()->show_notice(std::move(notice));
    emit model_refused(QString::fromStdString(error.message));
}

void MainWindow::build_model_menus() {
    model_menu_ = new QMenu(this);
    cache_menu_ = new QMenu(this);
    connect(model_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_model_menu);
    connect(cache_menu_, &QMenu::aboutToShow, this, &MainWindow::fill_cache_menu);
    top_bar_->model()->set_menu(model_menu_);
    top_bar_->cache()->set_menu(cache_menu_);
    model_menu_->setToolTipsVisible(true);
}

void MainWindow::fill_model_menu() {
    model_menu_->clear();
    if (worker_.loading()) {
        model_menu_->addAction(tr("Cancel opening"), this, [this] { worker_.cancel_load(); });
        model_menu_->addSeparator();
    }
    const auto add = [this](const QString& text, const QString& path) {
        QAction* action = model_menu_->addAction(text, this, [this, path] { open_model(path); });
        action->setToolTip(path);
        action->setCheckable(true);
        action->setChecked(QFileInfo(path) == QFileInfo(model_.path));
    };
    bool last_listed = false;
    for (const FoundModel& model : installed_models()) {
        const QString name = QString(model.name).replace(u'&', QStringLiteral("&&"));
        if (!model.problem.isEmpty()) {
            QAction* action = model_menu_->addAction(tr("%1  ·  cannot be opened").arg(name));
            action->setEnabled(false);
            action->setToolTip(model.problem);
            continue;
        }
        add(tr("%1  ·  %2").arg(name, bytes_text(static_cast<std::uint64_t>(model.bytes))), model.path);
        last_listed = last_listed || model.path == settings_.last_model();
    }
    model_menu_->setToolTipsVisible(true);
    if (const QString last = settings_.last_model();
        !last.isEmpty() && !last_listed && (QFileInfo(last).isFile() || looks_like_model(last)))
        add(tr("%1  ·  used last")
                .arg(QFileInfo(last).completeBaseName().replace(u'&', QStringLiteral("&&"))),
            last);
    if (const QString embedded = embedded_model_path(); !embedded.isEmpty())
        add(tr("Small built-in model (16 M)"), embedded);
    model_menu_->addSeparator();
    model_menu_->addAction(tr("All models…"), this, &MainWindow::show_picker)
        ->setShortcut(QKeySequence(tr("Ctrl+M")));
    model_menu_->addAction(tr("Open a GGUF file…"), this, &MainWindow::choose_file)
        ->setShortcut(QKeySequence::Open);
    model_menu_->addAction(tr("Open a Hugging Face folder…"), this, &MainWindow::choose_folder);
}

void MainWindow::fill_cache_menu() {
    cache_menu_->clear();
    const auto reopen = [this] {
        if (!model_.path.isEmpty()) open_model(model_.path);
    };
    cache_menu_->addSection(tr("Precision of the cache"));
    for (const QString& dtype : {QStringLiteral("F32"), QStringLiteral("F16"), QStringLiteral("BF16")}) {
        QAction* action = cache_menu_->addAction(dtype, this, [this, dtype, reopen] {
            settings_.set_kv_dtype(dtype);
            reopen();
        });
        action->setCheckable(true);
        action->setChecked(model_.kv_dtype == dtype);
    }
    cache_menu_->addSection(tr("Tokens in a block"));
    for (const int size : {8, 16, 32, 64, 128}) {
        QAction* action = cache_menu_->addAction(QString::number(size), this, [this, size, reopen] {
            settings_.set_block_size(size);
            reopen();
        });
        action->setCheckable(true);
        action->setChecked(model_.block_size == size);
    }
}

QString MainWindow::folder_to_look_in() const {
    return model_.valid() && !is_embedded_model(model_.path) ? QFileInfo(model_.path).absolutePath()
                                                             : models_folder();
}

void MainWindow::choose_file() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a model"), folder_to_look_in(),
                                                      tr("GGUF models (*.gguf);;All files (*)"));
    if (!path.isEmpty()) open_model(path);
}

void MainWindow::choose_folder() {
    const QString path = QFileDialog::getExistingDirectory(
        this, tr("Open a folder with config.json and safetensors files"), folder_to_look_in());
    if (!path.isEmpty()) open_model(path);
}

}  // namespace vitrine::ui
