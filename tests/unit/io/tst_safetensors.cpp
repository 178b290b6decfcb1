// safetensors files: every way in which a header can lie about its data is refused with a sentence.
#include <sys/resource.h>

#include "core/io/printable.h"
#include "core/io/safetensors_file.h"
#include "tests/unit/io/io_test_tools.h"
#include "tests/unit/io/safetensors_builder.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
}

QByteArray as_qt(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

Bytes from_qt(const QByteArray& bytes) {
    const auto* data = reinterpret_cast<const std::byte*>(bytes.constData());
    return {data, data + bytes.size()};
}

long peak_kib() {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

}  // namespace

class TestSafetensors : public QObject {
    Q_OBJECT

  private slots:
    void a_good_file();
    void accepted_data();
    void accepted();
    void refused_data();
    void refused();
    void offsets_are_exact();
    void header_lengths_take_no_memory();
    void header_limit_is_said();
    void a_header_of_many_tensors();
    void names_are_kept();
    void other_kinds_of_files();
    void every_truncation_is_an_error();
    void random_bytes_changed();
    void changed_on_disk();

  private:
    TestFolder folder_;
};

void TestSafetensors::a_good_file() {
    SafetensorsBuilder b;
    b.add("b", "BF16", {2, 3}, Bytes(12, std::byte{1})).add("a", "F32", {}, Bytes(4, std::byte{2}));
    b.add("empty", "F16", {0, 5}, {}).add("c", "I8", {3}, Bytes(3, std::byte{3}));
    b.add("e4m3", "F8_E4M3", {1, 1}, Bytes(1, std::byte{4}));
    const auto file = SafetensorsFile::open(folder_.put(b.bytes(), "good.safetensors"));
    VERIFY_OK(file);
    QCOMPARE((*file)->tensors().size(), std::size_t{5});
    const SafetensorsTensor* t = (*file)->find("b");
    QVERIFY(t != nullptr && t->dtype == DType::BF16 && t->shape == (std::vector<std::uint64_t>{2, 3}));
    QCOMPARE((*file)->data(*t).size(), std::size_t{12});
    QVERIFY((*file)->data(*t)[11] == std::byte{1});
    QVERIFY((*file)->data(*(*file)->find("a"))[0] == std::byte{2});
    QVERIFY((*file)->data(*(*file)->find("c"))[2] == std::byte{3});
    QCOMPARE((*file)->find("a")->elements, std::uint64_t{1});
    QCOMPARE((*file)->find("empty")->elements, std::uint64_t{0});
    QVERIFY((*file)->find("e4m3")->dtype == DType::F8_E4M3);
    QVERIFY((*file)->find("d") == nullptr);
    QCOMPARE((*file)->content().metadata.size(), std::size_t{1});
    QCOMPARE((*file)->content().metadata[0].second, std::string("pt"));
    VERIFY_ERROR(SafetensorsFile::open(folder_.path("absent.safetensors")), ErrorKind::NotFound,
                 "absent.safetensors: ");
    VERIFY_ERROR(SafetensorsFile::open(folder_.path("")), ErrorKind::Io, "folder");
}

void TestSafetensors::accepted_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<int>("tensors");
    const auto row = [](const char* name, const std::string& header, std::size_t data, int tensors) {
        QTest::newRow(name) << as_qt(safetensors_bytes(header, data)) << tensors;
    };
    row("ST-01 {} is an empty file", "{}", 0, 0);
    row("{} with spaces behind", "{}      ", 0, 0);
    row("metadata alone", R"({"__metadata__":{}})", 0, 0);
    row("metadata with odd texts", R"({"__metadata__":{"":"","a":"\u0000\ud83d\ude00"}})", 0, 0);
    row("members in any order", R"({"t":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"}})", 4, 1);
    row("unknown members, nested",
        R"({"t":{"dtype":"F32","x":{"shape":[[1,2.5,-3,null,true,"s"]]},"shape":[1],)"
        R"("data_offsets":[0,4]}})",
        4, 1);
    row("not in the order of the data",
        "{" + entry("a", "F32", "[1]", "[4,8]") + "," + entry("b", "F32", "[1]", "[0,4]") + "}", 8, 2);
    row("ST-07 unknown dtype is listed", "{" + entry("a", "F7", "[1]", "[0,4]") + "}", 4, 1);
    row("ST-07 empty dtype is listed", "{" + entry("a", "", "[1]", "[0,4]") + "}", 4, 1);
    row("ST-07 f32 in small letters is unknown", "{" + entry("a", "f32", "[9]", "[0,4]") + "}", 4, 1);
    row("known, not runnable",
        "{" + entry("a", "I64", "[2]", "[0,16]") + "," + entry("b", "F4", "[2]", "[16,17]") + "}", 17, 2);
    row("empty tensors between others",
        "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[0]", "[4,4]") + "," +
            entry("c", "F32", "[0,7]", "[4,4]") + "," + entry("d", "F32", "[1]", "[4,8]") + "," +
            entry("e", "F32", "[3,0]", "[8,8]") + "}",
        8, 5);
}

void TestSafetensors::accepted() {
    QFETCH(QByteArray, bytes);
    QFETCH(int, tensors);
    const auto content = read_safetensors(from_qt(bytes));
    VERIFY_OK(content);
    QCOMPARE(static_cast<int>(content->tensors.size()), tensors);
    for (const SafetensorsTensor& tensor : content->tensors) {
        QVERIFY(content->find(tensor.name) == &tensor);
        // A dtype that is none of ours is no type at all, so nobody can use the tensor by mistake.
        if (tensor.dtype_name != "F32") QVERIFY(!tensor.dtype);
    }
}

void TestSafetensors::refused_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QString>("part");
    const auto row = [](const std::string& name, const Bytes& bytes, const char* part) {
        QTest::newRow(name.c_str()) << as_qt(bytes) << QString::fromUtf8(part);
    };
    const auto header = [&](const std::string& name, const std::string& text, std::size_t data,
                            const char* part) { row(name, safetensors_bytes(text, data), part); };

    row("ST-01 no byte", {}, "empty (0 bytes)");
    for (std::size_t size = 1; size < 8; ++size)
        row("ST-01 file of " + std::to_string(size) + " bytes", Bytes(size, std::byte{1}),
            "too short for the 8");
    const Bytes good = safetensors_bytes("{" + entry("t", "F32", "[2]", "[0,8]") + "}", 8);
    const unsigned long long size = good.size();
    for (const std::uint64_t length : {~0ULL, 1ULL << 63U, (1ULL << 63U) - 1, 1ULL << 32U, size, size - 7,
                                       size + 1, ~0ULL - 7, ~0ULL - 8}) {
        Bytes changed = good;
        std::memcpy(changed.data(), &length, sizeof length);
        row("ST-01 header length " + std::to_string(length), changed, "is said to take");
    }
    for (const std::uint64_t length : {0ULL, 1ULL}) {
        Bytes changed = good;
        std::memcpy(changed.data(), &length, sizeof length);
        row("ST-01 header length " + std::to_string(length), changed, "the shortest one, {}, has 2");
    }
    {
        Bytes changed = good;
        const std::uint64_t length = size - 8;
        std::memcpy(changed.data(), &length, sizeof length);
        row("ST-01 header takes the data too", changed, "no sound safetensors");
        const std::uint64_t shorter = good.size() - 8 - 8 - 1;
        std::memcpy(changed.data(), &shorter, sizeof shorter);
        row("ST-01 header one byte short", changed, "no valid JSON");
    }

    header("no object", "[]", 0, "does not begin with '{'");
    header("space in front", " {}", 0, "does not begin with '{'");
    header("byte order mark", "\xEF\xBB\xBF{}", 0, "does not begin with '{'");
    header("two objects", "{}{}", 0, "no valid JSON");
    header("text behind", "{} x", 0, "no valid JSON");
    header("cut off", "{\"a\":", 0, "no valid JSON");
    header("invalid UTF-8", "{\"\xFF\":{}}", 0, "no valid JSON");
    header("zero byte behind", std::string("{}\0\0", 4), 0, "zero byte");
    header("zero byte hides a second object", std::string("{}\0{}", 5), 0, "zero byte");
    header("entry no object", R"({"t":7})", 0, "the entry of 't' in the header is the number 7");
    header("entry a list", R"({"t":[]})", 0, "is a list or an object; an object is needed");
    header("entry null", R"({"t":null})", 0, "is null");
    header("metadata no texts", R"({"__metadata__":{"a":1}})", 0, "the format allows texts alone");
    header("metadata nested", R"({"__metadata__":{"a":{}}})", 0, "the format allows texts alone");
    header("metadata no object", R"({"__metadata__":"a"})", 0, "an object is needed");
    for (const char* member : {"dtype", "shape", "data_offsets"}) {
        std::string text = "{\"t\":{";
        if (std::string(member) != "dtype") text += "\"dtype\":\"F32\",";
        if (std::string(member) != "shape") text += "\"shape\":[1],";
        if (std::string(member) != "data_offsets") text += "\"data_offsets\":[0,4],";
        text.back() = '}';
        header(std::string("no ") + member, text + "}", 4,
               (std::string("tensor 't' has no ") + member).c_str());
    }
    header("dtype a number", R"({"t":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", 4,
           "its dtype is the number 5");
    header("shape a number", R"({"t":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4,
           "its shape is the number 1");
    header("shape of texts", "{" + entry("t", "F32", "[\"1\"]", "[0,4]") + "}", 4,
           "a dimension of its shape is a text");
    header("shape nested", "{" + entry("t", "F32", "[[1]]", "[0,4]") + "}", 4,
           "a dimension of its shape is a list");
    header("offsets nested", "{" + entry("t", "F32", "[1]", "[[0],4]") + "}", 4,
           "one of its data_offsets is a list");
    header("one offset", "{" + entry("t", "F32", "[1]", "[4]") + "}", 4,
           "has 1 data_offsets; two are needed");
    header("three offsets", "{" + entry("t", "F32", "[1]", "[0,4,8]") + "}", 4, "more than two data_offsets");
    header("offsets a text", "{" + entry("t", "F32", "[1]", "\"0,4\"") + "}", 4,
           "its data_offsets is a text");
    header("17 dimensions", "{" + entry("t", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", 4,
           "more than 16 dimensions");
    header("end before begin", "{" + entry("t", "F32", "[1]", "[8,4]") + "}", 8,
           "begins at 8 and ends before that");

    const std::string a4 = entry("a", "F32", "[1]", "[0,4]");
    header("same tensor twice", "{" + a4 + "," + a4 + "}", 4, "the key 'a' twice");
    header("same name, escaped", "{" + a4 + "," + entry("\\u0061", "F32", "[1]", "[4,8]") + "}", 8,
           "the key 'a' twice");
    header("metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, "'__metadata__' twice");
    header("metadata key twice", R"({"__metadata__":{"a":"1","a":"2"}})", 0, "the key 'a' twice");
    header("member twice", R"({"t":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})", 4,
           "tensor 't' has the key 'dtype' twice");
    header("offsets twice", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"data_offsets":[0,4]}})",
           4, "'data_offsets' twice");

    const auto two = [&](const std::string& first, const std::string& second) {
        return "{" + entry("a", "U8", "[8]", first) + "," + entry("b", "U8", "[8]", second) + "}";
    };
    header("ST-04 overlap", two("[0,8]", "[4,12]"), 12, "tensors 'a' and 'b' overlap");
    header("ST-04 same place", two("[0,8]", "[0,8]"), 8, "overlap");
    header("ST-04 overlap, listed backwards", two("[4,12]", "[0,8]"), 12, "tensors 'b' and 'a' overlap");
    header("ST-04 one inside the other",
           "{" + entry("a", "U8", "[12]", "[0,12]") + "," + entry("b", "U8", "[4]", "[4,8]") + "}", 12,
           "overlap");
    header("ST-04 overlap of unknown dtypes",
           "{" + entry("a", "X", "[8]", "[0,8]") + "," + entry("b", "Y", "[8]", "[4,12]") + "}", 12,
           "overlap");
    header("ST-04 empty tensor inside another",
           "{" + entry("a", "U8", "[8]", "[0,8]") + "," + entry("b", "U8", "[0]", "[4,4]") + "}", 8,
           "overlap");
    header("ST-04 gap", "{" + a4 + "," + entry("b", "F32", "[1]", "[8,12]") + "}", 12,
           "bytes 4 to 8 of the data belong to no tensor");
    header("ST-04 gap in front", "{" + entry("b", "F32", "[1]", "[4,8]") + "}", 8, "bytes 0 to 4");
    header("ST-04 tail", "{" + a4 + "}", 12, "8 bytes behind the last tensor");
    header("ST-04 tail without a tensor", "{}", 1, "1 bytes behind the last tensor");

    header("ST-05 shape larger than data", "{" + entry("t", "F32", "[1000,1000]", "[0,4]") + "}", 4,
           "takes 4000000 bytes, but its data_offsets enclose 4");
    header("ST-05 shape smaller than data", "{" + entry("t", "F32", "[1]", "[0,8]") + "}", 8, "enclose 8");
    header("ST-05 product wraps to 1", "{" + entry("t", "U8", "[4294967296,4294967296]", "[0,0]") + "}", 0,
           "more elements than can be counted");
    header("ST-05 product wraps to the size",
           "{" + entry("t", "F32", "[9223372036854775808,2,1]", "[0,0]") + "}", 0,
           "more elements than can be counted");
    header("ST-05 bytes wrap", "{" + entry("t", "F32", "[4611686018427387905]", "[0,4]") + "}", 4,
           "more bytes than can be counted");
    header("ST-05 bytes wrap in 64 bits each",
           "{" + entry("t", "F64", "[2305843009213693953]", "[0,8]") + "}", 8, "takes more bytes");
    header("ST-05 a zero hides a product that wraps",
           "{" + entry("t", "X", "[9223372036854775807,4,0]", "[0,0]") + "}", 0,
           "more elements than can be counted");
    header("ST-05 unknown dtype, product wraps",
           "{" + entry("t", "X", "[4294967296,4294967296]", "[0,4]") + "}", 4,
           "more elements than can be counted");
    header("ST-05 three values of 4 bits", "{" + entry("t", "F4", "[3]", "[0,2]") + "}", 2,
           "no whole number of bytes");

    for (const char* dtype : {"F7", "", "f32", "F32"}) {
        const std::string name = std::string("dtype '") + dtype + "' ";
        const std::string shape = std::string(dtype) == "F32" ? "[1]" : "[2]";
        header("ST-07 " + name + "end before begin",
               "{" + entry("t", dtype, shape, "[1099511627776,4]") + "}", 4,
               "begins at 1099511627776 and ends before that, at 4");
        header("ST-07 " + name + "beyond the file",
               "{" + entry("t", dtype, shape, "[1099511627776,1099511627780]") + "}", 4,
               "does not fit into the file");
        header("ST-07 " + name + "one byte beyond", "{" + entry("t", dtype, shape, "[1,5]") + "}", 4,
               "does not fit into the file");
    }

    for (const char* number : {"4.0", "1e300", "1e1", "-4", "-0", "4e0", "18446744073709551616", "1e999",
                               "99999999999999999999999999999999999999", "true", "null", "\"4\"", "{}"}) {
        header(std::string("ST-08 end ") + number,
               "{" + entry("t", "F32", "[1]", std::string("[0,") + number + "]") + "}", 4,
               "no sound safetensors");
        header(std::string("ST-08 begin ") + number,
               "{" + entry("t", "F32", "[1]", std::string("[") + number + ",4]") + "}", 4,
               "no sound safetensors");
        header(std::string("ST-08 dimension ") + number,
               "{" + entry("t", "F32", std::string("[") + number + "]", "[0,4]") + "}", 4,
               "no sound safetensors");
    }
    header("ST-08 a fraction is named", "{" + entry("t", "F32", "[1]", "[0,4.0]") + "}", 4,
           "one of its data_offsets is the number 4.0");
    header("hexadecimal", "{" + entry("t", "F32", "[1]", "[0x0,4]") + "}", 4, "no valid JSON");
    header("leading zero", "{" + entry("t", "F32", "[1]", "[00,4]") + "}", 4, "no valid JSON");

    std::string deep(100000, '[');
    header("nested lists at the top", "{\"t\":" + deep, 0, "is a list or an object; an object is needed");
    header("nested lists in an unknown member", "{\"t\":{\"x\":" + deep, 0, "nests more than 32 deep");
    std::string objects;
    for (int i = 0; i < 50000; ++i) objects += "{\"a\":";
    header("nested objects in an unknown member", "{\"t\":{\"x\":" + objects, 0, "nests more than 32 deep");
}

void TestSafetensors::refused() {
    QFETCH(QByteArray, bytes);
    QFETCH(QString, part);
    const Bytes file = from_qt(bytes);
    const auto content = read_safetensors(file);
    VERIFY_ERROR(content, ErrorKind::BadFile, part.toStdString());
    QVERIFY(is_valid_utf8(content.error().message) && content.error().message.size() < 600);
    const auto path = folder_.put(file, "bad.safetensors");
    const auto opened = SafetensorsFile::open(path);
    VERIFY_ERROR(opened, ErrorKind::BadFile, part.toStdString());
    QVERIFY(contains(opened.error().message, path.string() + ": "));
}

void TestSafetensors::offsets_are_exact() {
    // ST-08: 2^53 + 1 has no double; read through one it would become 2^53.
    for (const std::uint64_t at :
         {9007199254740993ULL, 18446744073709551000ULL, 18446744073709551611ULL, 9223372036854775809ULL}) {
        const std::string begin = std::to_string(at);
        const std::string end = std::to_string(at + 4);
        const auto content = read_safetensors(
            safetensors_bytes("{" + entry("t", "F32", "[1]", "[" + begin + "," + end + "]") + "}", 4));
        VERIFY_ERROR(content, ErrorKind::BadFile, "takes 4 bytes from byte " + begin + " of the data on");
    }
    const auto shape =
        read_safetensors(safetensors_bytes("{" + entry("t", "I8", "[9007199254740993]", "[0,4]") + "}", 4));
    VERIFY_ERROR(shape, ErrorKind::BadFile, "takes 9007199254740993 bytes");
}

void TestSafetensors::header_lengths_take_no_memory() {
    const long before = peak_kib();
    for (const std::uint64_t length : {~0ULL, 1ULL << 40U, 1ULL << 33U, 1ULL << 63U})
        QVERIFY(!read_safetensors(le(length) + raw("{}")).ok());
    QVERIFY(!read_safetensors(
                 safetensors_bytes("{" + entry("t", "F32", "[1099511627776]", "[0,4398046511104]") + "}", 4))
                 .ok());
    QVERIFY2(peak_kib() - before < 4 * 1024, "a file of some bytes took megabytes of memory");
}

void TestSafetensors::header_limit_is_said() {
    // ST-02: with a small limit, so that the test is quick; the real one leaves room for a million tensors.
    QVERIFY(kSafetensorsHeaderLimit >= 200'000'000);
    const Bytes file = safetensors_bytes("{}" + std::string(998, ' '), 0);
    VERIFY_OK(read_safetensors(file, 1000));
    const auto refused = read_safetensors(file, 999);
    VERIFY_ERROR(refused, ErrorKind::TooLarge, "takes 1000 bytes");
    QVERIFY(contains(refused.error().message, "at most 999 bytes"));
}

void TestSafetensors::a_header_of_many_tensors() {
    constexpr std::size_t kTensors = 50000;
    SafetensorsBuilder b;
    for (std::size_t i = 0; i < kTensors; ++i)
        b.add("model.layers." + std::to_string(kTensors - i) + ".weight", "U8", {1},
              Bytes(1, static_cast<std::byte>(i)));
    const Bytes file = b.bytes();
    const auto content = read_safetensors(file);
    VERIFY_OK(content);
    for (std::size_t i = 0; i < kTensors; i += 997) {
        const SafetensorsTensor* t =
            content->find("model.layers." + std::to_string(kTensors - i) + ".weight");
        QVERIFY(t != nullptr && file[t->offset] == static_cast<std::byte>(i));
    }
}

void TestSafetensors::names_are_kept() {
    SafetensorsBuilder b;
    const std::string long_name(100000, 'n');
    b.add("", "F32", {1}, Bytes(4)).add("a\\u0000b", "F32", {1}, Bytes(4)).add("a", "F32", {1}, Bytes(4));
    b.add(long_name, "F32", {1}, Bytes(4))
        .add(long_name + "x", "F32", {1}, Bytes(4))
        .add("日本\\n", "F32", {1}, Bytes(4));
    const Bytes file = b.bytes();
    const auto content = read_safetensors(file);
    VERIFY_OK(content);
    for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string("a"), long_name,
                                    long_name + "x", std::string("日本\n")}) {
        QVERIFY(content->find(name) != nullptr);
        QCOMPARE(content->find(name)->name, name);
    }
}

void TestSafetensors::other_kinds_of_files() {
    const std::pair<Bytes, const char*> others[] = {
        {raw("<!DOCTYPE html><html><body>Sign in</body></html>"), "web page"},
        {raw("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), "Git LFS"},
        {raw("PK\x03\x04 and so on and so on"), "zip archive"},
        {raw("\x1F\x8B\x08 and so on and so on"), "compressed"},
        {small_model_bytes(), "GGUF file under a name"},
        {Bytes(4096), "the shortest one, {}, has 2"},
        {Bytes(4096, std::byte{0xFF}), "is said to take"},
        {raw("{\"error\":\"gated repository\"}"), "is said to take"},
    };
    for (const auto& [bytes, part] : others)
        VERIFY_ERROR(SafetensorsFile::open(folder_.put(bytes, "other.safetensors")), ErrorKind::BadFile,
                     part);
    // The length of a header may look like the first bytes of an archive.
    const Bytes looks_compressed = safetensors_bytes("{}" + std::string(0x088B1F - 2, ' '), 0);
    QVERIFY(looks_compressed[0] == std::byte{0x1F} && looks_compressed[1] == std::byte{0x8B});
    VERIFY_OK(read_safetensors(looks_compressed));
}

void TestSafetensors::every_truncation_is_an_error() {
    SafetensorsBuilder b;
    b.add("a", "F32", {2, 2}, Bytes(16)).add("b", "BF16", {3}, Bytes(6));
    const Bytes whole = b.bytes();
    VERIFY_OK(read_safetensors(whole));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        Bytes cut = whole;
        cut.resize(size);
        cut.shrink_to_fit();
        QVERIFY2(!read_safetensors(cut).ok(), std::to_string(size).c_str());
    }
    VERIFY_ERROR(read_safetensors(whole + Bytes(1)), ErrorKind::BadFile, "1 bytes behind");
}

void TestSafetensors::random_bytes_changed() {
    SafetensorsBuilder b;
    b.add("a", "F32", {2, 2}, Bytes(16))
        .add("bb", "BF16", {3}, Bytes(6))
        .add("c", "F8_E4M3", {5, 1}, Bytes(5));
    const Bytes whole = b.bytes();
    const std::size_t header = whole.size() - 27;
    Noise noise(5);
    int accepted = 0;
    for (int i = 0; i < 20000; ++i) {
        Bytes changed = whole;
        const std::size_t count = 1 + noise.next() % 3;
        for (std::size_t k = 0; k < count; ++k) {
            static constexpr std::string_view kLikely = "0123456789[]{},:\"\\ .-eaFB";
            changed[noise.next() % header] =
                noise.next() % 2 == 0 ? static_cast<std::byte>(kLikely[noise.next() % kLikely.size()])
                                      : static_cast<std::byte>(noise.next());
        }
        const auto content = read_safetensors(changed);
        if (!content.ok()) {
            QVERIFY(!content.error().message.empty() && is_valid_utf8(content.error().message));
            continue;
        }
        ++accepted;
        for (const SafetensorsTensor& t : content->tensors)
            QVERIFY(t.offset <= changed.size() && t.bytes <= changed.size() - t.offset);
    }
    QVERIFY(accepted > 0 && accepted < 10000);
}

void TestSafetensors::changed_on_disk() {
    SafetensorsBuilder b;
    b.add("a", "F32", {2, 2}, Bytes(16));
    const auto path = folder_.put(b.bytes(), "cut.safetensors");
    const auto file = SafetensorsFile::open(path);
    VERIFY_OK(file);
    VERIFY_OK((*file)->unchanged());
    std::filesystem::resize_file(path, 40);
    VERIFY_ERROR((*file)->unchanged(), ErrorKind::Io,
                 "cut.safetensors: The file was changed by another program");
}

QTEST_GUILESS_MAIN(TestSafetensors)
#include "tst_safetensors.moc"
