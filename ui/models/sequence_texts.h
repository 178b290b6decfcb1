// Which text lies in which KV block: the tokens of each chat's sequence as the model reads them, and where
// the messages of the chat lie in them.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include <QHash>
#include <QString>

#include "ui/bridge/types.h"

namespace vitrine::ui {

// A piece of the text of a message, in UTF-16 units.
struct MessageRange {
    qint64 message = 0;
    qint32 begin = 0;
    qint32 end = 0;
    bool operator==(const MessageRange&) const = default;
};

// A message of the shown path, in its order.
struct PathText {
    qint64 message = 0;
    const QString* text = nullptr;
};

class SequenceTexts {
  public:
    // A request begins: its prompt replaces what was known of the session. `answer` grows behind it.
    void begin(qint64 session, const PromptText& prompt, qint64 answer);
    // text_begin: where the text of these tokens begins in the message.
    void append(qint64 session, qint64 answer, const std::vector<AnswerToken>& tokens, qint32 text_begin);
    void forget(qint64 session);

    int block_size(qint64 session) const;
    // As the model reads it, at most `most` characters of it; empty where it is not known.
    QString block_text(qint64 session, int logical, int most = 400) const;
    // The tokens of this block inside the messages of the path.
    std::vector<MessageRange> block_ranges(qint64 session, int logical,
                                           const std::vector<PathText>& path) const;
    // The logical block that holds the token at this place of a message; −1: not in the sequence.
    int block_of(qint64 session, qint64 message, qint32 offset, const std::vector<PathText>& path) const;

    static constexpr std::size_t most_sessions = 64;

  private:
    struct Sequence {
        int block_size = 0;
        QString prompt;            // decoded
        std::vector<qint32> ends;  // of each prompt token, in UTF-16 units of `prompt`
        qint64 answer = 0;
        QByteArray answer_bytes;
        std::vector<qint32> answer_byte_ends;
        std::vector<qint32> answer_ends;  // in the message's text
        qint32 answer_begin = 0;
    };
    struct Placed {
        qint64 message = 0;
        qint32 in_message = 0;
        qint32 in_prompt = 0;
        qint32 length = 0;
    };
    static std::vector<Placed> place(const Sequence& s, const std::vector<PathText>& path);

    QHash<qint64, std::shared_ptr<Sequence>> sequences_;
    std::list<qint64> order_;
};

}  // namespace vitrine::ui
