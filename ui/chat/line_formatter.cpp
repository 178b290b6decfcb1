#include "ui/chat/line_formatter.h"

#include <algorithm>

namespace vitrine::ui {
namespace {

qsizetype run_of(QStringView text, qsizetype from, QChar c) {
    qsizetype n = 0;
    while (from + n < text.size() && text[from + n] == c) ++n;
    return n;
}

// Control characters would be drawn as nothing or as boxes of other widths: tabs stay, others become visible.
QString printable(QStringView text) {
    QString out = text.toString();
    for (QChar& c : out) {
        if (c.unicode() < 0x20 && c != u'\t') c = QChar(0x2400 + c.unicode());
        if (c.unicode() == 0x7F) c = QChar(0x2421);
    }
    return out;
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

// Length of "- ", "* ", "+ ", "12. ", "3) "; 0: no list item.
qsizetype marker_length(QStringView line) {
    if (line.size() >= 2 && (line[0] == u'-' || line[0] == u'*' || line[0] == u'+') && line[1] == u' ')
        return 2;
    qsizetype digits = 0;
    while (digits < line.size() && digits < 9 && line[digits] >= u'0' && line[digits] <= u'9') ++digits;
    if (digits > 0 && digits + 1 < line.size() && (line[digits] == u'.' || line[digits] == u')') &&
        line[digits + 1] == u' ')
        return digits + 2;
    return 0;
}

bool is_word(QStringView text, qsizetype at) {
    return at >= 0 && at < text.size() && text[at].isLetterOrNumber();
}

}  // namespace

FormattedLine LineFormatter::format(QStringView line, bool whole) {
    FormattedLine out;
    if (line.endsWith(u'\r')) line.chop(1);
    if (plain_) {
        out.kind = line.trimmed().isEmpty() ? LineKind::Blank : LineKind::Text;
        out.text = printable(line);
        return out;
    }
    qsizetype indent = 0;
    while (indent < line.size() && (line[indent] == u' ' || line[indent] == u'\t')) indent += 1;
    QStringView body = line.mid(indent);

    const QChar first = body.isEmpty() ? QChar() : body[0];
    if (first == u'`' || first == u'~') {
        const qsizetype ticks = run_of(body, 0, first);
        const bool closes = in_code_ && ticks >= fence_.size() && first == fence_.front() &&
                            body.mid(ticks).trimmed().isEmpty();
        const bool opens = !in_code_ && ticks >= 3 && !body.mid(ticks).contains(u'`');
        if (closes || opens) {
            out.kind = LineKind::Fence;
            out.text = printable(body.mid(ticks).trimmed().left(40));  // the language
            if (whole) {
                in_code_ = opens;
                fence_ = QString(ticks, first);
            }
            return out;
        }
    }
    if (in_code_) {
        out.kind = LineKind::Code;
        out.text = printable(line);
        return out;
    }
    if (body.isEmpty()) {
        out.kind = LineKind::Blank;
        return out;
    }
    if (first == u'#') {
        const qsizetype level = run_of(body, 0, u'#');
        if (level <= 6 && level < body.size() && body[level] == u' ') {
            out.kind = LineKind::Heading;
            out.level = static_cast<int>(level);
            out.text = printable(body.mid(level).trimmed());
            out.spans = read_inline(out.text);
            return out;
        }
    }
    if (whole && is_rule(body)) {
        out.kind = LineKind::Rule;
        return out;
    }
    if (first == u'>') {
        while (!body.isEmpty() && (body[0] == u'>' || body[0] == u' ')) {
            out.level += body[0] == u'>' ? 1 : 0;
            body = body.mid(1);
        }
        out.kind = LineKind::Quote;
        out.level = std::min(out.level, 4);
        out.text = printable(body);
        out.spans = read_inline(out.text);
        return out;
    }
    if (first == u'|') {  // a row of a table: columns only line up in a monospaced font
        out.kind = LineKind::Code;
        out.text = printable(line);
        return out;
    }
    if (const qsizetype mark = marker_length(body); mark > 0) {
        out.kind = LineKind::Item;
        out.level = static_cast<int>(std::min<qsizetype>(indent / 2, 6));
        out.marker = mark == 2 && !body[0].isDigit() ? QStringLiteral("•") : body.left(mark - 1).toString();
        body = body.mid(mark);
    }
    out.text = printable(body);
    out.spans = read_inline(out.text);
    return out;
}

std::vector<Span> read_inline(QString& text) {
    std::vector<Span> spans;
    if (!text.contains(u'*') && !text.contains(u'`') && !text.contains(u'_')) return spans;
    QString out;
    out.reserve(text.size());
    // Once a closing mark of a kind was not found, there is none further on either: each kind is searched in
    // vain only once, so the whole is linear.
    bool no_code = false, no_bold = false, no_italic = false;
    struct Open {
        qsizetype at = -1;     // in out
        qsizetype close = -1;  // in text
    } bold, italic;
    for (qsizetype i = 0; i < text.size();) {
        const QChar c = text[i];
        if (bold.close == i) {
            spans.push_back({bold.at, out.size() - bold.at, Span::Bold});
            bold = {};
            i += 2;
            continue;
        }
        if (italic.close == i) {
            spans.push_back({italic.at, out.size() - italic.at, Span::Italic});
            italic = {};
            i += 1;
            continue;
        }
        if (c == u'`' && !no_code) {
            const qsizetype close = text.indexOf(u'`', i + 1);
            if (close < 0) {
                no_code = true;
            } else if (close > i + 1) {
                spans.push_back({out.size(), close - i - 1, Span::Code});
                out += QStringView(text).mid(i + 1, close - i - 1);
                // A mark inside code closes nothing.
                if (bold.close > i && bold.close < close) bold = {};
                if (italic.close > i && italic.close < close) italic = {};
                i = close + 1;
                continue;
            }
        }
        if (c == u'*' && i + 1 < text.size() && text[i + 1] == u'*' && bold.at < 0 && !no_bold) {
            const qsizetype close = text.indexOf(QLatin1String("**"), i + 3);
            const bool tight =
                i + 2 < text.size() && !text[i + 2].isSpace() && close > 0 && !text[close - 1].isSpace();
            if (close < 0) no_bold = true;
            if (close > 0 && tight && text[i + 2] != u'*') {
                bold = {out.size(), close};
                i += 2;
                continue;
            }
        }
        if (c == u'*' && italic.at < 0 && !no_italic && i + 1 < text.size() && text[i + 1] != u'*' &&
            !text[i + 1].isSpace()) {
            const qsizetype close = text.indexOf(u'*', i + 1);
            if (close < 0) no_italic = true;
            const bool single = close > 0 && (close + 1 >= text.size() || text[close + 1] != u'*') &&
                                !text[close - 1].isSpace();
            if (single && (bold.close < 0 || close < bold.close) &&
                !(is_word(text, i - 1) && is_word(text, close + 1))) {
                italic = {out.size(), close};
                i += 1;
                continue;
            }
        }
        out += c;
        ++i;
    }
    text = out;
    return spans;
}

}  // namespace vitrine::ui
