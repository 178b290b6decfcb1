#include "ui/panels/kv_panel.h"

#include <utility>

#include <QRegularExpression>
#include <QVBoxLayout>

#include "ui/panels/block_table_view.h"
#include "ui/panels/figure_row.h"
#include "ui/panels/kv_grid_view.h"
#include "ui/plot/figure_format.h"

namespace vitrine::ui {
namespace {

constexpr int picture_ms = 33;

}  // namespace

KvPanel::KvPanel(SequenceColors* colors, QWidget* parent)
    : Panel(tr("KV blocks"), parent),
      colors_(colors),
      figures_(new FigureRow(this)),
      grid_(new KvGridView(&model_, colors, this)),
      table_(new BlockTableView(&model_, colors, this)),
      refresh_(
          picture_ms, [this] { refresh(); }, this),
      figure_refresh_(
          current_theme().metrics.figure_update_ms, [this] { refresh_figures(); }, this) {
    // The grid has two pixels around its tiles for their edges; the others start where its tiles do.
    body()->setContentsMargins(10, 6, 10, 10);
    for (QWidget* part : std::initializer_list<QWidget*>{figures_, grid_, table_}) {
        if (part == grid_) {
            body()->addWidget(grid_, 1);
            continue;
        }
        auto* inset = new QVBoxLayout;
        inset->setContentsMargins(2, 0, 2, 0);
        inset->addWidget(part);
        body()->addLayout(inset);
    }
    grid_->set_describe([this](std::int32_t first, std::int32_t end) { return describe(first, end); });
    connect(grid_, &KvGridView::block_clicked, this, [this](std::int32_t block) { click(block, -1); });
    connect(grid_, &KvGridView::tiles_changed, this, &KvPanel::show_subtitle);
    connect(grid_, &KvGridView::block_hovered, table_, &BlockTableView::set_hovered);
    const auto ask = [this](std::int32_t block) {
        if (block == text_block_) return;
        text_block_ = block;
        text_.clear();
        if (block >= 0) emit text_wanted(block);
    };
    connect(grid_, &KvGridView::block_hovered, this, ask);
    connect(table_, &BlockTableView::block_hovered, this, ask);
    connect(table_, &BlockTableView::block_clicked, this, &KvPanel::click);
    connect(table_, &BlockTableView::block_hovered, grid_, &KvGridView::set_hovered);
    refresh();
    refresh_figures();
}

void KvPanel::set_snapshot(std::shared_ptr<const KvSnapshot> snapshot) {
    latest_ = std::move(snapshot);
    if (!isVisible()) return;
    refresh_.request();
    figure_refresh_.request();
}

void KvPanel::append(const std::vector<Record>& records) {
    if (!isVisible()) return;
    for (const Record& record : records)
        if (record.kind == RecordKind::Block) grid_->note(record.block.block, record.block.event);
}

void KvPanel::set_block_text(int block, qint64 iteration, const QString& text) {
    if (block != text_block_) return;  // the pointer has moved on
    text_iteration_ = iteration;
    text_ = text;
    text_.replace(u'\n', QChar(0x21B5));
}

void KvPanel::set_request_session(qint64 request, qint64 session) {
    model_.remember(request, key_of(session, request));
}

void KvPanel::set_selected(qint64 session) {
    if (session == selected_) return;
    selected_ = session;
    shown_ = no_sequence;
    if (isVisible()) show_table();
}

void KvPanel::set_names(const QHash<qint64, QString>& names) {
    if (names == names_) return;
    names_ = names;
    if (isVisible()) show_table();
}

void KvPanel::set_paused(bool paused) {
    if (paused == paused_) return;
    paused_ = paused;
    if (isVisible()) refresh_.request();
}

void KvPanel::highlight_block(int block) {
    grid_->set_highlight(block);
    table_->set_highlight(block);
}

void KvPanel::showEvent(QShowEvent* event) {
    Panel::showEvent(event);
    bring_up_to_date();
}

void KvPanel::bring_up_to_date() {
    if (!isVisible()) return;
    refresh_.run_now();
    figure_refresh_.run_now();
}

void KvPanel::hideEvent(QHideEvent* event) {
    refresh_.cancel();
    figure_refresh_.cancel();
    Panel::hideEvent(event);
}

void KvPanel::refresh() {
    ++refreshes_;
    // A flash says "just now": what happened while nobody looked is no news.
    const bool flash = isVisible() && model_.snapshot() != nullptr && latest_ != nullptr &&
                       latest_->iteration >= model_.snapshot()->iteration;
    model_.set(latest_);
    // What the block under the pointer holds may have changed.
    if (text_block_ >= 0 && latest_ != nullptr && latest_->iteration != text_iteration_)
        emit text_wanted(text_block_);
    QSet<qint64> live;
    for (const SequenceKey key : model_.live()) live.insert(key);
    colors_->set_live(live);
    for (const SequenceKey key : model_.live()) colors_->index_of(key);
    grid_->model_changed(flash);
    show_table();

    if (model_.empty()) {
        set_empty_text(
            tr("No model is loaded. Open one above: the blocks that hold its memory of each chat appear "
               "here, one square a block."));
        set_sentence({});
        show_subtitle();
        return;
    }
    set_empty_text({});
    const KvSnapshot& s = *model_.snapshot();
    show_subtitle();
    if (paused_ && !s.last_step.empty()) {
        set_sentence(told(s.last_step));
    } else if (!s.last_change.empty()) {
        set_sentence(told(s.last_change));
    } else if (s.used > 0) {
        set_sentence(tr("Iteration %1.").arg(format_count(s.iteration)));
    } else {
        set_sentence(
            tr("Nothing is remembered yet. Write a message: every %1 tokens take one of these blocks.")
                .arg(format_count(s.block_size)));
    }
}

void KvPanel::show_subtitle() {
    if (model_.empty()) return set_subtitle({});
    const KvSnapshot& s = *model_.snapshot();
    const auto count = static_cast<std::uint64_t>(s.blocks.size());
    QString what = tr("%1 blocks of %2 tokens")
                       .arg(format_count(static_cast<std::int64_t>(count)), format_count(s.block_size));
    const std::int32_t merged = grid_->layout_of_tiles().blocks_per_tile();
    if (grid_->zoomed())
        what = tr("blocks %1 to %2 of %3")
                   .arg(format_count(grid_->first_shown()),
                        format_count(grid_->first_shown() + grid_->shown() - 1),
                        format_count(static_cast<std::int64_t>(count)));
    if (merged > 1) what += tr(", %1 a square").arg(format_count(merged));
    set_subtitle(what + QStringLiteral(" · ") + format_bytes(count * s.block_bytes));
}

void KvPanel::refresh_figures() {
    ++refreshes_;
    const KvFigures& f = model_.figures();
    const KvSnapshot* s = model_.snapshot().get();
    const auto count = [s](std::int32_t n) { return s != nullptr ? format_count(n) : no_value(); };
    figures_->set_figures({
        {count(f.used), tr("used"), tr("Blocks that at least one sequence refers to."), {}},
        {count(s != nullptr ? s->free : 0),
         tr("free"),
         tr("Blocks that hold nothing anybody could use again."),
         {}},
        {count(f.cached_free),
         tr("cached, free"),
         tr("Free blocks that still hold known tokens: a prompt that begins with them need not compute them "
            "again."),
         {}},
        {count(f.shared), tr("shared"), tr("Blocks with more than one reference, counted once."), {}},
        {format_percent(f.wasted),
         tr("wasted"),
         tr("Places in used blocks that hold no token: the last block of a sequence is rarely full."),
         {}},
        {format_times(f.times_less),
         s != nullptr ? tr("less than reserving %1").arg(format_count(s->context))
                      : tr("less than reserving"),
         s != nullptr && f.sequences > 0 && s->block_size > 0
             ? tr("A contiguous reservation would have taken %1 for the %2 sequences that hold blocks: a "
                  "full "
                  "context each. Paging uses %3.")
                   .arg(format_bytes(
                            static_cast<std::uint64_t>(f.sequences) * s->block_bytes *
                            static_cast<std::uint64_t>((s->context + s->block_size - 1) / s->block_size)),
                        format_count(f.sequences),
                        format_bytes(static_cast<std::uint64_t>(f.used) * s->block_bytes))
             : tr("Blocks of a full context for each sequence that holds any, divided by the used blocks."),
         {}},
    });
    setAccessibleDescription(model_.empty() ? empty_text() : figures_->as_text() + ". " + sentence());
}

// The engine speaks of "sequence 5"; the reader knows the chat by its title.
QString KvPanel::told(const std::string& change) const {
    const QString text = QString::fromUtf8(change.data(), static_cast<qsizetype>(change.size()));
    static const QRegularExpression sequence(QStringLiteral("\\b[Ss]equence (\\d{1,18})\\b"));
    QString out;
    qsizetype done = 0;
    for (auto it = sequence.globalMatch(text); it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        const QString name = names_.value(model_.key_of_request(match.captured(1).toLongLong()));
        if (name.isEmpty()) continue;
        out += QStringView(text).mid(done, match.capturedStart() - done);
        out += "“" + (name.size() > 32 ? name.left(31) + "…" : name) + "”";
        done = match.capturedEnd();
    }
    return out.append(QStringView(text).mid(done));
}

void KvPanel::show_table() {
    if (shown_ != no_sequence && model_.sequence_of(shown_) == nullptr) shown_ = no_sequence;
    const SequenceKey key = shown_ != no_sequence ? shown_ : selected_ == 0 ? no_sequence : selected_;
    table_->show_sequence(key, name_of_sequence(key));
}

QString KvPanel::name_of_sequence(SequenceKey key) const {
    if (const auto it = names_.constFind(key); it != names_.constEnd() && !it->isEmpty()) return *it;
    return key < 0 ? tr("request %1").arg(-1 - key) : tr("chat %1").arg(key);
}

void KvPanel::click(std::int32_t block, std::int32_t logical_in_table) {
    if (block < 0 || block >= model_.block_count()) return;
    highlight_block(block);
    const KvBlock& b = model_.block(block);
    qint64 session = b.owner == no_sequence ? 0 : b.owner;
    std::int32_t logical = b.logical;
    // A shared block belongs to the selected chat first: its tokens are the ones on screen.
    if (logical_in_table >= 0) {
        session = shown_ != no_sequence ? shown_ : selected_;
        logical = logical_in_table;
    } else if (b.references > 1) {
        for (const KvModel::Place& place : model_.places(block)) {
            if (place.key != selected_) continue;
            session = place.key;
            logical = place.logical;
        }
    }
    // The table beside it is that of the block's sequence.
    if (logical_in_table < 0 && session != 0 && model_.sequence_of(session) != nullptr) {
        shown_ = session == selected_ ? no_sequence : session;
        show_table();
    }
    grid_->setAccessibleDescription(describe(block, block + 1));
    emit block_clicked(block, session, logical);
}

QString KvPanel::describe(std::int32_t first, std::int32_t end) const {
    const KvSnapshot* s = model_.snapshot().get();
    if (s == nullptr || first < 0 || end > model_.block_count() || first >= end) return {};
    if (end - first > 1) {
        std::int32_t used = 0;
        std::int32_t cached = 0;
        for (std::int32_t i = first; i < end; ++i) {
            used += model_.block(i).state == BlockState::Used ? 1 : 0;
            cached += model_.block(i).state == BlockState::CachedFree ? 1 : 0;
        }
        return tr("Blocks %1 to %2\n%3 used, %4 cached, %5 free")
            .arg(format_count(first), format_count(end - 1), format_count(used), format_count(cached),
                 format_count(end - first - used - cached));
    }
    const KvBlock& block = model_.block(first);
    QStringList lines{tr("Block %1").arg(format_count(first))};
    switch (block.state) {
        case BlockState::Free: lines << tr("Free"); return lines.join('\n');
        case BlockState::CachedFree:
            lines << (block.owner == no_sequence
                          ? tr("Free, still holds known tokens")
                          : tr("Free, still holds tokens of “%1”").arg(name_of_sequence(block.owner)));
            break;
        case BlockState::Used:
            for (const KvModel::Place& place : model_.places(first)) {
                if (lines.size() > 6) {
                    lines << tr("and more");
                    break;
                }
                lines << tr("“%1”, logical block %2")
                             .arg(name_of_sequence(place.key), format_count(place.logical));
            }
            lines << (block.references == 1 ? tr("1 reference")
                                            : tr("%1 references").arg(format_count(block.references)));
            break;
    }
    lines << tr("%1 of %2 tokens").arg(format_count(block.fill), format_count(s->block_size));
    if (block.written) lines << tr("Being written");
    if (first == text_block_ && !text_.isEmpty()) lines << QStringLiteral("“%1”").arg(text_);
    return lines.join('\n');
}

QString KvPanel::csv() const {
    static constexpr const char* states[] = {"free", "cached", "used"};
    QString out = QStringLiteral("block,state,references,tokens,session,logical\n");
    for (std::int32_t i = 0; i < model_.block_count(); ++i) {
        const KvBlock& b = model_.block(i);
        const QString session = b.owner == no_sequence ? QString() : QString::number(b.owner);
        const QString logical = b.logical < 0 ? QString() : QString::number(b.logical);
        out += QStringLiteral("%1,%2,%3,%4,%5,%6\n")
                   .arg(i)
                   .arg(QLatin1String(states[static_cast<std::size_t>(b.state)]))
                   .arg(b.references)
                   .arg(b.fill)
                   .arg(session, logical);
    }
    return out;
}

}  // namespace vitrine::ui
