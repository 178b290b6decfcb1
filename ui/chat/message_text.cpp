#include "ui/chat/message_text.h"

#include <algorithm>
#include <cmath>

#include <QTextBoundaryFinder>

namespace vitrine::ui {
namespace {

constexpr QChar left_to_right_isolate(0x2066);
constexpr QChar pop_isolate(0x2069);

// First character with a direction of its own decides (UAX #9, rules P2 and P3).
bool starts_rtl(const QString& text) {
    const qsizetype most = std::min<qsizetype>(text.size(), 400);
    for (qsizetype i = 0; i < most; ++i) {
        switch (text[i].direction()) {
            case QChar::DirL: return false;
            case QChar::DirR:
            case QChar::DirAL: return true;
            default: break;
        }
    }
    return false;
}

void insert(Paragraph& p, qsizetype at, QChar c) {
    p.text.insert(at, c);
    for (Span& span : p.spans) {
        if (span.begin >= at) {
            ++span.begin;
        } else if (span.begin + span.length > at) {
            ++span.length;
        }
    }
    for (Piece& piece : p.pieces)
        if (piece.shown >= at) ++piece.shown;
}

// Code inside right-to-left text keeps its own order: each piece stands between LRI and PDI (UAX #9).
void isolate_code(Paragraph& p) {
    for (std::size_t i = 0; i < p.spans.size(); ++i) {
        if (p.spans[i].style != Span::Code) continue;
        insert(p, p.spans[i].begin, left_to_right_isolate);
        insert(p, p.spans[i].begin + p.spans[i].length, pop_isolate);
    }
}

int words_in(QStringView text) {
    int words = 0;
    bool inside = false;
    for (const QChar c : text) {
        const bool word = !c.isSpace();
        words += word && !inside ? 1 : 0;
        inside = word;
    }
    return words;
}

}  // namespace

QString without_isolates(const Paragraph& p, qsizetype begin, qsizetype end) {
    QString text = p.text.mid(begin, end - begin);
    if (p.rtl && !p.spans.empty())
        text.removeIf([](QChar c) { return c == left_to_right_isolate || c == pop_isolate; });
    text.replace(QChar(0x2028), u'\n');
    return text;
}

const TextBox* Paragraph::box_at(int offset) const {
    const TextBox* found = nullptr;
    for (const TextBox& box : boxes)
        if (found == nullptr || box.begin <= offset) found = &box;
    return found;
}

MessageText::MessageText(bool plain) : plain_(plain), formatter_(plain) { read_sizes(); }

void MessageText::append(QStringView source) {
    if (source.isEmpty()) return;
    set_finished(false);
    source_length_ += source.size();
    while (!source.isEmpty()) {
        const qsizetype newline = source.indexOf(u'\n');
        qsizetype take = newline < 0 ? source.size() : newline;
        const bool too_long = open_.size() + take > longest_line;
        if (too_long) take = std::max<qsizetype>(0, longest_line - open_.size());
        if (open_.isEmpty()) begin_line();
        open_ += source.left(take);
        source = source.mid(take);
        if (too_long) {
            // Cut between two words where there are any, never inside a character.
            qsizetype cut = open_.lastIndexOf(u' ');
            if (cut < longest_line / 2) {
                // A character that is longer than this window is cut at its end, but never inside a surrogate
                // pair.
                constexpr qsizetype window = 64;
                const QString tail = open_.right(window);
                QTextBoundaryFinder characters(QTextBoundaryFinder::Grapheme, tail);
                characters.setPosition(tail.size());
                const qsizetype back = characters.toPreviousBoundary();
                cut = back > 0 ? open_.size() - tail.size() + back : open_.size();
                if (open_[cut - 1].isHighSurrogate() && cut > 1) --cut;
            } else {
                ++cut;
            }
            const QString rest = open_.mid(cut);
            put_line(QStringView(open_).left(cut), true);
            open_ = rest;
            open_begin_ += cut;
            continues_ = true;
            begin_line();
        } else if (newline >= 0) {
            put_line(open_, true);
            close_line();
            source = source.mid(1);
        }
    }
    if (!open_.isEmpty()) put_line(open_, false);
}

void MessageText::begin_line() {
    start_.gap = gap_;
    start_.thought = thought_;
    start_.thoughts = thoughts_.size();
    if (thought_ >= 0) start_.current = thoughts_[static_cast<std::size_t>(thought_)];
    start_.tables = tables_.size();
    start_.table.reset();
    if (!tables_.empty()) start_.table = tables_.back();
    start_.candidate = candidate_;
    start_.paragraphs = paragraphs_.size();
}

void MessageText::take_back() {
    paragraphs_.erase(paragraphs_.begin() + static_cast<std::ptrdiff_t>(start_.paragraphs),
                      paragraphs_.end());
    exact_up_to_ = std::min(exact_up_to_, paragraphs_.size());
    gap_ = start_.gap;
    thought_ = start_.thought;
    // Folding is the reader's choice, not the line's.
    const bool folded = thought_ < 0 || thoughts_[static_cast<std::size_t>(thought_)].folded;
    thoughts_.resize(start_.thoughts);
    if (thought_ >= 0) {
        thoughts_[static_cast<std::size_t>(thought_)] = start_.current;
        thoughts_[static_cast<std::size_t>(thought_)].folded = folded;
    }
    const bool decided = start_.candidate && candidate_ ? candidate_->decided : start_.candidate.has_value();
    candidate_ = start_.candidate;
    tables_.resize(start_.tables);
    if (start_.table && !tables_.empty()) {
        // A column that the line had made wider is as it was, or will be again in a moment.
        std::vector<double> widths = std::move(tables_.back().widths);
        tables_.back() = *start_.table;
        tables_.back().widths = std::move(widths);
    }
    if (candidate_ && decided) {
        candidate_->decided = true;
        undecide_candidate();
    }
}

void MessageText::undecide_candidate() {
    if (!candidate_ || !candidate_->decided || candidate_->paragraph >= paragraphs_.size()) return;
    const bool row = candidate_->table >= 0;
    Paragraph& p = paragraphs_[candidate_->paragraph];
    fill(p, formatter_.candidate_as(candidate_->source, row ? TableVerdict::Head : TableVerdict::NoTable));
    p.table = candidate_->table;
    if (row) {
        tables_[static_cast<std::size_t>(p.table)].align.clear();
        set_columns(tables_[static_cast<std::size_t>(p.table)]);
    }
    candidate_->decided = false;
    estimate(p, candidate_->paragraph);
    exact_up_to_ = std::min(exact_up_to_, candidate_->paragraph);
    place_from(candidate_->paragraph);
}

void MessageText::close_line() {
    open_begin_ += open_.size() + 1;
    open_.clear();
    continues_ = false;
}

void MessageText::set_finished(bool finished) {
    if (finished_ == finished || plain_) return;
    finished_ = finished;
    if (finished) {
        const LineFormatter before = formatter_;
        if (!open_.isEmpty()) put_line(open_, true);
        if (candidate_) decide_candidate(TableVerdict::NoTable, {});
        formatter_ = before;
    } else {
        undecide_candidate();
        if (!open_.isEmpty()) put_line(open_, false);
    }
}

void MessageText::put_line(QStringView line, bool whole) {
    take_back();
    const std::size_t first = paragraphs_.size();
    std::vector<FormattedLine> formatted;
    if (continues_) {
        formatted.push_back(formatter_.format_rest(line, whole));
        if (plain_) formatted.back().kind = LineKind::Text;
    } else {
        formatter_.format(line, whole, formatted);
    }
    for (FormattedLine& one : formatted) put(std::move(one), line, whole);
    // The place in the source is the line's; where a line gave several paragraphs, each has its own pieces.
    const std::size_t from = std::min(first, paragraphs_.size());
    for (std::size_t i = from; i < paragraphs_.size(); ++i) {
        paragraphs_[i].source_begin = open_begin_;
        paragraphs_[i].source_end = open_begin_ + line.size();
    }
    if (thought_ >= 0) {
        Thought& t = thoughts_[static_cast<std::size_t>(thought_)];
        t.words += words_in(line);
        t.source_end = open_begin_ + line.size();
    }
    exact_up_to_ = std::min(exact_up_to_, from);
    place_from(from);
}

void MessageText::close_thought() {
    if (thought_ >= 0) {
        thoughts_[static_cast<std::size_t>(thought_)].open = false;
    } else if (thoughts_.empty() && !paragraphs_.empty()) {
        // Its beginning was in the prompt: all until here was thinking.
        Paragraph head;
        head.kind = LineKind::ThoughtHead;
        head.thought = 0;
        Thought t;
        t.open = false;
        for (Paragraph& p : paragraphs_) {
            p.thought = 0;
            p.hidden = true;
            t.words += words_in(p.text);
            t.source_end = p.source_end;
        }
        thoughts_.push_back(t);
        paragraphs_.insert(paragraphs_.begin(), std::move(head));
        for (Table& table : tables_) ++table.first;
        if (candidate_) ++candidate_->paragraph;
        // Not to be taken back: the line that says it only grows.
        ++start_.paragraphs;
        if (start_.candidate) ++start_.candidate->paragraph;
        if (start_.table) ++start_.table->first;
        start_.thoughts = 1;
        exact_up_to_ = 0;
        estimate(paragraphs_[0], 0);
        place_from(0);
    }
    thought_ = -1;
    gap_ = true;
}

void MessageText::decide_candidate(TableVerdict verdict, const std::vector<TableAlign>& align) {
    if (!candidate_ || candidate_->paragraph >= paragraphs_.size()) return;
    const std::size_t i = candidate_->paragraph;
    Paragraph& p = paragraphs_[i];
    candidate_->decided = true;
    fill(p, formatter_.candidate_as(candidate_->source, verdict));
    if (verdict == TableVerdict::Head && p.kind == LineKind::TableRow) {
        if (p.table < 0) {
            p.table = static_cast<int>(tables_.size());
            tables_.emplace_back();
        }
        Table& table = tables_[static_cast<std::size_t>(p.table)];
        table = Table{};
        table.first = i;
        table.align = align;
        widen_table(i);
    } else {
        p.table = -1;
    }
    estimate(p, i);
    exact_up_to_ = std::min(exact_up_to_, i);
    place_from(i);
}

void MessageText::fill(Paragraph& p, FormattedLine&& formatted) {
    p.kind = formatted.kind;
    p.text = std::move(formatted.text);
    p.marker = std::move(formatted.marker);
    p.level = formatted.level;
    p.depth = formatted.depth;
    p.quote = formatted.quote;
    p.spans = std::move(formatted.spans);
    p.pieces = std::move(formatted.pieces);
    p.targets = std::move(formatted.targets);
    p.images = std::move(formatted.images);
    p.cells = std::move(formatted.cells);
    p.table_head = formatted.table_head;
    p.rtl = p.kind != LineKind::Code && p.kind != LineKind::TableRow && p.kind != LineKind::CodeHead &&
            starts_rtl(p.text);
    if (p.rtl) isolate_code(p);
    p.boxes.clear();
    p.exact = false;
}

void MessageText::put(FormattedLine&& formatted, QStringView line, bool whole) {
    if (formatted.verdict != TableVerdict::None) {
        decide_candidate(formatted.verdict, formatted.align);
        if (whole) candidate_.reset();
    }
    switch (formatted.kind) {
        case LineKind::Hidden: return;
        case LineKind::Blank:
            if (whole) gap_ = true;
            return;
        case LineKind::ThoughtEnd: close_thought(); return;
        case LineKind::ThoughtHead: {
            thought_ = static_cast<int>(thoughts_.size());
            Thought t;
            t.source_begin = open_begin_;
            t.words = -1;  // the mark itself
            thoughts_.push_back(t);
            break;
        }
        default: break;
    }
    const bool candidate = formatted.candidate;
    const LineKind before = paragraphs_.empty() ? LineKind::Text : paragraphs_.back().kind;
    const int table_before = paragraphs_.empty() ? -1 : paragraphs_.back().table;
    Paragraph& p = paragraphs_.emplace_back();
    const std::size_t i = paragraphs_.size() - 1;
    p.gap = gap_ && i > 0;
    p.continues = continues_;
    fill(p, std::move(formatted));
    p.thought = thought_;
    p.hidden = thought_ >= 0 && p.kind != LineKind::ThoughtHead &&
               thoughts_[static_cast<std::size_t>(thought_)].folded;
    if (p.kind == LineKind::TableRow) {
        if (before == LineKind::TableRow && table_before >= 0 && !p.table_head) {
            p.table = table_before;
        } else {
            p.table = static_cast<int>(tables_.size());
            Table& table = tables_.emplace_back();
            table.first = i;
        }
        widen_table(i);
    }
    if (candidate && whole) candidate_ = Candidate{i, line.toString(), p.table, false};
    estimate(p, i);
    gap_ = false;
}

qsizetype MessageText::source_of(std::size_t paragraph, qsizetype shown) const {
    const Paragraph& p = paragraphs_[paragraph];
    qsizetype source = 0;
    for (const Piece& piece : p.pieces) {
        if (piece.shown > shown) break;
        source = piece.source + std::min(shown - piece.shown, piece.length);
    }
    return p.source_begin + source;
}

std::pair<int, int> MessageText::shown_range(std::size_t paragraph, qsizetype source_begin,
                                             qsizetype source_end) const {
    const Paragraph& p = paragraphs_[paragraph];
    int begin = -1, end = -1;
    for (const Piece& piece : p.pieces) {
        const qsizetype at = p.source_begin + piece.source;
        const qsizetype from = std::max(at, source_begin);
        const qsizetype to = std::min(at + piece.length, source_end);
        if (from >= to) continue;
        if (begin < 0) begin = static_cast<int>(piece.shown + from - at);
        end = static_cast<int>(piece.shown + to - at);
    }
    return begin < 0 ? std::pair(0, 0) : std::pair(begin, end);
}

std::size_t MessageText::paragraph_at(qsizetype source) const {
    const auto after =
        std::upper_bound(paragraphs_.begin(), paragraphs_.end(), source,
                         [](qsizetype value, const Paragraph& p) { return value < p.source_begin; });
    return after == paragraphs_.begin() ? 0 : static_cast<std::size_t>(after - paragraphs_.begin()) - 1;
}

QString MessageText::code_block(std::size_t i) const {
    QString out;
    const auto in_block = [&](std::size_t at) { return paragraphs_[at].kind == LineKind::Code; };
    if (i >= paragraphs_.size()) return out;
    while (i > 0 && in_block(i) && (in_block(i - 1) || paragraphs_[i - 1].kind == LineKind::CodeHead)) --i;
    if (paragraphs_[i].kind == LineKind::CodeHead) ++i;
    for (std::size_t n = i; n < paragraphs_.size() && in_block(n); ++n) {
        if (n > i && !paragraphs_[n].continues) out += u'\n';
        // From the pieces, so that what was made visible (control characters) is what it was: not known here,
        // and shown characters are as good for code.
        out += paragraphs_[n].text;
    }
    return out;
}

void MessageText::fold(int thought, bool folded) {
    if (thought < 0 || static_cast<std::size_t>(thought) >= thoughts_.size()) return;
    thoughts_[static_cast<std::size_t>(thought)].folded = folded;
    for (std::size_t i = 0; i < paragraphs_.size(); ++i) {
        Paragraph& p = paragraphs_[i];
        if (p.thought != thought || p.kind == LineKind::ThoughtHead) continue;
        p.hidden = folded;
        exact_up_to_ = std::min(exact_up_to_, i);
    }
    place_from(0);
}

}  // namespace vitrine::ui
