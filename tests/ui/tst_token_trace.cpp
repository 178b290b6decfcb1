// What is kept of each token: the trace and its blob, the store, and which text lies in which KV block.
#include <cmath>

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "ui/bridge/engine_worker.h"
#include "ui/models/chat_store.h"
#include "ui/models/sequence_texts.h"
#include "ui/models/token_traces.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

AnswerToken token(std::int32_t id, int index, const char* piece, int units) {
    AnswerToken t;
    t.id = id;
    t.index = index;
    t.position = 20 + index;
    t.rank = 1 + index % 3;
    t.text_units = units;
    t.log_probability = -0.25F * static_cast<float>(index % 7);
    t.probability = index % 5 == 0 ? -1.0F : 0.5F;
    t.seconds = 0.010F + 0.001F * static_cast<float>(index % 4);
    t.origin = static_cast<TokenOrigin>(index % 4);
    t.piece = piece;
    t.control = t.piece.starts_with("<|");
    t.candidates = {{id, t.log_probability, t.probability, piece, t.control},
                    {id + 100, -3.5F, 0.0F, "other", false},
                    {id + 200, std::nanf(""), 0.125F, "\xE2\x82", false}};
    return t;
}

std::vector<AnswerToken> sentence() {
    // An emoji in two tokens: its text comes with the second.
    return {token(5, 0, "Hi", 2), token(6, 1, " \xF0\x9F", 1), token(7, 2, "\x98\x80", 2),
            token(8, 3, "!", 1), token(9, 4, "<|end|>", 0)};
}

TokenTrace trace_of(const std::vector<AnswerToken>& tokens, qint32 text_begin = 0) {
    TokenTrace trace;
    trace.set_origin({49152, 16, -1, text_begin});
    trace.append(tokens);
    return trace;
}

PromptText prompt(const std::vector<std::string>& pieces, int block_size) {
    PromptText p;
    p.block_size = block_size;
    for (const std::string& piece : pieces) {
        p.bytes += piece;
        p.ends.push_back(static_cast<std::int32_t>(p.bytes.size()));
    }
    return p;
}

}  // namespace

class TestTokenTrace : public QObject {
    Q_OBJECT

  private slots:
    void each_place_belongs_to_one_token() {
        const TokenTrace trace = trace_of(sentence(), 3);
        QCOMPARE(trace.size(), 5);
        QCOMPARE(trace.position(2), 22);
        const std::vector<int> expected{-1, -1, -1, 0, 0, 1, 2, 2, 3, -1};
        for (int offset = 0; offset < static_cast<int>(expected.size()); ++offset)
            QCOMPARE(trace.token_at(offset), expected[static_cast<std::size_t>(offset)]);
        QCOMPARE(trace.begin(4), 9);
        QCOMPARE(trace.first_ending_after(100), 5);
    }

    void a_blob_gives_back_what_went_in() {
        std::vector<AnswerToken> tokens;
        for (int i = 0; i < 3000; ++i) tokens.push_back(token(i * 37 % 500, i, i % 2 ? "ab" : " c", 2));
        const TokenTrace trace = trace_of(tokens, 8);
        const QByteArray blob = trace.to_blob();
        QVERIFY2(blob.size() < 3000 * 40, qPrintable(QString::number(blob.size())));
        const auto back = TokenTrace::from_blob(blob);
        QVERIFY(back.has_value());
        QCOMPARE(back->size(), trace.size());
        QCOMPARE(back->origin().vocabulary, 49152);
        QCOMPARE(back->origin().first_position, 20);
        for (int i = 0; i < trace.size(); ++i) {
            const TracedToken& a = trace.token(i);
            const TracedToken& b = back->token(i);
            QCOMPARE(b.id, a.id);
            QCOMPARE(b.rank, a.rank);
            QCOMPARE(b.end, a.end);
            QCOMPARE(b.origin, a.origin);
            QVERIFY(std::abs(b.log_probability - a.log_probability) < 1e-3F);
            QVERIFY(std::abs(b.probability - a.probability) < 1e-4F);
            QVERIFY(std::abs(b.seconds - a.seconds) < 2e-6F);
            QCOMPARE(b.candidate_count, a.candidate_count);
            for (int c = 0; c < a.candidate_count; ++c) {
                const TracedCandidate& x = trace.candidates(i)[c];
                const TracedCandidate& y = back->candidates(i)[c];
                QCOMPARE(y.id, x.id);
                QCOMPARE(std::isnan(y.log_probability), std::isnan(x.log_probability));
                QVERIFY(std::isnan(x.log_probability) ||
                        std::abs(y.log_probability - x.log_probability) < 1e-3F);
                QVERIFY(std::abs(y.probability - x.probability) < 1e-4F);
                QCOMPARE(back->bytes(y.id), trace.bytes(x.id));
            }
        }
    }

    void a_branch_ends_with_its_candidate() {
        const TokenTrace trace = trace_of(sentence());
        const TokenTrace branch = trace.branched(3, 108);
        QCOMPARE(branch.size(), 4);
        QCOMPARE(branch.token(3).id, 108);
        QCOMPARE(branch.token(3).rank, 2);
        QCOMPARE(branch.token(3).log_probability, -3.5F);
        QCOMPARE(branch.token(3).end, trace.begin(3) + 5);  // "other"
        QCOMPARE(branch.token(2).end, trace.token(2).end);
        QVERIFY(TokenTrace::from_blob(branch.to_blob()).has_value());
        QVERIFY(trace.control(9) && TokenTrace::from_blob(trace.to_blob())->control(9));
        QVERIFY(!trace.control(5));
    }

    void bytes_of_somebody_else_are_refused() {
        const QByteArray blob = trace_of(sentence()).to_blob();
        QVERIFY(!TokenTrace::from_blob({}).has_value());
        QVERIFY(!TokenTrace::from_blob("abc").has_value());
        QVERIFY(!TokenTrace::from_blob(QByteArray(64, '\xFF')).has_value());
        for (qsizetype n = 0; n < blob.size(); ++n) QVERIFY(!TokenTrace::from_blob(blob.left(n)).has_value());
        // What unpacks but says nonsense: every byte of the content changed, one at a time.
        const QByteArray plain = qUncompress(blob);
        for (qsizetype i = 0; i < plain.size(); ++i)
            for (const int value : {0x00, 0x7F, 0xFF}) {
                QByteArray changed = plain;
                changed[i] = static_cast<char>(value);
                if (const auto trace = TokenTrace::from_blob(qCompress(changed))) {
                    for (int t = 0; t < trace->size(); ++t) {
                        QVERIFY(trace->begin(t) <= trace->token(t).end);
                        for (int c = 0; c < trace->token(t).candidate_count; ++c)
                            trace->bytes(trace->candidates(t)[c].id);
                    }
                }
            }
        for (qsizetype n = 0; n < plain.size(); ++n)
            QVERIFY(!TokenTrace::from_blob(qCompress(plain.left(n))).has_value());
    }

    void tokens_are_shown_for_people_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("shown");
        QTest::newRow("word") << QByteArray(" tide") << QStringLiteral(" tide");
        QTest::newRow("part of a character") << QByteArray("\xF0\x9F") << QStringLiteral("<0xF0><0x9F>");
        QTest::newRow("line end") << QByteArray("\n\n") << QString(2, QChar(0x21B5));
        QTest::newRow("emoji") << QByteArray("\xF0\x9F\x98\x80") << QString::fromUtf8("\xF0\x9F\x98\x80");
        QTest::newRow("nothing") << QByteArray() << QString();
        QTest::newRow("control") << QByteArray("\x01", 1) << QString(QChar(0x2401));
        QTest::newRow("text, then half a character")
            << QByteArray("a\xE2\x82") << QStringLiteral("a<0xE2><0x82>");
    }
    void tokens_are_shown_for_people() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, shown);
        QCOMPARE(shown_token(bytes), shown);
    }

    void the_store_keeps_them_with_their_message() {
        QTemporaryDir folder;
        const QByteArray blob = trace_of(sentence()).to_blob();
        Message m;
        m.id = 7;
        m.chat = 1;
        {
            ChatStore store(folder.path());
            store.open();
            QVERIFY(store.tokens(7).isEmpty());
            QVERIFY(store.save(m));
            QVERIFY(store.save_tokens(7, "first"));
            QVERIFY(store.save_tokens(7, blob));
            QVERIFY(store.save_tokens(99, blob));  // of no message
        }
        ChatStore store(folder.path());
        store.open();
        QCOMPARE(store.tokens(7), blob);
        QVERIFY(store.purge_deleted_before(1));
        QVERIFY(store.tokens(99).isEmpty());
        QVERIFY(store.remove_message(7));
        QVERIFY(store.tokens(7).isEmpty());
    }

    void old_traces_make_room_and_are_asked_for_again() {
        TokenTraces traces;
        QSignalSpy wanted(&traces, &TokenTraces::wanted);
        const QByteArray blob = trace_of(sentence()).to_blob();
        QVERIFY(traces.find(1) == nullptr);
        QVERIFY(traces.find(1) == nullptr);
        QCOMPARE(wanted.size(), 1);  // asked once
        traces.loaded(1, blob);
        QVERIFY(traces.find(1) != nullptr);
        traces.begin(2, {});
        traces.set_live(2, true);
        for (int i = 10; i < 10 + TokenTraces::most_kept; ++i) traces.loaded(i, blob);
        QVERIFY(traces.find(1, false) == nullptr);
        QVERIFY(traces.find(2, false) != nullptr);  // still being written
        wanted.clear();
        traces.find(1);
        QCOMPARE(wanted.size(), 1);
    }

    void blocks_know_their_text_and_their_messages() {
        const QString question = QStringLiteral("Why tides?");
        const QString answer = QStringLiteral("Hi \U0001F600!");
        SequenceTexts texts;
        texts.begin(1, prompt({"<user>", "Why", " tides", "?", "<bot>"}, 2), 11);
        texts.append(1, 11, sentence(), 0);
        const std::vector<PathText> path{{10, &question}, {11, &answer}};
        QCOMPARE(texts.block_text(1, 0), QStringLiteral("<user>Why"));
        QCOMPARE(texts.block_text(1, 1), QStringLiteral(" tides?"));
        QCOMPARE(texts.block_text(1, 2), QStringLiteral("<bot>Hi"));
        QCOMPARE(texts.block_text(1, 3), QStringLiteral(" \U0001F600"));
        QCOMPARE(texts.block_text(1, 9), QString());
        QCOMPARE(texts.block_text(2, 0), QString());
        QCOMPARE(texts.block_ranges(1, 0, path), (std::vector<MessageRange>{{10, 0, 3}}));
        QCOMPARE(texts.block_ranges(1, 1, path), (std::vector<MessageRange>{{10, 3, 10}}));
        QCOMPARE(texts.block_ranges(1, 2, path), (std::vector<MessageRange>{{11, 0, 2}}));
        QCOMPARE(texts.block_of(1, 10, 0, path), 0);
        QCOMPARE(texts.block_of(1, 10, 9, path), 1);
        QCOMPARE(texts.block_of(1, 11, 0, path), 2);
        QCOMPARE(texts.block_of(1, 11, 4, path), 3);
        QCOMPARE(texts.block_of(1, 12, 0, path), -1);
        // Each place that a block names is in that block.
        for (int block = 0; block < 5; ++block)
            for (const MessageRange& r : texts.block_ranges(1, block, path))
                for (qint32 at = r.begin; at < r.end; ++at)
                    QCOMPARE(texts.block_of(1, r.message, at, path), block);
    }

    void thinking_that_the_template_left_out_is_no_obstacle() {
        const QString question = QStringLiteral("Q");
        const QString thought = QStringLiteral("<think>\nQ? hm\n</think>\n\nYes.");
        const QString again = QStringLiteral("More");
        SequenceTexts texts;
        texts.begin(1, prompt({"[u]", "Q", "[b]", "Yes", ".", "[u]", "More", "[b]"}, 1), 4);
        const std::vector<PathText> path{{1, &question}, {2, &thought}, {3, &again}};
        const auto begin = static_cast<qint32>(thought.indexOf(QStringLiteral("Yes")));
        QCOMPARE(texts.block_ranges(1, 3, path), (std::vector<MessageRange>{{2, begin, begin + 3}}));
        QCOMPARE(texts.block_of(1, 2, begin + 3, path), 4);
        QCOMPARE(texts.block_of(1, 2, 8, path), -1);  // the thinking is in no block
        QCOMPARE(texts.block_ranges(1, 6, path), (std::vector<MessageRange>{{3, 0, 4}}));
    }

    void an_answer_that_went_on_is_in_the_prompt_and_behind_it() {
        const QString question = QStringLiteral("Q");
        const QString answer = QStringLiteral("Hi there!");
        SequenceTexts texts;
        texts.begin(1, prompt({"<u>", "Q", "<b>", "Hi"}, 1), 2);
        texts.append(1, 2, {token(5, 0, " there", 6), token(6, 1, "!", 1)}, 2);
        const std::vector<PathText> path{{1, &question}, {2, &answer}};
        QCOMPARE(texts.block_of(1, 2, 0, path), 3);
        QCOMPARE(texts.block_of(1, 2, 2, path), 4);
        QCOMPARE(texts.block_of(1, 2, 8, path), 5);
        QCOMPARE(texts.block_ranges(1, 3, path), (std::vector<MessageRange>{{2, 0, 2}}));
    }

    // The engine itself: what it tells of its tokens agrees with the text, block by block.
    void the_engine_tells_of_every_token() {
        EngineWorker worker(make_engine_backend());
        QSignalSpy loaded(&worker, &EngineWorker::model_loaded);
        LoadSpec spec;
        spec.path = VITRINE_EMBEDDED_MODEL;
        spec.threads = 1;
        worker.load(spec);
        QVERIFY(loaded.wait(60'000));
        QString text;
        std::vector<AnswerToken> tokens;
        std::shared_ptr<const PromptText> read;
        connect(&worker, &EngineWorker::answer_prompt, this,
                [&](qint64, const std::shared_ptr<const PromptText>& p) { read = p; });
        connect(&worker, &EngineWorker::answer_text, this,
                [&](qint64, const QString& more, int) { text += more; });
        connect(&worker, &EngineWorker::answer_tokens, this,
                [&](qint64, const std::vector<AnswerToken>& more) {
                    tokens.insert(tokens.end(), more.begin(), more.end());
                });
        QSignalSpy finished(&worker, &EngineWorker::answer_finished);
        ChatRequest request;
        request.session = 3;
        request.messages = {{"user", "Why do tides come twice a day? \xF0\x9F\x8C\x8A"}};
        request.sampling.temperature = 0.9F;
        request.sampling.top_p = 0.9F;
        request.sampling.seed = 4;
        request.wish.max_tokens = 40;
        worker.submit(request);
        QVERIFY(finished.wait(60'000));
        QVERIFY(read != nullptr);
        QVERIFY(
            QString::fromStdString(read->bytes).contains(QStringLiteral("Why do tides come twice a day?")));
        QVERIFY(!tokens.empty());
        qint32 units = 0;
        std::string bytes;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const AnswerToken& t = tokens[i];
            QCOMPARE(t.index, static_cast<std::int32_t>(i));
            QCOMPARE(t.position, static_cast<std::int32_t>(read->ends.size() + i));
            QVERIFY(t.rank >= 1);
            QVERIFY(t.candidates.size() >= 8);
            QVERIFY(t.probability > 0 && t.probability <= 1);
            double drawn_from = 0;
            for (std::size_t c = 0; c < t.candidates.size(); ++c) {
                const TokenCandidate& candidate = t.candidates[c];
                drawn_from += std::max(0.0, static_cast<double>(candidate.probability));
                if (t.rank <= 8 && c == static_cast<std::size_t>(t.rank - 1)) {
                    QCOMPARE(candidate.id, t.id);
                    QCOMPARE(candidate.log_probability, t.log_probability);
                    QCOMPARE(candidate.text, t.piece);
                }
            }
            QVERIFY(drawn_from <= 1.0001);
            units += t.text_units;
            if (t.text_units > 0 || i + 1 < tokens.size()) bytes += t.piece;
        }
        QCOMPARE(units, static_cast<qint32>(text.size()));
        QVERIFY(QString::fromStdString(bytes).startsWith(text.left(20)));
    }
};

QTEST_GUILESS_MAIN(TestTokenTrace)
#include "tst_token_trace.moc"
