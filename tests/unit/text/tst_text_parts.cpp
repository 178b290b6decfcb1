// The parts that a byte-level BPE tokenizer is made of, each against a slow and obvious version of itself.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <QtTest>

#include "core/text/bpe_merge.h"
#include "core/text/byte_alphabet.h"
#include "core/text/normal_form.h"
#include "core/text/pretokenizer.h"
#include "core/text/special_matcher.h"
#include "core/text/special_tokens.h"
#include "tests/unit/text/text_samples.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

using Rules = std::map<std::pair<std::int32_t, std::int32_t>, BpeMerge>;

// The definition: again and again the lowest rank, the leftmost of equals.
std::vector<std::int32_t> slow_merge(std::vector<std::int32_t> ids, const Rules& rules) {
    for (;;) {
        std::size_t best = ids.size();
        BpeMerge merge;
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const auto found = rules.find({ids[i], ids[i + 1]});
            if (found != rules.end() && found->second.rank < merge.rank) {
                merge = found->second;
                best = i;
            }
        }
        if (best == ids.size()) return ids;
        ids[best] = merge.id;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
}

std::vector<std::int32_t> fast_merge(const std::vector<std::int32_t>& ids, const Rules& rules) {
    std::vector<BpeSymbol> symbols;
    for (std::size_t i = 0; i < ids.size(); ++i)
        symbols.push_back({ids[i], static_cast<std::uint32_t>(i), 1});
    bpe_merge(symbols, [&](const BpeSymbol& left, const BpeSymbol& right) {
        const auto found = rules.find({left.id, right.id});
        return found == rules.end() ? BpeMerge{} : found->second;
    });
    std::vector<std::int32_t> result;
    std::uint32_t position = 0;
    for (const BpeSymbol& symbol : symbols) {
        if (symbol.begin != position) return {-99};  // pieces must follow each other without a gap
        position += symbol.size;
        result.push_back(symbol.id);
    }
    if (position != ids.size()) return {-98};
    return result;
}

std::vector<std::string> pieces_of(const char* name, std::string_view text) {
    const PretokenizerSpec* spec = find_pretokenizer(name);
    if (spec == nullptr) return {"unknown name"};
    auto made = Pretokenizer::make(*spec);
    if (!made.ok()) return {made.error().message};
    std::string storage;
    std::vector<std::string> result;
    for (const std::string_view piece : made->split(made->normalized(text, storage)))
        result.emplace_back(piece);
    return result;
}

}  // namespace

class TstTextParts : public QObject {
    Q_OBJECT

  private slots:
    void byte_alphabet_is_a_bijection() {
        std::set<char32_t> seen;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const char32_t character = character_of_byte(static_cast<std::uint8_t>(byte));
            QVERIFY(seen.insert(character).second);
            QCOMPARE(byte_of_character(character),
                     std::optional<std::uint8_t>(static_cast<std::uint8_t>(byte)));
        }
        QCOMPARE(character_of_byte(' '), char32_t{0x120});
        QCOMPARE(character_of_byte('\n'), char32_t{0x10A});
        QCOMPARE(character_of_byte(0xAD), char32_t{0x143});
        QVERIFY(!byte_of_character(' '));
        QVERIFY(!byte_of_character(0x144));
        QVERIFY(!byte_of_character(0x10FFFF));
        QVERIFY(!bytes_of_alphabet("a b"));
        QVERIFY(!bytes_of_alphabet("\xC3"));
        QCOMPARE(*bytes_of_alphabet("\xC4\xA0"
                                    "a"),
                 std::string(" a"));
    }

    // Ranks of any order, also such as no training gives: long and short sequences follow the definition.
    void merging_follows_its_definition() {
        std::mt19937 random(11);
        for (int round = 0; round < 1500; ++round) {
            const int letters = 1 + static_cast<int>(random() % 3);
            const bool equal_ranks = random() % 4 == 0;  // as scores of SentencePiece may be
            Rules rules;
            std::vector<int> length(static_cast<std::size_t>(letters), 1);
            for (int n = static_cast<int>(random() % 14); n > 0; --n) {
                const auto left = static_cast<std::int32_t>(random() % length.size());
                const auto right = static_cast<std::int32_t>(random() % length.size());
                const auto id = static_cast<std::int32_t>(length.size());
                const auto rank = static_cast<std::uint32_t>(equal_ranks ? random() % 3 : random() % 1000);
                if (rules.try_emplace({left, right}, BpeMerge{rank, id}).second) {
                    length.push_back(length[static_cast<std::size_t>(left)] +
                                     length[static_cast<std::size_t>(right)]);
                }
            }
            std::vector<std::int32_t> ids(random() % 160);
            for (auto& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(letters));
            QCOMPARE(fast_merge(ids, rules), slow_merge(ids, rules));
        }
    }

    // TOK-10: runs of one symbol are shortened, whatever the ranks; what comes out is the same.
    void long_runs_merge_as_whole_ones() {
        std::mt19937 random(17);
        int shortened = 0;
        for (int round = 0; round < 400; ++round) {
            Rules rules;
            std::vector<std::size_t> length = {1, 1, 1};
            const auto add = [&](std::size_t left, std::size_t right, std::uint32_t rank) {
                const BpeMerge merge{rank, static_cast<std::int32_t>(length.size())};
                const auto l = static_cast<std::int32_t>(left);
                const auto r = static_cast<std::int32_t>(right);
                if (rules.try_emplace({l, r}, merge).second) length.push_back(length[left] + length[right]);
            };
            // A chain 0, 00, 0000, … mostly in the order in which training finds it, and other pairs between.
            std::size_t last = 0;
            for (auto stage = static_cast<std::uint32_t>(random() % 5); stage > 0; --stage) {
                const auto made = length.size();
                add(last, last,
                    static_cast<std::uint32_t>(random() % 5 == 0 ? random() % 900 : 1000 - 100 * stage));
                last = made;
            }
            for (auto n = random() % 12; n > 0; --n)
                add(random() % length.size(), random() % length.size(),
                    static_cast<std::uint32_t>(random() % 1000));
            std::vector<BpeSymbol> whole;
            for (auto pieces = 1 + random() % 4; pieces > 0; --pieces) {
                for (auto n = random() % 12; n > 0; --n)
                    whole.push_back({static_cast<std::int32_t>(random() % 3), 0, 1});
                const auto id = static_cast<std::int32_t>(random() % 8 == 0);
                for (auto n = kLongRun + random() % 3000; n > 0; --n) whole.push_back({id, 0, 1});
            }
            std::vector<BpeSymbol> some = whole;
            const auto find = [&](const BpeSymbol& left, const BpeSymbol& right) {
                const auto found = rules.find({left.id, right.id});
                return found == rules.end() ? BpeMerge{} : found->second;
            };
            const std::size_t longest = *std::max_element(length.begin(), length.end());
            std::vector<BpeSymbol> probe = whole;
            shortened += bpe_detail::shorten_runs(probe, find, longest).empty() ? 0 : 1;
            bpe_merge(whole, find);
            bpe_merge(some, find, longest);
            QCOMPARE(some.size(), whole.size());
            QVERIFY(std::equal(some.begin(), some.end(), whole.begin(),
                               [](const BpeSymbol& a, const BpeSymbol& b) { return a.id == b.id; }));
        }
        QVERIFY2(shortened > 100, "nothing was shortened");
    }

    void special_tokens_are_leftmost_and_longest() {
        std::mt19937 random(13);
        for (int round = 0; round < 4000; ++round) {
            std::vector<std::string> spellings;
            SpecialTokens tokens;
            std::vector<bool> control;
            for (std::size_t n = random() % 6; n > 0; --n) {
                std::string spelling;
                for (std::size_t k = random() % 5; k > 0; --k) spelling.push_back("ab"[random() % 2]);
                const TokenId id(static_cast<std::int32_t>(spellings.size()));
                control.push_back(random() % 2 == 0);
                if (control.back()) {
                    tokens.add_control(spelling, id);
                } else {
                    tokens.add_user_defined(spelling, id);
                }
                spellings.push_back(spelling);
            }
            tokens.finish();
            std::string text;
            for (std::size_t k = random() % 20; k > 0; --k) text.push_back("aab"[random() % 3]);
            std::vector<ByteRange> trusted;
            for (std::size_t begin = random() % 8; begin < text.size();) {
                const std::size_t end = begin + 1 + random() % 8;
                trusted.push_back({begin, end});
                begin = end + 1 + random() % 4;
            }
            const auto allowed = [&](std::size_t begin, std::size_t end) {
                for (const ByteRange& range : trusted) {
                    if (range.begin <= begin && end <= range.end) return true;
                }
                return false;
            };
            std::vector<std::array<std::size_t, 3>> wanted;
            for (std::size_t position = 0; position < text.size();) {
                std::size_t longest = 0;
                std::size_t best = 0;
                for (std::size_t i = 0; i < spellings.size(); ++i) {
                    const std::size_t size = spellings[i].size();
                    if (size > longest && text.compare(position, size, spellings[i]) == 0 &&
                        position + size <= text.size() &&
                        (!control[i] || allowed(position, position + size))) {
                        longest = size;
                        best = i;
                    }
                }
                if (longest > 0) wanted.push_back({position, position + longest, best});
                position += std::max<std::size_t>(longest, 1);
            }
            std::vector<std::array<std::size_t, 3>> got;
            for (const SpecialHit& hit : tokens.find(text, trusted)) {
                got.push_back({hit.begin, hit.end, static_cast<std::size_t>(hit.id.value)});
            }
            QVERIFY2(got == wanted, text.c_str());
        }
    }

    void ranges_that_touch_are_one() {
        SpecialTokens tokens;
        tokens.add_control("<end>", TokenId(4));
        tokens.finish();
        const std::vector<ByteRange> touching = {{0, 2}, {2, 5}};
        QCOMPARE(tokens.find("<end>", touching).size(), std::size_t{1});
        const std::vector<ByteRange> beyond = {{0, 500}};
        QCOMPARE(tokens.find("<end>", beyond).size(), std::size_t{1});
        const std::vector<ByteRange> nowhere = {{5, 5}, {9, 3}, {700, 800}};
        QCOMPARE(tokens.find("<end>", nowhere).size(), std::size_t{0});
    }

    // TOK-08: each name has its own cuts. The text is that of the report, with a line end before the tab.
    void tok08_each_name_cuts_its_way_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QStringList>("wanted");
        QTest::newRow("gpt2") << "gpt2" << QStringList{"1234567", " don", "'t", " I",   "'",  "LL",
                                                       " ->",     " ",    " x", "\n\n", "\t", "y"};
        QTest::newRow("gpt-2") << "gpt-2" << QStringList{"1234567", " don", "'t", " I",   "'",  "LL",
                                                         " ->",     " ",    " x", "\n\n", "\t", "y"};
        QTest::newRow("smollm") << "smollm"
                                << QStringList{"1",  "2", "3",  "4",   "5", "6",  "7",    " don", "'t",
                                               " I", "'", "LL", " ->", " ", " x", "\n\n", "\t",   "y"};
        QTest::newRow("llama-bpe") << "llama-bpe" << QStringList{"123", "456", "7", " don", "'t",   " I",
                                                                 "'LL", " ->", " ", " x",   "\n\n", "\ty"};
        QTest::newRow("qwen2") << "qwen2" << QStringList{"1",  "2",  "3",   "4",   "5", "6",  "7",    " don",
                                                         "'t", " I", "'LL", " ->", " ", " x", "\n\n", "\ty"};
        QTest::newRow("tekken") << "tekken"
                                << QStringList{"1",  "2",  "3",   "4",   "5", "6",  "7",    " don",
                                               "'t", " I", "'LL", " ->", " ", " x", "\n\n", "\ty"};
        QTest::newRow("deepseek-v3") << "deepseek-v3"
                                     << QStringList{"123", "456", "7", " don", "'t",   " I",
                                                    "'LL", " ->", " ", " x",   "\n\n", "\ty"};
    }
    void tok08_each_name_cuts_its_way() {
        QFETCH(QString, name);
        QFETCH(QStringList, wanted);
        QStringList got;
        for (const auto& piece : pieces_of(name.toUtf8().constData(), "1234567 don't I'LL ->  x\n\n\ty")) {
            got << QString::fromStdString(piece);
        }
        QCOMPARE(got, wanted);
    }

    void tok08_unknown_names_are_unknown() {
        for (const char* name : {"no-such", "", "default", "Qwen2", "gpt2 ", "llama"}) {
            QVERIFY2(find_pretokenizer(name) == nullptr, name);
        }
        QVERIFY(known_pretokenizers().find("smollm") != std::string::npos);
    }

    void white_space_is_that_of_unicode() {
        // U+180E left the white space in Unicode 6.3; U+0085 and U+3000 belong to it.
        QCOMPARE(pieces_of("gpt2",
                           "a\xE1\xA0\x8E\xE1\xA0\x8E"
                           "b")
                     .size(),
                 std::size_t{3});
        QCOMPARE(pieces_of("gpt2", "\xC2\x85\xE3\x80\x80"), std::vector<std::string>{"\xC2\x85\xE3\x80\x80"});
        // Digits cut first: the look-ahead for a word ends there.
        QCOMPARE(pieces_of("smollm", "a  1"), (std::vector<std::string>{"a", "  ", "1"}));
        QCOMPARE(pieces_of("gpt2", "a  1"), (std::vector<std::string>{"a", " ", " 1"}));
    }

    // Nothing is lost, nothing is empty, whatever the bytes are; valid and invalid never share a stretch.
    void stretches_cover_the_text() {
        std::mt19937 random(17);
        for (const char* name : {"gpt2", "smollm", "llama-bpe", "tekken", "deepseek-v3"}) {
            for (int round = 0; round < 300; ++round) {
                std::string text = random_text(random, random() % 40);
                if (random() % 2 == 0)
                    text.insert(random() % (text.size() + 1), random_bytes(random, random() % 6));
                std::string joined;
                for (const std::string& piece : pieces_of(name, text)) {
                    QVERIFY(!piece.empty());
                    joined += piece;
                }
                QCOMPARE(joined, text);
            }
        }
    }

    void nfc_data() {
        QTest::addColumn<QString>("text");
        QTest::newRow("ascii") << QString("plain");
        QTest::newRow("composes") << QString::fromUtf8("e\u0301 a\u030A o\u0302\u0301");
        QTest::newRow("reorders") << QString::fromUtf8("a\u0301\u0316\u0301");
        QTest::newRow("hangul") << QString::fromUtf8("\u1112\u1161\u11AB");
        QTest::newRow("excluded from composition") << QString::fromUtf8("\u0958 \u2ADC");
        QTest::newRow("singletons") << QString::fromUtf8("\u212B \u2126 \u0340");
        QString marks = "x";
        for (int i = 0; i < 60; ++i) marks += i % 2 == 0 ? QChar(0x301) : QChar(0x316);
        QTest::newRow("a long run of marks") << marks + "y";
        QTest::newRow("a long run after a composed letter") << QChar(0xE9) + marks.mid(1) + "y";
        QString tibetan;
        for (int i = 0; i < 60; ++i) tibetan += i % 2 == 0 ? QChar(0xF73) : QChar(0xF81);
        QTest::newRow("marks that decompose into marks") << QChar(0xF40) + tibetan;
        QTest::newRow("marks alone") << tibetan + marks.mid(1);
    }
    void nfc() {
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(to_nfc(text.toStdString())),
                 text.normalized(QString::NormalizationForm_C));
    }

    void nfc_of_random_text_equals_another_library() {
        std::mt19937 random(19);
        for (int round = 0; round < 400; ++round) {
            QString text;
            for (auto n = random() % 120; n > 0; --n) {
                static const char16_t kPicked[] = {u'a',      u'e',      u'\u0301', u'\u0316', u'\u0323',
                                                   u'\u0344', u'\u0F73', u'\u0F40', u'\u00E9', u'\u1E69',
                                                   u'\u0345', u'\u1100', u'\u1161', u'\u11A8', u'\u3099',
                                                   u'\u304B', u'\u0F81', u'\u093C', u'\u0928'};
                text += QChar(kPicked[random() % std::size(kPicked)]);
                if (random() % 3 == 0)
                    text += QString(static_cast<int>(random() % 50), QChar(kPicked[2 + random() % 4]));
            }
            QCOMPARE(QString::fromStdString(to_nfc(text.toStdString())),
                     text.normalized(QString::NormalizationForm_C));
        }
    }

    void nfc_grows_linearly() {
        for (const char* unit : {"\xCC\x81\xCC\x96", "\xE0\xBD\xB3", "e\xCC\x81", "\xCC\x96"}) {
            QVERIFY2(grows_linearly(1U << 17U,
                                    [&](std::size_t n) { QVERIFY(!to_nfc(repeated(unit, n)).empty()); }),
                     unit);
        }
    }
};

QTEST_APPLESS_MAIN(TstTextParts)
#include "tst_text_parts.moc"
