#include "ui/models/sequence_texts.h"

#include <algorithm>

namespace vitrine::ui {
namespace {

// Where the text of a message may begin in the prompt: as it is, trimmed as templates like to, or without the
// thinking that templates leave out of earlier answers.
struct Form {
    QStringView text;
    qsizetype begin = 0;  // in the message
};

Form trimmed(QStringView text, qsizetype begin) {
    qsizetype front = 0;
    while (front < text.size() && text[front].isSpace()) ++front;
    return {text.mid(front).trimmed(), begin + front};
}

}  // namespace

void SequenceTexts::begin(qint64 session, const PromptText& prompt, qint64 answer) {
    auto s = std::make_shared<Sequence>();
    s->block_size = prompt.block_size;
    s->answer = answer;
    // Byte ends to ends in UTF-16 units: a token that ends inside a character ends before it.
    s->prompt = QString::fromUtf8(prompt.bytes.data(), static_cast<qsizetype>(prompt.bytes.size()));
    s->ends.reserve(prompt.ends.size());
    qint32 units = 0;
    std::size_t at = 0;
    for (const std::int32_t end : prompt.ends) {
        const std::size_t to = std::min(prompt.bytes.size(), static_cast<std::size_t>(std::max(end, 0)));
        while (at < to) {
            const auto byte = static_cast<quint8>(prompt.bytes[at]);
            const std::size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
            if (at + length > to) break;
            units += byte >= 0xF0 ? 2 : 1;
            at += length;
        }
        s->ends.push_back(std::min(units, static_cast<qint32>(s->prompt.size())));
    }
    sequences_.insert(session, std::move(s));
    order_.remove(session);
    order_.push_back(session);
    while (order_.size() > most_sessions) {
        sequences_.remove(order_.front());
        order_.pop_front();
    }
}

void SequenceTexts::append(qint64 session, qint64 answer, const std::vector<AnswerToken>& tokens,
                           qint32 text_begin) {
    const auto known = sequences_.constFind(session);
    if (known == sequences_.constEnd() || (*known)->answer != answer) return;
    Sequence& s = **known;
    if (s.answer_ends.empty()) s.answer_begin = text_begin;
    for (const AnswerToken& t : tokens) {
        s.answer_bytes += QByteArray::fromStdString(t.piece);
        s.answer_byte_ends.push_back(static_cast<qint32>(s.answer_bytes.size()));
        s.answer_ends.push_back((s.answer_ends.empty() ? s.answer_begin : s.answer_ends.back()) +
                                t.text_units);
    }
}

void SequenceTexts::forget(qint64 session) {
    sequences_.remove(session);
    order_.remove(session);
}

int SequenceTexts::block_size(qint64 session) const {
    const auto known = sequences_.constFind(session);
    return known == sequences_.constEnd() ? 0 : (*known)->block_size;
}

QString SequenceTexts::block_text(qint64 session, int logical, int most) const {
    const auto known = sequences_.constFind(session);
    if (known == sequences_.constEnd() || logical < 0) return {};
    const Sequence& s = **known;
    if (s.block_size <= 0) return {};
    const auto prompt_tokens = static_cast<qint64>(s.ends.size());
    const auto all = prompt_tokens + static_cast<qint64>(s.answer_ends.size());
    const qint64 from = std::min(all, static_cast<qint64>(logical) * s.block_size);
    const qint64 to = std::min(all, from + s.block_size);
    QString out;
    if (from < prompt_tokens) {
        const qint64 last = std::min(to, prompt_tokens);
        const qint32 begin = from == 0 ? 0 : s.ends[static_cast<std::size_t>(from - 1)];
        if (last > from) out = s.prompt.mid(begin, s.ends[static_cast<std::size_t>(last - 1)] - begin);
    }
    if (to > prompt_tokens) {
        const auto first = static_cast<std::size_t>(std::max<qint64>(0, from - prompt_tokens));
        const auto end = static_cast<std::size_t>(to - prompt_tokens);
        const qint32 begin = first == 0 ? 0 : s.answer_byte_ends[first - 1];
        out += QString::fromUtf8(s.answer_bytes.mid(begin, s.answer_byte_ends[end - 1] - begin));
    }
    if (out.size() > most) out = out.left(most) + QChar(0x2026);
    return out;
}

std::vector<SequenceTexts::Placed> SequenceTexts::place(const Sequence& s,
                                                        const std::vector<PathText>& path) {
    std::vector<Placed> placed;
    qsizetype from = 0;
    for (const PathText& p : path) {
        if (p.text == nullptr) continue;
        if (p.message == s.answer) {
            // An answer that went on: what it had before stands at the end of the prompt.
            const QStringView before = QStringView(*p.text).left(s.answer_begin);
            const qsizetype at = before.isEmpty() ? -1 : QStringView(s.prompt).lastIndexOf(before);
            if (at >= from)
                placed.push_back({p.message, 0, static_cast<qint32>(at), static_cast<qint32>(before.size())});
            continue;
        }
        std::vector<Form> forms{{QStringView(*p.text), 0}, trimmed(*p.text, 0)};
        constexpr QLatin1String thought("</think>");
        if (const qsizetype end = p.text->lastIndexOf(thought); end >= 0)
            forms.push_back(trimmed(QStringView(*p.text).mid(end + thought.size()), end + thought.size()));
        for (const Form& form : forms) {
            if (form.text.isEmpty()) continue;
            const qsizetype at = QStringView(s.prompt).indexOf(form.text, from);
            if (at < 0) continue;
            placed.push_back({p.message, static_cast<qint32>(form.begin), static_cast<qint32>(at),
                              static_cast<qint32>(form.text.size())});
            from = at + form.text.size();
            break;
        }
    }
    return placed;
}

std::vector<MessageRange> SequenceTexts::block_ranges(qint64 session, int logical,
                                                      const std::vector<PathText>& path) const {
    std::vector<MessageRange> out;
    const auto known = sequences_.constFind(session);
    if (known == sequences_.constEnd() || logical < 0) return out;
    const Sequence& s = **known;
    if (s.block_size <= 0) return out;
    const auto prompt_tokens = static_cast<qint64>(s.ends.size());
    const auto all = prompt_tokens + static_cast<qint64>(s.answer_ends.size());
    const qint64 from = std::min(all, static_cast<qint64>(logical) * s.block_size);
    const qint64 to = std::min(all, from + s.block_size);
    if (from < prompt_tokens && to > from) {
        const qint32 begin = from == 0 ? 0 : s.ends[static_cast<std::size_t>(from - 1)];
        const qint32 end = s.ends[static_cast<std::size_t>(std::min(to, prompt_tokens) - 1)];
        for (const Placed& p : place(s, path)) {
            const qint32 first = std::max(begin, p.in_prompt);
            const qint32 last = std::min(end, p.in_prompt + p.length);
            if (first < last)
                out.push_back(
                    {p.message, first - p.in_prompt + p.in_message, last - p.in_prompt + p.in_message});
        }
    }
    if (to > prompt_tokens) {
        const auto first = static_cast<std::size_t>(std::max<qint64>(0, from - prompt_tokens));
        const auto end = static_cast<std::size_t>(to - prompt_tokens);
        const qint32 begin = first == 0 ? s.answer_begin : s.answer_ends[first - 1];
        if (s.answer_ends[end - 1] > begin) out.push_back({s.answer, begin, s.answer_ends[end - 1]});
    }
    return out;
}

int SequenceTexts::block_of(qint64 session, qint64 message, qint32 offset,
                            const std::vector<PathText>& path) const {
    const auto known = sequences_.constFind(session);
    if (known == sequences_.constEnd()) return -1;
    const Sequence& s = **known;
    if (s.block_size <= 0) return -1;
    const auto token_in = [](const std::vector<qint32>& ends, qint32 at) {
        return static_cast<qint64>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    };
    if (message == s.answer && offset >= s.answer_begin) {
        const qint64 i = token_in(s.answer_ends, offset);
        if (i >= static_cast<qint64>(s.answer_ends.size())) return -1;
        return static_cast<int>((static_cast<qint64>(s.ends.size()) + i) / s.block_size);
    }
    for (const Placed& p : place(s, path)) {
        if (p.message != message || offset < p.in_message || offset >= p.in_message + p.length) continue;
        return static_cast<int>(token_in(s.ends, offset - p.in_message + p.in_prompt) / s.block_size);
    }
    return -1;
}

}  // namespace vitrine::ui
