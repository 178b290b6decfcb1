#include "ui/chat/code_colors.h"

namespace vitrine::ui {
namespace {

// State between lines: 0; 1: inside a block comment; 2 + i: inside string i.
class Scanner {
  public:
    Scanner(const CodeLanguage& language, QStringView line, std::vector<Span>& out)
        : l_(language), line_(line), out_(out) {}

    int scan(int state) {
        if (l_.special == CodeLanguage::Diff) return diff();
        if (state == 1 && !finish_comment(0)) return 1;
        if (state >= 2) {
            const auto rule = static_cast<std::size_t>(state - 2);
            if (rule < l_.strings.size() && !finish_string(0, 0, l_.strings[rule])) return state;
        }
        if (l_.special == CodeLanguage::KeyValue && at_ == 0) key();
        while (at_ < line_.size()) {
            const QChar c = line_[at_];
            if (c.isSpace()) {
                ++at_;
                continue;
            }
            if (!l_.block_open.isEmpty() && line_.mid(at_).startsWith(l_.block_open)) {
                const qsizetype begin = at_;
                at_ += l_.block_open.size();
                if (!finish_comment(begin)) return 1;
                continue;
            }
            bool done = false;
            for (const QString& mark : l_.line_comments) {
                if (!line_.mid(at_).startsWith(mark)) continue;
                // A # inside of a word is none.
                if (mark == QLatin1String("#") && at_ > 0 && !line_[at_ - 1].isSpace()) continue;
                put(at_, line_.size(), Span::Comment);
                return 0;
            }
            for (std::size_t i = 0; i < l_.strings.size() && !done; ++i) {
                const StringRule& rule = l_.strings[i];
                if (!line_.mid(at_).startsWith(rule.open)) continue;
                // A ' behind a word is an apostrophe, a digit separator or a lifetime.
                if (rule.open == QLatin1String("'") && !rule.lines && at_ > 0 &&
                    line_[at_ - 1].isLetterOrNumber())
                    continue;
                const qsizetype begin = at_;
                at_ += rule.open.size();
                if (!finish_string(begin, at_, rule)) return static_cast<int>(i) + 2;
                done = true;
            }
            if (done) continue;
            if (l_.special == CodeLanguage::Markup) {
                if (c == u'<' || in_tag_) {
                    tag();
                } else {
                    ++at_;
                }
                continue;
            }
            if (l_.directives && c == u'#' && line_.left(at_).trimmed().isEmpty()) {
                qsizetype end = at_ + 1;
                while (end < line_.size() && line_[end] == u' ') ++end;
                while (end < line_.size() && line_[end].isLetter()) ++end;
                put(at_, end, Span::Keyword);
                at_ = end;
                continue;
            }
            if ((l_.decorators && c == u'@') || (l_.variables && c == u'$')) {
                qsizetype end = at_ + 1;
                if (end < line_.size() && line_[end] == u'{') ++end;
                while (end < line_.size() && is_word(line_[end])) ++end;
                if (end < line_.size() && line_[end] == u'}') ++end;
                put(at_, end, Span::Name);
                at_ = end;
                continue;
            }
            if (c.isDigit() && c.unicode() < 0x80) {
                number();
                continue;
            }
            if (c.isLetter() || c == u'_') {
                word();
                continue;
            }
            ++at_;
        }
        return 0;
    }

  private:
    static bool is_word(QChar c) { return c.isLetterOrNumber() || c == u'_'; }
    bool in_word(QChar c) const { return is_word(c) || l_.word_extra.contains(c); }

    void put(qsizetype begin, qsizetype end, Span::Style style) {
        if (end > begin) out_.push_back({begin, end - begin, style, -1});
    }
    bool finish_comment(qsizetype begin) {
        const qsizetype close = line_.indexOf(l_.block_close, at_);
        at_ = close < 0 ? line_.size() : close + l_.block_close.size();
        put(begin, at_, Span::Comment);
        return close >= 0;
    }
    // False: it goes on in the next line.
    bool finish_string(qsizetype begin, qsizetype from, const StringRule& rule) {
        qsizetype i = from;
        bool closed = false;
        while (i < line_.size()) {
            if (rule.escapes && line_[i] == u'\\') {
                i += 2;
                continue;
            }
            if (line_.mid(i).startsWith(rule.close)) {
                i += rule.close.size();
                closed = true;
                break;
            }
            ++i;
        }
        at_ = std::min(i, line_.size());
        Span::Style style = Span::Literal;
        if (l_.special == CodeLanguage::Json && closed) {
            qsizetype next = at_;
            while (next < line_.size() && line_[next].isSpace()) ++next;
            if (next < line_.size() && line_[next] == u':') style = Span::Name;
        }
        put(begin, at_, style);
        return closed || !rule.lines;
    }
    void number() {
        qsizetype end = at_;
        while (end < line_.size() &&
               (is_word(line_[end]) || line_[end] == u'.' ||
                (line_[end] == u'\'' && end + 1 < line_.size() && line_[end + 1].isDigit())))
            ++end;
        while (end > at_ && line_[end - 1] == u'.') --end;
        put(at_, end, Span::Number);
        at_ = end;
    }
    void word() {
        qsizetype end = at_;
        while (end < line_.size() && in_word(line_[end])) ++end;
        QString text = line_.mid(at_, std::min<qsizetype>(end - at_, 64)).toString();
        if (l_.any_case) text = text.toLower();
        if (l_.keywords.contains(text)) {
            put(at_, end, Span::Keyword);
        } else if (l_.types.contains(text)) {
            put(at_, end, Span::Type);
        } else if (end < line_.size() && line_[end] == u'(' && l_.word_extra.isEmpty()) {
            put(at_, end, Span::Name);
        }
        at_ = end;
    }
    void key() {
        qsizetype i = 0;
        while (i < line_.size() && (line_[i].isSpace() || line_[i] == u'-')) ++i;
        if (i < line_.size() && line_[i] == u'[') {
            put(i, line_.size(), Span::Type);
            at_ = line_.size();
            return;
        }
        qsizetype end = i;
        while (end < line_.size() && (is_word(line_[end]) || line_[end] == u'-' || line_[end] == u'.')) ++end;
        qsizetype sign = end;
        while (sign < line_.size() && line_[sign] == u' ') ++sign;
        if (end > i && sign < line_.size() && (line_[sign] == u':' || line_[sign] == u'=')) {
            put(i, end, Span::Name);
            at_ = sign + 1;
        }
    }
    void tag() {
        const QChar c = line_[at_];
        if (c == u'<') {
            qsizetype end = at_ + 1;
            while (end < line_.size() && (is_word(line_[end]) || QStringView(u"/-:!?").contains(line_[end])))
                ++end;
            put(at_, end, Span::Keyword);
            in_tag_ = true;
            at_ = end;
        } else if (c == u'>' || c == u'/') {
            if (c == u'>') in_tag_ = false;
            put(at_, at_ + 1, Span::Keyword);
            ++at_;
        } else if (c.isLetter()) {
            qsizetype end = at_;
            while (end < line_.size() && (is_word(line_[end]) || line_[end] == u'-' || line_[end] == u':'))
                ++end;
            put(at_, end, Span::Name);
            at_ = end;
        } else {
            ++at_;
        }
    }
    int diff() {
        if (line_.startsWith(u"+++") || line_.startsWith(u"---") || line_.startsWith(u"diff ")) {
            put(0, line_.size(), Span::Keyword);
        } else if (line_.startsWith(u"@@")) {
            put(0, line_.size(), Span::Name);
        } else if (line_.startsWith(u'+')) {
            put(0, line_.size(), Span::Added);
        } else if (line_.startsWith(u'-')) {
            put(0, line_.size(), Span::Removed);
        }
        return 0;
    }

    const CodeLanguage& l_;
    QStringView line_;
    std::vector<Span>& out_;
    qsizetype at_ = 0;
    bool in_tag_ = false;
};

}  // namespace

int color_code(const CodeLanguage& language, QStringView line, int state, std::vector<Span>& out) {
    return Scanner(language, line, out).scan(state);
}

}  // namespace vitrine::ui
