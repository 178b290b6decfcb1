// SentencePiece vocabularies made by hand; reference ids of published ones are in tst_tokenizer_golden.
#include <limits>
#include <string>
#include <vector>

#include <QtTest>

#include "core/text/token_stream.h"
#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

// <unk>, <s>, </s>, 256 byte tokens, then pieces: the earlier the higher the score.
class TinyPieces {
  public:
    VocabularyData data;

    explicit TinyPieces(const std::vector<std::string>& pieces = {"\xE2\x96\x81", "u", "s", "e", "r", "us",
                                                                  "er", "user", "\xE2\x96\x81user", "a", "b",
                                                                  "\xE2\x96\x81"
                                                                  "a",
                                                                  "aa", "aaaa", "\xE2\x96\x81\xE2\x96\x81",
                                                                  "."},
                        bool with_bytes = true) {
        data.model = "llama";
        data.unk = add("<unk>", TokenType::Unknown);
        data.bos = add("<s>", TokenType::Control);
        data.eos = add("</s>", TokenType::Control);
        for (int byte = 0; with_bytes && byte < 256; ++byte) {
            add(QString("<0x%1>").arg(byte, 2, 16, QChar('0')).toUpper().replace('X', 'x').toStdString(),
                TokenType::Byte);
        }
        float score = 0.0F;
        for (const std::string& piece : pieces) add(piece, TokenType::Normal, score -= 1.0F);
    }
    TokenId add(const std::string& stored, TokenType type = TokenType::Normal, float score = 0.0F) {
        data.tokens.push_back(stored);
        data.types.push_back(type);
        data.scores.push_back(score);
        return TokenId(static_cast<std::int32_t>(data.tokens.size() - 1));
    }
    std::unique_ptr<Tokenizer> make() const {
        auto result = Tokenizer::make(data);
        return result.ok() ? std::move(result).value() : nullptr;
    }
};

std::vector<std::string> stored_of(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    std::vector<std::string> result;
    for (const TokenId id : ids) {
        std::string text = tokenizer.vocabulary().tokens[static_cast<std::size_t>(id.value)];
        for (std::size_t at = 0; (at = text.find("\xE2\x96\x81", at)) != std::string::npos;)
            text.replace(at, 3, "_");
        result.push_back(text);
    }
    return result;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    TokenStream stream(tokenizer);
    std::string text;
    for (const TokenId id : ids) text += stream.push(id);
    return text + stream.flush();
}

using Strings = std::vector<std::string>;

}  // namespace

class TstSentencePiece : public QObject {
    Q_OBJECT

  private slots:
    // TOK-01: one space in front of each stretch of text, none added where there is no text.
    void tok01_space_prefix() {
        TinyPieces tiny;
        const TokenId mark = tiny.add("[M]", TokenType::UserDefined);
        const auto tokenizer = tiny.make();
        QVERIFY(tokenizer);
        QVERIFY(tokenizer->has_space_prefix());
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode("user", true, false)), (Strings{"_user"}));
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode("<s>user", true, false)), (Strings{"<s>", "_user"}));
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode("a<s>b", true, false)),
                 (Strings{"_a", "<s>", "_", "b"}));
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode("<s></s>", true, false)), (Strings{"<s>", "</s>"}));
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode("a  b", true, false)), (Strings{"_a", "__", "b"}));
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode(" a", true, false)), (Strings{"_", "_a"}));
        QVERIFY(tokenizer->encode("", true, false).empty());
        // A user-defined token does not begin a new stretch, and keeps to itself.
        QCOMPARE(tokenizer->encode("[M]a", false, false)[1], mark);
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode("a[M]a", false, false)),
                 (Strings{"_a", "[M]", "a"}));

        tiny.data.add_space_prefix = false;
        const auto bare = tiny.make();
        QVERIFY(!bare->has_space_prefix());
        QCOMPARE(stored_of(*bare, bare->encode("user", true, false)), (Strings{"user"}));
        QCOMPARE(bare->decode(bare->encode(" a", false, false)), std::string(" a"));
    }

    // TOK-02: the space that was put there goes again, and no other; streamed the same.
    void tok02_decoding_drops_that_space_alone() {
        const auto tokenizer = TinyPieces().make();
        for (const char* text :
             {"user", " user", "  user", "", " ", "a  b ", "<s>user", "\n", "\xE5\xAD\x97"}) {
            const auto ids = tokenizer->encode(text, true, false);
            QCOMPARE(tokenizer->decode(ids), std::string(text));
            QCOMPARE(streamed(*tokenizer, ids), std::string(text));
        }
        const auto ids =
            std::vector<TokenId>{*tokenizer->find("a"), *tokenizer->find(" a"), *tokenizer->find(" a")};
        QCOMPARE(tokenizer->decode(ids), std::string("a a a"));
    }

    void decode_of_encode_is_the_text() {
        std::mt19937 random(8);
        for (const bool prefix : {true, false}) {
            TinyPieces tiny;
            tiny.data.add_space_prefix = prefix;
            const auto tokenizer = tiny.make();
            for (int round = 0; round < 300; ++round) {
                std::string text = random_text(random, random() % 60);
                if (text.find("\xE2\x96\x81") != std::string::npos)
                    continue;  // becomes a space, as the reference has it
                text += round % 2 == 0 ? "<s>" : "user aaaaa";
                const auto ids = tokenizer->encode(text, false, false);
                QCOMPARE(tokenizer->decode(ids), text);
                QCOMPARE(streamed(*tokenizer, ids), text);
            }
            QCOMPARE(tokenizer->decode(tokenizer->encode("a\xE2\x96\x81"
                                                         "b",
                                                         false, false)),
                     std::string("a b"));
        }
    }

    // The highest score first, the leftmost of equals; a score that is no number comes last.
    void scores_decide() {
        TinyPieces tiny({"a", "b", "c", "bc", "ab"});
        tiny.data.add_space_prefix = false;
        const auto pieces = [&] {
            const auto tokenizer = tiny.make();
            return stored_of(*tokenizer, tokenizer->encode("abc", false, false));
        };
        float& bc = tiny.data.scores[tiny.data.scores.size() - 2];
        float& ab = tiny.data.scores.back();
        QCOMPARE(pieces(), (Strings{"a", "bc"}));
        std::swap(ab, bc);
        QCOMPARE(pieces(), (Strings{"ab", "c"}));
        ab = bc;
        QCOMPARE(pieces(), (Strings{"ab", "c"}));
        ab = std::numeric_limits<float>::quiet_NaN();
        QCOMPARE(pieces(), (Strings{"a", "bc"}));
        QCOMPARE(tiny.make()->warnings().size(), std::size_t{1});
    }

    // TOK-07: a text is not a control token, nor a byte token, nor part of one.
    void tok07_text_alone_gives_no_control_or_byte_token() {
        TinyPieces tiny({"\xE2\x96\x81", "<", "s", ">", "<s", "0", "x", "4", "1"});
        const auto tokenizer = tiny.make();
        for (const char* text : {"<s>", "</s>", "<unk>", "<0x41>", "<s></s>"}) {
            for (const TokenId id : tokenizer->encode(text, false, false))
                QVERIFY(!tokenizer->is_control(id));
            for (const TokenId id : tokenizer->encode_prompt({text, {}})) {
                QVERIFY(!tokenizer->is_control(id) || id == *tiny.data.bos);
            }
            QCOMPARE(tokenizer->decode(tokenizer->encode(text, false, false)), std::string(text));
        }
        QVERIFY(*tokenizer->find("A") == TokenId(3 + 0x41));
        const auto ids = tokenizer->encode("<0x41>", false, false);
        QVERIFY(std::find(ids.begin(), ids.end(), TokenId(3 + 0x41)) == ids.end());
    }

    // TOK-14, TOK-23: BOS by default, one at most, none where the file names none.
    void tok14_tok23_bos() {
        TinyPieces tiny;
        QVERIFY(tiny.make()->adds_bos());
        QCOMPARE(stored_of(*tiny.make(), tiny.make()->encode_prompt({"<s>a", {{0, 4}}})),
                 (Strings{"<s>", "_a"}));
        QCOMPARE(stored_of(*tiny.make(), tiny.make()->encode_prompt({"a", {{0, 1}}})),
                 (Strings{"<s>", "_a"}));
        QCOMPARE(stored_of(*tiny.make(), tiny.make()->encode("a", false, true)), (Strings{"<s>", "_a"}));
        tiny.data.add_bos = true;
        tiny.data.bos.reset();
        const auto tokenizer = tiny.make();
        QVERIFY(!tokenizer->adds_bos());
        QCOMPARE(tokenizer->warnings().size(), std::size_t{1});
        QCOMPARE(stored_of(*tokenizer, tokenizer->encode("a", false, true)), (Strings{"_a"}));
    }

    // TOK-20, TOK-22, TOK-26, TOK-32: odd vocabularies load and say so.
    void odd_vocabularies() {
        TinyPieces none;
        none.data.scores.clear();
        QCOMPARE(Tokenizer::make(none.data).error().kind, ErrorKind::BadFile);

        TinyPieces odd;
        const TokenId again = odd.add("user", TokenType::Normal, 5.0F);
        odd.add("", TokenType::Normal);
        odd.add("", TokenType::UserDefined);
        const TokenId nul = odd.add(std::string(1, '\0'), TokenType::Normal, -50.0F);
        odd.add("\xC3", TokenType::Normal, -50.0F);
        for (const char* bad : {"<0x4>", "<0xZZ>", "<0x-1>", "<0x+1>", "0x41", ""})
            odd.add(bad, TokenType::Byte);
        const auto tokenizer = odd.make();
        QVERIFY(tokenizer);
        QCOMPARE(tokenizer->warnings().size(), std::size_t{2});  // texts twice, odd byte tokens
        QVERIFY(*tokenizer->find("user") < again);
        QCOMPARE(std::string(tokenizer->bytes(nul)), std::string(1, '\0'));
        // Invalid UTF-8 is U+FFFD to the library, one for each byte.
        const std::string text("a\0b\xC3\xF0\x9F", 6);
        std::string back;
        for (const TokenId id : tokenizer->encode(text, false, false)) back += tokenizer->bytes(id);
        QCOMPARE(back, std::string(" a\0b\uFFFD\uFFFD\uFFFD", 13));
    }

    // Without byte tokens a character that is no piece is the unknown token, once for a run of them.
    void unknown_characters() {
        TinyPieces tiny({"a", "b"}, false);
        tiny.data.add_space_prefix = false;
        QCOMPARE(stored_of(*tiny.make(), tiny.make()->encode("axyzb", false, false)),
                 (Strings{"a", "<unk>", "b"}));
        tiny.data.unk.reset();
        QCOMPARE(stored_of(*tiny.make(), tiny.make()->encode("axyzb", false, false)), (Strings{"a", "b"}));
        QCOMPARE(tiny.make()->warnings().size(), std::size_t{1});
    }

    void tok10_time_grows_with_the_text() {
        const auto tokenizer = TinyPieces().make();
        for (const char* unit : {"a", "user ", " ", ".", "\xE5\xAD\x97", "\xFF", "<s", "aaaaab"}) {
            QVERIFY2(grows_linearly(1U << 15U,
                                    [&](std::size_t n) {
                                        QVERIFY(!tokenizer->encode(repeated(unit, n), true, false).empty());
                                    }),
                     unit);
        }
    }
};

QTEST_APPLESS_MAIN(TstSentencePiece)
#include "tst_sentencepiece.moc"
