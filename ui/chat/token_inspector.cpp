#include "ui/chat/token_inspector.h"

#include <algorithm>
#include <cmath>

#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/models/figures.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

QString quoted(const QByteArray& bytes) {
    const QString text = shown_token(bytes);
    return QStringLiteral("“%1”").arg(text.size() > 40 ? text.left(40) + QChar(0x2026) : text);
}

// 0.61, 0.043, 0.0021; what is smaller, as a power.
QString probability_text(double p) {
    if (p < 0) return QStringLiteral("–");
    if (p == 0) return QStringLiteral("0");
    const QLocale c = QLocale::c();
    if (p > 0 && p < 1e-4) return c.toString(p, 'e', 1);
    return c.toString(p, 'f', p >= 0.1 ? 2 : p >= 0.01 ? 3 : 4);
}

QString number_text(double value, int digits) {
    QString text = QLocale::c().toString(std::fabs(value), 'f', digits);
    return value < 0 ? QChar(0x2212) + text : text;
}

QString origin_text(TokenOrigin origin) {
    switch (origin) {
        case TokenOrigin::Sampled: return TokenInspector::tr("sampled");
        case TokenOrigin::Accepted: return TokenInspector::tr("draft, accepted");
        case TokenOrigin::Corrected: return TokenInspector::tr("corrected: the draft was rejected");
        case TokenOrigin::Bonus: return TokenInspector::tr("bonus after the draft");
    }
    return {};
}

constexpr int side = 14;

}  // namespace

// ---- candidates ----

CandidateList::CandidateList(QWidget* parent) : QWidget(parent) {
    setAccessibleName(tr("Candidates"));
    setFocusPolicy(Qt::NoFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
}

void CandidateList::set_entries(std::vector<Entry> entries, int selected) {
    entries_ = std::move(entries);
    selected_ = std::clamp(selected, -1, static_cast<int>(entries_.size()) - 1);
    updateGeometry();
    update();
}

void CandidateList::select(int row) {
    if (row < 0 || row >= static_cast<int>(entries_.size()) || row == selected_) return;
    selected_ = row;
    update();
    emit selected_changed(row);
}

int CandidateList::row_height() const {
    return static_cast<int>(std::ceil(QFontMetricsF(current_theme().fonts.text).height())) + 6;
}

QSize CandidateList::sizeHint() const {
    return {340, row_height() * std::max(1, static_cast<int>(entries_.size()))};
}
QSize CandidateList::minimumSizeHint() const { return {200, row_height()}; }

int CandidateList::first_row() const {
    const int fit = std::max(1, height() / row_height());
    const int n = static_cast<int>(entries_.size());
    return std::clamp(selected_ - fit + 1, 0, std::max(0, n - fit));
}

QRect CandidateList::row_rect(int row) const {
    return {0, (row - first_row()) * row_height(), width(), row_height()};
}

int CandidateList::row_at(const QPoint& point) const {
    const int row = first_row() + point.y() / row_height();
    return point.y() >= 0 && row < static_cast<int>(entries_.size()) ? row : -1;
}

void CandidateList::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetricsF metrics(theme.fonts.text);
    const double number = metrics.horizontalAdvance(QStringLiteral("0.0000")) + 12;
    const double name = std::min(width() * 0.36, metrics.averageCharWidth() * 18);
    for (int row = first_row(); row < static_cast<int>(entries_.size()); ++row) {
        const QRectF r = row_rect(row);
        if (r.top() >= height()) break;
        const Entry& e = entries_[static_cast<std::size_t>(row)];
        const QColor back = row == selected_ ? theme.selection : theme.raised;
        if (row == selected_) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(back);
            painter.drawRoundedRect(r.adjusted(0, 1, 0, -1), 4, 4);
        }
        painter.setFont(e.chosen ? theme.fonts.strong : theme.fonts.text);
        painter.setPen(ink(theme.text, back));
        const QFontMetricsF own(painter.font());
        painter.drawText(r.adjusted(8, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                         own.elidedText(e.text, Qt::ElideRight, name - 8));
        const double bar_left = name + 8;
        const double room = r.width() - bar_left - 2 * number - 16;
        if (e.probability >= 0 && room > 8) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(e.chosen ? theme.accent : mix(back, theme.accent, 0.5));
            const QRectF bar(bar_left, r.center().y() - 3.5,
                             std::max(2.0, room * std::min(1.0, e.probability)), 7);
            painter.drawRoundedRect(bar, 2, 2);
        }
        painter.setFont(theme.fonts.text);
        painter.setPen(ink(theme.text, back));
        painter.drawText(QRectF(r.right() - 2 * number - 8, r.top(), number, r.height()),
                         Qt::AlignVCenter | Qt::AlignRight, probability_text(e.probability));
        painter.setPen(ink(theme.text_second, back));
        painter.drawText(QRectF(r.right() - number - 8, r.top(), number, r.height()),
                         Qt::AlignVCenter | Qt::AlignRight, probability_text(e.drawn));
    }
}

void CandidateList::mousePressEvent(QMouseEvent* event) {
    if (const int row = row_at(event->pos()); row >= 0) select(row);
}

void CandidateList::mouseDoubleClickEvent(QMouseEvent* event) {
    if (const int row = row_at(event->pos()); row >= 0) emit activated(row);
}

// ---- the card ----

TokenInspector::TokenInspector(QWidget* parent) : QFrame(parent) {
    setAccessibleName(tr("Token"));
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setCursor(Qt::ArrowCursor);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(side, 12, side, 12);
    column->setSpacing(8);
    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    title_ = new QLabel(this);
    title_->setTextFormat(Qt::PlainText);
    title_->setProperty("role", "heading");
    number_ = new QLabel(this);
    number_->setProperty("role", "caption");
    auto* close = new QToolButton(this);
    close->setText(QStringLiteral("×"));
    close->setProperty("role", "flat");
    close->setToolTip(tr("Close (Esc)"));
    close->setAccessibleName(tr("Close"));
    close->setFocusPolicy(Qt::NoFocus);
    connect(close, &QToolButton::clicked, this, &TokenInspector::close_requested);
    head->addWidget(title_, 1);
    head->addWidget(number_);
    head->addWidget(close);
    column->addLayout(head);

    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(3);
    grid->setColumnStretch(1, 2);
    grid->setColumnStretch(3, 3);
    column->addLayout(grid);
    const auto figure = [&](int row, int at, const QString& name, const QString& tip) {
        auto* label = new QLabel(name, this);
        label->setProperty("role", "caption");
        label->setToolTip(tip);
        auto* value = new QLabel(this);
        value->setTextFormat(Qt::PlainText);
        value->setAccessibleName(name);
        value->setToolTip(tip);
        value->setWordWrap(at > 0);
        grid->addWidget(label, row, at, Qt::AlignTop | Qt::AlignLeft);
        grid->addWidget(value, row, at + 1, Qt::AlignTop | Qt::AlignLeft);
        return value;
    };
    probability_ = figure(0, 0, tr("probability"), tr("The model's own, before the sampler's settings"));
    rank_ = figure(0, 2, tr("rank"), tr("How many tokens the model held for as probable or more"));
    log_probability_ = figure(1, 0, tr("log-prob."), tr("Natural logarithm of the probability"));
    origin_ = figure(1, 2, tr("origin"), tr("Drawn by the sampler, or proposed by a draft and verified"));
    time_ =
        figure(2, 0, tr("time"), tr("Since the token before; for the first one since the question was sent"));
    block_ = figure(2, 2, tr("block"), tr("Where its key and value lie in the KV cache"));

    columns_ = new QLabel(tr("model · drawn with"), this);
    columns_->setProperty("role", "caption");
    columns_->setAlignment(Qt::AlignRight);
    columns_->setToolTip(
        tr("Left: the model's own probability. Right: the one that it was drawn with, after "
           "penalties, temperature and filters; 0 where they have sorted it out, – where it is not "
           "known."));
    column->addWidget(columns_);
    list_ = new CandidateList(this);
    column->addWidget(list_, 1);
    connect(list_, &CandidateList::selected_changed, this, [this] { show_branch(); });
    connect(list_, &CandidateList::activated, this, [this] { branch(); });

    auto* buttons = new QHBoxLayout;
    branch_ = new QPushButton(this);
    branch_->setProperty("role", "primary");
    branch_->setFocusPolicy(Qt::NoFocus);
    buttons->addWidget(branch_);
    buttons->addStretch(1);
    column->addLayout(buttons);
    connect(branch_, &QPushButton::clicked, this, &TokenInspector::branch);
    connect(theme_signal(), &ThemeSignal::changed, this, [this] { update(); });
}

void TokenInspector::show_token(const TokenTrace& trace, int index, const QString& block, bool can_branch) {
    const TracedToken& token = trace.token(index);
    const double p = std::exp(static_cast<double>(token.log_probability));
    const bool same = shown_ == index && chosen_ == token.id && bytes_.size() >= token.candidate_count;
    shown_ = index;
    chosen_ = token.id;
    can_branch_ = can_branch;
    title_->setText(quoted(trace.bytes(token.id)));
    number_->setText(tr("token %1 · id %2").arg(count_text(index + 1), QString::number(token.id)));
    probability_->setText(probability_text(p));
    log_probability_->setText(number_text(static_cast<double>(token.log_probability), 2));
    time_->setText(token.seconds > 0 ? duration_text(static_cast<double>(token.seconds))
                                     : QStringLiteral("–"));
    rank_->setText(token.rank <= 0 ? QStringLiteral("–")
                   : trace.origin().vocabulary > 0
                       ? tr("%1 of %2").arg(count_text(token.rank), count_text(trace.origin().vocabulary))
                       : count_text(token.rank));
    origin_->setText(origin_text(token.origin));
    block_->setText(block.isEmpty() ? QStringLiteral("–") : block);

    std::vector<CandidateList::Entry> entries;
    bytes_.clear();
    can_begin_.clear();
    const auto add = [&](qint32 id, double probability, double drawn) {
        const QByteArray bytes = trace.bytes(id);
        entries.push_back({id, shown_token(bytes), probability, drawn, id == token.id});
        bytes_.push_back(bytes);
        // Half a character and what steers have no text that an answer could go on from.
        const QString text = QString::fromUtf8(bytes);
        can_begin_.push_back(!trace.control(id) && !text.isEmpty() &&
                             !text.contains(QChar::ReplacementCharacter));
    };
    bool has_chosen = false;
    for (int i = 0; i < token.candidate_count; ++i) {
        const TracedCandidate& c = trace.candidates(index)[i];
        const bool known = !std::isnan(c.log_probability);
        has_chosen = has_chosen || c.id == token.id;
        // A chosen one that is only known by what it was drawn from has its own figure.
        const double own = known              ? std::exp(static_cast<double>(c.log_probability))
                           : c.id == token.id ? p
                                              : -1.0;
        add(c.id, own, static_cast<double>(c.probability));
    }
    if (!has_chosen) add(token.id, p, static_cast<double>(token.probability));
    int selected = same ? list_->selected() : -1;
    if (selected < 0)
        for (int i = 0; i < static_cast<int>(entries.size()); ++i)
            if (entries[static_cast<std::size_t>(i)].chosen) selected = i;
    list_->set_entries(std::move(entries), selected);
    show_branch();
    QStringList spoken{title_->text(), number_->text()};
    for (const QLabel* value : {probability_, rank_, log_probability_, origin_, time_, block_})
        spoken << value->accessibleName() + u' ' + value->text();
    for (const auto& e : list_->entries())
        spoken << quoted(e.text.toUtf8()) + u' ' + probability_text(e.probability);
    setAccessibleDescription(spoken.join(QStringLiteral(", ")));
    layout()->activate();
}

void TokenInspector::show_branch() {
    const int row = list_->selected();
    const bool chosen = row >= 0 && list_->entries()[static_cast<std::size_t>(row)].chosen;
    const bool other = row >= 0 && !chosen && can_begin_[static_cast<std::size_t>(row)];
    branch_->setVisible(can_branch_);
    branch_->setEnabled(other);
    branch_->setText(other ? tr("Branch here with %1").arg(quoted(bytes_[static_cast<std::size_t>(row)]))
                           : tr("Branch here"));
    if (other) {
        branch_->setToolTip(tr("Another answer, the same up to here, that goes on with this token (Enter)"));
    } else if (row >= 0 && !chosen) {
        branch_->setToolTip(tr("This one is half a character or ends the answer: nothing can go on from it"));
    } else {
        branch_->setToolTip(tr("Choose another candidate first (↑ ↓)"));
    }
    layout()->activate();  // the button is as wide as its new text at once
}

void TokenInspector::select_step(int by) {
    list_->select(std::clamp(list_->selected() + by, 0, static_cast<int>(list_->entries().size()) - 1));
}

void TokenInspector::branch() {
    const int row = list_->selected();
    if (!can_branch_ || row < 0) return;
    const auto& entry = list_->entries()[static_cast<std::size_t>(row)];
    if (!entry.chosen && can_begin_[static_cast<std::size_t>(row)])
        emit branch_requested(entry.id, bytes_[static_cast<std::size_t>(row)]);
}

QString TokenInspector::title() const { return title_->text(); }

QString TokenInspector::value(const QString& name) const {
    for (const QLabel* value : {probability_, rank_, log_probability_, origin_, time_, block_})
        if (value->accessibleName() == name) return value->text();
    return {};
}

void TokenInspector::paintEvent(QPaintEvent*) {
    const Theme& theme = current_theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), theme.surface);
    painter.setPen(mix(theme.hairline, theme.text, 0.2));
    painter.setBrush(theme.raised);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.metrics.radius_card,
                            theme.metrics.radius_card);
}

void TokenInspector::mousePressEvent(QMouseEvent* event) { event->accept(); }
void TokenInspector::mouseReleaseEvent(QMouseEvent* event) { event->accept(); }
void TokenInspector::mouseMoveEvent(QMouseEvent* event) { event->accept(); }
void TokenInspector::mouseDoubleClickEvent(QMouseEvent* event) { event->accept(); }

}  // namespace vitrine::ui
