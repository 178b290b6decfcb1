#include "ui/chat/inline_markdown.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace vitrine::ui {
namespace {

constexpr QChar line_break(0x2028);

qsizetype run_of(QStringView text, qsizetype from, QChar c) {
    qsizetype n = 0;
    while (from + n < text.size() && text[from + n] == c) ++n;
    return n;
}

bool is_ascii_punctuation(QChar c) {
    const auto u = c.unicode();
    return (u >= 0x21 && u <= 0x2F) || (u >= 0x3A && u <= 0x40) || (u >= 0x5B && u <= 0x60) ||
           (u >= 0x7B && u <= 0x7E);
}

bool is_punctuation(QChar c) { return is_ascii_punctuation(c) || c.isPunct() || c.isSymbol(); }

struct Node {
    enum Kind { Text, Run, Bracket, Break, Hidden };
    Kind kind = Text;
    qsizetype begin = 0;  // in the source
    qsizetype length = 0;
    // Run: of *, _ or ~.
    QChar mark{};
    bool opens = false, closes = false;
    qsizetype original = 0;
    qsizetype left = 0;  // taken from its left side, as a closer
    bool image = false;  // Bracket
    bool active = true;
};

// Over nodes: from the end of what `first` shows to the beginning of what `last` shows.
struct NodeSpan {
    std::size_t first = 0;
    std::size_t last = 0;
    Span::Style style = Span::Bold;
    int target = -1;
};

class InlineReader {
  public:
    InlineReader(QStringView source, qsizetype source_at, bool open, bool in_cell, InlineText& out)
        : source_(source), source_at_(source_at), open_(open), in_cell_(in_cell), out_(out) {}

    void read() {
        // Most lines hold no mark at all.
        static constexpr QStringView marks = u"\\`*_~[]<!h";
        const bool any =
            std::any_of(source_.begin(), source_.end(), [](QChar c) { return marks.contains(c); });
        if (!any) {
            out_.append(source_, source_at_);
            return;
        }
        scan();
        pair_marks(0, false);
        if (open_) close_at_end();
        write();
    }

  private:
    void text_up_to(qsizetype end) {
        if (end > text_from_) nodes_.push_back({Node::Text, text_from_, end - text_from_});
        text_from_ = end;
    }
    void skip(qsizetype to) {
        text_from_ = to;
        at_ = to;
    }

    void scan() {
        while (at_ < source_.size()) {
            const QChar c = source_[at_];
            const bool last = at_ + 1 == source_.size();
            switch (c.unicode()) {
                case u'\\':
                    if (last && open_) {
                        text_up_to(at_);
                        skip(at_ + 1);
                    } else if (!last && is_ascii_punctuation(source_[at_ + 1])) {
                        text_up_to(at_);
                        text_from_ = at_ + 1;
                        at_ += 2;
                    } else {
                        ++at_;
                    }
                    break;
                case u'`': code(); break;
                case u'*':
                case u'_':
                case u'~': run(c); break;
                case u'!':
                    if (!last && source_[at_ + 1] == u'[') {
                        bracket(true);
                    } else {
                        ++at_;
                    }
                    break;
                case u'[': bracket(false); break;
                case u']': close_bracket(); break;
                case u'<': angle(); break;
                case u'h': address(); break;
                default: ++at_;
            }
        }
        text_up_to(source_.size());
    }

    // Where the next run of exactly `length` backticks begins at or behind `from`; −1: nowhere.
    qsizetype next_ticks(qsizetype length, qsizetype from) {
        if (!ticks_known_) {
            ticks_known_ = true;
            for (qsizetype i = 0; i < source_.size();) {
                if (source_[i] != u'`') {
                    ++i;
                    continue;
                }
                const qsizetype n = run_of(source_, i, u'`');
                ticks_[n].push_back(i);
                i += n;
            }
        }
        const auto known = ticks_.find(length);
        if (known == ticks_.end()) return -1;
        const auto it = std::lower_bound(known->second.begin(), known->second.end(), from);
        return it == known->second.end() ? -1 : *it;
    }

    void code() {
        const qsizetype n = run_of(source_, at_, u'`');
        const qsizetype begin = at_ + n;
        qsizetype close = next_ticks(n, begin);
        qsizetype after = close + n;
        if (close < 0) {
            if (!open_) {
                at_ = begin;
                return;
            }
            // Still being written: all that follows is code. Ticks at its end may be the closing ones.
            text_up_to(at_);
            if (begin == source_.size()) return skip(begin);
            close = source_.size();
            while (close > begin && source_[close - 1] == u'`') --close;
            after = source_.size();
        }
        text_up_to(at_);
        qsizetype from = begin, to = close;
        if (to - from > 2 && source_[from] == u' ' && source_[to - 1] == u' ') {
            ++from;
            --to;
        }
        const std::size_t first = nodes_.size();
        nodes_.push_back({Node::Hidden, from, 0});
        nodes_.push_back({Node::Text, from, to - from});
        nodes_.push_back({Node::Hidden, to, 0});
        spans_.push_back({first, first + 2, Span::Code, -1});
        skip(after);
    }

    void run(QChar mark) {
        const qsizetype n = run_of(source_, at_, mark);
        if (mark == u'~' && n != 2 && !(open_ && n == 1 && at_ + 1 == source_.size())) {
            at_ += n;
            return;
        }
        text_up_to(at_);
        Node node{Node::Run, at_, n};
        node.mark = mark;
        node.original = n;
        const QChar before = at_ > 0 ? source_[at_ - 1] : QChar(u' ');
        const bool at_end = at_ + n == source_.size();
        const QChar after = at_end ? QChar(u' ') : source_[at_ + n];
        const bool left =
            !after.isSpace() && (!is_punctuation(after) || before.isSpace() || is_punctuation(before));
        const bool right =
            !before.isSpace() && (!is_punctuation(before) || after.isSpace() || is_punctuation(after));
        node.opens = mark == u'_' ? left && (!right || is_punctuation(before)) : left;
        node.closes = mark == u'_' ? right && (!left || is_punctuation(after)) : right;
        if (at_end && open_) {
            // What it is depends on what follows. Closing is all that it can be by now.
            if (!closes_something(node)) node.kind = Node::Hidden;
            node.opens = false;
        }
        nodes_.push_back(node);
        if (node.kind == Node::Run) runs_.push_back(nodes_.size() - 1);
        skip(at_ + n);
    }

    // Whole runs only: half of a closing ** would turn bold into something else for a moment.
    bool closes_something(const Node& node) const {
        return node.closes && std::any_of(runs_.rbegin(), runs_.rend(), [&](std::size_t r) {
                   return nodes_[r].mark == node.mark && nodes_[r].opens &&
                          nodes_[r].original == node.original;
               });
    }

    void bracket(bool image) {
        text_up_to(at_);
        Node node{Node::Bracket, at_, image ? 2 : 1};
        node.image = image;
        nodes_.push_back(node);
        brackets_.push_back(nodes_.size() - 1);
        skip(at_ + (image ? 2 : 1));
    }

    struct Destination {
        QString target;
        qsizetype end = 0;  // behind the closing parenthesis
    };
    // From the opening parenthesis on. Nothing where this is none.
    std::optional<Destination> destination(qsizetype from) const {
        qsizetype i = from + 1;
        while (i < source_.size() && source_[i] == u' ') ++i;
        Destination d;
        int depth = 0;
        const bool angled = i < source_.size() && source_[i] == u'<';
        if (angled) ++i;
        const qsizetype begin = i;
        for (; i < source_.size(); ++i) {
            const QChar c = source_[i];
            if (angled ? c == u'>' : c.isSpace()) break;
            if (c == u'\\' && i + 1 < source_.size() && is_ascii_punctuation(source_[i + 1])) {
                ++i;
                continue;
            }
            if (angled) continue;
            if (c == u'(') ++depth;
            if (c == u')' && depth-- == 0) break;
            if (depth > 32) return std::nullopt;
        }
        d.target = source_.mid(begin, i - begin).toString();
        if (angled && i < source_.size()) ++i;
        while (i < source_.size() && source_[i].isSpace()) ++i;
        if (i < source_.size() && (source_[i] == u'"' || source_[i] == u'\'')) {
            const QChar quote = source_[i];
            for (++i; i < source_.size() && source_[i] != quote;) ++i;
            if (i < source_.size()) ++i;
            while (i < source_.size() && source_[i].isSpace()) ++i;
        }
        if (i < source_.size() && source_[i] != u')') return std::nullopt;
        if (i == source_.size() && !open_) return std::nullopt;
        d.end = std::min(source_.size(), i + 1);
        return d;
    }

    void close_bracket() {
        if (brackets_.empty()) {
            ++at_;
            return;
        }
        const std::size_t opener = brackets_.back();
        brackets_.pop_back();
        const bool parenthesis = at_ + 1 < source_.size() && source_[at_ + 1] == u'(';
        if (!parenthesis || !nodes_[opener].active) {
            ++at_;
            return;
        }
        const auto found = destination(at_ + 1);
        const bool unfinished = found && found->end == source_.size() && source_.back() != u')';
        // Not to be opened: it stays as it was written, so that nothing pretends to be a link.
        if (!found || (!unfinished && !is_safe_target(found->target))) {
            ++at_;
            return;
        }
        text_up_to(at_);
        int target = -1;
        if (!unfinished) {
            target = static_cast<int>(out_.targets.size());
            out_.targets.append(found->target);
            if (nodes_[opener].image) out_.images.append(found->target);
        }
        Node& node = nodes_[opener];
        const bool empty = opener + 1 == nodes_.size();
        node.kind = Node::Hidden;
        if (empty) nodes_.push_back({Node::Text, at_ + 2, found->end - at_ - (unfinished ? 2 : 3)});
        nodes_.push_back({Node::Hidden, at_, 0});
        pair_marks(opener + 1, true);
        spans_.push_back({opener, nodes_.size() - 1, Span::Link, target});
        if (!nodes_[opener].image)
            for (const std::size_t b : brackets_)
                if (!nodes_[b].image) nodes_[b].active = false;
        skip(found->end);
    }

    void link(qsizetype begin, qsizetype end, const QString& target, qsizetype after) {
        text_up_to(at_);
        const std::size_t first = nodes_.size();
        nodes_.push_back({Node::Hidden, begin, 0});
        nodes_.push_back({Node::Text, begin, end - begin});
        nodes_.push_back({Node::Hidden, end, 0});
        spans_.push_back({first, first + 2, Span::Link, static_cast<int>(out_.targets.size())});
        out_.targets.append(target);
        skip(after);
    }

    void angle() {
        const qsizetype most = std::min<qsizetype>(source_.size(), at_ + 600);
        qsizetype close = at_ + 1;
        while (close < most && source_[close] != u'>' && source_[close] != u'<') ++close;
        if (close >= most || source_[close] != u'>') {
            ++at_;
            return;
        }
        const QStringView inside = source_.mid(at_ + 1, close - at_ - 1);
        if (in_cell_ && inside.trimmed().startsWith(u"br", Qt::CaseInsensitive) && inside.size() <= 5) {
            text_up_to(at_);
            nodes_.push_back({Node::Break, at_, 0});
            return skip(close + 1);
        }
        if (is_safe_target(inside)) return link(at_ + 1, close, inside.toString(), close + 1);
        ++at_;
    }

    // A bare http:// or https://.
    void address() {
        const QStringView rest = source_.mid(at_);
        const bool word = at_ > 0 && source_[at_ - 1].isLetterOrNumber();
        const qsizetype scheme = rest.startsWith(u"https://") ? 8 : rest.startsWith(u"http://") ? 7 : 0;
        if (word || scheme == 0) {
            ++at_;
            return;
        }
        qsizetype end = at_;
        int parentheses = 0;
        while (end < source_.size()) {
            const QChar c = source_[end];
            if (c.isSpace() || c == u'<' || c == u'>' || c == u'"' || c == u'`' || c == u'|' || c == u']')
                break;
            if (c == u'(') ++parentheses;
            if (c == u')' && --parentheses < 0) break;
            ++end;
        }
        while (end > at_ && QStringView(u"?!.,:;*_~'").contains(source_[end - 1])) --end;
        if (end - at_ <= scheme || !is_safe_target(source_.mid(at_, end - at_))) {
            ++at_;
            return;
        }
        link(at_, end, source_.mid(at_, end - at_).toString(), end);
    }

    // Pairs openers and closers among the runs behind node `from` (the specification's "process emphasis").
    void pair_marks(std::size_t from, bool inside) {
        std::vector<std::size_t> open;  // runs that may still be openers
        // Below this place of `open` there is no opener for such a closer.
        std::map<std::array<int, 3>, std::size_t> bottom;
        for (const std::size_t r : runs_) {
            if (r < from || nodes_[r].kind != Node::Run) continue;
            Node& closer = nodes_[r];
            while (closer.closes && closer.length > 0) {
                const std::array<int, 3> kind{closer.mark.unicode(), static_cast<int>(closer.original % 3),
                                              closer.opens ? 1 : 0};
                const std::size_t least = bottom.count(kind) ? bottom[kind] : 0;
                std::size_t o = open.size();
                while (o > least) {
                    const Node& opener = nodes_[open[o - 1]];
                    const bool thirds = (closer.opens || opener.closes) &&
                                        (opener.original + closer.original) % 3 == 0 &&
                                        (opener.original % 3 != 0 || closer.original % 3 != 0);
                    if (opener.mark == closer.mark && !thirds) break;
                    --o;
                }
                if (o <= least) {
                    bottom[kind] = open.size();
                    break;
                }
                Node& opener = nodes_[open[o - 1]];
                const qsizetype n = opener.length >= 2 && closer.length >= 2 ? 2 : 1;
                if (closer.mark == u'~' && n != 2) break;
                opener.length -= n;
                closer.length -= n;
                closer.left += n;
                spans_.push_back({open[o - 1], r, style_of(closer.mark, n), -1});
                open.resize(opener.length > 0 ? o : o - 1);
                for (auto& [key, place] : bottom) place = std::min(place, open.size());
            }
            if (closer.opens && closer.length > 0) open.push_back(r);
        }
        // What stands inside a link stays inside.
        if (inside)
            runs_.erase(
                std::remove_if(runs_.begin(), runs_.end(), [from](std::size_t r) { return r >= from; }),
                runs_.end());
    }

    static Span::Style style_of(QChar mark, qsizetype n) {
        return mark == u'~' ? Span::Strike : n == 2 ? Span::Bold : Span::Italic;
    }

    void close_at_end() {
        for (const std::size_t r : runs_) {
            Node& node = nodes_[r];
            if (node.kind != Node::Run || !node.opens || node.length == 0 || node.length > 3) continue;
            if (r + 1 == nodes_.size()) continue;
            if (node.mark == u'~' && node.length != 2) continue;
            if (node.length >= 2) spans_.push_back({r, nodes_.size(), style_of(node.mark, 2), -1});
            if (node.length % 2 == 1) spans_.push_back({r, nodes_.size(), style_of(node.mark, 1), -1});
            node.length = 0;
        }
    }

    void write() {
        std::vector<qsizetype> begins(nodes_.size() + 1), ends(nodes_.size() + 1);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const Node& node = nodes_[i];
            begins[i] = out_.text.size();
            if (node.kind == Node::Break) {
                out_.text += line_break;
            } else if (node.kind != Node::Hidden && node.length > 0) {
                out_.append(source_.mid(node.begin + node.left, node.length),
                            source_at_ + node.begin + node.left);
            }
            ends[i] = out_.text.size();
        }
        begins.back() = ends.back() = out_.text.size();
        for (const NodeSpan& s : spans_) {
            const qsizetype from = ends[s.first];
            const qsizetype to = begins[s.last];
            if (to > from) out_.spans.push_back({from, to - from, s.style, s.target});
        }
    }

    QStringView source_;
    qsizetype source_at_;
    bool open_;
    bool in_cell_;
    InlineText& out_;
    qsizetype at_ = 0;
    qsizetype text_from_ = 0;
    std::vector<Node> nodes_;
    std::vector<NodeSpan> spans_;
    std::vector<std::size_t> runs_;      // nodes that are runs, and not yet inside a finished link
    std::vector<std::size_t> brackets_;  // nodes that are open brackets
    bool ticks_known_ = false;
    std::map<qsizetype, std::vector<qsizetype>> ticks_;  // runs of backticks by their length
};

}  // namespace

QString printable(QStringView text) {
    QString out = text.toString();
    for (QChar& c : out) {
        if (c.unicode() < 0x20 && c != u'\t') c = QChar(0x2400 + c.unicode());
        if (c.unicode() == 0x7F) c = QChar(0x2421);
    }
    return out;
}

void InlineText::append(QStringView source, qsizetype source_at) {
    if (source.isEmpty()) return;
    if (!pieces.empty() && pieces.back().source + pieces.back().length == source_at &&
        pieces.back().shown + pieces.back().length == text.size()) {
        pieces.back().length += source.size();
    } else {
        pieces.push_back({text.size(), source_at, source.size()});
    }
    text += printable(source);
}

void read_inline(QStringView source, qsizetype source_at, bool open, bool in_cell, InlineText& out) {
    InlineReader(source, source_at, open, in_cell, out).read();
}

bool is_safe_target(QStringView target) {
    qsizetype scheme = 0;
    for (const QStringView known :
         {QStringView(u"https://"), QStringView(u"http://"), QStringView(u"mailto:")})
        if (target.startsWith(known, Qt::CaseInsensitive)) scheme = known.size();
    if (scheme == 0 || target.size() <= scheme || target.size() > 4000) return false;
    return std::none_of(target.begin(), target.end(), [](QChar c) {
        // Spaces, controls and what changes the direction of writing: an address has to be what it looks
        // like.
        return c.isSpace() || c.category() == QChar::Other_Control || c.category() == QChar::Other_Format ||
               c == u'<' || c == u'>' || c == u'"' || c == u'\\';
    });
}

}  // namespace vitrine::ui
