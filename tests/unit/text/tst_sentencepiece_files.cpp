// SentencePiece files and what the library must not be given. tests/golden/tokenizers/sentencepiece.json
// holds models trained on a text of our own, with what sentencepiece 0.2.3 gives for the texts.
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <QtTest>
#include <nlohmann/json.hpp>

#include "core/io/sentencepiece_model.h"
#include "core/text/bpe_merge.h"
#include "core/text/charsmap_check.h"
#include "core/text/replace.h"
#include "core/text/token_stream.h"
#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;
using Json = nlohmann::json;

namespace {

const Json& golden() {
    static const Json data = [] {
        std::ifstream file(VITRINE_GOLDEN_DIR "/tokenizers/sentencepiece.json");
        return Json::parse(file);
    }();
    return data;
}

const Json& model(const std::string& name) {
    for (const Json& m : golden()["models"]) {
        if (m["name"] == name) return m;
    }
    static const Json none;
    return none;
}

std::string bytes_of(const Json& m) {
    return QByteArray::fromBase64(QByteArray::fromStdString(m["model"].get<std::string>())).toStdString();
}

VocabularyData vocabulary_of(const std::string& name) {
    auto data = read_sentencepiece_model(bytes_of(model(name)));
    return data.ok() ? std::move(data).value() : VocabularyData{};
}

std::unique_ptr<Tokenizer> make(VocabularyData data) {
    auto tokenizer = Tokenizer::make(std::move(data));
    if (!tokenizer.ok()) {
        qWarning("%s", tokenizer.error().message.c_str());
        return nullptr;
    }
    return std::move(tokenizer).value();
}

std::string little_endian(std::uint32_t value) {
    std::string bytes;
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(value >> shift));
    return bytes;
}

// A charsmap with a trie of units that a test sets.
std::string charsmap(const std::vector<std::uint32_t>& units, std::string_view texts) {
    std::string blob = little_endian(static_cast<std::uint32_t>(units.size() * 4));
    for (const std::uint32_t unit : units) blob += little_endian(unit);
    return blob.append(texts);
}

// The trie of one rule: from the byte 'a' to the text at `value`.
std::vector<std::uint32_t> one_rule(std::uint32_t value) {
    std::vector<std::uint32_t> units(512, 0x80000000U);  // what no byte leads to
    units[0] = 256U << 10U;                              // the root's children from 256 on
    units[256 ^ 'a'] = (1U << 10U) | (1U << 8U) | 'a';   // has a leaf, one further
    units[(256 ^ 'a') ^ 1U] = value | 0x80000000U;
    return units;
}

// The library's algorithm in our own words: of all neighbours whose joint text is a piece, those with the
// highest score first, the leftmost of equals.
std::vector<std::int32_t> by_score(const VocabularyData& data, std::string_view text) {
    std::unordered_map<std::string_view, std::int32_t> pieces;
    for (std::size_t i = 0; i < data.tokens.size(); ++i) {
        if (data.types[i] == TokenType::Normal)
            pieces.try_emplace(data.tokens[i], static_cast<std::int32_t>(i));
    }
    std::vector<float> order = data.scores;
    std::sort(order.begin(), order.end(), std::greater<>());
    const auto id_of = [&](std::string_view piece) {
        const auto found = pieces.find(piece);
        return found == pieces.end() ? -1 : found->second;
    };
    std::vector<BpeSymbol> symbols;
    for (std::size_t at = 0; at < text.size();) {
        const std::uint8_t size = next_utf8(text, at).size;
        symbols.push_back({id_of(text.substr(at, size)), static_cast<std::uint32_t>(at), size});
        at += size;
    }
    bpe_merge(symbols, [&](const BpeSymbol& left, const BpeSymbol& right) {
        const std::int32_t id = id_of(text.substr(left.begin, left.size + right.size));
        if (id < 0) return BpeMerge{};
        const auto rank = std::lower_bound(order.begin(), order.end(),
                                           data.scores[static_cast<std::size_t>(id)], std::greater<>()) -
                          order.begin();
        return BpeMerge{static_cast<std::uint32_t>(rank), id};
    });
    std::vector<std::int32_t> ids;
    for (const BpeSymbol& symbol : symbols) {
        if (symbol.id >= 0) {
            ids.push_back(symbol.id);
        } else {
            for (const char c : text.substr(symbol.begin, symbol.size))
                ids.push_back(3 + static_cast<std::uint8_t>(c));
        }
    }
    return ids;
}

// Unknown, begin and end, and a token for each byte.
VocabularyData bytes_and_controls() {
    VocabularyData data;
    data.model = "llama";
    const auto add = [&](const std::string& text, TokenType type) {
        data.tokens.push_back(text);
        data.types.push_back(type);
        data.scores.push_back(0);
    };
    add("<unk>", TokenType::Unknown);
    add("<s>", TokenType::Control);
    add("</s>", TokenType::Control);
    for (int byte = 0; byte < 256; ++byte)
        add(QString("<0x%1>").arg(byte, 2, 16, QChar('0')).toUpper().replace('X', 'x').toStdString(),
            TokenType::Byte);
    return data;
}

// What the file descriptor of standard error receives meanwhile.
QByteArray errors_of(const std::function<void()>& work) {
    QTemporaryFile file;
    if (!file.open()) return "no file";
    const int before = dup(2);
    dup2(file.handle(), 2);
    work();
    dup2(before, 2);
    close(before);
    file.seek(0);
    return file.readAll();
}

}  // namespace

class TstSentencePieceFiles : public QObject {
    Q_OBJECT

  private slots:
    void models_data() {
        QTest::addColumn<int>("size");
        for (const Json& m : golden()["models"])
            QTest::newRow(m["name"].get<std::string>().c_str()) << m["size"].get<int>();
    }
    // TOK-01, TOK-13: the reference's ids, normalized or not, BPE and Unigram.
    void models() {
        QFETCH(int, size);
        const Json& m = model(QTest::currentDataTag());
        auto data = read_sentencepiece_model(bytes_of(m));
        QVERIFY2(data.ok(), data.ok() ? "" : data.error().message.c_str());
        QCOMPARE(static_cast<int>(data->tokens.size()), size);
        const auto id = [](const std::optional<TokenId>& token) { return token ? token->value : -1; };
        QCOMPARE(id(data->unk), m["unk"].get<int>());
        QCOMPARE(id(data->bos), m["bos"].get<int>());
        QCOMPARE(id(data->eos), m["eos"].get<int>());
        QCOMPARE(id(data->pad), m["pad"].get<int>());
        const auto tokenizer = make(*data);
        QVERIFY(tokenizer);
        for (std::size_t i = 0; i < golden()["texts"].size(); ++i) {
            const auto text = golden()["texts"][i].get<std::string>();
            const auto ids = tokenizer->encode(text, false, false);
            QCOMPARE(values(ids), m["ids"][i].get<std::vector<std::int32_t>>());
            TokenStream stream(*tokenizer);
            std::string streamed;
            for (const TokenId one : ids) streamed += stream.push(one);
            QCOMPARE(streamed + stream.flush(), tokenizer->decode(ids));
        }
    }

    void tok13_rules_replace_characters() {
        const auto tokenizer = make(vocabulary_of("bpe_rules"));
        QVERIFY(tokenizer);
        const auto read = [&](const char* text) {
            return tokenizer->decode(tokenizer->encode(text, false, false));
        };
        QCOMPARE(read("4 \xC2\xBD months"), std::string("4 1\xE2\x81\x84"
                                                        "2 months"));
        QCOMPARE(read("\xEF\xBC\x88\xEF\xBC\xA1\xEF\xBC\xA2\xEF\xBC\x89"), std::string("(AB)"));
        QCOMPARE(read("\xE2\x91\xA0"), std::string("1"));
        QCOMPARE(read("  a   b  "), std::string("a b"));
        QCOMPARE(read("\xEF\xAC\x81 e\xCC\x81"),
                 std::string("\xEF\xAC\x81 \xC3\xA9"));  // a symbol keeps its form
    }

    // The same model with its tokens written as a GGUF holds them.
    void symbols_with_spaces() {
        VocabularyData data = vocabulary_of("bpe_no_prefix_symbols");
        const auto reference = make(data);
        for (std::size_t i = 0; i < data.tokens.size(); ++i) {
            if (data.types[i] == TokenType::UserDefined)
                data.tokens[i] = replaced(data.tokens[i], kSpaceSymbol, " ");
        }
        const auto tokenizer = make(data);
        for (const Json& text : golden()["texts"]) {
            const auto t = text.get<std::string>();
            QCOMPARE(tokenizer->encode(t, true, false), reference->encode(t, true, false));
        }
    }

    void library_and_our_own_words_agree() {
        std::mt19937 random(11);
        for (int round = 0; round < 60; ++round) {
            VocabularyData data = bytes_and_controls();
            const auto add = [&](const std::string& text, TokenType type, float score) {
                if (std::find(data.tokens.begin(), data.tokens.end(), text) != data.tokens.end()) return;
                data.tokens.push_back(text);
                data.types.push_back(type);
                data.scores.push_back(score);
            };
            // Pieces of a small alphabet, some with a space inside; equal scores are among them.
            const std::vector<std::string> letters = {"a",           "b", "c", "\xC3\xA9", "\xE2\x96\x81",
                                                      "\xE5\xAD\x97"};
            for (int i = 0; i < 60; ++i) {
                std::string piece;
                for (auto n = 1 + random() % 5; n > 0; --n)
                    piece += letters[random() % (letters.size() - round % 2)];
                add(piece, TokenType::Normal, -static_cast<float>(random() % 40));
            }
            data.add_space_prefix = round % 3 == 0;
            const auto tokenizer = make(data);
            QVERIFY(tokenizer);
            for (const std::size_t length : {0, 1, 5, 40, 300, round < 6 ? 60000 : 50}) {
                std::string text;
                for (std::size_t i = 0; i < length; ++i) {
                    text += random() % 30 == 0  ? "x"
                            : random() % 4 == 0 ? " "
                                                : letters[random() % letters.size()];
                }
                const std::string spaced = text.empty() ? ""
                                                        : (*data.add_space_prefix ? "\xE2\x96\x81" : "") +
                                                              replaced(text, " ", kSpaceSymbol);
                QCOMPARE(values(tokenizer->encode(text, true, false)), by_score(data, spaced));
            }
        }
    }

    // TOK-10: the library gets a long run of one character shortened; the ids are those of the whole.
    void long_runs() {
        std::mt19937 random(23);
        const std::vector<std::string> letters = {"a", "\xE5\xAD\x97", "\xE2\x96\x81", "b"};
        for (int round = 0; round < 48; ++round) {
            VocabularyData data = bytes_and_controls();
            const auto add = [&](const std::string& text, float score) {
                if (std::find(data.tokens.begin(), data.tokens.end(), text) != data.tokens.end()) return;
                data.tokens.push_back(text);
                data.types.push_back(TokenType::Normal);
                data.scores.push_back(score);
            };
            for (const std::string& letter : letters) {
                if (letter != "b") add(letter, -100);
                // Training gives scores that fall with the length; others come as well: all lengths with
                // one score, or any.
                float score = -1;
                if (round % 4 == 2) {
                    for (std::size_t n = 2; n <= 2 + static_cast<std::size_t>(round) % 11; ++n)
                        if (n < 4 || random() % 4 > 0) add(repeated(letter, n * letter.size()), -20);
                    continue;
                }
                for (std::size_t n = 2 + random() % 2; n <= 16; n *= 2) {
                    add(repeated(letter, n * letter.size()), score);
                    score = round % 4 == 3 ? -static_cast<float>(random() % 9) : score - 1;
                }
            }
            for (int i = 0; i < 12; ++i) {
                std::string piece;
                for (auto n = 2 + random() % 5; n > 0; --n) piece += letters[random() % letters.size()];
                add(piece, -static_cast<float>(random() % 12) - 0.5F);
            }
            data.add_space_prefix = round % 2 == 0;
            const auto tokenizer = make(data);
            QVERIFY(tokenizer);
            std::string text;
            for (int run = 0; run < 3; ++run) {
                for (auto n = random() % 6; n > 0; --n) text += letters[random() % letters.size()];
                // Also one that no piece holds.
                const std::string letter = random() % 6 == 0 ? "\n" : letters[random() % letters.size()];
                text += repeated(letter, (8000 + random() % 9000) * letter.size());
            }
            const std::string spaced = (*data.add_space_prefix ? "\xE2\x96\x81" : "") + text;
            QCOMPARE(values(tokenizer->encode(text, true, false)), by_score(data, spaced));
        }
    }

    // Pieces that are not used are walked apart by the library, wherever the text is cut.
    void unused_pieces() {
        VocabularyData data = vocabulary_of("bpe_identity");
        const auto before = make(data);
        QCOMPARE(before->encode("the", false, false).size(), std::size_t{1});
        const TokenId the = before->encode("the", false, false).front();
        data.types[static_cast<std::size_t>(the.value)] = TokenType::Unused;
        const auto tokenizer = make(data);
        QVERIFY(tokenizer->encode("the", false, false).size() > 1);
        QCOMPARE(tokenizer->decode(tokenizer->encode("the the", false, false)), std::string("the the"));
        // Nested as deep as they come.
        std::string run = "a";
        for (int i = 0; i < 3000; ++i) {
            run += 'a';
            data.tokens.push_back(run);
            data.types.push_back(TokenType::Unused);
            data.scores.push_back(static_cast<float>(i));
        }
        const auto deep = make(data);
        QVERIFY(deep);
        QCOMPARE(deep->decode(deep->encode(run, false, false)), run);
    }

    // TOK-22, TOK-26 and what else the library refuses or would read too far for.
    void odd_vocabularies() {
        for (const char* name : {"bpe_identity", "unigram_identity", "bpe_rules", "unigram_rules"}) {
            VocabularyData data = vocabulary_of(name);
            const auto add = [&](const std::string& text, TokenType type, float score) {
                data.tokens.push_back(text);
                data.types.push_back(type);
                data.scores.push_back(score);
                return TokenId(static_cast<std::int32_t>(data.tokens.size() - 1));
            };
            add("the", TokenType::Normal, 0);
            add("the", TokenType::Normal, 1);
            add("the", TokenType::Unused, 1);
            add("", TokenType::Normal, 0);
            add("", TokenType::UserDefined, 0);
            add("<0x41>", TokenType::Byte, 0);
            add("<0x41>", TokenType::Normal, 5);
            add("<0xQQ>", TokenType::Byte, 0);
            add("<s>", TokenType::Normal, 5);
            add("<unk>", TokenType::Unknown, 5);
            add("\xFF\xFE", TokenType::Normal, 5);
            add("\xFF\xFE", TokenType::UserDefined, 5);
            add(std::string(5000, 'a'), TokenType::Normal, 5);
            add("nan", TokenType::Normal, std::numeric_limits<float>::quiet_NaN());
            add("inf", TokenType::Normal, std::numeric_limits<float>::infinity());
            const TokenId zero = add(std::string(1, '\0'), TokenType::Normal, -3);
            add(std::string("a\0b", 3), TokenType::UserDefined, -3);
            for (std::size_t n = 2; n < 120; ++n) add(std::string(n, 'z'), TokenType::UserDefined, 0);
            const auto tokenizer = make(data);
            QVERIFY2(tokenizer, name);
            for (const std::string& text :
                 {std::string("the <s> <0x41> A \xFF\xFE nan inf"), std::string("x\0y a\0b\0", 8),
                  std::string(300, 'z'), std::string(6000, 'a')}) {
                for (const TokenId id : tokenizer->encode(text, false, false)) {
                    QVERIFY(tokenizer->valid(id));
                    QVERIFY(!tokenizer->is_control(id) || id == data.unk);
                }
            }
            const auto ids = tokenizer->encode(std::string("x\0y", 3), false, false);
            QVERIFY(std::find(ids.begin(), ids.end(), zero) != ids.end());
            const auto runs = tokenizer->encode(std::string(300, 'z'), false, false);
            QCOMPARE(tokenizer->bytes(runs.back()), std::string_view(std::string(62, 'z')));  // longest first
        }
    }

    // Byte tokens that are missing, and no unknown token.
    void missing_bytes() {
        VocabularyData data = vocabulary_of("bpe_identity");
        std::size_t byte = 0;
        while (data.tokens[byte] != "<0xC3>") ++byte;
        data.types[byte] = TokenType::Unused;
        const auto tokenizer = make(data);
        QVERIFY(tokenizer);
        // U+00C0 is C3 80: not to be spelled; U+0100 is C4 80.
        QCOMPARE(tokenizer->encode("\xC3\x80\xC3\x81", false, false).back(), *data.unk);
        QCOMPARE(tokenizer->decode(tokenizer->encode("\xC4\x80", false, false)), std::string("\xC4\x80"));
        const auto count = tokenizer->encode(repeated("\xC3\x80", 300000), false, false).size();
        QVERIFY(count <= 2);  // one for the run, and the space in front
        data.unk.reset();
        for (TokenType& type : data.types) {
            if (type == TokenType::Unknown) type = TokenType::Control;
        }
        QVERIFY(make(data)->encode("\xC3\x80", false, false).size() <= 1);
    }

    void tok25_charsmap_data() {
        QTest::addColumn<QByteArray>("blob");
        const auto row = [](const char* name, const std::string& blob) {
            QTest::newRow(name) << QByteArray::fromStdString(blob);
        };
        for (int size = 1; size < 8; ++size) QTest::addRow("%d bytes", size) << QByteArray(size, '\0');
        row("only a size", little_endian(0));
        row("size beyond the blob", little_endian(4096) + std::string(64, '\0'));
        row("size near 2^32", little_endian(0xFFFFFFFC) + std::string(64, '\0'));
        row("size takes all", little_endian(1024) + std::string(1024, '\0'));
        row("odd size", little_endian(1023) + std::string(4096, '\0'));
        row("few units", charsmap(std::vector<std::uint32_t>(255), std::string(1, '\0')));
        auto units = one_rule(0);
        units[0] = 0x3FFFFFU << 10U;
        row("root points far out", charsmap(units, std::string("b\0", 2)));
        units[0] = (0x1FFFFFU << 10U) | (1U << 9U);
        row("root points farther out", charsmap(units, std::string("b\0", 2)));
        units = one_rule(0);
        units[256 ^ 'a'] = (0x1FFFFFU << 10U) | (1U << 8U) | 'a';
        row("a unit points far out", charsmap(units, std::string("b\0", 2)));
        row("text outside", charsmap(one_rule(2), std::string("b\0", 2)));
        row("text far outside", charsmap(one_rule(0x7FFFFFFF), std::string("b\0", 2)));
        row("text without an end", charsmap(one_rule(0), "b"));
        row("text too long", charsmap(one_rule(0), std::string(300, 'b') + std::string(1, '\0')));
        row("text is no UTF-8", charsmap(one_rule(0), std::string("\xC3\0", 2)));
        row("text begins inside of a character", charsmap(one_rule(1), std::string("\xC3\xA9\0", 3)));
        units = one_rule(0);
        units[256 ^ 'a'] = ('a' << 10U) | 'a';  // back to where the root's children are
        row("a circle", charsmap(units, std::string("b\0", 2)));
        // A chain of 40 letters with a rule at each.
        units.assign(64 * 256, 0x80000000U);
        units[0] = 256U << 10U;
        for (std::uint32_t i = 1; i <= 40; ++i) {
            const std::uint32_t place = (i * 256) ^ 'a';
            units[place] = ((place ^ ((i + 1) * 256)) << 10U) | (1U << 8U) | 'a';
            units[(i + 1) * 256] = 0x80000000U;
        }
        row("many rules along one text", charsmap(units, std::string("b\0", 2)));
        row("too large", std::string((16U << 20U) + 1, '\0'));
    }
    void tok25_charsmap() {
        QFETCH(QByteArray, blob);
        const auto status = check_charsmap(blob.toStdString());
        QVERIFY(!status.ok());
        QCOMPARE(status.error().kind, ErrorKind::BadFile);
        for (const char* name : {"bpe_identity", "unigram_identity"}) {
            VocabularyData data = vocabulary_of(name);
            data.precompiled_charsmap = blob.toStdString();
            QCOMPARE(Tokenizer::make(data).error().kind, ErrorKind::BadFile);
        }
    }

    void charsmaps_that_are_right() {
        QVERIFY(check_charsmap(charsmap(one_rule(0), std::string("b\0", 2))).ok());
        VocabularyData data = vocabulary_of("bpe_identity");
        data.precompiled_charsmap = charsmap(one_rule(2), std::string("x\0bc\0", 5));
        const auto tokenizer = make(data);
        QVERIFY(tokenizer);
        QCOMPARE(tokenizer->decode(tokenizer->encode("a cat", false, false)), std::string("bc cbct"));

        // A published one, changed at random: refused, or used without harm.
        std::mt19937 random(3);
        VocabularyData rules = vocabulary_of("unigram_rules");
        QVERIFY(check_charsmap(rules.precompiled_charsmap).ok());
        const std::string good = rules.precompiled_charsmap;
        int used = 0;
        for (int round = 0; round < 400; ++round) {
            rules.precompiled_charsmap = good;
            for (auto i = random() % 3 + 1; i > 0; --i)
                rules.precompiled_charsmap[random() % good.size()] = static_cast<char>(random());
            auto changed = Tokenizer::make(rules);
            if (!changed.ok()) continue;
            ++used;
            for (const Json& text : golden()["texts"])
                (void)(*changed)->encode(text.get<std::string>(), true, true);
        }
        QVERIFY(used > 0 && used < 400);
    }

    void damaged_files() {
        std::mt19937 random(5);
        for (const char* name : {"bpe_no_bytes", "unigram_rules"}) {
            const std::string good = bytes_of(model(name));
            for (std::size_t size = 0; size < good.size(); ++size)
                (void)read_sentencepiece_model(good.substr(0, size));
            QVERIFY(!read_sentencepiece_model(good.substr(0, good.size() - 1)).ok());
            int read = 0;
            for (int round = 0; round < 1500; ++round) {
                std::string broken = good;
                for (auto i = random() % 4 + 1; i > 0; --i)
                    broken[random() % broken.size()] = static_cast<char>(random());
                auto data = read_sentencepiece_model(broken);
                if (!data.ok()) continue;
                ++read;
                if (round % 5 != 0) continue;
                auto tokenizer = Tokenizer::make(std::move(data).value());
                if (tokenizer.ok()) (void)(*tokenizer)->encode("the weather <s> \xC2\xBD  x", true, true);
            }
            QVERIFY(read > 0);
        }
        for (const std::string& bad : {std::string(), std::string("GGUF"), std::string(64, '\xFF'),
                                       std::string("\x0A\xFF\xFF\xFF\xFF\x0F"),
                                       std::string("\x0A\x02\x0A\x7F"), std::string("\x0B\x0C")})
            QCOMPARE(read_sentencepiece_model(bad).error().kind, ErrorKind::BadFile);
        // Kinds and options that are not known are named.
        std::string words = bytes_of(model("bpe_no_bytes"));
        words += std::string("\x12\x02\x18\x03", 4);  // trainer_spec: model_type 3
        QCOMPARE(read_sentencepiece_model(words).error().kind, ErrorKind::Unsupported);
        std::string spaces = bytes_of(model("bpe_no_bytes"));
        spaces += std::string("\x1A\x02\x28\x00", 4);  // normalizer_spec: escape_whitespaces off
        QCOMPARE(read_sentencepiece_model(spaces).error().kind, ErrorKind::Unsupported);
    }

    void config_adds_tokens() {
        const std::string config =
            R"({"tokenizer_class":"LlamaTokenizer","add_bos_token":true,"eos_token":"<|end|>",
            "added_tokens_decoder":{"0":{"content":"<unk>","special":true},"1":{"content":"<s>","special":true},
            "420":{"content":"<|user|>","special":true,"rstrip":true},"423":{"content":"<|end|>","special":true}}})";
        auto data = read_sentencepiece_model(bytes_of(model("bpe_identity")), config);
        QVERIFY2(data.ok(), data.ok() ? "" : data.error().message.c_str());
        const auto tokenizer = make(std::move(data).value());
        QVERIFY(tokenizer);
        QCOMPARE(tokenizer->size(), 424);
        QVERIFY(tokenizer->warnings().empty());
        QVERIFY(tokenizer->adds_bos());
        QVERIFY(tokenizer->is_end_of_generation(TokenId(423)));
        QCOMPARE(tokenizer->type(TokenId(0)), TokenType::Unknown);
        // TOK-29: the space behind goes, and the next stretch gets one of its own.
        auto wanted = tokenizer->encode("the", false, false);
        wanted.insert(wanted.begin(), TokenId(420));
        QCOMPARE(tokenizer->encode("<|user|>  the", true, false), wanted);
        QCOMPARE(tokenizer->encode("<|user|>the", true, false), wanted);
        QVERIFY(tokenizer->encode("<|user|>the", false, false).front() != TokenId(420));
    }

    void the_library_is_silent() {
        const QByteArray written = errors_of([] {
            for (const Json& m : golden()["models"]) {
                auto data = read_sentencepiece_model(bytes_of(m));
                if (!data.ok()) continue;
                auto tokenizer = Tokenizer::make(*data);
                if (tokenizer.ok()) (void)(*tokenizer)->encode("a text", true, true);
                for (TokenType& type : data->types) type = TokenType::Control;  // no piece is left
                (void)Tokenizer::make(*data);
            }
        });
        QCOMPARE(written, QByteArray());
    }

    void many_threads() {
        for (const char* name : {"bpe_identity", "unigram_rules"}) {
            const auto tokenizer = make(vocabulary_of(name));
            const std::string text = repeated("the weather today is fine. ", 2000);
            const auto wanted = tokenizer->encode(text, true, true);
            std::vector<int> same(4, 0);
            std::vector<std::thread> threads;
            for (int& mine : same)
                threads.emplace_back([&] { mine = tokenizer->encode(text, true, true) == wanted; });
            for (std::thread& thread : threads) thread.join();
            QCOMPARE(same, std::vector<int>(4, 1));
        }
    }

    void tok10_time_grows_with_the_text() {
        for (const char* name :
             {"bpe_identity", "bpe_rules", "unigram_identity", "unigram_rules", "bpe_no_bytes"}) {
            const auto tokenizer = make(vocabulary_of(name));
            for (const char* unit : {"a", "the ", "\xE5\xAD\x97", " "}) {
                QVERIFY2(grows_linearly(
                             1U << 15U,
                             [&](std::size_t n) { (void)tokenizer->encode(repeated(unit, n), true, false); }),
                         (std::string(name) + unit).c_str());
            }
        }
    }
};

QTEST_APPLESS_MAIN(TstSentencePieceFiles)
#include "tst_sentencepiece_files.moc"
