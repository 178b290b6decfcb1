// Files that are broken or made to break a reader: each is refused with a sentence, quickly, in little
// memory.
#include <map>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/io/split_files.h"
#include "tests/growth.h"
#include "tests/unit/io/io_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr std::uint64_t kHuge = 1ULL << 60U;

Bytes header(std::uint32_t version, std::uint64_t tensors, std::uint64_t values) {
    return raw("GGUF") + le(version) + le(tensors) + le(values);
}
Bytes kv(std::string_view key, std::uint32_t type, const Bytes& value) { return str(key) + le(type) + value; }
Bytes tensor_info(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                  std::uint64_t offset) {
    Bytes out = str(name) + le(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t d : dims) out = out + le(d);
    return out + le(type) + le(offset);
}

// Arrays of one array each, `depth` deep, with an empty u32 array inside.
Bytes nested(std::size_t depth) {
    Bytes out;
    out.reserve(depth * 12 + 12);
    const Bytes level = arr(9, 1, {});
    for (std::size_t i = 0; i < depth; ++i) out.insert(out.end(), level.begin(), level.end());
    return out + arr(4, 0, {});
}

// A file of one metadata entry or tensor, padded so that data could follow.
Bytes one_tensor(const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t offset,
                 std::size_t data = 4096) {
    Bytes out = header(3, 1, 0) + tensor_info("t", dims, type, offset);
    out.resize((out.size() + 31) / 32 * 32 + data);
    return out;
}

long peak_kib() {
    struct rusage usage {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

SmallModelOptions tiny() {
    SmallModelOptions o;
    o.vocab = 12;
    o.embedding = 8;
    o.heads = 2;
    o.kv_heads = 1;
    o.feed_forward = 8;
    o.dtype = DType::F16;
    o.chat_template.reset();
    o.name = "t";
    return o;
}

}  // namespace

class TestGgufHostile : public QObject {
    Q_OBJECT

  private slots:
    void refused_data();
    void refused();
    void huge_numbers_take_no_memory();
    void nested_arrays();
    void metadata_only_lists_what_it_cannot_run();
    void not_regular_files();
    void names_of_pieces();
    void every_truncation_is_an_error();
    void random_bytes_changed();
    void random_words_changed();
    void random_headers();
    void time_grows_with_size();

  private:
    TestFolder folder_;
};

void TestGgufHostile::refused_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<ErrorKind>("kind");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const Bytes& bytes, ErrorKind kind, const char* part) {
        QTest::newRow(name) << QByteArray(reinterpret_cast<const char*>(bytes.data()),
                                          static_cast<qsizetype>(bytes.size()))
                            << kind << QString::fromUtf8(part);
    };
    const auto bad = ErrorKind::BadFile;
    const auto no = ErrorKind::Unsupported;

    row("GGUF-01 values", header(3, 0, kHuge), bad, "1152921504606846976 metadata entries");
    row("GGUF-01 tensors", header(3, kHuge, 0), bad, "1152921504606846976 tensors");
    row("GGUF-01 all bits", header(3, ~0ULL, ~0ULL), bad, "18446744073709551615");
    row("GGUF-01 one more than fits", header(3, 0, 3) + kv("a", 0, le<std::uint8_t>(1)) + Bytes(24), bad,
        "announces 3");
    row("GGUF-01 tensors after values", header(3, 2, 1) + kv("a", 8, str(std::string(60, 'x'))), bad,
        "announces 2 tensors");

    for (const std::uint64_t length :
         {0xFFFFFFFFFFFFFFF0ULL, 1ULL << 63U, 1ULL << 31U, (1ULL << 32U) + 1, ~0ULL, 1ULL}) {
        const std::string name = "GGUF-02 key length " + std::to_string(length);
        row(name.c_str(), header(3, 0, 1) + le(length) + Bytes(length == 1 ? 0 : 8), bad,
            length == 1 ? "announces" : "string length exceeds");
        const std::string value = "GGUF-02 value length " + std::to_string(length);
        row(value.c_str(), header(3, 0, 1) + str("k") + le(8U) + le(length), bad,
            "string length exceeds the file");
        const std::string element = "GGUF-02 length in array " + std::to_string(length);
        row(element.c_str(), header(3, 0, 1) + kv("k", 9, arr(8, 1, le(length))), bad,
            "string length exceeds the file");
        const std::string tensor = "GGUF-02 tensor name " + std::to_string(length);
        row(tensor.c_str(), header(3, 1, 0) + le(length) + Bytes(length == 1 ? 0 : 24), bad,
            length == 1 ? "announces" : "string length exceeds");
    }

    for (const std::uint32_t type : {13U, 14U, 200U, 0xFFFFFFFFU}) {
        const std::string name = "GGUF-04 element type " + std::to_string(type);
        row(name.c_str(), header(3, 0, 1) + kv("x", 9, arr(type, kHuge, {})), bad,
            ("key 'x' is an array of type " + std::to_string(type)).c_str());
        const std::string inner = "GGUF-04 inner element type " + std::to_string(type);
        row(inner.c_str(), header(3, 0, 1) + kv("x", 9, arr(9, 1, arr(type, 1, {}))), bad,
            "key 'x' is an array of type");
        const std::string plain = "GGUF-04 value type " + std::to_string(type);
        row(plain.c_str(), header(3, 0, 1) + kv("x", type, Bytes(16)), bad, "is not a GGUF value type");
    }
    for (const std::uint32_t type : {0U, 4U, 7U, 8U, 9U, 10U, 12U}) {
        const std::string name = "array count 2^60 of type " + std::to_string(type);
        row(name.c_str(), header(3, 0, 1) + kv("x", 9, arr(type, kHuge, Bytes(64))), bad,
            "said to hold 1152921504606846976 elements");
        const std::string wrap = "array count 2^61+1 of type " + std::to_string(type);
        row(wrap.c_str(), header(3, 0, 1) + kv("x", 9, arr(type, (1ULL << 61U) + 1, Bytes(64))), bad,
            "said to hold");
    }

    row("GGUF-05 3000 deep", header(3, 0, 1) + kv("x", 9, nested(3000)), bad, "nests arrays");
    row("GGUF-05 200000 deep", header(3, 0, 1) + kv("x", 9, nested(200000)), bad, "nests arrays");

    for (const std::uint32_t dimensions : {5U, 9U, 0xFFFFFFFFU}) {
        const std::string name = "GGUF-07 dimensions " + std::to_string(dimensions);
        row(name.c_str(), header(3, 1, 0) + str("t") + le(dimensions) + Bytes(128), bad,
            "too many dimensions");
    }

    row("GGUF-08 [1,0]", header(3, 1, 0) + tensor_info("t", {1, 0}, 0, 0), bad, "zero dimension");
    row("GGUF-08 [0]", one_tensor({0}, 0, 0), bad, "zero dimension");
    row("GGUF-08 [0,1]", one_tensor({0, 1}, 0, 0), bad, "zero dimension");
    row("GGUF-08 [0] quantized", one_tensor({0, 4}, 8, 0), bad, "zero dimension");
    row("GGUF-08 [0,2^63,2^63]", one_tensor({0, 1ULL << 63U, 1ULL << 63U}, 0, 0), bad, "zero dimension");

    row("dimensions wrap to 0", one_tensor({1ULL << 32U, 1ULL << 32U}, 0, 0), bad,
        "more elements than can be counted");
    row("dimensions wrap to 64", one_tensor({1ULL << 33U, (1ULL << 31U) + 1, 64}, 0, 0), bad,
        "more elements");
    row("dimension negative as i64", one_tensor({1ULL << 63U}, 24, 0), bad, "more elements");
    row("bytes wrap", one_tensor({(1ULL << 62U) + 8}, 0, 0), bad, "more bytes than can be counted");
    row("bytes just fit 64 bits", one_tensor({(1ULL << 62U) - 8}, 0, 0), bad, "does not fit into the file");
    row("quantized bytes wrap", one_tensor({1ULL << 62U, 1}, 8, 0), bad, "does not fit into the file");

    Bytes sum = header(3, 8, 0);
    for (int i = 0; i < 8; ++i) sum = sum + tensor_info("t" + std::to_string(i), {1ULL << 61U}, 24, 0);
    row("GGUF-10 8 x 2^61", sum, bad, "does not fit into the file");
    row("GGUF-10 2 x 2^63",
        header(3, 2, 0) + tensor_info("a", {1ULL << 62U, 2}, 24, 0) +
            tensor_info("b", {1ULL << 62U, 2}, 24, 0),
        bad, "more elements");
    row("GGUF-11 size 2^64-4",
        header(3, 2, 0) + tensor_info("a", {(1ULL << 62U) - 1}, 0, 0) + tensor_info("b", {4}, 0, 0) +
            Bytes(64),
        bad, "does not fit into the file");

    row("GGUF-13 alignment 0", header(3, 0, 1) + kv("general.alignment", 4, le(0U)), bad,
        "alignment must be a non-zero power of two");
    for (const std::uint32_t alignment : {3U, 31U, 33U, 48U, 0xFFFFFFFFU}) {
        const std::string name = "GGUF-13 alignment " + std::to_string(alignment);
        row(name.c_str(), header(3, 0, 1) + kv("general.alignment", 4, le(alignment)), bad, "power of two");
    }
    row("GGUF-14 alignment i32", header(3, 0, 1) + kv("general.alignment", 5, le(0)), bad, "u32 is needed");
    row("GGUF-14 alignment string", header(3, 0, 1) + kv("general.alignment", 8, str("32")), bad,
        "has type string; u32 is needed");
    row("GGUF-14 alignment array", header(3, 0, 1) + kv("general.alignment", 9, arr(4, 1, le(32U))), bad,
        "array of u32; u32 is needed");
    row("GGUF-14 alignment u64", header(3, 0, 1) + kv("general.alignment", 10, le(std::uint64_t{32})), bad,
        "u32 is needed");

    for (const std::uint32_t type : {41U, 100U, 0xFFFFFFFFU}) {
        const std::string name = "GGUF-16 type " + std::to_string(type);
        row(name.c_str(), one_tensor({32}, type, 0), no,
            ("tensor 't': unknown type id " + std::to_string(type)).c_str());
    }
    for (const std::uint32_t type : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U}) {
        const std::string name = "GGUF-35 retired type " + std::to_string(type);
        row(name.c_str(), one_tensor({32}, type, 0), no, "This quant type was retired; use ");
    }
    row("QNT-01 row of 172 in Q8_0", one_tensor({172, 2}, 8, 0), bad,
        "tensor 't': its rows have 172 elements, but type Q8_0 needs a multiple of 32");
    row("QNT-01 row of 64 in Q4_K", one_tensor({64, 2}, 12, 0), bad, "multiple of 256");

    row("GGUF-17 offset 2^40", one_tensor({32}, 0, 1ULL << 40U), bad, "and the file has");
    row("GGUF-17 offset wraps", one_tensor({32}, 0, 0ULL - 64 - 32), bad, "does not fit into the file");
    row("GGUF-17 one byte too long", one_tensor({32, 1}, 0, 0, 127), bad, "takes 128 bytes");
    row("GGUF-17 offset at the end", one_tensor({32}, 0, 4096), bad, "does not fit");
    row("offset not aligned", one_tensor({32}, 0, 16), bad, "not a multiple of the alignment 32");

    GgufBuilder two;
    two.add_tensor("a", {32, 2}, 8, Bytes(68)).add_tensor("b", {32}, 0, Bytes(128));
    two.tensor("b").offset = 64;
    row("GGUF-19 two bytes less", two.bytes(), bad, "overlap");
    two.tensor("b").offset = 0;
    row("GGUF-19 same place", two.bytes(), bad, "overlap");
    GgufBuilder inside;
    inside.add_tensor("a", {64}, 0, Bytes(256))
        .add_tensor("b", {8}, 0, Bytes(32))
        .add_tensor("c", {8}, 0, Bytes(32));
    inside.tensor("b").offset = 64;
    inside.tensor("c").offset = 128;
    row("GGUF-19 two inside one", inside.bytes(), bad, "overlap");

    GgufBuilder twins;
    twins.add_tensor("token_embd.weight", {8}, 0, Bytes(32))
        .add_tensor("x", {8}, 0, Bytes(32))
        .add_tensor("token_embd.weight", {8}, 0, Bytes(32));
    row("GGUF-20", twins.bytes(), bad, "Duplicate tensor name 'token_embd.weight'");

    row("GGUF-31 magic alone", raw("GGUF"), bad, "too short");
    row("GGUF-31 empty", {}, bad, "empty (0 bytes)");
    row("GGUF-31 one byte", raw("G"), bad, "too short");
    for (std::size_t size = 5; size < 24; ++size) {
        Bytes cut = header(3, 0, 0);
        cut.resize(size);
        const std::string name = "GGUF-31 " + std::to_string(size) + " bytes";
        row(name.c_str(), cut, bad, "too short");
    }

    row("GGUF-32 big-endian",
        raw("GGUF") + le(0x03000000U) + le(std::uint64_t{1} << 56U) + le(std::uint64_t{1} << 56U), no,
        "big-endian");
    row("GGUF-32 big-endian v2, short", raw("GGUF") + le(0x02000000U), no, "big-endian");
    row("GGUF-32 swapped magic", raw("FUGG") + Bytes(32), no, "byte-swapped");
    row("version 1", header(1, 0, 0), no, "GGUF version 1");
    row("version 0", header(0, 0, 0), no, "GGUF version 0");
    row("version 4", header(4, 0, 0), no, "GGUF version 4");

    row("GGUF-34 empty key", header(3, 0, 1) + le(std::uint64_t{0}) + le(0U) + le<std::uint8_t>(1), bad,
        "empty key");
    row("key of 65536 bytes", header(3, 0, 1) + kv(std::string(65536, 'k'), 0, le<std::uint8_t>(1)), bad,
        "65536 bytes long");

    row("GGUF-44 same type",
        header(3, 0, 2) + kv("general.architecture", 8, str("llama")) +
            kv("general.architecture", 8, str("gemma")),
        bad, "Duplicate metadata key 'general.architecture'");
    row("GGUF-44 other type",
        header(3, 0, 3) + kv("x", 8, str("llama")) + kv("y", 4, le(1U)) + kv("x", 4, le(1U)), bad,
        "Duplicate metadata key 'x'");

    row("GGUF-46 empty name", header(3, 1, 0) + tensor_info("", {8}, 0, 0) + Bytes(64), bad, "empty name");
    row("GGUF-46 names equal up to NUL are two",
        header(3, 2, 0) + tensor_info(std::string("a\0b", 3), {8}, 0, 0) +
            tensor_info(std::string("a\0b", 3), {8}, 0, 32) + Bytes(128),
        bad, "Duplicate tensor name 'a\\x00b'");

    row("web page", raw("<!DOCTYPE html><html><body>Not found</body></html>"), bad, "web page");
    row("web page after blanks", raw("\r\n  <html>"), bad, "web page");
    row("git lfs pointer", raw("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), bad,
        "Git LFS");
    row("JSON", raw("{\"error\":\"gated\"}"), bad, "JSON");
    row("zip", raw("PK\x03\x04 and so on"), bad, "zip archive");
    row("gzip", raw("\x1F\x8B\x08 and so on"), bad, "compressed");
    row("before GGUF", raw("tjgg and so on"), no, "before GGUF");
    row("safetensors", le(std::uint64_t{2}) + raw("{}  "), bad, "safetensors");
    row("zeros", Bytes(4096), bad, "not a GGUF file");
    row("control bytes in front", raw("\x1B[2J or so"), bad, "'\\x1B[2J'");
}

void TestGgufHostile::refused() {
    QFETCH(QByteArray, bytes);
    QFETCH(ErrorKind, kind);
    QFETCH(QString, part);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.constData());
    const Bytes file(data, data + bytes.size());
    const Parsed parsed = parse(file);
    VERIFY_ERROR(parsed.status, kind, part.toStdString());

    // From a file the same, with its path in front, and for everything that opens files.
    const auto path = folder_.put(file);
    const auto opened = GgufFile::open(path);
    VERIFY_ERROR(opened, kind, part.toStdString());
    QVERIFY(contains(opened.error().message, path.string() + ": "));
    const auto model = ModelSource::open(path);
    VERIFY_ERROR(model, kind, part.toStdString());
    const auto vocabulary = ModelSource::open(path, {true});
    QVERIFY(!vocabulary.ok());
}

void TestGgufHostile::huge_numbers_take_no_memory() {
    const long before = peak_kib();
    for (const Bytes& file :
         {header(3, 0, kHuge), header(3, kHuge, 0), header(3, 0, 1) + kv("x", 9, arr(8, kHuge, {})),
          header(3, 0, 1) + le(1ULL << 40U), one_tensor({1ULL << 40U}, 0, 0)}) {
        QVERIFY(!folder_.open(file).ok());
    }
    QVERIFY2(peak_kib() - before < 8 * 1024, "a file of some bytes took megabytes of memory");
}

void TestGgufHostile::nested_arrays() {
    // GGUF-05: two deep is fine, and what follows is read from the right place.
    const Bytes inner = arr(4, 2, le(7U) + le(8U)) + arr(8, 1, str("text")) + arr(0, 0, {});
    GgufBuilder good;
    good.set("nested", 9, arr(9, 3, inner)).set_u32("after", 42);
    const auto file = folder_.open(good.bytes());
    VERIFY_OK(file);
    QCOMPARE((*file)->find("nested")->count, std::uint64_t{3});
    QCOMPARE((*file)->find("nested")->payload.size(), inner.size());
    QCOMPARE(**(*file)->unsigned_integer("after"), std::uint64_t{42});
    VERIFY_ERROR((*file)->strings("nested"), ErrorKind::BadFile, "array of array; array of string is needed");
    VERIFY_ERROR((*file)->integers("nested"), ErrorKind::BadFile, "array of integers is needed");

    GgufBuilder empty;
    empty.set("nested", 9, arr(9, 2, arr(9, 0, {}) + arr(9, 1, arr(12, 1, le(1.5))))).set_u32("after", 1);
    VERIFY_OK(folder_.open(empty.bytes()));
}

void TestGgufHostile::metadata_only_lists_what_it_cannot_run() {
    // GGUF-16: an unknown type and a truncated file still show their metadata, and hand out no data.
    GgufBuilder b = small_model(tiny());
    b.add_tensor("odd", {32}, 100, Bytes(64));
    Bytes bytes = b.bytes();
    bytes.resize(bytes.size() - 200);
    const auto path = folder_.put(bytes);
    QVERIFY(!GgufFile::open(path).ok());
    const auto file = GgufFile::open(path, GgufScope::MetadataOnly);
    VERIFY_OK(file);
    const GgufTensor* odd = (*file)->find_tensor("odd");
    QVERIFY(odd != nullptr && !odd->valid);
    QVERIFY((*file)->data(*odd).empty());
    QCOMPARE(odd->type_name, std::string("unknown type id 100"));
    for (const GgufTensor& tensor : (*file)->tensors())
        QCOMPARE((*file)->data(tensor).empty(), !tensor.valid);
}

void TestGgufHostile::not_regular_files() {
    VERIFY_ERROR(GgufFile::open(folder_.path("absent.gguf")), ErrorKind::NotFound,
                 "absent.gguf: The file cannot be opened");
    std::filesystem::create_directory(folder_.path("folder.gguf"));
    VERIFY_ERROR(GgufFile::open(folder_.path("folder.gguf")), ErrorKind::Io, "This is a folder");
    QCOMPARE(::mkfifo(folder_.path("pipe.gguf").c_str(), 0600), 0);
    VERIFY_ERROR(GgufFile::open(folder_.path("pipe.gguf")), ErrorKind::Io, "pipe");
    std::filesystem::create_symlink("nowhere", folder_.path("link.gguf"));
    VERIFY_ERROR(GgufFile::open(folder_.path("link.gguf")), ErrorKind::NotFound, "cannot be opened");
    VERIFY_ERROR(GgufFile::open("/dev/zero"), ErrorKind::Io, "device");
}

void TestGgufHostile::names_of_pieces() {
    for (const char* name :
         {"x.gguf.part1of2", "x.gguf.part2", "x.gguf-split-a", "x.gguf.001", "x.gguf.aa", "x.gguf-part-b"}) {
        QVERIFY2(is_named_like_a_piece(name), name);
    }
    for (const char* name : {"x.gguf", "x-00001-of-00003.gguf", "parts.gguf", "split.gguf", "x.gguf.bak"}) {
        QVERIFY2(!is_named_like_a_piece(name), name);
    }
    // GGUF-29: the first half of a single file, under the name of a piece, and under its own.
    Bytes half = small_model_bytes(tiny());
    half.resize(half.size() - 300);
    VERIFY_ERROR(GgufFile::open(folder_.put(half, "x.gguf.part1of2")), ErrorKind::BadFile,
                 "join all pieces byte by byte");
    VERIFY_ERROR(GgufFile::open(folder_.put(half, "x.gguf")), ErrorKind::BadFile,
                 "cut off: download it again");
    GgufBuilder part = small_model(tiny());
    part.set("split.count", 2, le(std::uint16_t{3})).set("split.no", 2, le(std::uint16_t{0}));
    Bytes short_part = part.bytes();
    short_part.resize(short_part.size() - 300);
    VERIFY_ERROR(GgufFile::open(folder_.put(short_part, "x.gguf")), ErrorKind::BadFile,
                 "must not be joined byte by byte");
}

void TestGgufHostile::every_truncation_is_an_error() {
    const Bytes whole = small_model_bytes(tiny());
    QVERIFY2(whole.size() < 4096, std::to_string(whole.size()).c_str());
    const Parsed good = parse(whole);
    VERIFY_OK(good.status);
    const std::uint64_t needed = good.content.needed_size;
    QVERIFY(needed <= whole.size());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const Parsed parsed = parse(cut);
        QVERIFY2(parsed.status.ok() == (size >= needed), std::to_string(size).c_str());
        if (!parsed.status.ok()) QVERIFY(!parsed.status.error().message.empty());
    }
    // Opened from disk, a sample of the same sizes.
    for (std::size_t size = 0; size < whole.size(); size += 97) {
        Bytes cut = whole;
        cut.resize(size);
        QVERIFY(!folder_.model(cut).ok());
        (void)folder_.model(cut, true);
    }
}

void TestGgufHostile::random_bytes_changed() {
    const Bytes whole = small_model_bytes(tiny());
    const std::size_t header_size = parse(whole).content.directory_end;
    Noise noise(20240601);
    int usable = 0;
    int refused_count = 0;
    for (int i = 0; i < 6000; ++i) {
        Bytes changed = whole;
        const std::size_t changes = 1 + noise.next() % 3;
        for (std::size_t c = 0; c < changes; ++c)
            changed[noise.next() % header_size] = static_cast<std::byte>(noise.next());
        const Parsed parsed = parse(changed);
        if (!parsed.status.ok()) {
            QVERIFY(!parsed.status.error().message.empty());
            ++refused_count;
            continue;
        }
        // What was accepted can be read to the last byte.
        for (const GgufTensor& tensor : parsed.content.tensors) {
            QVERIFY(tensor.valid && tensor.offset + tensor.bytes <= changed.size());
        }
        if (i % 8 == 0) {
            const auto model = folder_.model(changed);
            if (model.ok()) {
                QVERIFY((*model)->config().layers >= 1 && !(*model)->config().ropes.empty());
                ++usable;
            } else {
                QVERIFY(!model.error().message.empty());
            }
        }
    }
    QVERIFY(usable > 0 && refused_count > 1000);
}

void TestGgufHostile::random_words_changed() {
    // Numbers near the edges of their types, written over every 4th place of the header.
    const Bytes whole = small_model_bytes(tiny());
    const std::size_t header_size = parse(whole).content.directory_end;
    const std::uint64_t edges[] = {0,           1,           0x7FFFFFFF,  0x80000000, 0xFFFFFFFF,
                                   1ULL << 32U, 1ULL << 62U, 1ULL << 63U, ~0ULL - 15, ~0ULL};
    for (std::size_t at = 0; at + 8 <= header_size; at += 1) {
        const std::uint64_t edge = edges[at % std::size(edges)];
        Bytes changed = whole;
        std::memcpy(changed.data() + at, &edge, at % 2 == 0 ? 8 : 4);
        const Parsed parsed = parse(changed);
        if (!parsed.status.ok()) QVERIFY(!parsed.status.error().message.empty());
        if (at % 16 == 0) {
            const auto model = folder_.model(changed);
            if (!model.ok()) QVERIFY(!model.error().message.empty());
            (void)folder_.model(changed, true);
        }
    }
}

void TestGgufHostile::random_headers() {
    // Noise behind a header that promises a few entries.
    Noise noise(7);
    for (int i = 0; i < 3000; ++i) {
        Bytes file =
            header(2 + static_cast<std::uint32_t>(noise.next() % 2), noise.next() % 4, noise.next() % 4);
        const std::size_t size = noise.next() % 300;
        for (std::size_t k = 0; k < size; ++k) {
            // Mostly small numbers, so that lengths and types are often plausible.
            const std::uint64_t n = noise.next();
            file.push_back(static_cast<std::byte>(n % 4 == 0 ? (n >> 8U) : n % 3 == 0 ? (n >> 8U) % 13 : 0));
        }
        const Parsed parsed = parse(file);
        if (!parsed.status.ok()) QVERIFY(!parsed.status.error().message.empty());
    }
}

void TestGgufHostile::time_grows_with_size() {
    const auto make = [](std::size_t count) {
        GgufBuilder b;
        for (std::size_t i = 0; i < count; ++i) {
            b.add("some.key.number." + std::to_string(i), 4, le(1U));
            b.add_tensor("some.tensor.number." + std::to_string(i), {8}, 0, Bytes(32));
        }
        return b.bytes();
    };
    std::map<std::size_t, Bytes> files;
    for (const std::size_t count : {2500U, 40000U}) files[count] = make(count);
    QVERIFY(
        test::grows_linearly(10000, [&](std::size_t count) { QVERIFY(parse(files.at(count)).status.ok()); }));
}

QTEST_GUILESS_MAIN(TestGgufHostile)
#include "tst_gguf_hostile.moc"
