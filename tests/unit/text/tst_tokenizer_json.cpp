// tokenizer.json files. tests/golden/tokenizers/tokenizer_json.json holds two small models trained on a text
// of our own, pipelines around them as publishers use them, and what the library tokenizers 0.23.3 gives for
// the texts.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <QtTest>
#include <nlohmann/json.hpp>

#include "core/io/tokenizer_json.h"
#include "core/text/token_stream.h"
#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;
using Json = nlohmann::json;

namespace {

std::string file_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

const Json& golden() {
    static const Json data = Json::parse(file_text(VITRINE_GOLDEN_DIR "/tokenizers/tokenizer_json.json"));
    return data;
}

const Json& variant(const std::string& name) {
    for (const Json& v : golden()["variants"]) {
        if (v["name"] == name) return v;
    }
    static const Json none;
    return none;
}

// The file that a variant stands for.
Json document_of(const Json& v) {
    const Json& base = golden()["bases"][v["base"].get<std::string>()];
    Json document = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", base["added_tokens"]},
                     {"normalizer", v["normalizer"]},
                     {"pre_tokenizer", v["pre_tokenizer"]},
                     {"post_processor", nullptr},
                     {"decoder", v["decoder"]},
                     {"model", base["model"]}};
    for (const auto& [key, value] : v["model"].items()) document["model"][key] = value;
    return document;
}

std::unique_ptr<Tokenizer> make(const Json& document, const std::string& config = {}) {
    auto data = read_tokenizer_json(document.dump(), config);
    if (!data.ok()) {
        qWarning("%s", data.error().message.c_str());
        return nullptr;
    }
    auto tokenizer = Tokenizer::make(std::move(data).value());
    if (!tokenizer.ok()) {
        qWarning("%s", tokenizer.error().message.c_str());
        return nullptr;
    }
    return std::move(tokenizer).value();
}

// What reading or making refuses with.
Error error_of(const Json& document, const std::string& config = {}) {
    auto data = read_tokenizer_json(document.dump(), config);
    if (!data.ok()) return data.error();
    auto tokenizer = Tokenizer::make(std::move(data).value());
    return tokenizer.ok() ? Error{ErrorKind::Internal, "not refused"} : tokenizer.error();
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    TokenStream stream(tokenizer);
    std::string text;
    for (const TokenId id : ids) text += stream.push(id);
    return text + stream.flush();
}

using Ids = std::vector<std::int32_t>;

}  // namespace

class TstTokenizerJson : public QObject {
    Q_OBJECT

  private slots:
    void tiny_model() {
        const std::string folder = VITRINE_GOLDEN_DIR "/tiny_tokenizer/";
        const Json expected = Json::parse(file_text(folder + "expected.json"));
        auto data = read_tokenizer_json(file_text(folder + "tokenizer.json"),
                                        file_text(folder + "tokenizer_config.json"));
        QVERIFY2(data.ok(), data.ok() ? "" : data.error().message.c_str());
        QCOMPARE(data->tokens.size(), expected["vocab_size_without_padding"].get<std::size_t>());
        QCOMPARE(data->bos, std::optional(TokenId(315)));
        QCOMPARE(data->eos, std::optional(TokenId(316)));
        QCOMPARE(data->pad, std::optional(TokenId(319)));
        auto made = Tokenizer::make(std::move(data).value());
        QVERIFY(made.ok());
        const Tokenizer& tokenizer = **made;
        QVERIFY(tokenizer.adds_bos() && !tokenizer.adds_eos());
        QVERIFY(tokenizer.warnings().empty());
        for (const Json& row : expected["texts"]) {
            const auto text = row["text"].get<std::string>();
            QCOMPARE(values(tokenizer.encode(text, true, false)), row["ids"].get<Ids>());
            // The library puts a second BOS in front of one that is there.
            auto with_added = row["ids_with_added_specials"].get<Ids>();
            if (text.starts_with("<|begin|>")) with_added.erase(with_added.begin());
            QCOMPARE(values(tokenizer.encode(text, true, true)), with_added);
            const auto ids = tokenizer.encode(text, true, false);
            QCOMPARE(tokenizer.decode(ids), row["decoded"].get<std::string>());
            QCOMPARE(streamed(tokenizer, ids), row["decoded"].get<std::string>());
        }
        for (const Json& chat : expected["chats"]) {
            const auto rendered = chat["rendered"].get<std::string>();
            QCOMPARE(values(tokenizer.encode(rendered, true, false)), chat["ids"].get<Ids>());
        }
        // TOK-16, TOK-17: ids beyond the vocabulary are nobody's.
        const std::vector<TokenId> beyond = {TokenId(320), TokenId(447), TokenId(-1), TokenId(2147483647)};
        QCOMPARE(tokenizer.decode(beyond), std::string());
        QCOMPARE(streamed(tokenizer, beyond), std::string());
    }

    void pipelines_data() {
        QTest::addColumn<bool>("merges_as_lines");
        for (const Json& v : golden()["variants"]) {
            for (const bool lines : {false, true}) {
                QTest::addRow("%s%s", v["name"].get<std::string>().c_str(), lines ? " lines" : "") << lines;
            }
        }
    }
    void pipelines() {
        QFETCH(bool, merges_as_lines);
        const std::string name = QString(QTest::currentDataTag()).remove(" lines").toStdString();
        const Json& v = variant(name);
        Json document = document_of(v);
        if (merges_as_lines) {
            for (Json& merge : document["model"]["merges"])
                merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
        }
        const auto tokenizer = make(document);
        QVERIFY(tokenizer);
        QVERIFY(tokenizer->warnings().empty());
        for (std::size_t i = 0; i < golden()["texts"].size(); ++i) {
            const auto text = golden()["texts"][i].get<std::string>();
            const Json& wanted = v["cases"][i];
            QCOMPARE(values(tokenizer->encode(text, false, false)), wanted.front().get<Ids>());
            QCOMPARE(values(tokenizer->encode(text, true, false)), wanted.back().get<Ids>());
            QCOMPARE(values(tokenizer->encode_prompt({text, {{0, text.size()}}})), wanted.back().get<Ids>());
            QCOMPARE(values(tokenizer->encode_prompt({text, {}})), wanted.front().get<Ids>());
            if (v["decoded"][i].is_null()) continue;
            const auto ids = tokenizer->encode(text, false, false);
            QCOMPARE(tokenizer->decode(ids), v["decoded"][i].get<std::string>());
            QCOMPARE(streamed(*tokenizer, ids), v["decoded"][i].get<std::string>());
        }
    }

    // TOK-07: whatever the pipeline does to a text, it makes no control token of it.
    void tok07_text_gives_no_control_token() {
        std::mt19937 random(7);
        for (const Json& v : golden()["variants"]) {
            const auto tokenizer = make(document_of(v));
            QVERIFY(tokenizer);
            const auto unknown = tokenizer->vocabulary().unk;
            for (int round = 0; round < 20; ++round) {
                std::string text = random_text(random, random() % 30);
                for (const char* spelling :
                     {"<s>", " </s>", "<|user|>  ", "<mask>", "<pad>", "<unk>", "<0x41>"})
                    text.insert(text.size() / 2, spelling);
                for (const TokenId id : tokenizer->encode(text, false, false))
                    QVERIFY(!tokenizer->is_control(id) || id == unknown);
            }
        }
    }

    // TOK-29: a token is found whatever stands beside it; its flags take white space along and nothing else.
    void tok29_flags_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("wanted");  // of the file with flags; _ for a space
        QTest::addColumn<QString>("bare");    // of the file without
        QTest::newRow("rstrip, none there") << "<|user|>Hello"
                                            << "<|user|> H"
                                            << "<|user|> H";
        QTest::newRow("rstrip, two there") << "<|user|>  Hello"
                                           << "<|user|> H"
                                           << "<|user|> _";
        QTest::newRow("rstrip, lines too") << "<|user|>\n\t\xC2\xA0Hello"
                                           << "<|user|> H"
                                           << "<|user|> \n";
        QTest::newRow("lstrip") << "a <mask>."
                                << "a <mask> ."
                                << "a _ <mask> .";
        QTest::newRow("lstrip, none there") << "a<mask>."
                                            << "a <mask> ."
                                            << "a <mask> .";
        QTest::newRow("lstrip at the begin") << "  <mask>"
                                             << "<mask>"
                                             << "_";
        QTest::newRow("both meet") << "<|user|>   <mask>"
                                   << "<|user|> <mask>"
                                   << "<|user|> _";
        QTest::newRow("single word") << "<word>"
                                     << "<word>"
                                     << "<word>";
        QTest::newRow("single word between spaces") << "a <word> b"
                                                    << "a _ <word> _"
                                                    << "a _ <word> _";
        QTest::newRow("no single word") << "a<word>"
                                        << "a < w"
                                        << "a <word>";
        QTest::newRow("no single word behind") << "<word>\xC3\xA9"
                                               << "< w"
                                               << "<word>";
        QTest::newRow("underscore is a word's") << "_<word>"
                                                << "_ < w"
                                                << "_ <word>";
    }
    void tok29_flags() {
        QFETCH(QString, text);
        QFETCH(QString, wanted);
        QFETCH(QString, bare);
        Json document = document_of(variant("no_pattern"));
        document["model"]["merges"] = Json::array();
        for (const bool flags : {true, false}) {
            if (!flags) {
                for (Json& token : document["added_tokens"])
                    token["lstrip"] = token["rstrip"] = token["single_word"] = false;
            }
            const auto tokenizer = make(document);
            QVERIFY(tokenizer);
            QStringList found;
            for (const TokenId id : tokenizer->encode(text.toStdString(), true, false)) {
                const auto bytes = tokenizer->bytes(id);
                found << (bytes == " " ? "_"
                                       : QString::fromUtf8(bytes.data(), static_cast<int>(bytes.size())));
            }
            const QStringList first = (flags ? wanted : bare).split(' ');
            QVERIFY2(found.mid(0, first.size()) == first, qPrintable(found.join('|')));
        }
    }

    // The flags of tokenizer_config.json count where they differ, and its tokens are added.
    void config_adds_and_changes_tokens() {
        Json document = document_of(variant("no_pattern"));
        const auto size = make(document)->size();
        const Json config = {
            {"added_tokens_decoder",
             {{std::to_string(size), {{"content", "<|new|>"}, {"special", true}, {"rstrip", true}}},
              {std::to_string(size + 3), {{"content", "<far>"}, {"special", false}}}}},
            {"eos_token", {{"content", "<|new|>"}}},
            {"bos_token", "<s>"}};
        const auto tokenizer = make(document, config.dump());
        QVERIFY(tokenizer);
        QCOMPARE(tokenizer->size(), size + 4);
        QCOMPARE(values(tokenizer->encode("<|new|>  <far>", true, false)), (Ids{size, size + 3}));
        QVERIFY(tokenizer->is_end_of_generation(TokenId(size)));
        QVERIFY(tokenizer->vocabulary().bos);
        QVERIFY(!tokenizer->adds_bos());  // nobody asks for it
        for (std::int32_t gap = size + 1; gap < size + 3; ++gap) {
            QVERIFY(tokenizer->bytes(TokenId(gap)).empty());
            QCOMPARE(tokenizer->type(TokenId(gap)), TokenType::Unused);
        }
        QVERIFY(tokenizer->warnings().empty());
        QVERIFY(
            make(document, R"({"added_tokens_decoder":{"0":{"content":"<|other|>"}}})")->warnings().size() ==
            1);
    }

    void begin_and_end_data() {
        QTest::addColumn<QString>("around");  // tokens in the template
        QTest::addColumn<QString>("config");
        QTest::addColumn<bool>("bos");
        QTest::addColumn<bool>("eos");
        QTest::newRow("nothing") << "A"
                                 << "" << false << false;
        QTest::newRow("bos") << "<s> A"
                             << "" << true << false;
        QTest::newRow("eos") << "A </s>"
                             << "" << false << true;
        QTest::newRow("both") << "<s> A </s>"
                              << R"({"eos_token":"</s>"})" << true << true;
        QTest::newRow("config is not asked") << "<s> A"
                                             << R"({"add_bos_token":false})" << true << false;
        QTest::newRow("llama asks config")
            << "<s> A"
            << R"({"add_bos_token":false,"add_eos_token":true,"eos_token":"</s>",
                                              "tokenizer_class":"LlamaTokenizerFast"})"
            << false << true;
        QTest::newRow("llama without an end")
            << "A"
            << R"({"add_bos_token":true,"add_eos_token":true,"bos_token":"<s>",
                                              "tokenizer_class":"LlamaTokenizer"})"
            << true << false;
    }
    void begin_and_end() {
        QFETCH(QString, around);
        QFETCH(QString, config);
        QFETCH(bool, bos);
        QFETCH(bool, eos);
        Json document = document_of(variant("llama3"));
        Json single = Json::array();
        Json table = Json::object();
        for (const QString& part : around.split(' ')) {
            if (part == "A") {
                single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
                continue;
            }
            single.push_back({{"SpecialToken", {{"id", part.toStdString()}, {"type_id", 0}}}});
            for (const Json& token : document["added_tokens"]) {
                if (token["content"] == part.toStdString())
                    table[part.toStdString()] = {
                        {"id", part.toStdString()}, {"ids", {token["id"]}}, {"tokens", {}}};
            }
        }
        document["post_processor"] = {
            {"type", "Sequence"},
            {"processors",
             {{{"type", "ByteLevel"}},
              {{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", table}}}}};
        const auto tokenizer = make(document, config.toStdString());
        QVERIFY(tokenizer);
        QCOMPARE(tokenizer->adds_bos(), bos);
        QCOMPARE(tokenizer->adds_eos(), eos);
        const auto ids = tokenizer->encode("a", false, true);
        QCOMPARE(ids.size(), std::size_t{1} + bos + eos);
    }

    // Refused by name, never guessed.
    void refused_data() {
        QTest::addColumn<QString>("patch");  // RFC 7396
        QTest::addColumn<QString>("named");
        const auto row = [](const char* named, const char* patch) { QTest::newRow(named) << patch << named; };
        row("WordPiece", R"({"model":{"type":"WordPiece"}})");
        row("Unigram", R"({"model":{"type":"Unigram"}})");
        row("continuing_subword_prefix", R"({"model":{"continuing_subword_prefix":"##"}})");
        row("end_of_word_suffix", R"({"model":{"end_of_word_suffix":"</w>"}})");
        row("BertNormalizer", R"({"normalizer":{"type":"BertNormalizer"}})");
        row("Precompiled",
            R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Precompiled"}]}})");
        row("without a type", R"({"normalizer":{"typ":"NFC"}})");
        row("normalizers", R"({"normalizer":{"type":"Sequence"}})");
        row("Replace", R"({"normalizer":{"type":"Replace","content":"x"}})");
        row("WhitespaceSplit", R"({"pre_tokenizer":{"type":"WhitespaceSplit"}})");
        row("UnicodeScripts", R"({"pre_tokenizer":{"type":"UnicodeScripts"}})");
        row("behavior", R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a"},"behavior":"Odd"}})");
        row("pattern", R"({"pre_tokenizer":{"type":"Split","behavior":"Isolated"}})");
        row("prepend_scheme", R"({"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"odd"}})");
        row("Digits",
            R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel","add_prefix_space":false},
            {"type":"Digits"}]}})");
        row("add_prefix_space", R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits"},
            {"type":"ByteLevel","add_prefix_space":true}]}})");
        row("WordPieceDecoder", R"({"decoder":{"type":"WordPieceDecoder"}})");
        row("BertProcessing", R"({"post_processor":{"type":"BertProcessing"}})");
        row("special_tokens",
            R"({"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<x>"}}]}})");
        row("more than one",
            R"({"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a"}},
            {"SpecialToken":{"id":"a"}}],"special_tokens":{"a":{"ids":[1]}}}})");
        row("of a vocabulary",
            R"({"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a"}}],
            "special_tokens":{"a":{"ids":[100000]}}}})");
        row("model.vocab", R"({"model":{"vocab":null}})");
        row("model.merges", R"({"model":{"merges":null}})");
        row("\"model\"", R"({"model":null})");
        row("same id", R"({"model":{"vocab":{"zz":5}}})");
        row("no usable id", R"({"model":{"vocab":{"zz":-5}}})");
        row("ids up to", R"({"model":{"vocab":{"zz":4000000000}}})");
        row("two parts", R"({"model":{"merges":["a b c"]}})");
        row("merge 1", R"({"model":{"merges":["a b", ["a"]]}})");
        row("added_tokens", R"({"added_tokens":[{"id":-1,"content":"x"}]})");
        row("far beyond", R"({"added_tokens":[{"id":2000000000,"content":"<x>"}]})");
        row("repeats a group",
            R"({"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a+)+b"},"behavior":"Isolated"}})");
    }
    void refused() {
        QFETCH(QString, patch);
        QFETCH(QString, named);
        Json document = document_of(variant("llama3"));
        document.merge_patch(Json::parse(patch.toStdString()));
        const Error error = error_of(document);
        QVERIFY2(error.kind == ErrorKind::BadFile || error.kind == ErrorKind::Unsupported,
                 error.message.c_str());
        QVERIFY2(QString::fromStdString(error.message).contains(named), error.message.c_str());
    }

    // No beginning of a file, no other text and no depth is a crash or a tokenizer.
    void damaged_files() {
        Json small = document_of(variant("llama2"));
        small["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}};
        small["model"]["merges"] = {"a b"};
        small["added_tokens"] = Json::array();
        const std::string text = small.dump();
        QVERIFY(read_tokenizer_json(text).ok());
        for (std::size_t size = 0; size < text.size(); ++size)
            QVERIFY(!read_tokenizer_json(text.substr(0, size)).ok());
        std::mt19937 random(4);
        for (int round = 0; round < 2000; ++round) {
            std::string broken = text;
            for (auto i = random() % 4 + 1; i > 0; --i)
                broken[random() % broken.size()] = static_cast<char>(random());
            auto data = read_tokenizer_json(broken, round % 2 == 0 ? "" : broken);
            if (!data.ok()) continue;
            auto tokenizer = Tokenizer::make(std::move(data).value());
            if (tokenizer.ok()) (void)(*tokenizer)->encode("a b <s> ab", true, true);
        }
        for (const char* bad : {"", "null", "[]", "7", "\"x\"", "{", "{\"model\":\"\xFF\"}"})
            QCOMPARE(read_tokenizer_json(bad).error().kind, ErrorKind::BadFile);
        const std::string deep = "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
        QCOMPARE(read_tokenizer_json(deep).error().kind, ErrorKind::TooLarge);
        QCOMPARE(read_tokenizer_json(text, deep).error().kind, ErrorKind::TooLarge);
        Json nested = small;
        nested["normalizer"] = {{"type", "NFC"}};
        for (int i = 0; i < 25; ++i)
            nested["normalizer"] = {{"type", "Sequence"}, {"normalizers", {nested["normalizer"]}}};
        QVERIFY(read_tokenizer_json(nested.dump()).ok());
    }

    // Odd, but a tokenizer: it loads and says so.
    void odd_files() {
        Json document = document_of(variant("llama2"));
        document["model"]["merges"].push_back({"no such", "parts"});
        document["model"]["dropout"] = 0.1;
        const auto tokenizer = make(document);
        QVERIFY(tokenizer);
        QCOMPARE(tokenizer->warnings().size(), std::size_t{2});
        document["model"]["dropout"] = 0.0;
        QCOMPARE(make(document)->warnings().size(), std::size_t{1});
        // A zero byte and spaces inside of tokens are texts like others.
        document["model"]["vocab"][std::string("\0", 1)] = 700;
        document["model"]["vocab"]["a b"] = 701;
        const auto again = make(document);
        QCOMPARE(again->encode(std::string("\0", 1), false, false).back(), TokenId(700));
    }

    // TOK-10, TOK-11 with patterns of files, and for characters.
    void tok10_time_grows_with_the_text_data() {
        QTest::addColumn<QByteArray>("unit");
        for (const char* name :
             {"llama3", "o200k", "kimi", "deepseek", "llama2", "metaspace_always", "nfkd"}) {
            for (const char* unit : {"A", "the ", " ", "\xE5\xAD\x97", "\n", "7", "\xCC\x81\xCC\x96", "aB"})
                QTest::addRow("%s %s", name, unit) << QByteArray(unit);
        }
    }
    void tok10_time_grows_with_the_text() {
        QFETCH(QByteArray, unit);
        const auto tokenizer =
            make(document_of(variant(QString(QTest::currentDataTag()).section(' ', 0, 0).toStdString())));
        QVERIFY(tokenizer);
        QVERIFY(grows_linearly(1U << 14U, [&](std::size_t n) {
            QVERIFY(!tokenizer->encode(repeated(unit.toStdString(), n), true, false).empty());
        }));
    }
};

QTEST_APPLESS_MAIN(TstTokenizerJson)
#include "tst_tokenizer_json.moc"
