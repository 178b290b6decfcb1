#include "ui/chat/line_formatter.h"

#include <algorithm>
#include <array>

namespace vitrine::ui {
namespace {

constexpr int most_depth = 6;
constexpr int most_quotes = 4;

struct ThoughtMarks {
    QStringView open, close;
};
// As models and their templates write them.
constexpr std::array<ThoughtMarks, 3> thought_marks = {
    {{u"<think>", u"</think>"}, {u"<thinking>", u"</thinking>"}, {u"[THINK]", u"[/THINK]"}}};

qsizetype run_of(QStringView text, qsizetype from, QChar c) {
    qsizetype n = 0;
    while (from + n < text.size() && text[from + n] == c) ++n;
    return n;
}

bool is_rule(QStringView line) {
    QChar mark;
    int count = 0;
    for (const QChar c : line) {
        if (c.isSpace()) continue;
        if (c != u'-' && c != u'*' && c != u'_') return false;
        if (count > 0 && c != mark) return false;
        mark = c;
        ++count;
    }
    return count >= 3;
}

bool consists_of(QStringView text, QStringView marks) {
    return std::all_of(text.begin(), text.end(), [&](QChar c) { return marks.contains(c); });
}

// Length of "- ", "* ", "+ ", "12. ", "3) "; 0: no list item. At the end of an open line the space may still
// come.
qsizetype marker_length(QStringView line, bool whole) {
    if (line.isEmpty()) return 0;
    const auto spaced = [&](qsizetype mark) {
        if (mark < line.size()) return line[mark] == u' ' || line[mark] == u'\t' ? mark + 1 : qsizetype(0);
        return whole || mark > 1 ? mark : qsizetype(0);
    };
    if (line[0] == u'-' || line[0] == u'*' || line[0] == u'+') return spaced(1);
    qsizetype digits = 0;
    while (digits < line.size() && digits < 9 && line[digits] >= u'0' && line[digits] <= u'9') ++digits;
    if (digits > 0 && digits < line.size() && (line[digits] == u'.' || line[digits] == u')'))
        return spaced(digits + 1);
    return 0;
}

// A proper beginning of `mark`; of one in brackets two characters, as brackets have other uses.
bool begins_mark(QStringView text, QStringView mark) {
    return !text.isEmpty() && text.size() < mark.size() && (text.size() > 1 || mark[0] == u'<') &&
           mark.startsWith(text, Qt::CaseInsensitive);
}

// Cells of a delimiter row, "|---|:-:|"; empty where it is none.
std::vector<TableAlign> delimiter_row(QStringView line) {
    std::vector<TableAlign> out;
    line = line.trimmed();
    if (line.startsWith(u'|')) line = line.mid(1);
    if (line.endsWith(u'|')) line.chop(1);
    for (const QStringView cell : line.split(u'|')) {
        QStringView c = cell.trimmed();
        const bool left = c.startsWith(u':');
        const bool right = c.endsWith(u':');
        if (left) c = c.mid(1);
        if (right && !c.isEmpty()) c.chop(1);
        if (c.isEmpty() || run_of(c, 0, u'-') != c.size()) return {};
        out.push_back(left && right ? TableAlign::Center : right ? TableAlign::Right : TableAlign::Left);
    }
    return out;
}

}  // namespace

void LineFormatter::format(QStringView line, bool whole, std::vector<FormattedLine>& out) {
    if (line.endsWith(u'\r')) line.chop(1);
    if (plain_) {
        FormattedLine formatted;
        if (line.trimmed().isEmpty()) {
            formatted.kind = LineKind::Blank;
        } else {
            formatted.append(line, 0);
        }
        out.push_back(std::move(formatted));
        return;
    }
    State s = state_;
    qsizetype at = 0;
    // A line may hold the end of a thinking block, and text before and behind it.
    for (;;) {
        const QStringView rest = line.mid(at);
        qsizetype front = 0;
        while (front < rest.size() && rest[front].isSpace()) ++front;
        const QStringView body = rest.mid(front);
        bool marked = false, pending = false;
        qsizetype close_at = -1;
        for (const ThoughtMarks& marks : thought_marks) {
            if (!s.thought && !s.in_code) {
                const bool opens = body.startsWith(marks.open, Qt::CaseInsensitive) &&
                                   (!s.anything || body.trimmed().size() == marks.open.size());
                if (opens) {
                    FormattedLine head;
                    head.kind = LineKind::ThoughtHead;
                    out.push_back(std::move(head));
                    s = State{};
                    s.thought = s.anything = true;
                    at += front + marks.open.size();
                    marked = true;
                    break;
                }
                pending = pending || (!whole && begins_mark(body, marks.open));
            }
            const bool closes = body.startsWith(marks.close, Qt::CaseInsensitive);
            if (closes && (s.thought || !s.in_code)) {
                FormattedLine end;
                end.kind = LineKind::ThoughtEnd;
                out.push_back(std::move(end));
                s = State{};
                s.anything = true;
                at += front + marks.close.size();
                marked = true;
                break;
            }
            pending = pending || (!whole && begins_mark(body, marks.close));
            if (s.thought && !s.in_code && close_at < 0)
                close_at = rest.indexOf(marks.close, 0, Qt::CaseInsensitive);
        }
        if (marked) {
            if (line.mid(at).trimmed().isEmpty()) break;
            continue;
        }
        if (pending) {
            FormattedLine hidden;
            hidden.kind = LineKind::Hidden;
            out.push_back(std::move(hidden));
            break;
        }
        if (close_at > 0) {
            line_of(rest.left(close_at), at, true, s, out);
            at += close_at;
            continue;
        }
        QStringView shown = rest;
        if (s.thought && !whole && !s.in_code)
            for (qsizetype n = std::min<qsizetype>(shown.size(), 10); n >= 1; --n)
                if (begins_mark(shown.right(n), thought_marks[1].close) ||
                    begins_mark(shown.right(n), thought_marks[0].close)) {
                    shown.chop(n);
                    break;
                }
        line_of(shown, at, whole, s, out);
        break;
    }
    if (whole) state_ = std::move(s);
}

FormattedLine LineFormatter::format_rest(QStringView line, bool whole) {
    if (line.endsWith(u'\r')) line.chop(1);
    FormattedLine out;
    State s = state_;
    out.append(line, 0);
    out.quote = s.quote;
    out.depth = static_cast<int>(std::min<std::size_t>(s.items.size(), most_depth));
    if (s.in_code) {
        out.kind = LineKind::Code;
        color(s, out);
        out.quote = s.fence_quote;
    }
    if (whole) state_ = std::move(s);
    return out;
}

FormattedLine LineFormatter::candidate_as(QStringView line, TableVerdict verdict) {
    FormattedLine out;
    if (line.endsWith(u'\r')) line.chop(1);
    qsizetype at = 0;
    int quote = 0;
    while (at < line.size() && (line[at].isSpace() || line[at] == u'>')) quote += line[at++] == u'>' ? 1 : 0;
    out.quote = std::min(quote, most_quotes);
    out.depth = static_cast<int>(std::min<std::size_t>(state_.items.size(), most_depth));
    if (verdict == TableVerdict::Head) {
        table_row(line.mid(at), at, true, out);
        out.table_head = true;
    } else {
        read_inline(line.mid(at), at, false, false, out);
    }
    return out;
}

void LineFormatter::line_of(QStringView line, qsizetype at, bool whole, State& s,
                            std::vector<FormattedLine>& all) const {
    FormattedLine out;
    if (s.in_code && code_line(line, at, whole, s, out)) {
        all.push_back(std::move(out));
        return;
    }
    // Quotes, then the indent.
    qsizetype i = 0;
    int quote = 0, indent = 0;
    for (; i < line.size(); ++i) {
        if (line[i] == u'>' && indent < 4) {
            ++quote;
            indent = 0;
            if (i + 1 < line.size() && line[i + 1] == u' ') ++i;
        } else if (line[i] == u' ') {
            ++indent;
        } else if (line[i] == u'\t') {
            indent += 4 - indent % 4;
        } else {
            break;
        }
    }
    if (quote != s.quote) {
        s.items.clear();
        s.in_table = false;
        s.indented_code = false;
    }
    s.quote = quote;
    out.quote = std::min(quote, most_quotes);
    const QStringView body = line.mid(i);
    if (body.isEmpty()) {
        out.kind = quote > 0 && !whole ? LineKind::Hidden : LineKind::Blank;
        if (s.candidate) out.verdict = TableVerdict::NoTable;
        s.after_gap = true;
        s.in_table = s.candidate = false;
    } else {
        block_line(body, at + i, indent, whole, s, out);
        if (out.kind != LineKind::Hidden) s.anything = true;
        s.after_gap = false;
    }
    all.push_back(std::move(out));
}

// False: the block ended before this line, which is to be read as anything else.
bool LineFormatter::code_line(QStringView line, qsizetype at, bool whole, State& s,
                              FormattedLine& out) const {
    qsizetype i = 0;
    for (int n = 0; n < s.fence_quote; ++n) {
        while (i < line.size() && line[i] == u' ') ++i;
        if (i >= line.size() || line[i] != u'>') {
            s.in_code = false;
            return false;
        }
        ++i;
        if (i < line.size() && line[i] == u' ') ++i;
    }
    int indent = 0;
    while (i < line.size() && indent < s.fence_indent && line[i] == u' ') {
        ++i;
        ++indent;
    }
    QStringView body = line.mid(i);
    const QStringView mark = body.trimmed();
    const qsizetype ticks = run_of(mark, 0, s.fence.front());
    if (ticks > 0 && ticks == mark.size() && (ticks >= s.fence.size() || !whole)) {
        out.kind = LineKind::Hidden;
        if (ticks >= s.fence.size() && whole) {
            s.in_code = false;
            s.after_gap = true;
        }
        return true;
    }
    out.kind = LineKind::Code;
    out.quote = std::min(s.fence_quote, most_quotes);
    out.depth = static_cast<int>(std::min<std::size_t>(s.items.size(), most_depth));
    out.append(body, at + i);
    color(s, out);
    s.anything = true;
    return true;
}

void LineFormatter::color(State& s, FormattedLine& out) const {
    if (s.language != nullptr) s.code_state = color_code(*s.language, out.text, s.code_state, out.spans);
}

void LineFormatter::block_line(QStringView body, qsizetype at, int indent, bool whole, State& s,
                               FormattedLine& out) const {
    const bool was_candidate = std::exchange(s.candidate, false);
    const QChar first = body[0];

    // Lists: two columns more than the marker is inside, for a marker as well as for text.
    const auto leave_items = [&] {
        while (!s.items.empty() && indent < s.items.back() + 2) s.items.pop_back();
    };
    // A fence of a code block inside a list is often written with less indent than the item's text.
    leave_items();
    out.depth = static_cast<int>(std::min<std::size_t>(s.items.size(), most_depth));

    if (s.items.empty() && indent >= 4 && (s.after_gap || s.indented_code) && !was_candidate && !s.in_table) {
        s.indented_code = true;
        out.kind = LineKind::Code;
        out.append(QString(indent - 4, u' '), -1);
        out.pieces.clear();
        out.append(body, at);
        return;
    }
    s.indented_code = false;

    if (first == u'|') {
        if (was_candidate || s.in_table) {
            const bool maybe = was_candidate && consists_of(body, u"|:- \t");
            if (maybe && !whole) {
                out.kind = LineKind::Hidden;
                s.candidate = true;
                return;
            }
            const auto align = was_candidate ? delimiter_row(body) : std::vector<TableAlign>{};
            if (!align.empty() && align.size() <= most_columns) {
                out.kind = LineKind::Hidden;
                out.verdict = TableVerdict::Head;
                out.align = align;
                s.in_table = true;
                return;
            }
            if (s.in_table) {
                table_row(body, at, whole, out);
                return;
            }
            out.verdict = TableVerdict::NoTable;
        }
        s.candidate = out.candidate = true;
        s.in_table = false;
        // Written as tables are written: shown as one before the next line proves it.
        const bool styled = body.size() > 1 && (body[1] == u' ' || body[1] == u'\t') &&
                            (!whole || body.trimmed().endsWith(u'|'));
        if (body.size() == 1 && !whole) {
            out.kind = LineKind::Hidden;
            out.candidate = false;
        } else if (styled) {
            table_row(body, at, whole, out);
            out.table_head = true;
        } else {
            read_inline(body, at, !whole, false, out);
        }
        return;
    }
    if (was_candidate) out.verdict = TableVerdict::NoTable;
    s.in_table = false;

    if (first == u'`' || first == u'~') {
        const qsizetype ticks = run_of(body, 0, first);
        const QStringView info = body.mid(ticks);
        if (ticks >= 3 && !info.contains(u'`')) {
            out.kind = LineKind::CodeHead;
            out.text = printable(info.trimmed().left(40));
            s.in_code = true;
            s.fence = QString(ticks, first);
            s.fence_indent = indent;
            s.fence_quote = s.quote;
            s.language = find_language(info.trimmed());
            s.code_state = 0;
            return;
        }
        if (!whole && ticks == body.size()) {
            out.kind = LineKind::Hidden;
            return;
        }
    }
    if (first == u'#') {
        const qsizetype level = run_of(body, 0, u'#');
        if (level <= 6 && level == body.size() && !whole) {
            out.kind = LineKind::Hidden;
            return;
        }
        if (level <= 6 && level < body.size() && (body[level] == u' ' || body[level] == u'\t')) {
            out.kind = LineKind::Heading;
            out.level = static_cast<int>(level);
            qsizetype from = level;
            while (from < body.size() && body[from].isSpace()) ++from;
            QStringView text = body.mid(from);
            while (!text.isEmpty() && text.back().isSpace()) text.chop(1);
            qsizetype tail = text.size();
            while (tail > 0 && text[tail - 1] == u'#') --tail;
            if (tail == 0 || text[tail - 1] == u' ') text = text.left(tail);
            while (!text.isEmpty() && text.back().isSpace()) text.chop(1);
            if (text.isEmpty()) {
                out.kind = LineKind::Hidden;
                return;
            }
            read_inline(text, at + from, !whole, false, out);
            return;
        }
    }
    if (whole && is_rule(body)) {
        out.kind = LineKind::Rule;
        s.items.clear();
        return;
    }
    if (!whole &&
        (consists_of(body, u"-") || consists_of(body, u"*") || consists_of(body, u"_") || body == u"+")) {
        out.kind = LineKind::Hidden;
        return;
    }
    if (const qsizetype mark = marker_length(body, whole); mark > 0) {
        const bool bullet = !body[0].isDigit();
        out.marker = bullet ? QStringLiteral("•") : body.left(mark).trimmed().toString();
        s.items.push_back(indent);
        if (s.items.size() > 64) s.items.erase(s.items.begin());
        out.depth = static_cast<int>(std::min<std::size_t>(s.items.size(), most_depth));
        qsizetype from = mark;
        while (from < body.size() && body[from] == u' ') ++from;
        QStringView text = body.mid(from);
        // Task lists: "[ ] " and "[x] ".
        if (bullet && text.size() >= 3 && text[0] == u'[' && text[2] == u']' &&
            (text.size() == 3 ? !whole : text[3] == u' ')) {
            const QChar box = text[1];
            if (box == u' ' || box == u'x' || box == u'X') {
                out.marker = QString(box == u' ' ? QChar(0x2610) : QChar(0x2611));
                const qsizetype skip = std::min<qsizetype>(text.size(), 4);
                from += skip;
                text = text.mid(skip);
            }
        } else if (bullet && !whole && (text == u"[" || text == u"[ " || text == u"[x" || text == u"[X")) {
            text = {};
        }
        read_inline(text, at + from, !whole, false, out);
        return;
    }
    read_inline(body, at, !whole, false, out);
}

void LineFormatter::table_row(QStringView body, qsizetype at, bool whole, FormattedLine& out) const {
    out.kind = LineKind::TableRow;
    while (!body.isEmpty() && body.back().isSpace()) body.chop(1);
    qsizetype begin = 1;
    int columns = 0;
    for (qsizetype i = 1; i <= body.size(); ++i) {
        const bool end = i == body.size();
        if (!end && body[i] == u'\\' && i + 1 < body.size()) {
            ++i;
            continue;
        }
        if (!end && body[i] != u'|') continue;
        if (end && begin >= body.size() && columns > 0) break;
        if (++columns > most_columns) {
            // More than a screen has room for: as it was written.
            out = FormattedLine{};
            out.kind = LineKind::Code;
            out.append(body, at);
            return;
        }
        qsizetype from = begin, to = i;
        while (from < to && body[from].isSpace()) ++from;
        while (to > from && body[to - 1].isSpace()) --to;
        if (columns > 1) out.text += u'\t';
        TableCell cell{out.text.size(), 0};
        read_inline(body.mid(from, to - from), at + from, end && !whole, true, out);
        cell.end = out.text.size();
        out.cells.push_back(cell);
        begin = i + 1;
    }
}

}  // namespace vitrine::ui
