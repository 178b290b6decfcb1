// What is known of every token of an answer: kept beside the message, so that an old reply can be looked into
// as well, without the model that wrote it.
#pragma once

#include <optional>
#include <vector>

#include <QByteArray>
#include <QHash>
#include <QSet>

#include "ui/bridge/types.h"

namespace vitrine::ui {

struct TracedToken {
    qint32 id = 0;
    qint32 rank = 0;
    float log_probability = 0;  // the model's own
    float probability = -1;     // in what it was drawn from; −1: not known
    float seconds = 0;
    TokenOrigin origin = TokenOrigin::Sampled;
    qint32 end = 0;               // where its text ends in the message, in UTF-16 units
    quint32 first_candidate = 0;  // into TokenTrace::candidates()
    quint16 candidate_count = 0;
};

struct TracedCandidate {
    qint32 id = 0;
    float log_probability = 0;  // NaN: not among the model's most probable
    float probability = -1;
};

class TokenTrace {
  public:
    // Of the model and of where the answer lies in its sequence.
    struct Origin {
        qint32 vocabulary = 0;
        qint32 block_size = 0;
        qint32 first_position = -1;  // of token 0; −1: not known
        qint32 text_begin = 0;       // of its text in the message
    };

    const Origin& origin() const { return origin_; }
    void set_origin(const Origin& origin) { origin_ = origin; }
    void append(const std::vector<AnswerToken>& tokens);
    // Text that came after the last token belongs to it.
    void extend_to(qint32 text_length);

    int size() const { return static_cast<int>(tokens_.size()); }
    const TracedToken& token(int i) const { return tokens_[static_cast<std::size_t>(i)]; }
    // Most probable first, as the engine told them.
    const TracedCandidate* candidates(int i) const { return candidates_.data() + token(i).first_candidate; }
    qint32 begin(int i) const { return i == 0 ? origin_.text_begin : token(i - 1).end; }
    // The bytes of a token that occurs here, as its own or as a candidate.
    QByteArray bytes(qint32 id) const { return texts_.value(id); }
    // It steers or ends the answer; its bytes are a name.
    bool control(qint32 id) const { return controls_.contains(id); }
    // As if this candidate had been drawn at `index`, and nothing since.
    TokenTrace branched(int index, qint32 candidate) const;
    // The token whose text holds this place of the message; −1: none. Tokens without text of their own are
    // passed over.
    int token_at(qint32 offset) const;
    // The first token whose text ends behind `offset`; size() where there is none.
    int first_ending_after(qint32 offset) const;
    qint32 position(int i) const { return origin_.first_position < 0 ? -1 : origin_.first_position + i; }
    // Seconds that half of the tokens after the first were quicker than; 0 where there are none.
    float median_seconds() const;

    // Compressed; numbers are kept to 0.001 of a nat, 0.0001 of a probability and a microsecond.
    QByteArray to_blob() const;
    // Nothing where these bytes are not what to_blob() writes.
    static std::optional<TokenTrace> from_blob(const QByteArray& blob);

  private:
    Origin origin_;
    std::vector<TracedToken> tokens_;
    std::vector<TracedCandidate> candidates_;
    QHash<qint32, QByteArray> texts_;
    QSet<qint32> controls_;
};

// The bytes of a token for people: quoted by the caller; what is no text is shown as <0xE2>, line ends and
// tabs by their symbols.
QString shown_token(const QByteArray& bytes);

}  // namespace vitrine::ui
