// Good files: what they say is what is read, with every type of value, every version, and odd but legal
// things.
#include <cmath>
#include <csignal>
#include <limits>
#include <sys/resource.h>

#include "core/io/ggml_types.h"
#include "core/io/gguf_writer.h"
#include "core/io/printable.h"
#include "tests/unit/io/io_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

class TestGgufFile : public QObject {
    Q_OBJECT

  private slots:
    void every_value_type();
    void numbers_convert_when_they_fit();
    void wrong_types_name_key_wanted_and_found();
    void strings_hold_any_bytes();
    void versions_and_counts();
    void alignment_of_the_file();
    void order_and_gaps_do_not_matter();
    void odd_tensor_names();
    void unused_bytes();
    void scalar_tensors();
    void every_known_type_is_listed();
    void paths_of_any_letters();
    void changed_on_disk();
    void written_is_read();
    void a_failed_write_leaves_nothing();
    void writer_refuses_wrong_sizes();
    void printable_text_data();
    void printable_text();

  private:
    TestFolder folder_;
};

void TestGgufFile::every_value_type() {
    GgufBuilder b;
    b.set("u8", 0, le<std::uint8_t>(255))
        .set("i8", 1, le<std::int8_t>(-128))
        .set("u16", 2, le<std::uint16_t>(65535));
    b.set("i16", 3, le<std::int16_t>(-32768))
        .set("u32", 4, le(0xFFFFFFFFU))
        .set("i32", 5, le(std::numeric_limits<std::int32_t>::min()));
    b.set("f32", 6, le(0.5F))
        .set("no", 7, le<std::uint8_t>(0))
        .set("yes", 7, le<std::uint8_t>(1))
        .set("text", 8, str("text"));
    b.set("u64", 10, le(~0ULL))
        .set("i64", 11, le(std::numeric_limits<std::int64_t>::min()))
        .set("f64", 12, le(-0.25));
    b.set("texts", 9, str_array({"a", "", "c"})).set("bools", 9, number_array<std::uint8_t>(7, {1, 0, 1}));
    b.set("i16s", 9, number_array<std::int16_t>(3, {-1, 2}))
        .set("f64s", 9, number_array<double>(12, {0.5, -2.0}));
    b.set("none", 9, arr(4, 0, {}));
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    const GgufFile& f = **opened;
    QCOMPARE(f.values().size(), b.values.size());
    for (std::size_t i = 0; i < b.values.size(); ++i) QCOMPARE(f.values()[i].key, b.values[i].key);

    QCOMPARE(**f.unsigned_integer("u8"), std::uint64_t{255});
    QCOMPARE(**f.integer("i8"), std::int64_t{-128});
    QCOMPARE(**f.unsigned_integer("u16"), std::uint64_t{65535});
    QCOMPARE(**f.integer("i16"), std::int64_t{-32768});
    QCOMPARE(**f.unsigned_integer("u32"), std::uint64_t{0xFFFFFFFF});
    QCOMPARE(**f.integer("i32"), std::int64_t{std::numeric_limits<std::int32_t>::min()});
    QCOMPARE(**f.number("f32"), 0.5);
    QCOMPARE(**f.boolean("no"), false);
    QCOMPARE(**f.boolean("yes"), true);
    QCOMPARE(**f.string("text"), std::string("text"));
    QCOMPARE(**f.unsigned_integer("u64"), std::uint64_t{~0ULL});
    QCOMPARE(**f.integer("i64"), std::numeric_limits<std::int64_t>::min());
    QCOMPARE(**f.number("f64"), -0.25);
    QCOMPARE(**f.strings("texts"), (std::vector<std::string>{"a", "", "c"}));
    QCOMPARE(**f.integers("bools"), (std::vector<std::int64_t>{1, 0, 1}));
    QCOMPARE(**f.integers("i16s"), (std::vector<std::int64_t>{-1, 2}));
    QCOMPARE(**f.floats("f64s"), (std::vector<float>{0.5F, -2.0F}));
    QVERIFY((**f.integers("none")).empty());
    QVERIFY(!f.string("absent")->has_value() && !f.integers("absent")->has_value() &&
            f.find("absent") == nullptr);
}

void TestGgufFile::numbers_convert_when_they_fit() {
    GgufBuilder b;
    b.set_i32("i32", 7)
        .set_u64("u64", 1ULL << 40U)
        .set("i64", 11, le<std::int64_t>(-1))
        .set_u64("largest", ~0ULL);
    b.set("u8s", 9, number_array<std::uint8_t>(0, {1, 255}))
        .set("u64s", 9, number_array<std::uint64_t>(10, {1, ~0ULL}));
    b.set("doubles", 9, number_array<double>(12, {1e300, -1e300, 0.5}));
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    const GgufFile& f = **opened;
    QCOMPARE(**f.unsigned_integer("i32"), std::uint64_t{7});
    QCOMPARE(**f.number("i32"), 7.0);
    QCOMPARE(**f.integer("u64"), std::int64_t{1} << 40);
    VERIFY_ERROR(f.unsigned_integer("i64"), ErrorKind::BadFile, "key 'i64' is -1; it must not be negative");
    VERIFY_ERROR(f.integer("largest"), ErrorKind::BadFile, "18446744073709551615, which is too large");
    QCOMPARE(**f.integers("u8s"), (std::vector<std::int64_t>{1, 255}));
    QCOMPARE(**f.floats("u8s"), (std::vector<float>{1.0F, 255.0F}));
    VERIFY_ERROR(f.integers("u64s"), ErrorKind::BadFile, "at place 1");
    const auto wide = **f.floats("doubles");
    QVERIFY(std::isinf(wide[0]) && wide[0] > 0 && std::isinf(wide[1]) && wide[1] < 0);
    QCOMPARE(wide[2], 0.5F);
}

void TestGgufFile::wrong_types_name_key_wanted_and_found() {
    GgufBuilder b;
    b.set_string("text", "5").set_f32("float", 5.0F).set_u32("number", 5).set("bool", 7, le<std::uint8_t>(2));
    b.set("texts", 9, str_array({"a"})).set("floats", 9, number_array<float>(6, {1.0F}));
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    const GgufFile& f = **opened;
    VERIFY_ERROR(f.string("number"), ErrorKind::BadFile, "key 'number' has type u32; a string is needed");
    VERIFY_ERROR(f.unsigned_integer("text"), ErrorKind::BadFile,
                 "key 'text' has type string; an integer is needed");
    VERIFY_ERROR(f.unsigned_integer("float"), ErrorKind::BadFile,
                 "key 'float' has type f32; an integer is needed");
    VERIFY_ERROR(f.integer("texts"), ErrorKind::BadFile, "has type array of string; an integer is needed");
    VERIFY_ERROR(f.number("text"), ErrorKind::BadFile, "a number is needed");
    VERIFY_ERROR(f.number("bool"), ErrorKind::BadFile, "a number is needed");
    VERIFY_ERROR(f.boolean("number"), ErrorKind::BadFile, "bool is needed");
    VERIFY_ERROR(f.boolean("bool"), ErrorKind::BadFile, "key 'bool' holds 2; a bool is 0 or 1");
    VERIFY_ERROR(f.strings("text"), ErrorKind::BadFile, "array of string is needed");
    VERIFY_ERROR(f.strings("floats"), ErrorKind::BadFile, "has type array of f32");
    VERIFY_ERROR(f.integers("floats"), ErrorKind::BadFile, "array of integers is needed");
    VERIFY_ERROR(f.integers("number"), ErrorKind::BadFile, "array of integers is needed");
    VERIFY_ERROR(f.floats("texts"), ErrorKind::BadFile, "array of numbers is needed");
    QVERIFY(contains(f.string("number").error().message, f.path().string()));
}

void TestGgufFile::strings_hold_any_bytes() {
    // GGUF-37, TOK-26
    const std::string name = "日本 ▁ é";
    const std::string tmpl = "｜▁｜";
    const std::string binary("\xFF\x00\xC3", 3);
    GgufBuilder b;
    b.set_string("general.name", name)
        .set_string("tokenizer.chat_template", tmpl)
        .set_string("binary", binary);
    b.set("texts", 9, str_array({binary, std::string(1, '\0'), ""}));
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    QCOMPARE(**(*opened)->string("general.name"), name);
    QCOMPARE(**(*opened)->string("tokenizer.chat_template"), tmpl);
    QCOMPARE(**(*opened)->string("binary"), binary);
    QCOMPARE(**(*opened)->strings("texts"), (std::vector<std::string>{binary, std::string(1, '\0'), ""}));
}

void TestGgufFile::versions_and_counts() {
    for (const std::uint32_t version : {2U, 3U}) {
        GgufBuilder b;
        b.version = version;
        b.set_u32("x", 1).add_tensor("t", {8, 3}, 0, Bytes(96));
        const auto opened = folder_.open(b.bytes());
        VERIFY_OK(opened);
        QCOMPARE((*opened)->version(), version);
        QCOMPARE((*opened)->find_tensor("t")->elements(), std::uint64_t{24});
        QCOMPARE((*opened)->find_tensor("t")->bytes, std::uint64_t{96});
    }
    const auto empty = folder_.open(GgufBuilder().bytes());
    VERIFY_OK(empty);
    QVERIFY((*empty)->values().empty() && (*empty)->tensors().empty());
    QCOMPARE((*empty)->unused_tail_bytes(), std::uint64_t{0});
}

void TestGgufFile::alignment_of_the_file() {
    for (const std::uint32_t alignment : {1U, 2U, 8U, 16U, 32U, 64U, 4096U}) {
        GgufBuilder b;
        b.alignment = alignment;
        b.set_u32("general.alignment", alignment);
        b.add_tensor("a", {3}, 24, raw("abc")).add_tensor("b", {5}, 24, raw("defgh"));
        const auto opened = folder_.open(b.bytes());
        VERIFY_OK(opened);
        const GgufFile& f = **opened;
        QCOMPARE(f.alignment(), alignment);
        const auto text = [&](const char* name) {
            const auto data = f.data(*f.find_tensor(name));
            return std::string(reinterpret_cast<const char*>(data.data()), data.size());
        };
        QCOMPARE(text("a"), std::string("abc"));
        QCOMPARE(text("b"), std::string("defgh"));
        QCOMPARE(f.unused_tail_bytes(), std::uint64_t{0});
    }
}

void TestGgufFile::order_and_gaps_do_not_matter() {
    // Data in another order than the list, with room between: legal, and each tensor gets its own bytes.
    GgufBuilder b;
    b.add_tensor("first", {32}, 24, Bytes(32, std::byte{1})).add_tensor("gap", {32}, 24, Bytes(32));
    b.add_tensor("second", {32}, 24, Bytes(32, std::byte{2}));
    b.tensor("first").offset = 64;
    b.tensor("second").offset = 0;
    b.remove_tensor("gap");
    b.tail = Bytes(32);
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    const GgufFile& f = **opened;
    QCOMPARE(f.find_tensor("first")->offset, f.data_offset() + 64);
    QCOMPARE(f.data(*f.find_tensor("second"))[0], std::byte{1});
    QCOMPARE(f.data(*f.find_tensor("first")).size(), std::size_t{32});
}

void TestGgufFile::odd_tensor_names() {
    // GGUF-46: fully supported, never cut to equal names
    const std::vector<std::string> names = {std::string(300, 'a'),
                                            std::string(300, 'a') + "b",
                                            std::string(64, 'n'),
                                            std::string(65, 'n'),
                                            std::string("a\0b", 3),
                                            std::string("a\0c", 3),
                                            "a",
                                            "\xFF\xFE"};
    GgufBuilder b;
    for (std::size_t i = 0; i < names.size(); ++i)
        b.add_tensor(names[i], {1}, 24, Bytes(1, static_cast<std::byte>(i)));
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const GgufTensor* tensor = (*opened)->find_tensor(names[i]);
        QVERIFY(tensor != nullptr);
        QCOMPARE((*opened)->data(*tensor)[0], static_cast<std::byte>(i));
    }
    QVERIFY((*opened)->find_tensor(std::string(299, 'a')) == nullptr);
}

void TestGgufFile::unused_bytes() {
    // GGUF-47
    GgufBuilder b = small_model();
    b.tail = Bytes(1U << 20U, std::byte{0xFF});
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    QCOMPARE((*opened)->unused_tail_bytes(), std::uint64_t{1U << 20U});
    const auto model = folder_.model(b.bytes());
    VERIFY_OK(model);
    QVERIFY(any_contains((*model)->warnings(), "1048576 unused bytes"));
}

void TestGgufFile::scalar_tensors() {
    // GGUF-08: no dimensions at all is one element
    GgufBuilder b;
    b.add_tensor("scalar", {}, 0, le(3.0F));
    const auto opened = folder_.open(b.bytes());
    VERIFY_OK(opened);
    QCOMPARE((*opened)->find_tensor("scalar")->elements(), std::uint64_t{1});
    QCOMPARE((*opened)->find_tensor("scalar")->bytes, std::uint64_t{4});
}

void TestGgufFile::every_known_type_is_listed() {
    for (std::uint32_t id = 0; id < 64; ++id) {
        const GgmlType* type = find_ggml_type(id);
        if (type == nullptr || type->block == 0) continue;
        GgufBuilder b;
        b.add_tensor("t", {type->block, 2}, id, Bytes(std::size_t{type->bytes} * 2));
        const auto opened = folder_.open(b.bytes());
        VERIFY_OK(opened);
        const GgufTensor& tensor = (*opened)->tensors()[0];
        QCOMPARE(tensor.type_name, std::string(type->name));
        QCOMPARE(tensor.bytes, std::uint64_t{type->bytes} * 2);
        if (tensor.dtype) {
            QCOMPARE(static_cast<std::uint32_t>(info_of(*tensor.dtype).block), type->block);
            QCOMPARE(static_cast<std::uint32_t>(info_of(*tensor.dtype).bytes), type->bytes);
            QCOMPARE(ggml_type_id(*tensor.dtype), id);
        }
    }
}

void TestGgufFile::paths_of_any_letters() {
    for (const char* name : {"模型 ▁ é.gguf", "with space.gguf", "\xFF\xFE.gguf", "new\nline.gguf"}) {
        VERIFY_OK(GgufFile::open(folder_.put(GgufBuilder().bytes(), name)));
    }
    const auto bad = GgufFile::open(folder_.put(raw("GGUF"), "new\nline \xFF.gguf"));
    VERIFY_ERROR(bad, ErrorKind::BadFile, "new\\nline \xEF\xBF\xBD.gguf: ");
}

void TestGgufFile::changed_on_disk() {
    // GGUF-43: a loader that asks before each tensor gets an error instead of a signal
    const auto path = folder_.put(small_model_bytes(), "changing.gguf");
    const auto model = ModelSource::open(path);
    VERIFY_OK(model);
    VERIFY_OK((*model)->unchanged());
    std::filesystem::resize_file(path, 4096);
    VERIFY_ERROR((*model)->unchanged(), ErrorKind::Io, "changed by another program");
    // What was copied out when it was opened is still there.
    QCOMPARE((*model)->vocabulary().tokens.size(), std::size_t{260});
    QVERIFY((*model)->chat_template()->size() > 20);

    // A file that is replaced under its name stays whole for those who have it open.
    const auto kept = ModelSource::open(folder_.put(small_model_bytes(), "kept.gguf"));
    VERIFY_OK(kept);
    std::filesystem::remove(folder_.path("kept.gguf"));
    VERIFY_OK((*kept)->unchanged());
    QVERIFY((*kept)->tensor("token_embd.weight")->data != nullptr);
}

void TestGgufFile::written_is_read() {
    const auto first = folder_.open(small_model_bytes());
    VERIFY_OK(first);
    GgufWriter writer;
    for (const GgufValue& value : (*first)->values()) writer.add_raw(value);
    writer.add_string("s", "text ▁");
    writer.add_u32("u32", 7);
    writer.add_u64("u64", ~0ULL);
    writer.add_i32("i32", -7);
    writer.add_f32("f32", 0.5F);
    writer.add_bool("bool", true);
    const std::vector<std::string> texts = {"a", "", "c"};
    const std::vector<std::int32_t> numbers = {1, -2};
    const std::vector<float> floats = {0.5F};
    writer.add_strings("strings", texts);
    writer.add_i32s("i32s", numbers);
    writer.add_f32s("f32s", floats);
    for (const GgufTensor& tensor : (*first)->tensors()) {
        writer.add_tensor(tensor.name, tensor.dims, *tensor.dtype,
                          [&, data = (*first)->data(tensor)](const GgufWriter::Sink& sink) {
                              sink(data.first(data.size() / 2));
                              sink(data.subspan(data.size() / 2));
                          });
    }
    const auto path = folder_.path("written.gguf");
    VERIFY_OK(writer.write(path));
    const auto second = GgufFile::open(path);
    VERIFY_OK(second);
    QCOMPARE((*second)->version(), 3U);
    for (const GgufValue& value : (*first)->values()) {
        const GgufValue* copy = (*second)->find(value.key);
        QVERIFY(copy != nullptr && copy->type == value.type && copy->element == value.element &&
                copy->count == value.count);
        QVERIFY(std::equal(copy->payload.begin(), copy->payload.end(), value.payload.begin(),
                           value.payload.end()));
    }
    for (const GgufTensor& tensor : (*first)->tensors()) {
        const GgufTensor* copy = (*second)->find_tensor(tensor.name);
        QVERIFY(copy != nullptr && copy->dims == tensor.dims && copy->type_id == tensor.type_id);
        const auto a = (*first)->data(tensor);
        const auto b = (*second)->data(*copy);
        QVERIFY(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
    QCOMPARE(**(*second)->string("s"), std::string("text ▁"));
    QCOMPARE(**(*second)->integer("i32"), std::int64_t{-7});
    QCOMPARE(**(*second)->unsigned_integer("u64"), std::uint64_t{~0ULL});
    QCOMPARE(**(*second)->boolean("bool"), true);
    QCOMPARE(**(*second)->strings("strings"), texts);
    QCOMPARE(**(*second)->floats("f32s"), floats);
    QCOMPARE((*second)->unused_tail_bytes(), std::uint64_t{0});
}

void TestGgufFile::a_failed_write_leaves_nothing() {
    const auto files_in = [](const std::filesystem::path& folder) {
        return std::distance(std::filesystem::directory_iterator(folder),
                             std::filesystem::directory_iterator());
    };
    const auto folder = folder_.path("out");
    std::filesystem::create_directory(folder);
    QVERIFY(write_file(folder / "x.gguf", raw("the old file")));

    GgufWriter short_data;
    short_data.add_tensor("t", {8}, DType::F32, [](const GgufWriter::Sink& sink) { sink(Bytes(31)); });
    VERIFY_ERROR(short_data.write(folder / "x.gguf"), ErrorKind::Internal,
                 "tensor 't' gave 31 bytes where 32 were announced");
    QCOMPARE(files_in(folder), 1);
    QCOMPARE(std::filesystem::file_size(folder / "x.gguf"), std::uintmax_t{12});

    GgufWriter large;
    large.add_tensor("t", {1U << 22U}, DType::F32, [](const GgufWriter::Sink& sink) {
        const Bytes piece(1U << 20U);
        for (int i = 0; i < 16; ++i) sink(piece);
    });
    VERIFY_ERROR(large.write(folder_.path("absent-folder") / "x.gguf"), ErrorKind::Io, "cannot be created");
    // A disk that takes no more: the error is said, the temporary file is gone.
    struct rlimit old {};
    ::getrlimit(RLIMIT_FSIZE, &old);
    ::signal(SIGXFSZ, SIG_IGN);
    struct rlimit limited = old;
    limited.rlim_cur = 1U << 20U;
    ::setrlimit(RLIMIT_FSIZE, &limited);
    const Status failed = large.write(folder / "x.gguf");
    ::setrlimit(RLIMIT_FSIZE, &old);
    VERIFY_ERROR(failed, ErrorKind::Io, "writing failed");
    QCOMPARE(files_in(folder), 1);
    QCOMPARE(std::filesystem::file_size(folder / "x.gguf"), std::uintmax_t{12});

    VERIFY_OK(large.write(folder / "x.gguf"));
    QCOMPARE(files_in(folder), 1);
    VERIFY_ERROR(large.write(folder / ""), ErrorKind::InvalidArgument, "a file name is needed");
}

void TestGgufFile::writer_refuses_wrong_sizes() {
    const auto nothing = [](const GgufWriter::Sink&) {};
    const std::pair<std::vector<std::uint64_t>, DType> wrong[] = {{{33, 2}, DType::Q8_0},
                                                                  {{0}, DType::F32},
                                                                  {{1ULL << 63U}, DType::F32},
                                                                  {{4, 0}, DType::F32},
                                                                  {{1, 1, 1, 1, 1}, DType::F32}};
    for (const auto& [dims, dtype] : wrong) {
        GgufWriter writer;
        writer.add_tensor("t", dims, dtype, nothing);
        VERIFY_ERROR(writer.write(folder_.path("wrong.gguf")), ErrorKind::InvalidArgument,
                     "tensor 't' has a shape");
        QVERIFY(!std::filesystem::exists(folder_.path("wrong.gguf")));
    }
}

void TestGgufFile::printable_text_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("text");
    QTest::newRow("plain") << QByteArray("abc ▁ é 日本 😀") << "abc ▁ é 日本 😀";
    QTest::newRow("GGUF-38 escape") << QByteArray("\x1B[2J") << "\\x1B[2J";
    QTest::newRow("GGUF-38 lines") << QByteArray("a\r\n\tb") << "a\\r\\n\\tb";
    QTest::newRow("GGUF-38 NUL") << QByteArray("a\0b", 3) << "a\\x00b";
    QTest::newRow("GGUF-38 bidi") << QByteArray("a\xE2\x80\xAE") + QByteArray("b") << "a\\u{202E}b";
    QTest::newRow("isolates") << QByteArray("\xE2\x81\xA6\xE2\x81\xA9") << "\\u{2066}\\u{2069}";
    QTest::newRow("C1") << QByteArray("\xC2\x9B") << "\\u{9B}";
    QTest::newRow("DEL") << QByteArray("\x7F") << "\\x7F";
    QTest::newRow("line separator") << QByteArray("\xE2\x80\xA8") << "\\u{2028}";
    QTest::newRow("tag") << QByteArray("\xF3\xA0\x81\x81") << "\\u{E0041}";
    QTest::newRow("joiner stays") << QByteArray("👩\xE2\x80\x8D💻") << QString::fromUtf8("👩\xE2\x80\x8D💻");
    QTest::newRow("backslash") << QByteArray("\\n") << "\\\\n";
    QTest::newRow("invalid") << QByteArray("a\xFF\xC3(") << QString::fromUtf8("a\xEF\xBF\xBD\xEF\xBF\xBD(");
    QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80")
                               << QString::fromUtf8("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    QTest::newRow("cut short") << QByteArray("\xF0\x9F\x98") << QString::fromUtf8("\xEF\xBF\xBD");
    QTest::newRow("overlong") << QByteArray("\xC0\x80") << QString::fromUtf8("\xEF\xBF\xBD\xEF\xBF\xBD");
}

void TestGgufFile::printable_text() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(printable(bytes.toStdString())), text);
    // Cut anywhere it stays valid UTF-8 and says how much is hidden.
    for (std::size_t n = 0; n < static_cast<std::size_t>(bytes.size()); ++n) {
        const std::string cut = printable(bytes.toStdString(), n);
        QVERIFY(is_valid_utf8(cut) && contains(cut, "more bytes)"));
    }
}

QTEST_GUILESS_MAIN(TestGgufFile)
#include "tst_gguf_file.moc"
