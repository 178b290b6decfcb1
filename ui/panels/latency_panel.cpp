#include "ui/panels/latency_panel.h"

#include <algorithm>
#include <cmath>

#include <QSet>
#include <QVBoxLayout>

#include "ui/panels/figure_row.h"
#include "ui/panels/latency_plot.h"
#include "ui/panels/phase_strip.h"

namespace vitrine::ui {
namespace {

constexpr int picture_ms = 66;  // the whole plot moves with each token: 15 pictures a second are enough

}  // namespace

LatencyPanel::LatencyPanel(SequenceColors* colors, QWidget* parent)
    : Panel(tr("Latency"), parent),
      colors_(colors),
      figures_(new FigureRow(this)),
      plot_(new LatencyPlot(
          &model_, colors, [this](std::int64_t request) { return key_of_request(request); }, this)),
      phases_(new PhaseStrip(&model_, plot_, this)),
      refresh_(
          picture_ms, [this] { refresh(); }, this),
      figure_refresh_(
          current_theme().metrics.figure_update_ms, [this] { refresh_figures(); }, this) {
    body()->addWidget(figures_);
    body()->addWidget(plot_, 1);
    body()->addWidget(phases_);
    plot_->set_describe([this](const LatencyPoint& point) { return describe(point); });
    connect(plot_, &LatencyPlot::point_clicked, this, [this](qint64 request, int index) {
        emit token_clicked(request, session_of_request_.value(request, 0), index);
    });
    refresh_figures();
    refresh();
}

void LatencyPanel::append(const std::vector<Record>& records) {
    bool shown = false;
    for (const Record& record : records) {
        model_.append(record);
        shown = shown || record.kind == RecordKind::Token || record.kind == RecordKind::Request ||
                (paused_ && record.kind == RecordKind::Iteration);
    }
    if (shown) request_refresh();
}

void LatencyPanel::request_refresh() {
    if (!isVisible()) return;
    figure_refresh_.request();
    refresh_.request();
}

void LatencyPanel::set_request_session(qint64 request, qint64 session) {
    if (session_of_request_.value(request, 0) == session) return;
    session_of_request_.insert(request, session);
    if (session_of_request_.size() > 4096) forget_old_requests();
    request_refresh();
}

void LatencyPanel::forget_old_requests() {
    QSet<qint64> present;
    for (std::size_t i = 0; i < model_.points().size(); ++i) present.insert(model_.points()[i].request);
    for (std::size_t i = 0; i < model_.marks().size(); ++i) present.insert(model_.marks()[i].request);
    qint64 newest = 0;
    for (auto it = session_of_request_.cbegin(); it != session_of_request_.cend(); ++it) {
        newest = std::max(newest, it.key());
    }
    // The newest have perhaps no record yet.
    session_of_request_.removeIf(
        [&](const auto& it) { return it.key() < newest - 1024 && !present.contains(it.key()); });
}

void LatencyPanel::set_selected(qint64 session) {
    if (session == selected_) return;
    selected_ = session;
    if (isVisible()) figure_refresh_.request();
}

void LatencyPanel::set_names(const QHash<qint64, QString>& names) { names_ = names; }

void LatencyPanel::set_bandwidth(double weights_gb_s, double read_gb_s) {
    weights_gb_s_ = weights_gb_s;
    read_gb_s_ = read_gb_s;
    if (isVisible()) figure_refresh_.request();
}

void LatencyPanel::set_paused(bool paused) {
    paused_ = paused;
    model_.set_standing(paused);
    request_refresh();
}

void LatencyPanel::note_format(const QString& label) {
    model_.note_format(label.toStdString());
    request_refresh();
}

void LatencyPanel::clear() {
    model_.clear();
    session_of_request_.clear();
    typical_ = unknown;
    request_refresh();
}

void LatencyPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    bring_up_to_date();
}

void LatencyPanel::bring_up_to_date() {
    if (!isVisible()) return;
    figure_refresh_.run_now();
    refresh_.run_now();
}

void LatencyPanel::hideEvent(QHideEvent* event) {
    refresh_.cancel();
    figure_refresh_.cancel();
    Panel::hideEvent(event);
}

void LatencyPanel::refresh() {
    ++refreshes_;
    if (model_.empty()) {
        set_empty_text(tr(
            "No token yet. Write a message: every token of the answer becomes a point here, as high as the "
            "milliseconds it took."));
        set_subtitle({});
        set_sentence({});
        return;
    }
    set_empty_text({});
    plot_->model_changed(typical_);
    phases_->model_changed();
    set_subtitle(tr("per token, ms · last %1 s")
                     .arg(format_count(static_cast<std::int64_t>(plot_->window_seconds()))));
}

void LatencyPanel::refresh_figures() {
    ++refreshes_;
    const Percentiles p = model_.percentiles();
    typical_ = p.p50;
    const double speed = selected_ == 0 ? unknown : model_.tokens_per_second([this](std::int64_t request) {
        return session_of_request_.value(request, 0) == selected_;
    });
    const double share = weights_gb_s_ > 0 && read_gb_s_ > 0 ? weights_gb_s_ / read_gb_s_ : unknown;
    const QString of_what =
        tr("%1 % of the last %2 times between two tokens of one request, all requests "
           "together, are at most this (nearest rank).");
    const auto percentile = [&](int percent) {
        return of_what.arg(QString::number(percent), format_count(static_cast<std::int64_t>(p.count)));
    };
    figures_->set_figures({
        {format_duration(p.p50), tr("p50"), percentile(50), {}},
        {format_duration(p.p95), tr("p95"), percentile(95), {}},
        {format_duration(p.p99), tr("p99"), percentile(99), {}},
        {format_significant(speed),
         tr("tok/s, this chat"),
         tr("Tokens a second of the selected chat's newest answer, over its last 64 tokens at most: what its "
            "reader gets."),
         {}},
        {format_significant(model_.all_tokens_per_second()),
         tr("tok/s, all"),
         tr("Tokens a second of all answers together, over the last two seconds of work: what the machine "
            "gives."),
         {}},
        {format_figure(weights_gb_s_ > 0 ? weights_gb_s_ : unknown, QStringLiteral("GB/s")),
         share > 0 ? tr("%1 of bandwidth").arg(format_percent(share)) : tr("of bandwidth"),
         share > 0
             ? tr("%1 of weights read by the engine in decoding iterations, of %2 that this machine was "
                  "measured to read.")
                   .arg(format_figure(weights_gb_s_, QStringLiteral("GB/s")),
                        format_figure(read_gb_s_, QStringLiteral("GB/s")))
             : tr("Weights read a second, and their share of what this machine can read. Not measured yet."),
         {}},
    });
    const QString told = paused_ ? last_step() : QString();
    set_sentence(model_.empty() ? QString() : told.isEmpty() ? outlier_sentence() : told);
    setAccessibleDescription(model_.empty() ? empty_text() : figures_->as_text() + ". " + sentence());
}

QString LatencyPanel::outlier_sentence() const {
    const auto found = model_.last_outlier();
    if (!found) return tr("No token took twice the median or longer.");
    const QString what = tr("Token %1 of %2 took %3 in place of %4: ")
                             .arg(format_count(found->point.index + 1), name_of_request(found->point.request),
                                  format_duration(found->point.interval), format_duration(found->usual));
    switch (found->cause) {
        case Cause::Prompt:
            return what + tr("its iteration computed %1 tokens of the prompt of %2 as well.")
                              .arg(format_count(found->rows), name_of_request(found->other));
        case Cause::Preempted:
            return what + tr("memory ran out, its blocks were given away and it was computed again.");
        case Cause::Idle:
            return what + tr("the engine was busy with something else for %1 before it, such as reading a "
                             "message.")
                              .arg(format_duration(found->seconds));
        case Cause::Phase:
            return what + tr("“%1” took %2, mostly it takes %3; something else used the processor or the "
                             "memory.")
                              .arg(PhaseStrip::name_of(found->phase), format_duration(found->seconds),
                                   format_duration(found->usual_seconds));
        case Cause::Evicted:
            return what + tr("%1 blocks had to be taken from the cache.").arg(format_count(found->rows));
        case Cause::Unknown: break;
    }
    return what + tr("the records do not tell why.");
}

QString LatencyPanel::last_step() const {
    const auto& its = model_.iterations();
    if (its.size() == 0) return {};
    const IterationPoint& it = its[its.size() - 1];
    std::vector<std::pair<float, Phase>> parts;
    for (std::size_t p = 0; p < phase_count; ++p)
        if (it.seconds[p] > 0) parts.emplace_back(it.seconds[p], static_cast<Phase>(p));
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    QStringList shares;
    for (std::size_t i = 0; i < parts.size() && i < 3; ++i)
        shares << PhaseStrip::name_of(parts[i].second) + u' ' +
                      format_count(std::llround(100.0 * parts[i].first / std::max(1e-9F, it.duration()))) +
                      QStringLiteral(" %");
    const QString rows = it.rows == 1 ? tr("one token") : tr("%1 tokens").arg(format_count(it.rows));
    return tr("Iteration %1 computed %2 in %3: %4.")
        .arg(format_count(it.index), rows, format_duration(it.duration()), shares.join(QStringLiteral(", ")));
}

SequenceKey LatencyPanel::key_of_request(std::int64_t request) const {
    return key_of(session_of_request_.value(request, 0), request);
}

QString LatencyPanel::name_of_request(std::int64_t request) const {
    const qint64 session = session_of_request_.value(request, 0);
    const QString name = names_.value(session);
    if (!name.isEmpty()) return QStringLiteral("“%1”").arg(name);
    return session != 0 ? tr("chat %1").arg(session) : tr("request %1").arg(request);
}

QString LatencyPanel::describe(const LatencyPoint& point) const {
    return tr("Token %1 of %2\n%3 after the one before\nIteration %4")
        .arg(format_count(point.index + 1), name_of_request(point.request), format_duration(point.interval),
             format_count(point.iteration));
}

QString LatencyPanel::csv() const {
    QString out = QStringLiteral("request,session,token,iteration,busy_seconds,milliseconds\n");
    const auto& points = model_.points();
    for (std::size_t i = 0; i < points.size(); ++i) {
        const LatencyPoint& p = points[i];
        // QString::number knows no locale.
        out += QStringLiteral("%1,%2,%3,%4,%5,%6\n")
                   .arg(p.request)
                   .arg(session_of_request_.value(p.request, 0))
                   .arg(p.index)
                   .arg(p.iteration)
                   .arg(QString::number(p.at, 'f', 6), QString::number(p.interval * 1e3, 'f', 4));
    }
    return out;
}

}  // namespace vitrine::ui
