// Models in several GGUF files, in every state of completeness; the list of models in a folder; what the
// inspector says of split models and folders.
#include <cmath>
#include <functional>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "core/io/ggml_types.h"
#include "core/io/gguf_parts.h"
#include "core/io/inspect.h"
#include "core/io/model_list.h"
#include "core/io/printable.h"
#include "tests/unit/io/hf_folder.h"
#include "tests/unit/io/io_test_tools.h"

using namespace vitrine;
using namespace vitrine::test;

namespace {

QJsonObject json_of(const InspectReport& report) {
    return QJsonDocument::fromJson(QByteArray::fromStdString(report.json)).object();
}

std::string part_name(int number, int count, const std::string& stem = "model") {
    const auto padded = [](int n) { return QString::number(n).rightJustified(5, '0').toStdString(); };
    return stem + "-" + padded(number) + "-of-" + padded(count) + ".gguf";
}

// The model's tensors in turn into `count` files; all metadata in the first.
std::vector<GgufBuilder> split(const GgufBuilder& whole, std::size_t count) {
    std::vector<GgufBuilder> parts(count);
    parts[0].values = whole.values;
    for (std::size_t i = 0; i < count; ++i) {
        parts[i].set("split.no", 2, le(static_cast<std::uint16_t>(i)));
        parts[i].set("split.count", 2, le(static_cast<std::uint16_t>(count)));
        parts[i].set("split.tensors.count", 5, le(static_cast<std::int32_t>(whole.tensors.size())));
    }
    for (std::size_t t = 0; t < whole.tensors.size(); ++t)
        parts[t % count].tensors.push_back(whole.tensors[t]);
    return parts;
}

}  // namespace

class TestSplitModel : public QObject {
    Q_OBJECT

  private slots:
    void any_part_opens_all();
    void missing_parts_are_named();
    void contradictions_data();
    void contradictions();
    void joined_and_cut();
    void renamed_alone();
    void vocabulary_of_a_part();
    void changed_on_disk();
    void every_type_data();
    void every_type();
    void inspected();
    void inspected_folder();
    void inspected_bad_folders();
    void listed();

  private:
    std::filesystem::path write(const std::vector<GgufBuilder>& parts, const std::string& folder = "split") {
        const auto where = folder_.path(folder);
        std::filesystem::remove_all(where);
        std::filesystem::create_directories(where);
        for (std::size_t i = 0; i < parts.size(); ++i)
            write_file(where / part_name(static_cast<int>(i) + 1, static_cast<int>(parts.size())),
                       parts[i].bytes());
        return where;
    }
    TestFolder folder_;
};

void TestSplitModel::any_part_opens_all() {
    SmallModelOptions o;
    o.layers = 3;
    const GgufBuilder whole = small_model(o);
    const auto single = folder_.model(whole.bytes());
    VERIFY_OK(single);
    std::uint64_t last_hash = (*single)->content_hash();
    for (const std::size_t count : {2U, 3U, 7U}) {
        const auto where = write(split(whole, count));
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto model =
                ModelSource::open(where / part_name(static_cast<int>(i) + 1, static_cast<int>(count)));
            VERIFY_OK(model);
            QCOMPARE((*model)->parameters(), (*single)->parameters());
            QCOMPARE((*model)->weights_bytes(), (*single)->weights_bytes());
            QCOMPARE((*model)->config().layers, 3);
            QVERIFY((*model)->vocabulary().tokens == (*single)->vocabulary().tokens);
            QVERIFY((*model)->warnings().empty());
            VERIFY_OK((*model)->unchanged());
            for (const auto& tensor : whole.tensors) {
                const auto a = (*single)->tensor(tensor.name);
                const auto b = (*model)->tensor(tensor.name);
                QVERIFY(a && b && a->rows == b->rows && a->cols == b->cols && a->dtype == b->dtype);
                QVERIFY(std::memcmp(a->data, b->data, tensor.data.size()) == 0);
            }
            if (i > 0) QCOMPARE((*model)->content_hash(), hash);
            hash = (*model)->content_hash();
        }
        QVERIFY(hash != last_hash);
        last_hash = hash;
    }
    // The hash is of all parts.
    GgufBuilder changed = whole;
    changed.tensors.back().data[0] ^= std::byte{1};
    const auto where = write(split(changed, 7));
    QVERIFY(ModelSource::open(where / part_name(1, 7)).value()->content_hash() != last_hash);
    // One file of one is a whole model, whatever it is called.
    const auto one = write(split(whole, 1));
    VERIFY_OK(ModelSource::open(one / part_name(1, 1)));
    VERIFY_OK(ModelSource::open(folder_.put(whole.bytes(), part_name(2, 5, "named-like-a-part"))));
}

void TestSplitModel::missing_parts_are_named() {
    // GGUF-28
    const auto parts = split(small_model(), 3);
    for (int lost = 1; lost <= 3; ++lost) {
        const auto where = write(parts);
        std::filesystem::remove(where / part_name(lost, 3));
        for (int opened = 1; opened <= 3; ++opened) {
            const auto model = ModelSource::open(where / part_name(opened, 3));
            VERIFY_ERROR(model, ErrorKind::NotFound,
                         opened == lost ? "cannot be opened" : "missing: '" + part_name(lost, 3) + "'");
        }
    }
    const auto where = write(parts);
    std::filesystem::remove(where / part_name(2, 3));
    std::filesystem::remove(where / part_name(3, 3));
    VERIFY_ERROR(ModelSource::open(where / part_name(1, 3)), ErrorKind::NotFound,
                 "This is part 1 of a model split into 3 GGUF files, and of these are missing: '" +
                     part_name(2, 3) + "', '" + part_name(3, 3) + "'");
}

namespace {
std::map<std::string, std::pair<std::function<void(std::vector<GgufBuilder>&)>, const char*>> changes;
}

void TestSplitModel::contradictions_data() {
    QTest::addColumn<QString>("name");
    using Parts = std::vector<GgufBuilder>;
    const auto row = [](const char* name, const char* part, std::function<void(Parts&)> change) {
        changes[name] = {std::move(change), part};
        QTest::newRow(name) << name;
    };
    row("part 2 of another size", "key 'split.tensors.count' is 999, but another part says",
        [](Parts& p) { p[1].set("split.tensors.count", 5, le(999)); });
    row("part 2 of another set", "but says to be part 2 of a model split into 4 GGUF files",
        [](Parts& p) { p[1].set("split.count", 2, le(std::uint16_t{4})); });
    row("part 2 is no part", "but is no part of a split model", [](Parts& p) {
        p[1].remove("split.count");
        p[1].remove("split.no");
    });
    row("part 2 is part 3", "but says to be part 3",
        [](Parts& p) { p[1].set("split.no", 2, le(std::uint16_t{2})); });
    row("part 2 is the first part", "but says to be part 1", [](Parts& p) { p[1] = p[0]; });
    row("GGUF-28 split.count is 4, the names say 3", "but its name says that there are 3", [](Parts& p) {
        for (auto& part : p) part.set("split.count", 2, le(std::uint16_t{4}));
    });
    row("other architecture", "this part holds a model of architecture 'qwen2', the first one of 'llama'",
        [](Parts& p) { p[2].set_string("general.architecture", "qwen2"); });
    row("GGUF-20 tensor in two parts", "Duplicate tensor name 'token_embd.weight': it lies in", [](Parts& p) {
        p[1].tensors.push_back(p[0].tensor("token_embd.weight"));
        p[2].tensors.pop_back();
    });
    row("a tensor too few", "but all parts together hold", [](Parts& p) { p[2].tensors.pop_back(); });
    row("split.no beyond split.count", "parts are counted from 0", [](Parts& p) {
        for (auto& part : p) part.set("split.no", 2, le(std::uint16_t{3}));
    });
    row("endless parts", "no model is split into more than", [](Parts& p) {
        for (auto& part : p) part.set("split.count", 10, le(std::uint64_t{1} << 60U));
    });
    row("split.count a text", "'split.count'", [](Parts& p) { p[0].set_string("split.count", "3"); });
    row("split.no a text", "'split.no'", [](Parts& p) { p[1].set_string("split.no", "1"); });
    row("split.no negative", "'split.no'", [](Parts& p) { p[0].set("split.no", 5, le(-1)); });
    row("damaged weights in part 3", "does not fit into the file",
        [](Parts& p) { p[2].tensors[0].offset = 1U << 30U; });
    row("unknown type in part 2", "unknown type id 100", [](Parts& p) { p[1].tensors[0].type = 100; });
}

void TestSplitModel::contradictions() {
    QFETCH(QString, name);
    const auto& [change, part] = changes.at(name.toStdString());
    auto parts = split(small_model(), 3);
    change(parts);
    const auto where = write(parts);
    for (int opened = 1; opened <= 3; ++opened) {
        const auto model = ModelSource::open(where / part_name(opened, 3));
        QVERIFY(!model.ok());
        if (opened == 1) QVERIFY2(contains(model.error().message, part), model.error().message.c_str());
        QVERIFY(contains(model.error().message, (where / "model-0").string()));
    }
    QVERIFY(!inspect_model(where / part_name(1, 3)).usable);
}

void TestSplitModel::joined_and_cut() {
    // GGUF-29
    const auto parts = split(small_model(), 2);
    const Bytes joined = parts[0].bytes() + parts[1].bytes();
    for (const char* name : {"joined.gguf", "model-00001-of-00002.gguf"}) {
        const auto model = ModelSource::open(folder_.put(joined, name));
        VERIFY_ERROR(model, ErrorKind::BadFile, "parts were joined byte by byte, which does not merge them");
        QVERIFY(contains(inspect_model(folder_.path(name)).text, "joined byte by byte"));
    }
    std::filesystem::remove(folder_.path("model-00001-of-00002.gguf"));
    Bytes half = small_model_bytes();
    half.resize(half.size() / 2);
    VERIFY_ERROR(ModelSource::open(folder_.put(half, "x.gguf.part1of2")), ErrorKind::BadFile,
                 "join all pieces byte by byte in order");
    VERIFY_ERROR(ModelSource::open(folder_.put(half, "x.gguf")), ErrorKind::BadFile, "");
    // A part that is cut off is no raw piece.
    const auto where = write(parts);
    Bytes cut = parts[1].bytes();
    cut.resize(cut.size() - 100);
    std::filesystem::remove(where / part_name(2, 2));
    QVERIFY(write_file(where / part_name(2, 2), cut));
    VERIFY_ERROR(ModelSource::open(where / part_name(1, 2)), ErrorKind::BadFile,
                 "must not be joined byte by byte");
}

void TestSplitModel::renamed_alone() {
    const auto parts = split(small_model(), 2);
    const auto model = ModelSource::open(folder_.put(parts[1].bytes(), "renamed.gguf"));
    VERIFY_ERROR(model, ErrorKind::NotFound, "its name does not end in -00002-of-00002.gguf");
    const auto where = write(parts);
    std::filesystem::rename(where / part_name(1, 2), where / "x");
    std::filesystem::rename(where / part_name(2, 2), where / part_name(1, 2));
    std::filesystem::rename(where / "x", where / part_name(2, 2));
    VERIFY_ERROR(ModelSource::open(where / part_name(1, 2)), ErrorKind::BadFile,
                 "but its name says part 1: it was renamed");
}

void TestSplitModel::vocabulary_of_a_part() {
    const auto where = write(split(small_model(), 3));
    std::filesystem::remove(where / part_name(3, 3));
    for (int part = 1; part <= 2; ++part) {
        const auto model = ModelSource::open(where / part_name(part, 3), {.vocabulary_only = true});
        VERIFY_OK(model);
        QCOMPARE((*model)->vocabulary().tokens.size(), std::size_t{260});
    }
    std::filesystem::remove(where / part_name(1, 3));
    VERIFY_ERROR(ModelSource::open(where / part_name(2, 3), {.vocabulary_only = true}), ErrorKind::NotFound,
                 part_name(1, 3));
}

void TestSplitModel::changed_on_disk() {
    for (int part = 1; part <= 3; ++part) {
        const auto where = write(split(small_model(), 3));
        const auto model = ModelSource::open(where / part_name(1, 3));
        VERIFY_OK(model);
        std::filesystem::resize_file(where / part_name(part, 3), 64);
        VERIFY_ERROR((*model)->unchanged(), ErrorKind::Io, part_name(part, 3) + ": The file was changed");
    }
}

void TestSplitModel::every_type_data() {
    QTest::addColumn<int>("type");
    for (int i = 0; i < kDTypes; ++i) {
        const auto type = static_cast<DType>(i);
        if (!has_outside_scales(type)) QTest::newRow(std::string(info_of(type).name).c_str()) << i;
    }
}

void TestSplitModel::every_type() {
    QFETCH(int, type);
    const auto dtype = static_cast<DType>(type);
    SmallModelOptions o;
    o.embedding = 256;
    o.feed_forward = 512;
    GgufBuilder whole = small_model(o);
    for (auto& tensor : whole.tensors) {
        if (tensor.dims.size() < 2) continue;
        tensor.type = ggml_type_id(dtype);
        const auto stride = row_bytes(dtype, static_cast<std::int64_t>(tensor.dims[0]));
        QVERIFY(stride);
        tensor.data.assign(*stride * tensor.dims[1], std::byte{0x11});  // finite in every type
    }
    const auto where = write(split(whole, 2));
    for (const auto& path : {folder_.put(whole.bytes()), where / part_name(1, 2)}) {
        const auto model = ModelSource::open(path);
        VERIFY_OK(model);
        QCOMPARE((*model)->weights_format(), std::string(info_of(dtype).name));
        for (const auto& tensor : whole.tensors) {
            const auto found = (*model)->tensor(tensor.name);
            QVERIFY(found);
            QVERIFY(found->dtype == (tensor.dims.size() < 2 ? DType::F32 : dtype));
            QCOMPARE(found->cols, static_cast<std::int64_t>(tensor.dims[0]));
        }
        const InspectReport report = inspect_model(path);
        QVERIFY2(report.usable, report.text.c_str());
        const QJsonObject share =
            json_of(report)["by_type"].toObject()[std::string(info_of(dtype).name).c_str()].toObject();
        QVERIFY(share["tensors"].toInt() >= 8);
        QCOMPARE(json_of(report)["weights_bytes"].toInteger(),
                 static_cast<qint64>((*model)->weights_bytes()));
    }
    // A byte less at the end is an error, whatever the type.
    Bytes cut = whole.bytes();
    cut.resize(cut.size() - 32);
    QVERIFY(!folder_.model(cut).ok());
    // Rows that are no whole number of blocks.
    if (const int block = info_of(dtype).block; block > 1) {
        GgufBuilder odd = whole;
        odd.tensor("blk.0.ffn_up.weight").dims[0] += static_cast<std::uint64_t>(block / 2);
        VERIFY_ERROR(folder_.model(odd.bytes()), ErrorKind::BadFile,
                     "needs a multiple of " + std::to_string(block));
    }
}

void TestSplitModel::inspected() {
    // GGUF-40
    SmallModelOptions o;
    o.layers = 2;
    const GgufBuilder whole = small_model(o);
    const QJsonObject single = json_of(inspect_model(folder_.put(whole.bytes())));
    const auto where = write(split(whole, 3));
    for (int part = 1; part <= 3; ++part) {
        const InspectReport report = inspect_model(where / part_name(part, 3));
        QVERIFY2(report.usable, report.text.c_str());
        const QJsonObject json = json_of(report);
        for (const char* key :
             {"parameters", "weights_bytes", "kv_bytes_per_token", "by_type", "partial", "architecture"})
            QCOMPARE(json[key], single[key]);
        QCOMPARE(json["files"].toArray().size(), 3);
        QCOMPARE(json["tensors"].toArray().size(), single["tensors"].toArray().size());
        QVERIFY(contains(report.text, part_name(3, 3)));
    }
    std::filesystem::remove(where / part_name(2, 3));
    const InspectReport partial = inspect_model(where / part_name(1, 3));
    QVERIFY(!partial.usable);
    QCOMPARE(json_of(partial)["partial"].toBool(), true);
    QVERIFY(json_of(partial)["parameters"].toInteger() < single["parameters"].toInteger());
    QVERIFY(contains(partial.text, "Of the 3 files of this split model 1 are missing"));
    QVERIFY(contains(partial.text, "memory estimate is partial") && contains(partial.text, part_name(2, 3)));
}

void TestSplitModel::inspected_folder() {
    HfFolder folder;
    const std::string harm = "a\\u001b[2J\\u202e";
    folder.weights.add(harm, "F7", {2}, Bytes(3));
    folder.config["odd"] = "x\x1B[2J\n";
    folder.write(folder_.path("hf"));
    const auto model = ModelSource::open(folder_.path("hf"));
    VERIFY_OK(model);
    for (const char* file : {"", "config.json", "model.safetensors"}) {
        const InspectReport report = inspect_model(folder_.path("hf") / file);
        QVERIFY2(report.usable, report.text.c_str());
        for (const char* part :
             {"Hugging Face folder", "llama", "config.json: hidden_size  16", "32 bytes a token in F16",
              "260 × 16", "a\\x1B[2J\\u{202E}", "usable        yes", "tensors that are not used"})
            QVERIFY2(contains(report.text, part), (std::string(part) + " in " + report.text).c_str());
        QVERIFY(report.text.find('\x1B') == std::string::npos);
        const QJsonObject json = json_of(report);
        QCOMPARE(json["usable"].toBool(), true);
        QCOMPARE(json["format"].toString(), QString("huggingface"));
        QCOMPARE(json["parameters"].toInteger(), static_cast<qint64>((*model)->parameters()));
        QCOMPARE(json["weights_bytes"].toInteger(), static_cast<qint64>((*model)->weights_bytes()));
        QCOMPARE(json["context"].toInt(), 256);
        QCOMPARE(json["tensors"].toArray().size(), 12);
        QCOMPARE(json["files"].toArray().size(), 1);
        QCOMPARE(json["kv_bytes_per_token"].toInt(), 2 * 2 * 4 * 2);
    }
}

void TestSplitModel::inspected_bad_folders() {
    const auto inspect = [&](const std::function<void(HfFolder&)>& change) {
        HfFolder folder;
        change(folder);
        folder.write(folder_.path("bad"));
        const InspectReport report = inspect_model(folder_.path("bad"));
        return report.usable || json_of(report).isEmpty() ? std::string() : report.text;
    };
    QVERIFY(
        contains(inspect([](HfFolder& f) { f.config["model_type"] = "mamba"; }), "a model of type 'mamba'"));
    QVERIFY(contains(inspect([](HfFolder& f) { f.config["model_type"] = "mamba"; }), "260 × 16"));
    QVERIFY(contains(inspect([](HfFolder& f) { f.files["config.json"] = {}; }), "no config.json"));
    QVERIFY(contains(inspect([](HfFolder& f) { f.weights.tensors.clear(); }), "no weights"));
    QVERIFY(
        contains(inspect([](HfFolder& f) { f.put("model.safetensors", "short"); }), "no sound safetensors"));
    const std::string nan = inspect([](HfFolder& f) {
        const float bad = std::nanf("");
        std::memcpy(f.weights.find("model.layers.0.mlp.up_proj.weight")->data.data() + 16 * 4, &bad,
                    sizeof bad);
    });
    QVERIFY2(contains(nan, "the weight at row 1, column 0 is NaN") && contains(nan, "1 tensors hold"),
             nan.c_str());
    QVERIFY(!inspect_model(folder_.path("nothing-here")).usable);
}

void TestSplitModel::listed() {
    // GGUF-41: what is damaged harms only its own row.
    const auto where = folder_.path("models");
    std::filesystem::create_directories(where);
    const auto put = [&](const std::string& name, const Bytes& bytes) {
        QVERIFY(write_file(where / name, bytes));
    };
    for (const char* name : {"good-a.gguf", "good-b.gguf", "good-c.gguf"}) put(name, small_model_bytes());
    GgufBuilder bad = small_model();
    bad.set_u32("general.alignment", 0);
    put("bad-alignment.gguf", bad.bytes());
    put("empty.gguf", {});
    std::filesystem::create_directory(where / "x.gguf");
    std::filesystem::create_symlink("nowhere", where / "link.gguf");
    const auto parts = split(small_model(), 3);
    for (int i = 1; i <= 3; ++i) put(part_name(i, 3, "set"), parts[static_cast<std::size_t>(i) - 1].bytes());
    put(part_name(1, 2, "half"), split(small_model(), 2)[0].bytes());
    put("readme.txt", raw("x"));
    HfFolder().write(where / "hf-good");
    HfFolder unknown;
    unknown.config["model_type"] = "mamba";
    unknown.write(where / "hf-mamba");
    std::filesystem::create_directory(where / "pictures");

    std::map<std::string, std::string> problems;
    std::uint64_t set_bytes = 0;
    for (const ListedModel& model : list_models(where)) {
        QVERIFY2(!problems.contains(model.name), model.name.c_str());
        problems[model.name] = model.problem;
        if (model.name == "set") set_bytes = model.bytes;
        if (model.problem.empty())
            VERIFY_OK(ModelSource::open(model.path));
        else
            QVERIFY(!ModelSource::open(model.path).ok());
    }
    QCOMPARE(problems.size(), std::size_t{11});
    for (const char* name : {"good-a", "good-b", "good-c", "set", "hf-good"})
        QVERIFY2(problems.at(name).empty(), name);
    QVERIFY(contains(problems.at("bad-alignment"), "power of two"));
    QVERIFY(contains(problems.at("empty"), "0 bytes"));
    QVERIFY(contains(problems.at("x.gguf"), "a folder"));
    QVERIFY(contains(problems.at("link"), "nowhere"));
    QVERIFY(contains(problems.at("half"), "half-00002-of-00002.gguf is missing"));
    QVERIFY(contains(problems.at("hf-mamba"), "'mamba'"));
    std::uint64_t expected = 0;
    for (const auto& part : parts) expected += part.bytes().size();
    QCOMPARE(set_bytes, expected);
    QVERIFY(list_models(folder_.path("absent")).empty());
}

QTEST_GUILESS_MAIN(TestSplitModel)
#include "tst_split_model.moc"
