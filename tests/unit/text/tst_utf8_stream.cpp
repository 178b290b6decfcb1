#include <fstream>
#include <string>
#include <vector>

#include <QtTest>
#include <nlohmann/json.hpp>

#include "core/text/utf8_stream.h"
#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

const std::string kBad = "\xEF\xBF\xBD";

std::string times(int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += kBad;
    return text;
}

// Independent of the implementation: the longest prefix that some continuation makes one character, found by
// trying all characters of Unicode through their encodings.
bool is_prefix_of_character(std::string_view bytes) {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> prefixes;
        for (char32_t c = 0x80; c <= 0x10FFFF; ++c) {
            if (c == 0xD800) c = 0xE000;
            std::string text;
            append_utf8(text, c);
            for (std::size_t n = 1; n <= text.size(); ++n) prefixes.push_back(text.substr(0, n));
            c |= 0x3F;  // the last byte is free: one of 64 is enough for the prefixes
        }
        std::sort(prefixes.begin(), prefixes.end());
        prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
        return prefixes;
    }();
    std::string key(bytes);
    static constexpr std::size_t kSizes[] = {0, 0, 2, 3, 4};
    const auto lead = static_cast<std::uint8_t>(bytes.front());
    const std::size_t whole = lead < 0xE0 ? kSizes[2] : lead < 0xF0 ? kSizes[3] : kSizes[4];
    const auto last = static_cast<std::uint8_t>(bytes.back());
    if (bytes.size() == whole && last >= 0x80 && last <= 0xBF) key.back() = static_cast<char>(0x80);
    return std::binary_search(all.begin(), all.end(), key);
}

std::string slow_valid_utf8(std::string_view bytes) {
    std::string result;
    for (std::size_t i = 0; i < bytes.size();) {
        const auto lead = static_cast<std::uint8_t>(bytes[i]);
        if (lead < 0x80) {
            result += bytes[i++];
            continue;
        }
        std::size_t n = 0;
        while (n < 4 && i + n < bytes.size() && is_prefix_of_character(bytes.substr(i, n + 1))) ++n;
        const std::size_t whole = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (n == whole) {
            result += bytes.substr(i, n);
        } else {
            result += kBad;
            n = std::max<std::size_t>(n, 1);
        }
        i += n;
    }
    return result;
}

}  // namespace

class TstUtf8Stream : public QObject {
    Q_OBJECT

  private slots:
    void maximal_subparts_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("wanted");
        const auto row = [](const char* name, const std::string& bytes, const std::string& wanted) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << QByteArray::fromStdString(wanted);
        };
        row("empty", "", "");
        row("NUL inside", std::string("a\0b", 3), std::string("a\0b", 3));
        row("overlong of 2: C0 AF", "\xC0\xAF", times(2));
        row("overlong of 2: C1 BF", "\xC1\xBF", times(2));
        row("overlong of 3: E0 80 AF", "\xE0\x80\xAF", times(3));
        row("overlong of 3: E0 9F BF", "\xE0\x9F\xBF", times(3));
        row("overlong of 4: F0 80 80 80", "\xF0\x80\x80\x80", times(4));
        row("overlong of 4: F0 8F BF BF", "\xF0\x8F\xBF\xBF", times(4));
        row("surrogate ED A0 80", "\xED\xA0\x80", times(3));
        row("surrogate ED BF BF", "\xED\xBF\xBF", times(3));
        row("last before surrogates", "\xED\x9F\xBF", "\xED\x9F\xBF");
        row("first after surrogates", "\xEE\x80\x80", "\xEE\x80\x80");
        row("F4 8F BF BF is the last", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF");
        row("F4 90 is too high", "\xF4\x90\x80\x80", times(4));
        row("F5 and above", "\xF5\x80\x80\x80\xFE\xFF", times(6));
        row("lone continuation", "x\x80\xBFy", "x" + times(2) + "y");
        row("three bytes of four", "\xF0\x9F\x90", times(1));
        row("cut by text", "\xF0\x9Fthen", times(1) + "then");
        row("cut by a lead", "\xE6\xB9\xC3\xA9", times(1) + "\xC3\xA9");
        row("Unicode's example",
            "a\xF1\x80\x80\xE1\x80\xC2"
            "b\x80"
            "c\x80\xBF"
            "d",
            "a" + times(3) + "b" + times(1) + "c" + times(2) + "d");
    }
    void maximal_subparts() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, wanted);
        const std::string text = bytes.toStdString();
        QCOMPARE(QByteArray::fromStdString(to_valid_utf8(text)), wanted);
        // However it is cut, the same comes out.
        for (std::size_t first = 0; first <= text.size(); ++first) {
            for (std::size_t second = first; second <= text.size(); ++second) {
                Utf8Stream stream;
                std::string got = stream.push(text.substr(0, first));
                got += stream.push(text.substr(first, second - first));
                got += stream.push(text.substr(second));
                got += stream.flush();
                QCOMPARE(QByteArray::fromStdString(got), wanted);
            }
        }
    }

    // TOK-04: bytes wait until the character is whole; ASCII in the same piece is shown at once.
    void tok04_characters_split_over_pieces() {
        Utf8Stream stream;
        QCOMPARE(stream.push(" \xF0"), std::string(" "));
        QVERIFY(stream.pending());
        QCOMPARE(stream.push("\x9F"), std::string());
        QCOMPARE(stream.push("\x98"), std::string());
        QCOMPARE(stream.push("\x80"), std::string("\xF0\x9F\x98\x80"));
        QVERIFY(!stream.pending());
        QCOMPARE(stream.push("\xE2\x82"), std::string());
        QCOMPARE(stream.push("\xAC"), std::string("\xE2\x82\xAC"));
        QCOMPARE(stream.push("\xD1"), std::string());
        QCOMPARE(stream.push("\x89!"), std::string("\xD1\x89!"));
        // A family emoji (four people, three joiners) byte by byte.
        const std::string family =
            "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7\xE2\x80\x8D\xF0\x9F\x91"
            "\xA6";
        std::string got;
        for (const char c : family) {
            const std::string out = stream.push(std::string(1, c));
            QVERIFY(out.find(kBad) == std::string::npos);
            got += out;
        }
        QCOMPARE(got, family);
        QCOMPARE(stream.flush(), std::string());
    }

    // TOK-05: the end comes in the middle of a character.
    void tok05_unfinished_character_at_the_end() {
        Utf8Stream stream;
        QCOMPARE(stream.push("ok \xF0\x9F"), std::string("ok "));
        QCOMPARE(stream.flush(), kBad);
        QCOMPARE(stream.flush(), std::string());  // once
        QCOMPARE(stream.push("new"), std::string("new"));
    }

    // Certain as soon as it is certain: an encoded surrogate at its second byte.
    void broken_bytes_do_not_wait() {
        Utf8Stream stream;
        QCOMPARE(stream.push("\xED"), std::string());
        QCOMPARE(stream.push("\xA0"), times(2));
        QCOMPARE(stream.push("\x80"), times(1));
        QCOMPARE(stream.push("\xFF"), times(1));
        QCOMPARE(stream.push("\xE2"), std::string());
        QCOMPARE(stream.push("\xE2"), times(1));
        QCOMPARE(stream.flush(), times(1));
    }

    void golden_pieces() {
        std::ifstream file(VITRINE_GOLDEN_DIR "/stream/smollm2.jsonl");
        QVERIFY(file.good());
        int rows = 0;
        for (std::string line; std::getline(file, line); ++rows) {
            const auto row = nlohmann::json::parse(line);
            Utf8Stream stream;
            std::vector<std::string> emitted;
            std::string pieces;
            for (const std::string hex : row["pieces_hex"]) {
                const std::string piece = QByteArray::fromHex(QByteArray::fromStdString(hex)).toStdString();
                pieces += piece;
                emitted.push_back(stream.push(piece));
            }
            const auto id = row["id"].get<std::string>();
            QVERIFY2(emitted == row["emitted"].get<std::vector<std::string>>(), id.c_str());
            QVERIFY2(stream.flush() == row["flush"].get<std::string>(), id.c_str());
            QVERIFY2(to_valid_utf8(pieces) == row["final"].get<std::string>(), id.c_str());
        }
        QCOMPARE(rows, 25);
    }

    void random_bytes_equal_a_slow_reader() {
        std::mt19937 random(7);
        static const std::string kInteresting =
            "\x01\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xEC\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5"
            "\xFF";
        for (int round = 0; round < 4000; ++round) {
            std::string bytes = random_bytes(random, random() % 12);
            for (char& c : bytes) {
                if (random() % 4 != 0) c = kInteresting[random() % kInteresting.size()];
            }
            const std::string wanted = slow_valid_utf8(bytes);
            QCOMPARE(to_valid_utf8(bytes), wanted);
            Utf8Stream stream;
            std::string got;
            for (std::size_t i = 0; i < bytes.size();) {
                const std::size_t n = random() % 4;
                got += stream.push(std::string_view(bytes).substr(i, n));
                QCOMPARE(to_valid_utf8(got), got);  // never a part of a character
                i += n;
            }
            got += stream.flush();
            QCOMPARE(got, wanted);
        }
    }
};

QTEST_APPLESS_MAIN(TstUtf8Stream)
#include "tst_utf8_stream.moc"
