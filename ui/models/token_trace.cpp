#include "ui/models/token_trace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QStringDecoder>

namespace vitrine::ui {
namespace {

constexpr char format_version = 1;
constexpr qsizetype most_bytes = 256 << 20;  // of a blob, expanded

void put(QByteArray& out, quint64 value) {
    while (value >= 0x80) {
        out += static_cast<char>((value & 0x7F) | 0x80);
        value >>= 7;
    }
    out += static_cast<char>(value);
}

void put_signed(QByteArray& out, qint64 value) {
    put(out, (static_cast<quint64>(value) << 1) ^ static_cast<quint64>(value >> 63));
}

// 0 for "not known", else one more than the scaled value.
quint64 scaled(double value, double scale) {
    if (!(value >= 0)) return 0;
    return 1 + static_cast<quint64>(std::llround(std::min(value, 1e6) * scale));
}

class Reader {
  public:
    explicit Reader(const QByteArray& bytes) : bytes_(bytes) {}
    bool ok() const { return ok_; }
    qsizetype left() const { return bytes_.size() - at_; }
    quint64 number(quint64 most) {
        quint64 value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at_ >= bytes_.size()) break;
            const auto byte = static_cast<quint8>(bytes_[at_++]);
            value |= static_cast<quint64>(byte & 0x7F) << shift;
            if (byte < 0x80) {
                if (value > most) break;
                return value;
            }
        }
        ok_ = false;
        return 0;
    }
    qint32 signed_number() {
        const quint64 n = number(std::numeric_limits<quint32>::max());
        return static_cast<qint32>(static_cast<qint64>(n >> 1) ^ -static_cast<qint64>(n & 1));
    }
    qint32 whole() { return static_cast<qint32>(number(std::numeric_limits<qint32>::max())); }
    float part(double scale, float unknown) {
        const quint64 n = number(1ULL << 40);
        return n == 0 ? unknown : static_cast<float>(static_cast<double>(n - 1) / scale);
    }
    QByteArray bytes(qsizetype n) {
        if (n > left()) {
            ok_ = false;
            return {};
        }
        const QByteArray out = bytes_.mid(at_, n);
        at_ += n;
        return out;
    }

  private:
    const QByteArray& bytes_;
    qsizetype at_ = 0;
    bool ok_ = true;
};

constexpr double nat_scale = 1024;
constexpr double probability_scale = 10000;
constexpr double seconds_scale = 1e6;

}  // namespace

void TokenTrace::append(const std::vector<AnswerToken>& tokens) {
    for (const AnswerToken& t : tokens) {
        if (tokens_.empty() && origin_.first_position < 0) origin_.first_position = t.position;
        TracedToken token;
        token.id = t.id;
        token.rank = t.rank;
        token.log_probability = t.log_probability;
        token.probability = t.probability;
        token.seconds = t.seconds;
        token.origin = t.origin;
        token.end = (tokens_.empty() ? origin_.text_begin : tokens_.back().end) + t.text_units;
        token.first_candidate = static_cast<quint32>(candidates_.size());
        token.candidate_count = static_cast<quint16>(std::min<std::size_t>(t.candidates.size(), 64));
        for (std::size_t i = 0; i < token.candidate_count; ++i) {
            const TokenCandidate& c = t.candidates[i];
            candidates_.push_back({c.id, c.log_probability, c.probability});
            if (!texts_.contains(c.id)) texts_.insert(c.id, QByteArray::fromStdString(c.text));
            if (c.control) controls_.insert(c.id);
        }
        if (t.control) controls_.insert(t.id);
        if (!texts_.contains(t.id)) texts_.insert(t.id, QByteArray::fromStdString(t.piece));
        tokens_.push_back(token);
    }
}

void TokenTrace::extend_to(qint32 text_length) {
    if (!tokens_.empty()) tokens_.back().end = std::max(tokens_.back().end, text_length);
}

int TokenTrace::first_ending_after(qint32 offset) const {
    const auto it = std::upper_bound(tokens_.begin(), tokens_.end(), offset,
                                     [](qint32 value, const TracedToken& t) { return value < t.end; });
    return static_cast<int>(it - tokens_.begin());
}

int TokenTrace::token_at(qint32 offset) const {
    const int i = first_ending_after(offset);
    return i < size() && offset >= begin(i) ? i : -1;
}

TokenTrace TokenTrace::branched(int index, qint32 candidate) const {
    TokenTrace out = *this;
    if (index < 0 || index >= size()) return out;
    out.tokens_.resize(static_cast<std::size_t>(index) + 1);
    TracedToken& t = out.tokens_.back();
    t.end = begin(index) + static_cast<qint32>(QString::fromUtf8(bytes(candidate)).size());
    t.id = candidate;
    t.rank = 0;
    t.seconds = 0;
    t.origin = TokenOrigin::Sampled;
    t.probability = -1;
    t.log_probability = 0;
    for (int i = 0; i < t.candidate_count; ++i) {
        const TracedCandidate& c = candidates(index)[i];
        if (c.id != candidate) continue;
        t.probability = c.probability;
        if (std::isnan(c.log_probability)) continue;
        t.log_probability = c.log_probability;
        t.rank = i + 1;  // the model's most probable come first, in their order
    }
    const std::size_t kept = t.first_candidate + t.candidate_count;
    out.candidates_.resize(kept);
    return out;
}

float TokenTrace::median_seconds() const {
    if (tokens_.size() < 2) return 0;
    // The last thousand say it as well, and cost the same however long the answer is.
    std::vector<float> some;
    const std::size_t from = tokens_.size() > 1000 ? tokens_.size() - 1000 : 1;
    for (std::size_t i = from; i < tokens_.size(); ++i) some.push_back(tokens_[i].seconds);
    const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
    std::nth_element(some.begin(), middle, some.end());
    return *middle;
}

QByteArray TokenTrace::to_blob() const {
    QByteArray out;
    out.reserve(static_cast<qsizetype>(tokens_.size() * 56 + 64));
    out += format_version;
    put_signed(out, origin_.vocabulary);
    put_signed(out, origin_.block_size);
    put_signed(out, origin_.first_position);
    put_signed(out, origin_.text_begin);
    put(out, tokens_.size());
    qint32 end = origin_.text_begin;
    for (const TracedToken& t : tokens_) {
        put_signed(out, t.id);
        put(out, static_cast<quint64>(std::max(t.rank, 0)));
        put(out, scaled(-static_cast<double>(t.log_probability), nat_scale));
        put(out, scaled(static_cast<double>(t.probability), probability_scale));
        put(out, scaled(static_cast<double>(t.seconds), seconds_scale));
        put(out, static_cast<quint64>(t.origin));
        put(out, static_cast<quint64>(t.end - end));
        end = t.end;
        put(out, t.candidate_count);
        for (quint32 i = 0; i < t.candidate_count; ++i) {
            const TracedCandidate& c = candidates_[t.first_candidate + i];
            put_signed(out, c.id);
            put(out, std::isnan(c.log_probability)
                         ? 0
                         : scaled(-static_cast<double>(c.log_probability), nat_scale));
            put(out, scaled(static_cast<double>(c.probability), probability_scale));
        }
    }
    put(out, static_cast<quint64>(texts_.size()));
    for (auto it = texts_.begin(); it != texts_.end(); ++it) {
        put_signed(out, it.key());
        put(out, static_cast<quint64>(it.value().size()));
        out += it.value();
    }
    put(out, static_cast<quint64>(controls_.size()));
    for (const qint32 id : controls_) put_signed(out, id);
    return qCompress(out, 6);
}

std::optional<TokenTrace> TokenTrace::from_blob(const QByteArray& blob) {
    // qUncompress believes the length in the first four bytes and allocates it.
    if (blob.size() < 5) return std::nullopt;
    quint32 expanded = 0;
    for (int i = 0; i < 4; ++i) expanded = expanded << 8 | static_cast<quint8>(blob[i]);
    // zlib reaches 1:1032 at most.
    if (expanded > most_bytes || expanded > static_cast<quint64>(blob.size()) * 1100) return std::nullopt;
    const QByteArray bytes = qUncompress(blob);
    if (bytes.isEmpty() || bytes[0] != format_version) return std::nullopt;
    Reader in(bytes);
    in.bytes(1);
    TokenTrace trace;
    trace.origin_.vocabulary = in.signed_number();
    trace.origin_.block_size = in.signed_number();
    trace.origin_.first_position = in.signed_number();
    trace.origin_.text_begin = in.signed_number();
    const quint64 count = in.number(static_cast<quint64>(in.left()));  // a token takes several bytes
    if (!in.ok() || trace.origin_.text_begin < 0) return std::nullopt;
    qint64 end = trace.origin_.text_begin;
    for (quint64 n = 0; n < count && in.ok(); ++n) {
        TracedToken t;
        t.id = in.signed_number();
        t.rank = in.whole();
        t.log_probability = -in.part(nat_scale, 0);
        t.probability = in.part(probability_scale, -1);
        t.seconds = in.part(seconds_scale, 0);
        t.origin = static_cast<TokenOrigin>(in.number(static_cast<quint64>(TokenOrigin::Bonus)));
        end += in.whole();
        if (end > std::numeric_limits<qint32>::max()) return std::nullopt;
        t.end = static_cast<qint32>(end);
        t.candidate_count = static_cast<quint16>(in.number(64));
        t.first_candidate = static_cast<quint32>(trace.candidates_.size());
        for (int i = 0; i < t.candidate_count && in.ok(); ++i) {
            TracedCandidate c;
            c.id = in.signed_number();
            c.log_probability = -in.part(nat_scale, std::numeric_limits<float>::quiet_NaN());
            c.probability = in.part(probability_scale, -1);
            trace.candidates_.push_back(c);
        }
        trace.tokens_.push_back(t);
    }
    const quint64 texts = in.number(static_cast<quint64>(in.left()));
    for (quint64 n = 0; n < texts && in.ok(); ++n) {
        const qint32 id = in.signed_number();
        const auto length = static_cast<qsizetype>(in.number(static_cast<quint64>(in.left())));
        trace.texts_.insert(id, in.bytes(length));
    }
    const quint64 controls = in.number(static_cast<quint64>(in.left()));
    for (quint64 n = 0; n < controls && in.ok(); ++n) trace.controls_.insert(in.signed_number());
    if (!in.ok()) return std::nullopt;
    return trace;
}

QString shown_token(const QByteArray& bytes) {
    QString out;
    QStringDecoder decoder(QStringDecoder::Utf8, QStringDecoder::Flag::Stateless);
    for (qsizetype i = 0; i < bytes.size();) {
        const auto first = static_cast<quint8>(bytes[i]);
        const int length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
        const QString text =
            length > 0 && i + length <= bytes.size() ? decoder.decode(bytes.mid(i, length)) : QString();
        if (text.isEmpty() || text.contains(QChar::ReplacementCharacter)) {
            out += QStringLiteral("<0x%1>")
                       .arg(first, 2, 16, QLatin1Char('0'))
                       .toUpper()
                       .replace(QLatin1String("0X"), QLatin1String("0x"));
            ++i;
            continue;
        }
        if (text == QLatin1String("\n")) {
            out += QChar(0x21B5);
        } else if (text == QLatin1String("\t")) {
            out += QChar(0x21E5);
        } else if (text.size() == 1 && text[0].unicode() < 0x20) {
            out += QChar(0x2400 + text[0].unicode());
        } else {
            out += text;
        }
        i += length;
    }
    return out;
}

}  // namespace vitrine::ui
