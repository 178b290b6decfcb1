#include "ui/panels/memory_panel.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <QVBoxLayout>

#include "ui/panels/figure_row.h"
#include "ui/panels/kv_calculator.h"
#include "ui/panels/memory_bar.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {

MemoryPanel::MemoryPanel(QWidget* parent)
    : Panel(tr("Memory"), parent),
      bar_(new MemoryBar(this)),
      figures_(new FigureRow(this)),
      calculator_(new KvCalculator(this)),
      refresh_(
          current_theme().metrics.figure_update_ms, [this] { refresh(); }, this) {
    body()->addWidget(bar_);
    body()->addWidget(figures_);
    body()->addWidget(calculator_);
    body()->addStretch(1);
    connect(calculator_, &KvCalculator::changed, this, &MemoryPanel::request_refresh);
    refresh();
}

void MemoryPanel::set_facts(const MemoryFacts& facts) {
    facts_ = facts;
    request_refresh();
}

void MemoryPanel::set_free(std::uint64_t bytes) {
    if (bytes == 0 || bytes == facts_.free) return;
    facts_.free = bytes;
    request_refresh();
}

void MemoryPanel::set_snapshot(std::shared_ptr<const KvSnapshot> snapshot) {
    snapshot_ = std::move(snapshot);
    if (!snapshot_) {
        facts_ = {};
        used_before_ = used_now_ = -1;
        iteration_ = -1;
    } else {
        if (snapshot_->iteration != iteration_) used_before_ = used_now_;
        iteration_ = snapshot_->iteration;
        used_now_ = snapshot_->used;
    }
    request_refresh();
}

void MemoryPanel::set_paused(bool paused) {
    paused_ = paused;
    request_refresh();
}

void MemoryPanel::request_refresh() {
    if (isVisible()) refresh_.request();
}

void MemoryPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    bring_up_to_date();
}

void MemoryPanel::hideEvent(QHideEvent* event) {
    refresh_.cancel();
    Panel::hideEvent(event);
}

void MemoryPanel::bring_up_to_date() {
    if (isVisible()) refresh_.run_now();
}

void MemoryPanel::refresh() {
    ++refreshes_;
    if (!facts_.valid()) {
        set_empty_text(
            tr("No model is loaded. Open one above: what its weights, its KV pool and its workspace "
               "take appears here, and what is left."));
        set_sentence({});
        set_subtitle({});
        setAccessibleDescription(empty_text());
        return;
    }
    set_empty_text({});
    calculator_->set_facts(facts_);
    const double used =
        snapshot_ && !snapshot_->blocks.empty()
            ? static_cast<double>(snapshot_->used) / static_cast<double>(snapshot_->blocks.size())
            : 0;
    std::vector<MemoryPart> parts{{tr("weights"), facts_.weights, 1.0, -1},
                                  {tr("KV pool"), facts_.kv, 0.66, used},
                                  {tr("workspace"), facts_.workspace, 0.42, -1}};
    if (facts_.draft > 0) parts.push_back({tr("draft"), facts_.draft, 0.24, -1});
    parts.push_back({tr("free"), facts_.free, 0, -1});
    bar_->set_parts(parts);
    const auto bytes = [](std::uint64_t n) { return n > 0 ? format_bytes(n) : no_value(); };
    std::vector<Figure> figures{
        {bytes(facts_.weights),
         tr("weights %1").arg(facts_.format),
         tr("The model's weights in memory, in the format they were loaded in."),
         {}},
        {bytes(facts_.kv),
         tr("KV pool"),
         tr("Reserved for keys and values when the model was loaded; %1 of it hold tokens now.")
             .arg(format_percent(used)),
         {}},
        {bytes(facts_.workspace),
         tr("workspace"),
         tr("Intermediate results of one iteration: it grows with the token budget."),
         {}},
        {bytes(facts_.draft),
         tr("draft"),
         tr("Weights, keys and values of the draft model. None is loaded where there is a dash."),
         {}},
        {bytes(facts_.free), tr("free"), tr("Free on this device now, as the system tells it."), {}}};
    figures_->set_figures(figures);
    const std::uint64_t all = facts_.weights + facts_.kv + facts_.workspace + facts_.draft + facts_.free;
    set_subtitle(facts_.free > 0 ? tr("%1 for Vitrine or free").arg(format_bytes(all)) : QString());
    const QString told = paused_ ? last_step() : QString();
    set_sentence(told.isEmpty() ? what_fits() : told);
    setAccessibleDescription(figures_->as_text() + ". " + calculator_->formula() + ". " + sentence());
}

QString MemoryPanel::what_fits() const {
    const KvShapeQuestion q = calculator_->question();
    const std::uint64_t total = q.total();
    if (total == 0) return {};
    if (facts_.free == 0) return tr("What is free on this device is not known.");
    const auto times = [](std::uint64_t room, std::uint64_t each) {
        return format_count(static_cast<std::int64_t>(room / each));
    };
    if (total <= facts_.free)
        return tr("Free memory holds %1 more caches of this size, %2 each.")
            .arg(times(facts_.free, total), format_bytes(total));
    const std::uint64_t token = q.bytes_per_token();
    return tr("A cache of this size does not fit beside what is loaded: it takes %1, and %2 are free. %3 "
              "tokens "
              "of it would.")
        .arg(format_bytes(total), format_bytes(facts_.free),
             times(facts_.free, std::max<std::uint64_t>(1, token)));
}

QString MemoryPanel::last_step() const {
    if (!snapshot_ || snapshot_->iteration <= 0) return {};
    const std::uint64_t block = snapshot_->block_bytes;
    const QString now = tr("%1 of %2 blocks hold tokens, %3.")
                            .arg(format_count(snapshot_->used),
                                 format_count(static_cast<std::int64_t>(snapshot_->blocks.size())),
                                 format_bytes(static_cast<std::uint64_t>(snapshot_->used) * block));
    const std::int32_t change = used_before_ < 0 ? 0 : used_now_ - used_before_;
    if (change == 0)
        return tr("Iteration %1 took no memory: pool, weights and workspace were reserved before. %2")
            .arg(format_count(snapshot_->iteration), now);
    const QString amount = format_bytes(static_cast<std::uint64_t>(std::abs(change)) * block);
    return (change > 0 ? tr("Iteration %1 put %2 of the pool to use. %3")
                       : tr("Iteration %1 gave %2 of the pool back. %3"))
        .arg(format_count(snapshot_->iteration), amount, now);
}

QString MemoryPanel::csv() const {
    QString out = QStringLiteral("part,bytes\n");
    const std::pair<const char*, std::uint64_t> rows[] = {
        {"weights", facts_.weights},
        {"kv_pool", facts_.kv},
        {"workspace", facts_.workspace},
        {"draft", facts_.draft},
        {"free", facts_.free},
        {"kv_pool_used",
         snapshot_ ? static_cast<std::uint64_t>(snapshot_->used) * snapshot_->block_bytes : 0}};
    for (const auto& [name, bytes] : rows)
        out += QStringLiteral("%1,%2\n").arg(QLatin1String(name)).arg(bytes);
    return out;
}

}  // namespace vitrine::ui
