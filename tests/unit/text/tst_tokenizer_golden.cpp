// Reference results: ids, decoded texts and streams, on the embedded model's vocabulary; and on all
// vocabularies of a folder that VITRINE_TEST_DATA names (vocab/NAME.gguf with tokens/NAME.jsonl and
// stream/NAME.jsonl).
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <QtTest>
#include <nlohmann/json.hpp>

#include "core/io/model_source.h"
#include "core/text/token_stream.h"
#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path) {
    auto source = ModelSource::open(path, {.vocabulary_only = true});
    if (!source.ok()) {
        qWarning("%s", source.error().message.c_str());
        return nullptr;
    }
    auto tokenizer = Tokenizer::make((*source)->vocabulary());
    if (!tokenizer.ok()) {
        qWarning("%s", tokenizer.error().message.c_str());
        return nullptr;
    }
    return std::move(tokenizer).value();
}

std::vector<nlohmann::json> rows_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<nlohmann::json> rows;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty()) rows.push_back(nlohmann::json::parse(line));
    }
    return rows;
}

std::vector<TokenId> ids_of(const nlohmann::json& row, const char* key) {
    std::vector<TokenId> ids;
    for (const std::int32_t id : row[key]) ids.emplace_back(id);
    return ids;
}

// The names of the rows that differ.
QStringList wrong_tokens(const Tokenizer& tokenizer, const std::vector<nlohmann::json>& rows) {
    QStringList wrong;
    for (const auto& row : rows) {
        const auto text = row["text"].get<std::string>();
        const auto name = QString::fromStdString(row["id"].get<std::string>());
        const auto ids = ids_of(row, "ids");
        if (tokenizer.encode(text, false, false) != ids) wrong << name + " ids";
        if (tokenizer.encode(text, true, false) != ids_of(row, "ids_special")) wrong << name + " ids_special";
        const auto decoded = row["decoded"].get<std::string>();
        if (tokenizer.decode(ids) != decoded) wrong << name + " decoded";
        TokenStream stream(tokenizer);
        std::string joined;
        for (const TokenId id : ids) joined += stream.push(id);
        if (joined + stream.flush() != decoded) wrong << name + " streamed";
    }
    return wrong;
}

QStringList wrong_streams(const Tokenizer& tokenizer, const std::vector<nlohmann::json>& rows) {
    QStringList wrong;
    for (const auto& row : rows) {
        const auto name = QString::fromStdString(row["id"].get<std::string>());
        TokenStream stream(tokenizer);
        std::vector<std::string> emitted;
        std::vector<std::string> pieces;
        for (const TokenId id : ids_of(row, "ids")) {
            emitted.push_back(stream.push(id));
            pieces.push_back(
                QByteArray::fromStdString(std::string(tokenizer.bytes(id))).toHex().toStdString());
        }
        if (emitted != row["emitted"].get<std::vector<std::string>>()) wrong << name + " emitted";
        if (stream.flush() != row["flush"].get<std::string>()) wrong << name + " flush";
        if (pieces != row["pieces_hex"].get<std::vector<std::string>>()) wrong << name + " pieces";
        if (tokenizer.decode(ids_of(row, "ids")) != row["final"].get<std::string>()) wrong << name + " final";
    }
    return wrong;
}

}  // namespace

class TstTokenizerGolden : public QObject {
    Q_OBJECT

    std::unique_ptr<Tokenizer> tokenizer_;

  private slots:
    void initTestCase() {
        tokenizer_ = open_tokenizer(VITRINE_EMBEDDED_MODEL);
        QVERIFY2(tokenizer_, "the embedded model " VITRINE_EMBEDDED_MODEL " cannot be opened");
    }

    void embedded_vocabulary() {
        QCOMPARE(tokenizer_->size(), 49152);
        QVERIFY(tokenizer_->warnings().empty());
        QCOMPARE(values({tokenizer_->end_of_generation().begin(), tokenizer_->end_of_generation().end()}),
                 (std::vector<std::int32_t>{0, 2}));
        QCOMPARE(*tokenizer_->find("<|im_start|>"), TokenId(1));
        QCOMPARE(*tokenizer_->find("Hello"), TokenId(19556));
    }

    void smollm2_tokens() {
        const auto rows = rows_of(VITRINE_GOLDEN_DIR "/tokens/smollm2.jsonl");
        QCOMPARE(rows.size(), std::size_t{243});
        QCOMPARE(wrong_tokens(*tokenizer_, rows), QStringList());
    }

    void smollm2_streams() {
        const auto rows = rows_of(VITRINE_GOLDEN_DIR "/stream/smollm2.jsonl");
        QCOMPARE(rows.size(), std::size_t{25});
        QCOMPARE(wrong_streams(*tokenizer_, rows), QStringList());
    }

    void decode_of_encode_is_the_text() {
        std::mt19937 random(2);
        const std::string missing = "\x04\x06\x13\x14\x16\x1D\xF1\xF2";
        int checked = 0;
        for (int round = 0; round < 1500; ++round) {
            const std::string text = random_text(random, random() % 50);
            if (text.find_first_of(missing) != std::string::npos) continue;
            QCOMPARE(tokenizer_->decode(tokenizer_->encode(text, round % 2 == 0, false)), text);
            ++checked;
        }
        QVERIFY(checked > 500);
    }

    // A text may be cut at a control token: its parts give the ids of the whole.
    void control_tokens_split_the_text() {
        std::mt19937 random(6);
        for (int round = 0; round < 300; ++round) {
            const std::string left = random_text(random, random() % 20);
            const std::string right = random_text(random, random() % 20);
            auto wanted = tokenizer_->encode(left, false, false);
            wanted.emplace_back(2);
            const auto rest = tokenizer_->encode(right, false, false);
            wanted.insert(wanted.end(), rest.begin(), rest.end());
            QCOMPARE(tokenizer_->encode(left + "<|im_end|>" + right, true, false), wanted);
            const TrustedText prompt{left + "<|im_end|>" + right, {{left.size(), left.size() + 10}}};
            QCOMPARE(tokenizer_->encode_prompt(prompt), wanted);
        }
    }

    // TOK-07 on a real vocabulary: all control tokens at once, typed by a user.
    void tok07_nothing_trusted_gives_no_control_id() {
        std::string text;
        int controls = 0;
        for (std::int32_t id = 0; id < tokenizer_->size(); ++id) {
            if (!tokenizer_->is_control(TokenId(id))) continue;
            ++controls;
            text += tokenizer_->bytes(TokenId(id));
            text += controls % 2 == 0 ? " " : "";
        }
        QVERIFY(controls >= 3);
        for (const TokenId id : tokenizer_->encode_prompt({text, {}})) QVERIFY(!tokenizer_->is_control(id));
        for (const TokenId id : tokenizer_->encode(text, false, true)) QVERIFY(!tokenizer_->is_control(id));
        QCOMPARE(tokenizer_->decode(tokenizer_->encode_prompt({text, {}})), text);
        const auto trusted = tokenizer_->encode_prompt({text, {{0, text.size()}}});
        QCOMPARE(std::count_if(trusted.begin(), trusted.end(),
                               [&](TokenId id) { return tokenizer_->is_control(id); }),
                 controls);
    }

    void other_vocabularies() {
        const QByteArray folder = qgetenv("VITRINE_TEST_DATA");
        if (folder.isEmpty()) QSKIP("VITRINE_TEST_DATA names no folder with vocab/*.gguf and tokens/*.jsonl");
        const std::filesystem::path root(folder.toStdString());
        int checked = 0;
        for (const auto& entry : std::filesystem::directory_iterator(root / "vocab")) {
            if (entry.path().extension() != ".gguf") continue;
            const std::string name = entry.path().stem().string();
            const auto rows = rows_of((root / "tokens" / (name + ".jsonl")).string());
            if (rows.empty()) continue;
            const auto tokenizer = open_tokenizer(entry.path().string());
            QVERIFY2(tokenizer, name.c_str());
            QVERIFY2(wrong_tokens(*tokenizer, rows).isEmpty(),
                     (name + ": " + wrong_tokens(*tokenizer, rows).join(", ").toStdString()).c_str());
            const auto streams = rows_of((root / "stream" / (name + ".jsonl")).string());
            QVERIFY2(wrong_streams(*tokenizer, streams).isEmpty(), name.c_str());
            ++checked;
        }
        QVERIFY(checked > 0);
    }
};

QTEST_APPLESS_MAIN(TstTokenizerGolden)
#include "tst_tokenizer_golden.moc"
