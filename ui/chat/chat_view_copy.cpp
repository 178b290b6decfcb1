// ChatView: the selection, and what is copied.
#include <algorithm>

#include <QApplication>
#include <QClipboard>

#include "ui/chat/chat_rows.h"
#include "ui/chat/chat_view.h"

namespace vitrine::ui {
namespace {

// Markers and the depth of lists, as they are read.
QString lead_of(const Paragraph& p) {
    if (p.marker.isEmpty()) return {};
    return QString(2 * std::max(0, p.depth - 1), u' ') + p.marker + u' ';
}

}  // namespace

std::pair<TextPlace, TextPlace> ChatView::selection() const {
    return std::minmax(selection_from_, selection_to_);
}

bool ChatView::has_selection() const { return selection_from_.row >= 0 && selection_from_ != selection_to_; }

QString ChatView::selected_text() const {
    QString out;
    if (!has_selection()) return out;
    const auto [from, to] = selection();
    bool first = true;
    for (int r = from.row; r <= to.row && r < static_cast<int>(rows_.size()); ++r) {
        const auto& paragraphs = rows_[static_cast<std::size_t>(r)]->text.paragraphs();
        bool first_of_row = true, gap = false;
        for (int i = r == from.row ? from.paragraph : 0; i < static_cast<int>(paragraphs.size()); ++i) {
            if (r == to.row && i > to.paragraph) break;
            const Paragraph& p = paragraphs[static_cast<std::size_t>(i)];
            gap = gap || p.gap;
            if (p.hidden || (!p.has_text() && p.kind != LineKind::Rule)) continue;
            const int begin = r == from.row && i == from.paragraph ? from.offset : 0;
            const int end = r == to.row && i == to.paragraph ? to.offset : static_cast<int>(p.text.size());
            if (!first && !p.continues)
                out += first_of_row || gap ? QStringLiteral("\n\n") : QStringLiteral("\n");
            if (begin == 0) out += lead_of(p);
            out += without_isolates(p, begin, end);
            first = first_of_row = gap = false;
        }
    }
    return out;
}

QString ChatView::selected_markdown() const {
    QString out;
    if (!has_selection() || !model_) return out;
    const auto [from, to] = selection();
    for (int r = from.row; r <= to.row && r < static_cast<int>(rows_.size()); ++r) {
        const MessageText& text = rows_[static_cast<std::size_t>(r)]->text;
        const auto& paragraphs = text.paragraphs();
        if (paragraphs.empty()) continue;
        const QString& source = model_->message(r).text;
        const auto last = static_cast<int>(paragraphs.size()) - 1;
        qsizetype begin = 0, end = source.size();
        if (r == from.row) {
            const auto i = static_cast<std::size_t>(std::clamp(from.paragraph, 0, last));
            // From the beginning of a line, its marks belong to it.
            begin = from.offset == 0 ? paragraphs[i].source_begin : text.source_of(i, from.offset);
        }
        if (r == to.row) {
            const auto i = static_cast<std::size_t>(std::clamp(to.paragraph, 0, last));
            const Paragraph& p = paragraphs[i];
            end = to.offset >= p.text.size() ? p.source_end : text.source_of(i, to.offset);
            // All of the last line of a code block: its closing fence as well.
            const bool closes = p.kind == LineKind::Code && to.offset >= p.text.size() &&
                                (i + 1 == paragraphs.size() || paragraphs[i + 1].kind != LineKind::Code);
            if (closes && begin <= paragraphs[i].source_begin) {
                const qsizetype next = source.indexOf(u'\n', end);
                const qsizetype after = next < 0 ? -1 : source.indexOf(u'\n', next + 1);
                const QString fence =
                    next < 0 ? QString()
                             : source.mid(next + 1, (after < 0 ? source.size() : after) - next - 1);
                if (fence.trimmed().startsWith(u"```") || fence.trimmed().startsWith(u"~~~"))
                    end = next + 1 + fence.size();
            }
        }
        if (!out.isEmpty()) out += QStringLiteral("\n\n");
        if (end > begin) out += source.mid(begin, end - begin);
    }
    return out;
}

void ChatView::select_all() {
    if (rows_.empty()) return;
    selection_from_ = {0, 0, 0};
    const auto last = static_cast<int>(rows_.size()) - 1;
    const auto& paragraphs = rows_.back()->text.paragraphs();
    selection_to_ = paragraphs.empty() ? TextPlace{last, 0, 0}
                                       : TextPlace{last, static_cast<int>(paragraphs.size()) - 1,
                                                   static_cast<int>(paragraphs.back().text.size())};
    viewport()->update();
}

void ChatView::copy_selection() {
    if (has_selection()) QApplication::clipboard()->setText(selected_text());
}

void ChatView::copy_message(qint64 id) {
    if (model_ && model_->conversation().contains(id))
        QApplication::clipboard()->setText(model_->conversation().at(id).text);
}

void ChatView::copy_message_text(qint64 id) {
    const int r = row_of(id);
    if (r < 0) return;
    QString out;
    bool gap = false;  // of what is left out as well: the head of a code block
    for (const Paragraph& p : rows_[static_cast<std::size_t>(r)]->text.paragraphs()) {
        gap = gap || p.gap;
        if (p.thought >= 0 || !p.has_text()) continue;  // the answer, without what was thought
        if (!out.isEmpty() && !p.continues) out += gap ? QStringLiteral("\n\n") : QStringLiteral("\n");
        gap = false;
        out += lead_of(p) + without_isolates(p, 0, p.text.size());
    }
    QApplication::clipboard()->setText(out);
}

}  // namespace vitrine::ui
