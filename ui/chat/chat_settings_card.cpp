#include "ui/chat/chat_settings_card.h"

#include <utility>

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpressionValidator>
#include <QSpinBox>
#include <QVBoxLayout>

#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

QDoubleSpinBox* decimal(QWidget* parent, double least, double most, double step, int digits) {
    auto* box = new QDoubleSpinBox(parent);
    box->setLocale(QLocale::c());
    box->setRange(least, most);
    box->setSingleStep(step);
    box->setDecimals(digits);
    return box;
}

QSpinBox* whole(QWidget* parent, int least, int most, int step) {
    auto* box = new QSpinBox(parent);
    box->setLocale(QLocale::c());
    box->setRange(least, most);
    box->setSingleStep(step);
    return box;
}

}  // namespace

ChatSettingsCard::ChatSettingsCard(QWidget* parent) : QFrame(parent) {
    setAccessibleName(tr("Chat settings"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(14, 10, 14, 12);
    column->setSpacing(8);

    auto* head = new QHBoxLayout;
    title_ = new QLabel(tr("Settings of this chat"), this);
    title_->setProperty("role", "heading");
    auto* reset = new QPushButton(tr("Defaults"), this);
    reset->setProperty("role", "flat");
    reset->setToolTip(tr("Sampler settings as they come with Vitrine; the system prompt stays"));
    auto* keep = new QPushButton(tr("Use for new chats"), this);
    keep->setProperty("role", "flat");
    auto* close = new QPushButton(tr("Close"), this);
    close->setProperty("role", "flat");
    head->addWidget(title_);
    head->addStretch(1);
    head->addWidget(reset);
    head->addWidget(keep);
    head->addWidget(close);
    column->addLayout(head);

    system_ = new QPlainTextEdit(this);
    system_->setPlaceholderText(
        tr("System prompt: how the model should answer. Empty: the template's own, if it has one."));
    system_->setAccessibleName(tr("System prompt"));
    system_->setTabChangesFocus(true);
    system_->setFixedHeight(66);
    column->addWidget(system_);

    auto* tools = new QHBoxLayout;
    tools->setSpacing(8);
    presets_ = new QComboBox(this);
    presets_->setAccessibleName(tr("Preset"));
    presets_->setToolTip(tr("Sampler settings under a name"));
    save_preset_ = new QPushButton(tr("Save as preset…"), this);
    save_preset_->setProperty("role", "flat");
    save_preset_->setToolTip(tr("Keeps the sampler settings below under a name"));
    remove_preset_ = new QPushButton(tr("Remove"), this);
    remove_preset_->setProperty("role", "flat");
    remove_preset_->setToolTip(tr("Forgets this preset of yours; the settings stay as they are"));
    template_ = new QPushButton(tr("Template…"), this);
    template_->setProperty("role", "flat");
    template_->setToolTip(tr("Look at the chat template, rendered with this conversation, or change it"));
    tools->addWidget(presets_);
    tools->addWidget(save_preset_);
    tools->addWidget(remove_preset_);
    tools->addStretch(1);
    tools->addWidget(template_);
    column->addLayout(tools);

    grid_ = new QGridLayout;
    grid_->setHorizontalSpacing(12);
    grid_->setVerticalSpacing(4);
    const auto place = [&](const QString& name, const QString& hint, QWidget* field) {
        auto* label = new QLabel(name, this);
        label->setProperty("role", "caption");
        label->setBuddy(field);
        label->setToolTip(hint);
        field->setToolTip(hint);
        field->setAccessibleName(name);
        field->setMinimumWidth(84);
        cells_.emplace_back(label, field);
    };
    temperature_ = decimal(this, 0, 5, 0.1, 2);
    temperature_->setSpecialValueText(tr("0 (greedy)"));
    place(tr("Temperature"), tr("Higher: more varied. 0: always the most probable token."), temperature_);
    top_k_ = whole(this, 0, 1'000'000, 5);
    top_k_->setSpecialValueText(tr("off"));
    place(tr("Top-k"), tr("Only the k most probable tokens are candidates."), top_k_);
    top_p_ = decimal(this, 0, 1, 0.05, 2);
    place(tr("Top-p"), tr("Only the most probable tokens that together reach this probability. 1: off."),
          top_p_);
    min_p_ = decimal(this, 0, 1, 0.01, 2);
    min_p_->setSpecialValueText(tr("off"));
    place(tr("Min-p"), tr("Only tokens at least this share as probable as the most probable one."), min_p_);
    penalty_ = decimal(this, 0.1, 10, 0.05, 2);
    place(tr("Repetition penalty"),
          tr("Above 1: tokens that were seen already become less probable. 1: off."), penalty_);
    max_tokens_ = whole(this, -1, 10'000'000, 128);
    max_tokens_->setSpecialValueText(tr("until full"));
    place(tr("Longest answer"), tr("Tokens. “until full”: as far as the context reaches."), max_tokens_);
    context_ = whole(this, 0, 10'000'000, 256);
    context_->setSpecialValueText(tr("all there is"));
    place(tr("Context"),
          tr("Most tokens of this conversation. “all there is”: as many as the model was opened with."),
          context_);
    seed_ = new QLineEdit(this);
    seed_->setValidator(
        new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]{1,19}")), seed_));
    place(tr("Seed"), tr("The same seed, settings and conversation give the same answer."), seed_);
    seed_->setFixedHeight(penalty_->sizeHint().height());
    random_seed_ = new QCheckBox(tr("New for each answer"), this);
    random_seed_->setToolTip(tr("Every answer draws its own seed"));
    cells_.emplace_back(nullptr, random_seed_);
    cut_oldest_ = new QCheckBox(tr("Cut old turns"), this);
    cut_oldest_->setToolTip(
        tr("Where the conversation does not fit, its oldest turns are not given to the model, and "
           "are marked. Off: such a message is refused."));
    cells_.emplace_back(nullptr, cut_oldest_);
    column->addLayout(grid_);
    switch_row_ = new QHBoxLayout;
    switch_row_->setSpacing(16);
    column->addLayout(switch_row_);
    lay_out(4);

    for (QDoubleSpinBox* box : {temperature_, top_p_, min_p_, penalty_})
        connect(box, &QDoubleSpinBox::valueChanged, this, &ChatSettingsCard::announce);
    for (QSpinBox* box : {top_k_, max_tokens_, context_})
        connect(box, &QSpinBox::valueChanged, this, &ChatSettingsCard::announce);
    connect(seed_, &QLineEdit::textChanged, this, &ChatSettingsCard::announce);
    connect(system_, &QPlainTextEdit::textChanged, this, &ChatSettingsCard::announce);
    connect(cut_oldest_, &QCheckBox::toggled, this, &ChatSettingsCard::announce);
    connect(presets_, &QComboBox::activated, this, &ChatSettingsCard::choose_preset);
    connect(save_preset_, &QPushButton::clicked, this, [this] { emit save_preset_requested(settings()); });
    connect(remove_preset_, &QPushButton::clicked, this,
            [this] { emit remove_preset_requested(presets_->currentText()); });
    connect(template_, &QPushButton::clicked, this, &ChatSettingsCard::template_requested);
    connect(random_seed_, &QCheckBox::toggled, this, [this](bool on) {
        seed_->setEnabled(!on);
        announce();
    });
    connect(reset, &QPushButton::clicked, this, [this] {
        ChatSettings standard;
        standard.system = system_->toPlainText();
        standard.own_template = shown_.own_template;
        standard.switches = shown_.switches;
        standard.merge_turns = shown_.merge_turns;
        standard.system_in_first_turn = shown_.system_in_first_turn;
        set_settings(standard);
        emit changed(settings());
    });
    connect(keep, &QPushButton::clicked, this, [this] { emit make_default_requested(settings()); });
    connect(close, &QPushButton::clicked, this, &ChatSettingsCard::close_requested);
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
    set_presets({});
    set_settings({});
    set_template({}, false);
}

void ChatSettingsCard::set_presets(const std::vector<SamplerPreset>& own) {
    all_presets_ = standard_presets();
    all_presets_.insert(all_presets_.end(), own.begin(), own.end());
    presets_->clear();
    for (const SamplerPreset& preset : all_presets_) presets_->addItem(preset.name);
    presets_->addItem(tr("Own settings"));  // none of them
    show_preset();
}

void ChatSettingsCard::show_preset() {
    const ChatSettings now = settings();
    auto index = static_cast<int>(all_presets_.size());
    // The user's own come last, and go first where two are alike.
    for (int i = index - 1; i >= 0; --i)
        if (all_presets_[static_cast<std::size_t>(i)].matches(now)) {
            index = i;
            break;
        }
    presets_->setCurrentIndex(index);
    const bool known = index < static_cast<int>(all_presets_.size());
    const bool own = known && all_presets_[static_cast<std::size_t>(index)].own;
    remove_preset_->setVisible(own);
    save_preset_->setVisible(!known);
}

void ChatSettingsCard::choose_preset(int index) {
    if (index < 0 || index >= static_cast<int>(all_presets_.size())) return show_preset();
    ChatSettings chosen = settings();
    all_presets_[static_cast<std::size_t>(index)].apply_to(chosen);
    set_settings(chosen);
    emit changed(settings());
}

void ChatSettingsCard::set_template(const QStringList& switches, bool has_template) {
    template_->setEnabled(has_template);
    QStringList names;
    for (const QCheckBox* box : switch_boxes_) names << box->text();
    if (names == switches) return show_switches();
    while (QLayoutItem* item = switch_row_->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    switch_boxes_.clear();
    for (const QString& name : switches) {
        auto* box = new QCheckBox(name, this);
        box->setTristate(true);
        box->setToolTip(tr("A switch of this model's template. Half: as the template itself decides."));
        connect(box, &QCheckBox::stateChanged, this, [this, name](int state) {
            if (filling_) return;
            if (state == Qt::PartiallyChecked) {
                shown_.switches.remove(name);
            } else {
                shown_.switches.insert(name, state == Qt::Checked);
            }
            announce();
        });
        switch_row_->addWidget(box);
        switch_boxes_.push_back(box);
    }
    if (!switch_boxes_.empty()) switch_row_->addStretch(1);
    show_switches();
}

void ChatSettingsCard::show_switches() {
    const bool before = std::exchange(filling_, true);
    for (QCheckBox* box : switch_boxes_) {
        const auto set = shown_.switches.constFind(box->text());
        box->setCheckState(set == shown_.switches.constEnd() ? Qt::PartiallyChecked
                           : *set                            ? Qt::Checked
                                                             : Qt::Unchecked);
    }
    filling_ = before;
    template_->setText(shown_.own_template.isEmpty() ? tr("Template…") : tr("Own template…"));
}

void ChatSettingsCard::set_settings(const ChatSettings& s) {
    filling_ = true;
    shown_ = s;
    if (system_->toPlainText() != s.system) system_->setPlainText(s.system);
    temperature_->setValue(s.temperature);
    top_k_->setValue(s.top_k);
    top_p_->setValue(s.top_p);
    min_p_->setValue(s.min_p);
    penalty_->setValue(s.repetition_penalty);
    max_tokens_->setValue(s.max_tokens);
    seed_->setText(QString::number(s.seed));
    random_seed_->setChecked(s.random_seed);
    seed_->setEnabled(!s.random_seed);
    context_->setValue(s.context);
    cut_oldest_->setChecked(s.cut_oldest);
    filling_ = false;
    show_switches();
    show_preset();
}

ChatSettings ChatSettingsCard::settings() const {
    ChatSettings s = shown_;
    s.system = system_->toPlainText();
    s.temperature = temperature_->value();
    s.top_k = top_k_->value();
    s.top_p = top_p_->value();
    s.min_p = min_p_->value();
    s.repetition_penalty = penalty_->value();
    s.max_tokens = max_tokens_->value() == 0 ? 1 : max_tokens_->value();
    s.random_seed = random_seed_->isChecked();
    s.context = context_->value();
    s.cut_oldest = cut_oldest_->isChecked();
    bool ok = false;
    const quint64 seed = seed_->text().toULongLong(&ok);
    if (ok) s.seed = seed;
    return s;
}

void ChatSettingsCard::lay_out(int columns) {
    if (columns == columns_) return;
    columns_ = columns;
    int index = 0;
    for (const auto& [label, field] : cells_) {
        const int row = index / columns * 2;
        const int column = index % columns;
        if (label != nullptr) grid_->addWidget(label, row, column);
        grid_->addWidget(field, row + 1, column);
        ++index;
    }
    for (int column = 0; column < 4; ++column) grid_->setColumnStretch(column, column < columns ? 1 : 0);
}

void ChatSettingsCard::resizeEvent(QResizeEvent* event) {
    QFrame::resizeEvent(event);
    lay_out(width() < 470 ? 2 : 4);
    title_->setVisible(width() >= 440);
}

void ChatSettingsCard::announce() {
    if (filling_) return;
    show_preset();
    emit changed(settings());
}

void ChatSettingsCard::focus() { system_->setFocus(); }

QString ChatSettingsCard::summary(const ChatSettings& s) {
    const QString sampler =
        s.temperature <= 0 ? tr("Greedy") : tr("Temperature %1").arg(QString::number(s.temperature, 'g', 3));
    return s.system.trimmed().isEmpty() ? sampler : tr("%1 · system prompt").arg(sampler);
}

void ChatSettingsCard::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme.hairline);
    painter.setBrush(theme.raised);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.metrics.radius_message,
                            theme.metrics.radius_message);
}

void ChatSettingsCard::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) {
        emit close_requested();
        return;
    }
    QFrame::keyPressEvent(event);
}

}  // namespace vitrine::ui
