#include "ui/panels/batch_panel.h"

#include <QVBoxLayout>

#include "ui/panels/batch_strip.h"
#include "ui/panels/figure_row.h"
#include "ui/plot/figure_format.h"

namespace vitrine::ui {
namespace {

constexpr int picture_ms = 66;

}  // namespace

BatchPanel::BatchPanel(SequenceColors* colors, QWidget* parent)
    : Panel(tr("Batch"), parent),
      figures_(new FigureRow(this)),
      strip_(new BatchStrip(&model_, &book_, colors, this)),
      refresh_(
          picture_ms, [this] { refresh(); }, this),
      figure_refresh_(
          current_theme().metrics.figure_update_ms, [this] { refresh_figures(); }, this) {
    body()->addWidget(figures_);
    body()->addWidget(strip_, 1);
    set_subtitle(tr("sequences by iteration"));
    connect(strip_, &BatchStrip::row_clicked, this, [this](qint64 request) {
        if (const qint64 session = book_.session_of(request); session != 0) emit chat_clicked(session);
    });
    refresh();
    refresh_figures();
}

void BatchPanel::append(const std::vector<Record>& records) {
    for (const Record& record : records) model_.append(record);
    request_refresh();
}

void BatchPanel::set_snapshot(std::shared_ptr<const KvSnapshot> snapshot) {
    snapshot_ = std::move(snapshot);
    request_refresh();
}

void BatchPanel::set_request_session(qint64 request, qint64 session) {
    book_.insert(request, session);
    request_refresh();
}

void BatchPanel::set_names(const QHash<qint64, QString>& names) {
    book_.set_names(names);
    request_refresh();
}

void BatchPanel::set_paused(bool paused) {
    paused_ = paused;
    request_refresh();
}

void BatchPanel::clear() {
    model_.clear();
    book_.clear();
    snapshot_.reset();
    request_refresh();
}

void BatchPanel::request_refresh() {
    if (!isVisible()) return;
    refresh_.request();
    figure_refresh_.request();
}

void BatchPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    bring_up_to_date();
}

void BatchPanel::hideEvent(QHideEvent* event) {
    refresh_.cancel();
    figure_refresh_.cancel();
    Panel::hideEvent(event);
}

void BatchPanel::bring_up_to_date() {
    if (!isVisible()) return;
    refresh_.run_now();
    figure_refresh_.run_now();
}

void BatchPanel::refresh() {
    ++refreshes_;
    if (model_.empty()) {
        set_empty_text(
            tr("Nobody is being answered. Every chat that is writing gets a row here: what was "
               "computed for it in each iteration, and when it had to wait."));
        return;
    }
    set_empty_text({});
    strip_->model_changed();
}

void BatchPanel::refresh_figures() {
    ++refreshes_;
    const BatchFigures& f = model_.figures();
    // Between two answers nothing runs, whatever the last iteration had.
    std::int32_t running = 0;
    std::int32_t waiting = 0;
    for (const BatchRow& row : model_.rows()) {
        if (row.end >= 0) continue;
        ++(row.waits ? waiting : running);
    }
    const bool any = !model_.empty();
    figures_->set_figures({
        {any ? format_count(running) : no_value(),
         tr("running"),
         tr("Sequences that own blocks and are computed in every iteration, as far as the budget goes."),
         {}},
        {any ? format_count(waiting) : no_value(),
         tr("waiting"),
         tr("Sequences that were not let in yet, or were sent back because memory ran out."),
         {}},
        {f.tokens >= 0 ? format_count(f.tokens) : no_value(),
         f.budget > 0 ? tr("tokens, of a budget of %1").arg(format_count(f.budget))
                      : tr("tokens of the budget"),
         tr("Rows of the newest iteration. One token of each answer that is being written, the rest is for "
            "prompts: the budget is what an iteration may have at most, so that nobody waits long."),
         {}},
        {f.tokens >= 0 ? format_count(f.iteration) : no_value(), tr("iteration"), tr("The newest one."), {}},
    });
    const QString told = paused_ ? last_step() : QString();
    set_sentence(told.isEmpty() ? waits() : told);
    setAccessibleDescription(model_.empty() ? empty_text() : figures_->as_text() + ". " + sentence());
}

QString BatchPanel::waits() const {
    if (!snapshot_) return tr("Nobody waits.");
    QStringList parts;
    int more = 0;
    for (const SequenceView& s : snapshot_->sequences) {
        if (s.state != SequenceState::Waiting) continue;
        if (parts.size() >= 2) {
            ++more;
            continue;
        }
        const QString name = book_.quoted(s.request);
        switch (s.wait) {
            case WaitReason::Blocks:
                parts << tr("%1 waits for memory: it needs %2 free blocks at once, %3 are free.")
                             .arg(name, format_count(s.wait_blocks),
                                  format_count(snapshot_->free + snapshot_->cached_free));
                break;
            case WaitReason::Slots:
                parts << tr("%1 waits until another answer ends: as many run as may.").arg(name);
                break;
            case WaitReason::Behind:
                parts << tr("%1 waits behind %2.").arg(name, book_.quoted(s.wait_behind));
                break;
            case WaitReason::Arrived:
            case WaitReason::None: parts << tr("%1 waits for the next iteration.").arg(name); break;
        }
    }
    if (parts.isEmpty()) return tr("Nobody waits.");
    if (more > 0) parts << tr("And %1 more.").arg(format_count(more));
    return parts.join(u' ');
}

QString BatchPanel::last_step() const {
    const BatchFigures& f = model_.figures();
    if (f.tokens < 0) return {};
    QStringList parts;
    int more = 0;
    for (const BatchRow& row : model_.rows()) {
        if (row.runs.empty() || row.runs.back().last != f.iteration || row.runs.back().rows == 0) continue;
        if (parts.size() >= 2) {
            ++more;
            continue;
        }
        const BatchRun& run = row.runs.back();
        const QString name = book_.quoted(row.request);
        switch (run.work) {
            case BatchWork::Prefill:
                parts << (run.rows == 1
                              ? tr("one token of the prompt of %1").arg(name)
                              : tr("%1 tokens of the prompt of %2").arg(format_count(run.rows), name));
                break;
            case BatchWork::Speculative: parts << tr("proposed tokens of %1").arg(name); break;
            default: parts << tr("one token of %1").arg(name);
        }
    }
    if (parts.isEmpty()) return {};
    if (more > 0) parts << tr("and for %1 more").arg(format_count(more));
    QString text = tr("Iteration %1 computed %2.").arg(format_count(f.iteration), parts.join(tr(", ")));
    if (f.waiting > 0) text += u' ' + waits();
    return text;
}

QString BatchPanel::csv() const {
    static constexpr const char* names[] = {"prefill", "decode", "speculative", "waiting", "preempted"};
    QString out = QStringLiteral("sequence,session,work,first_iteration,last_iteration,tokens\n");
    for (const BatchRow& row : model_.rows())
        for (const BatchRun& run : row.runs)
            out += QStringLiteral("%1,%2,%3,%4,%5,%6\n")
                       .arg(row.sequence)
                       .arg(book_.session_of(row.request))
                       .arg(QLatin1String(names[static_cast<std::size_t>(run.work)]))
                       .arg(run.first)
                       .arg(run.last)
                       .arg(run.rows);
    return out;
}

}  // namespace vitrine::ui
