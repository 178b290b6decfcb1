#include "ui/window/settings_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QVBoxLayout>

#include "ui/settings/app_settings.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr int name_width = 170;

QSpinBox* whole(int least, int most, int step, const QString& special, int value) {
    auto* box = new QSpinBox;
    box->setLocale(QLocale::c());
    box->setRange(least, most);
    box->setSingleStep(step);
    if (!special.isEmpty()) box->setSpecialValueText(special);
    box->setValue(value);
    return box;
}

QComboBox* choice(const std::vector<std::pair<QString, QVariant>>& entries, const QVariant& now) {
    auto* box = new QComboBox;
    for (const auto& [name, value] : entries) box->addItem(name, value);
    if (box->findData(now) < 0) box->addItem(now.toString(), now);  // a value written by hand
    box->setCurrentIndex(box->findData(now));
    return box;
}

}  // namespace

SettingsDialog::SettingsDialog(AppSettings* settings, const QString& folder, const QString& models_folder,
                               QWidget* parent)
    : QDialog(parent), settings_(settings) {
    setWindowTitle(tr("Settings"));
    resize(600, 640);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 12);
    auto* area = new QScrollArea(this);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    content_ = new QWidget(area);
    column_ = new QVBoxLayout(content_);
    column_->setContentsMargins(20, 16, 20, 8);
    column_->setSpacing(18);
    area->setWidget(content_);
    outer->addWidget(area, 1);

    auto* window = section(tr("Window"));
    theme_ = choice({{tr("As the desktop"), int(ThemeChoice::System)},
                     {tr("Light"), int(ThemeChoice::Light)},
                     {tr("Dark"), int(ThemeChoice::Dark)}},
                    int(settings->theme()));
    row(window, tr("Theme"), tr("Colours of the window"), theme_);
    language_ = choice({{tr("As the system"), QString()},
                        {QStringLiteral("Deutsch"), QStringLiteral("de")},
                        {QStringLiteral("English"), QStringLiteral("en")}},
                       settings->language());
    row(window, tr("Language"), tr("Language of the window"), language_);
    restart_ = new QLabel(tr("The language changes with the next start."), content_);
    restart_->setProperty("role", "caption");
    restart_->hide();
    window->addWidget(restart_);
    refresh_ = whole(1, 60, 1, {}, settings->panel_refresh());
    refresh_->setSuffix(tr(" times a second"));
    row(window, tr("Panels are refreshed"), tr("At most; fewer leave more time to a slow computer"),
        refresh_);

    auto* models = section(tr("Models"));
    auto* where = new QLabel(
        tr("Vitrine looks into %1 and into these folders:").arg(QDir::toNativeSeparators(models_folder)),
        content_);
    where->setWordWrap(true);
    models->addWidget(where);
    folders_ = new QListWidget(content_);
    folders_->setAccessibleName(tr("Folders with models"));
    folders_->setFixedHeight(92);
    for (const QString& path : settings->model_folders()) add_folder(path);
    models->addWidget(folders_);
    auto* folder_row = new QHBoxLayout;
    auto* add = new QPushButton(tr("Add a folder…"), content_);
    auto* remove = new QPushButton(tr("Remove"), content_);
    remove->setToolTip(tr("Forgets this folder; nothing in it is deleted"));
    remove->setEnabled(false);
    folder_row->addWidget(add);
    folder_row->addWidget(remove);
    folder_row->addStretch(1);
    models->addLayout(folder_row);
    others_ =
        new QCheckBox(tr("Also models of LM Studio, GPT4All, Jan and the Hugging Face cache"), content_);
    others_->setToolTip(tr("They are used where they are; nothing is copied or changed"));
    others_->setChecked(settings->search_other_programs());
    models->addWidget(others_);

    auto* engine = section(tr("Engine"));
    device_ = choice({{tr("Automatic"), QStringLiteral("auto")},
                      {tr("Processor"), QStringLiteral("cpu")},
                      {tr("NVIDIA GPU"), QStringLiteral("cuda")}},
                     settings->device());
    row(engine, tr("Device"),
        tr("What computes. A GPU that cannot be used is said when the model is opened."), device_);
    threads_ = whole(0, 1024, 1, tr("one for each core"), settings->threads());
    row(engine, tr("Threads"), tr("Of the processor"), threads_);
    context_ = whole(0, 10'000'000, 1024, tr("as trained"), settings->context());
    row(engine, tr("Context"),
        tr("Most tokens of one conversation. More needs more memory for the KV cache."), context_);
    block_size_ = choice({{QStringLiteral("8"), 8},
                          {QStringLiteral("16"), 16},
                          {QStringLiteral("32"), 32},
                          {QStringLiteral("64"), 64},
                          {QStringLiteral("128"), 128},
                          {QStringLiteral("256"), 256}},
                         settings->block_size());
    row(engine, tr("Tokens in a KV block"), tr("Small blocks waste less, large ones need shorter tables"),
        block_size_);
    kv_dtype_ = choice({{QStringLiteral("F16"), QStringLiteral("F16")},
                        {QStringLiteral("BF16"), QStringLiteral("BF16")},
                        {QStringLiteral("F32"), QStringLiteral("F32")}},
                       settings->kv_dtype());
    row(engine, tr("Precision of the KV cache"), tr("F32 takes twice the memory of F16 and BF16"), kv_dtype_);
    budget_ = whole(0, 1 << 24, 512, tr("what is free"), settings->memory_budget_mib());
    budget_->setSuffix(QStringLiteral(" MiB"));
    row(engine, tr("Memory budget"), tr("For weights, KV cache and workspace together"), budget_);

    auto* stored = section(tr("Data"));
    auto* lies = new QLabel(
        tr("Chats, settings and the log lie in %1. To remove all of it, close Vitrine and delete that "
           "folder. Vitrine's own models lie in %2.")
            .arg(QDir::toNativeSeparators(folder), QDir::toNativeSeparators(models_folder)),
        content_);
    lies->setWordWrap(true);
    lies->setTextInteractionFlags(Qt::TextSelectableByMouse);
    stored->addWidget(lies);
    auto* show = new QPushButton(tr("Open the data folder"), content_);
    auto* show_row = new QHBoxLayout;
    show_row->addWidget(show);
    show_row->addStretch(1);
    stored->addLayout(show_row);
    column_->addStretch(1);

    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(20, 0, 20, 0);
    apply_ = new QPushButton(tr("Apply"), this);
    apply_->setProperty("role", "primary");
    apply_->setDefault(true);
    auto* cancel = new QPushButton(tr("Cancel"), this);
    foot->addStretch(1);
    foot->addWidget(cancel);
    foot->addWidget(apply_);
    outer->addLayout(foot);

    connect(language_, &QComboBox::currentIndexChanged, this,
            [this] { restart_->setVisible(language_->currentData().toString() != settings_->language()); });
    connect(add, &QPushButton::clicked, this, [this] {
        const QString path =
            QFileDialog::getExistingDirectory(this, tr("Folder with models"), QDir::homePath());
        if (!path.isEmpty()) add_folder(path);
    });
    connect(remove, &QPushButton::clicked, this, [this] { delete folders_->currentItem(); });
    connect(folders_, &QListWidget::currentRowChanged, remove,
            [remove](int at) { remove->setEnabled(at >= 0); });
    connect(show, &QPushButton::clicked, this, [this, folder] { emit open_folder_requested(folder); });
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    connect(apply_, &QPushButton::clicked, this, [this] {
        take_over();
        accept();
    });
}

QVBoxLayout* SettingsDialog::section(const QString& title) {
    auto* part = new QVBoxLayout;
    part->setSpacing(8);
    auto* heading = new QLabel(title, content_);
    heading->setProperty("role", "heading");
    part->addWidget(heading);
    column_->addLayout(part);
    return part;
}

void SettingsDialog::row(QVBoxLayout* part, const QString& name, const QString& hint, QWidget* field) {
    auto* line = new QHBoxLayout;
    line->setSpacing(12);
    auto* label = new QLabel(name, content_);
    label->setMinimumWidth(name_width);
    label->setToolTip(hint);
    label->setBuddy(field);
    field->setParent(content_);
    field->setToolTip(hint);
    field->setAccessibleName(name);
    field->setMinimumWidth(190);
    line->addWidget(label);
    line->addWidget(field);
    line->addStretch(1);
    part->addLayout(line);
}

void SettingsDialog::add_folder(const QString& path) {
    for (int i = 0; i < folders_->count(); ++i)
        if (folders_->item(i)->data(Qt::UserRole).toString() == path) return;
    const bool there = QFileInfo(path).isDir();
    const QString shown = QDir::toNativeSeparators(path);
    auto* item = new QListWidgetItem(there ? shown : tr("%1 (not there now)").arg(shown), folders_);
    item->setData(Qt::UserRole, path);
}

void SettingsDialog::take_over() {
    AppSettings& s = *settings_;
    const auto theme = static_cast<ThemeChoice>(theme_->currentData().toInt());
    const bool window = theme != s.theme() || refresh_->value() != s.panel_refresh();
    const bool engine =
        device_->currentData().toString() != s.device() || threads_->value() != s.threads() ||
        context_->value() != s.context() || block_size_->currentData().toInt() != s.block_size() ||
        kv_dtype_->currentData().toString() != s.kv_dtype() || budget_->value() != s.memory_budget_mib();
    s.set_theme(theme);
    s.set_panel_refresh(refresh_->value());
    s.set_language(language_->currentData().toString());
    QStringList folders;
    for (int i = 0; i < folders_->count(); ++i) folders << folders_->item(i)->data(Qt::UserRole).toString();
    s.set_model_folders(folders);
    s.set_search_other_programs(others_->isChecked());
    s.set_device(device_->currentData().toString());
    s.set_threads(threads_->value());
    s.set_context(context_->value());
    s.set_block_size(block_size_->currentData().toInt());
    s.set_kv_dtype(kv_dtype_->currentData().toString());
    s.set_memory_budget_mib(budget_->value());
    s.sync();
    if (window) emit window_changed();
    if (engine) emit engine_changed();
}

}  // namespace vitrine::ui
