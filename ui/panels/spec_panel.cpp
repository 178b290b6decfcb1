#include "ui/panels/spec_panel.h"

#include <cmath>

#include <QVBoxLayout>

#include "ui/panels/figure_row.h"
#include "ui/panels/spec_picture.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

constexpr int picture_ms = 66;
// Within two parts of a hundred of plain decoding neither is said to be faster.
constexpr double about_equal = 0.02;

}  // namespace

SpecPanel::SpecPanel(QWidget* parent)
    : Panel(tr("Speculation"), parent),
      figures_(new FigureRow(this)),
      picture_(new SpecPicture(&model_, &book_, this)),
      refresh_(
          picture_ms, [this] { refresh(); }, this),
      figure_refresh_(
          current_theme().metrics.figure_update_ms, [this] { refresh_figures(); }, this) {
    body()->addWidget(figures_);
    body()->addWidget(picture_, 1);
    connect(picture_, &SpecPicture::step_clicked, this, [this](qint64 request, int index) {
        emit token_clicked(request, book_.session_of(request), index);
    });
    refresh();
    refresh_figures();
}

void SpecPanel::append(const std::vector<Record>& records) {
    const std::size_t before = model_.steps().size();
    bool shown = false;
    for (const Record& record : records) {
        model_.append(record);
        shown = shown || record.kind == RecordKind::Speculation;
    }
    if (shown || before != model_.steps().size() || paused_) request_refresh();
}

void SpecPanel::set_request_session(qint64 request, qint64 session) { book_.insert(request, session); }
void SpecPanel::set_names(const QHash<qint64, QString>& names) { book_.set_names(names); }

void SpecPanel::set_paused(bool paused) {
    paused_ = paused;
    request_refresh();
}

void SpecPanel::clear() {
    model_.clear();
    book_.clear();
    request_refresh();
}

void SpecPanel::request_refresh() {
    if (!isVisible()) return;
    refresh_.request();
    figure_refresh_.request();
}

void SpecPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    bring_up_to_date();
}

void SpecPanel::hideEvent(QHideEvent* event) {
    refresh_.cancel();
    figure_refresh_.cancel();
    Panel::hideEvent(event);
}

void SpecPanel::bring_up_to_date() {
    if (!isVisible()) return;
    refresh_.run_now();
    figure_refresh_.run_now();
}

void SpecPanel::refresh() {
    ++refreshes_;
    if (model_.empty()) {
        set_empty_text(
            tr("Speculation is off. With a drafter, a small model or the text so far proposes the "
               "next tokens, and the model checks several of them in one pass: every such step "
               "becomes a column here."));
        set_subtitle({});
        set_sentence({});
        return;
    }
    set_empty_text({});
    picture_->model_changed(model_.figures());
    const SpecStep& newest = model_.steps()[model_.steps().size() - 1];
    set_subtitle(newest.drafter == DrafterKind::Model
                     ? tr("draft model, %1 proposed").arg(format_count(newest.proposed))
                     : tr("prompt lookup, %1 proposed").arg(format_count(newest.proposed)));
}

void SpecPanel::refresh_figures() {
    ++refreshes_;
    const SpecFigures f = model_.figures();
    const bool known = f.steps >= SpecModel::fewest && std::isfinite(f.speed_up);
    const Theme& theme = current_theme();
    const QColor ink = !known                         ? QColor()
                       : f.speed_up < 1 - about_equal ? theme.bad
                       : f.speed_up > 1 + about_equal ? theme.good
                                                      : QColor();
    figures_->set_figures({
        {format_significant(f.acceptance, 2),
         tr("acceptance, last %1").arg(format_count(static_cast<std::int64_t>(f.steps == 0 ? 64 : f.steps))),
         tr("Accepted proposals, of those that were read: behind the first refused one nothing is read."),
         {}},
        {format_significant(f.tokens_a_step),
         tr("tokens a step"),
         tr("Accepted tokens and the model's own one, in one pass of the model. Plain decoding gives 1."),
         {}},
        {known ? format_times(f.speed_up) : no_value(), tr("against plain"),
         tr("Tokens a second of these steps, divided by those of the engine's iterations of as many "
            "sequences "
            "without drafts, measured on this machine."),
         ink},
        {std::isfinite(f.break_even) ? format_significant(f.break_even, 2) : no_value(),
         tr("break-even here"),
         tr("The acceptance at which a step gives as much as it costs: an iteration with %1 proposed tokens "
            "takes %2 times as long as a plain one.")
             .arg(format_significant(f.length, 2), format_significant(f.cost)),
         {}},
    });
    const QString told = paused_ && !model_.empty() ? last_step() : QString();
    set_sentence(model_.empty() ? QString() : told.isEmpty() ? verdict(f) : told);
    setAccessibleDescription(model_.empty() ? empty_text()
                                            : figures_->as_text() + ". " + picture_->accessibleDescription() +
                                                  ". " + sentence());
}

QString SpecPanel::verdict(const SpecFigures& f) const {
    if (!std::isfinite(f.speed_up))
        return tr(
            "How long a plain iteration takes was not measured yet, so there is nothing to compare with.");
    if (f.steps < SpecModel::fewest)
        return tr("After %1 steps there will be a verdict.")
            .arg(format_count(static_cast<std::int64_t>(SpecModel::fewest)));
    const QString figures = tr("A step gives %1 tokens and takes as long as %2 plain ones.")
                                .arg(format_significant(f.tokens_a_step), format_significant(f.cost));
    if (f.speed_up < 1 - about_equal) {
        const double all = f.times.all();
        const double share = all > 0 ? f.times.draft / all : 0;
        const QString why = share > 0.4
                                ? tr("Drafting alone takes %1 of the time.").arg(format_percent(share))
                                : tr("Too few proposals are accepted for what checking them costs here.");
        return tr("Speculation costs more than it gives: %1 the speed of plain decoding.")
                   .arg(format_times(f.speed_up)) +
               u' ' + figures + u' ' + why;
    }
    if (f.speed_up <= 1 + about_equal) return tr("It makes no difference here.") + u' ' + figures;
    return figures;
}

QString SpecPanel::last_step() const {
    const SpecStep& step = model_.steps()[model_.steps().size() - 1];
    QString text = step.proposed == 1 ? tr("Iteration %1: one token was proposed for %2")
                                            .arg(format_count(step.iteration), book_.quoted(step.sequence))
                                      : tr("Iteration %1: %3 tokens were proposed for %2")
                                            .arg(format_count(step.iteration), book_.quoted(step.sequence),
                                                 format_count(step.proposed));
    text += step.accepted == step.proposed ? tr(", all accepted")
                                           : tr(", %1 accepted").arg(format_count(step.accepted));
    if (step.end == DraftEnd::Corrected)
        text += tr("; number %1 was refused, and the model's own token stands in its place")
                    .arg(format_count(step.accepted + 1));
    if (step.end == DraftEnd::Bonus) text += tr("; the model's own token follows as a bonus");
    if (step.end == DraftEnd::Ended) text += tr("; the answer ended there");
    return text + tr(". Tokens in one pass: %1.").arg(format_count(step.tokens()));
}

QString SpecPanel::csv() const {
    static constexpr const char* ends[] = {"corrected", "bonus", "ended", "failed"};
    QString out = QStringLiteral("sequence,session,iteration,token,drafter,proposed,accepted,end\n");
    const auto& steps = model_.steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const SpecStep& s = steps[i];
        out += QStringLiteral("%1,%2,%3,%4,%5,%6,%7,%8\n")
                   .arg(s.sequence)
                   .arg(book_.session_of(s.sequence))
                   .arg(s.iteration)
                   .arg(s.index)
                   .arg(s.drafter == DrafterKind::Model ? QStringLiteral("model") : QStringLiteral("lookup"))
                   .arg(s.proposed)
                   .arg(s.accepted)
                   .arg(QLatin1String(ends[static_cast<std::size_t>(s.end)]));
    }
    return out;
}

}  // namespace vitrine::ui
