// ChatView: search in what is shown. Matches are kept in the order of the conversation; a reply that grows is
// searched only where it has grown.
#include <algorithm>

#include <QStringMatcher>

#include "ui/chat/chat_rows.h"
#include "ui/chat/chat_view.h"

namespace vitrine::ui {

void ChatView::find(const QString& text) {
    if (text == needle_) return;
    // The search goes on from what was found last, or from the top of what is seen.
    const Match before = current_match_ >= 0 ? matches_[static_cast<std::size_t>(current_match_)] : Match{};
    const bool had = current_match_ >= 0;
    needle_ = text;
    search_all();
    if (!matches_.empty()) {
        Match from = before;
        if (!had && !rows_.empty()) {
            const std::size_t r = row_at(offset());
            from = {static_cast<int>(r), 0, 0, 0};
            if (!rows_[r]->text.paragraphs().empty())
                from.paragraph = static_cast<int>(rows_[r]->text.at(offset() - text_top(*rows_[r])));
        }
        const auto place = [](const Match& m) { return std::tuple(m.row, m.paragraph, m.begin); };
        const auto next =
            std::lower_bound(matches_.begin(), matches_.end(), from,
                             [&](const Match& a, const Match& b) { return place(a) < place(b); });
        current_match_ = next == matches_.end() ? 0 : static_cast<int>(next - matches_.begin());
        show_match();
    }
    emit matches_changed();
}

void ChatView::search_all() {
    const int kept = current_match_;
    matches_.clear();
    current_match_ = -1;
    if (!needle_.isEmpty())
        for (int r = 0; r < static_cast<int>(rows_.size()); ++r) search_row(r, 0);
    if (kept >= 0 && !matches_.empty()) current_match_ = std::min(kept, match_count() - 1);
    viewport()->update();
    emit matches_changed();
}

void ChatView::search_row(int row, std::size_t from) {
    // What was known of this part of the row, and a place to put what is known now.
    const auto less = [](const Match& m, const std::pair<int, int>& place) {
        return std::pair(m.row, m.paragraph) < place;
    };
    const auto first =
        std::lower_bound(matches_.begin(), matches_.end(), std::pair(row, static_cast<int>(from)), less);
    const auto last = std::lower_bound(first, matches_.end(), std::pair(row + 1, 0), less);
    const auto at = first - matches_.begin();
    const int before = match_count();
    matches_.erase(first, last);
    std::vector<Match> found;
    const QStringMatcher matcher(needle_, Qt::CaseInsensitive);
    const auto& paragraphs = rows_[static_cast<std::size_t>(row)]->text.paragraphs();
    const auto room = static_cast<std::size_t>(std::max(0, most_matches - match_count()));
    for (std::size_t i = from; i < paragraphs.size() && found.size() < room; ++i) {
        if (!paragraphs[i].has_text()) continue;
        const QString& text = paragraphs[i].text;
        for (qsizetype begin = matcher.indexIn(text); begin >= 0 && found.size() < room;
             begin = matcher.indexIn(text, begin + needle_.size()))
            found.push_back({row, static_cast<int>(i), static_cast<int>(begin),
                             static_cast<int>(begin + needle_.size())});
    }
    matches_.insert(matches_.begin() + at, found.begin(), found.end());
    if (current_match_ >= match_count()) current_match_ = match_count() - 1;
    if (match_count() != before) emit matches_changed();
}

void ChatView::find_step(int by) {
    if (matches_.empty()) return;
    const int n = match_count();
    current_match_ = current_match_ < 0 ? (by > 0 ? 0 : n - 1) : ((current_match_ + by) % n + n) % n;
    show_match();
    emit matches_changed();
}

void ChatView::show_match() {
    const Match m = matches_[static_cast<std::size_t>(current_match_)];
    const Paragraph& p =
        rows_[static_cast<std::size_t>(m.row)]->text.paragraphs()[static_cast<std::size_t>(m.paragraph)];
    if (p.hidden) toggle_thought(m.row, p.thought);
    bring_into_view(*rows_[static_cast<std::size_t>(m.row)], static_cast<std::size_t>(m.paragraph), m.begin,
                    m.end);
    viewport()->update();
}

}  // namespace vitrine::ui
