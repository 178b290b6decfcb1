// Models that are found in folders, and whether each fits.
#include <algorithm>

#include <QAbstractItemModelTester>
#include <QDir>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest>

#include "ui/bridge/model_look.h"
#include "ui/window/model_table.h"

using namespace vitrine;
using namespace vitrine::ui;

namespace {

void put(const QString& path, const QByteArray& bytes) {
    QDir().mkpath(QFileInfo(path).absolutePath());
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) qFatal("cannot write");
}

// The model that comes with the program, under another name.
void put_model(const QString& path) {
    QDir().mkpath(QFileInfo(path).absolutePath());
    if (!QFile::copy(QStringLiteral(VITRINE_EMBEDDED_MODEL), path)) qFatal("cannot copy");
}

std::vector<ModelLook> all(const std::vector<ModelPlace>& places) {
    std::vector<ModelLook> found;
    const std::atomic<bool> cancel{false};
    look_for_models(places, cancel, [&](ModelLook look) { found.push_back(std::move(look)); });
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return found;
}

}  // namespace

class TestModelLook : public QObject {
    Q_OBJECT

  private slots:
    // GGUF-41, GUI-17, GUI-25: broken ones with their reason, and nobody hangs.
    void good_and_broken_ones_in_odd_folders() {
        QTemporaryDir folder;
        const QString root = folder.filePath(QStringLiteral("Загрузки ü 😀"));
        put_model(root + QStringLiteral("/publisher/model-GGUF/good #1 & %.gguf"));
        put(root + QStringLiteral("/publisher/empty.gguf"), {});
        put(root + QStringLiteral("/publisher/magic.gguf"), "GGUF");
        QDir().mkpath(root + QStringLiteral("/publisher/folder.gguf"));
        QFile::link(root + QStringLiteral("/nowhere"), root + QStringLiteral("/publisher/dangling.gguf"));
        QFile::link(root, root + QStringLiteral("/publisher/loop"));
        // A link to a file that is found anyway is no second model.
        QFile::link(root + QStringLiteral("/publisher/model-GGUF/good #1 & %.gguf"),
                    root + QStringLiteral("/again.gguf"));
        const auto found = all({{root, QStringLiteral("LM Studio"), 3, false}});
        int good = 0;
        for (const ModelLook& look : found) {
            QCOMPARE(look.source, QStringLiteral("LM Studio"));
            if (!look.problem.isEmpty()) {
                QVERIFY2(look.problem.endsWith(u'.'), qPrintable(look.problem));
                QVERIFY(!look.config);
                continue;
            }
            ++good;
            QVERIFY(look.config && look.weights_bytes > 1'000'000 && look.file_bytes > look.weights_bytes);
            QCOMPARE(look.format, QStringLiteral("Q8_0"));
        }
        QCOMPARE(good, 1);
        QVERIFY(found.size() >= 4);
    }

    void depth_is_bounded_and_a_search_can_be_cancelled() {
        QTemporaryDir folder;
        put_model(folder.filePath(QStringLiteral("a/b/c/deep.gguf")));
        QVERIFY(all({{folder.path(), QString(), 2, false}}).empty());
        QCOMPARE(all({{folder.path(), QString(), 3, false}}).size(), std::size_t(1));
        const std::atomic<bool> cancel{true};
        int calls = 0;
        look_for_models({{folder.path(), QString(), 3, false}}, cancel, [&](const ModelLook&) { ++calls; });
        QCOMPARE(calls, 0);
    }

    // GUI-20: a folder that is off-line is said and kept.
    void an_own_folder_that_is_not_there_is_said() {
        const auto places =
            model_places(QStringLiteral("/no/models"), {QStringLiteral("/mnt/off-line")}, false);
        QCOMPARE(places.size(), std::size_t(2));
        const auto found = all(places);
        QCOMPARE(found.size(), std::size_t(1));
        QVERIFY(found[0].problem.contains(QStringLiteral("not there")));
    }

    void other_programs_are_looked_for_where_they_keep_their_models() {
        QTemporaryDir home;
        qputenv("HOME", home.path().toUtf8());
        qputenv("XDG_DATA_HOME", home.filePath(QStringLiteral("data")).toUtf8());
        qputenv("XDG_CACHE_HOME", home.filePath(QStringLiteral("cache")).toUtf8());
        qunsetenv("HF_HOME");
        qunsetenv("HF_HUB_CACHE");
        put_model(home.filePath(QStringLiteral(".lmstudio/models/pub/repo/one.gguf")));
        put_model(home.filePath(QStringLiteral("data/nomic.ai/GPT4All/two.gguf")));
        put_model(home.filePath(QStringLiteral("data/Jan/data/llamacpp/models/three/model.gguf")));
        // In the cache files are links to blobs.
        const QString repo = home.filePath(QStringLiteral("cache/huggingface/hub/models--org--name"));
        put_model(repo + QStringLiteral("/blobs/abcdef"));
        QDir().mkpath(repo + QStringLiteral("/snapshots/123"));
        QVERIFY(QFile::link(repo + QStringLiteral("/blobs/abcdef"),
                            repo + QStringLiteral("/snapshots/123/four.gguf")));
        QStringList sources, names;
        for (const ModelLook& look : all(model_places(home.filePath(QStringLiteral("none")), {}, true))) {
            QVERIFY2(look.problem.isEmpty(), qPrintable(look.problem));
            sources << look.source;
            names << look.name;
        }
        sources.sort();
        QCOMPARE(sources, QStringList({"GPT4All", "Hugging Face", "Jan", "LM Studio"}));
        QVERIFY(names.contains(QStringLiteral("org/name/four")));
        QVERIFY(all(model_places(home.filePath(QStringLiteral("none")), {}, false)).empty());
    }

    // GPU-16, CTX-16: what it would take is shown before anything is loaded, and follows the settings.
    void fit_follows_memory_and_settings() {
        const ModelLook look = look_at_model(QStringLiteral(VITRINE_EMBEDDED_MODEL));
        QVERIFY2(look.problem.isEmpty(), qPrintable(look.problem));
        EngineOptions options;
        options.context = 8192;  // more than the least that a pool has
        const std::uint64_t ample = std::uint64_t{64} << 30U;
        const ModelFit fits = fit_of(look, options, ample);
        QCOMPARE(fits.kind, ModelFit::Fits);
        QCOMPARE(fits.weights, look.weights_bytes);
        QVERIFY(fits.kv > 0 && fits.workspace > 0 && fits.needed() < ample);
        options.kv_dtype = DType::F32;
        QCOMPARE(fit_of(look, options, ample).kv, 2 * fits.kv);
        options.kv_dtype = DType::F16;
        QCOMPARE(fit_of(look, options, look.weights_bytes).kind, ModelFit::TooLarge);
        QCOMPARE(fit_of(look, options, look.weights_bytes + (1U << 20U)).kind, ModelFit::TooLarge);
        const ModelFit unknown = fit_of(look, options, 0);
        QCOMPARE(unknown.kind, ModelFit::Unknown);
        QCOMPARE(unknown.kv, fits.kv);
        // Memory for the workspace and half a context.
        const ModelFit shorter = fit_of(look, options, look.weights_bytes + fits.workspace + fits.kv);
        QVERIFY(shorter.kind == ModelFit::Shortened || shorter.kind == ModelFit::Fits);
        QVERIFY(shorter.context <= fits.context);
        options.memory_budget = look.weights_bytes / 2;
        QCOMPARE(fit_of(look, options, ample).kind, ModelFit::TooLarge);
        QVERIFY(fit_of(look, options, ample).why.contains(QStringLiteral("budget")));
        ModelLook broken;
        broken.problem = QStringLiteral("x.");
        QCOMPARE(fit_of(broken, {}, ample).kind, ModelFit::Unknown);
    }

    void the_table_shows_and_sorts() {
        ModelTable table;
        QAbstractItemModelTester tester(&table);
        ModelTableFilter filter;
        filter.setSourceModel(&table);
        QAbstractItemModelTester filter_tester(&filter);
        ModelLook good = look_at_model(QStringLiteral(VITRINE_EMBEDDED_MODEL));
        good.name = QStringLiteral("Good");
        good.source = QStringLiteral("Jan");
        ModelLook broken;
        broken.name = QStringLiteral("Broken");
        broken.problem = QStringLiteral("The file is too short.");
        table.add(broken);
        table.add(good);
        QCOMPARE(table.index(1, ModelTable::FitColumn).data().toString(), QStringLiteral("–"));
        QSignalSpy changed(&table, &QAbstractItemModel::dataChanged);
        table.set_conditions({}, std::uint64_t{64} << 30U);
        QCOMPARE(changed.size(), 1);
        QVERIFY(table.index(1, ModelTable::FitColumn).data().toString().startsWith(QStringLiteral("fits")));
        QCOMPARE(table.index(0, ModelTable::FitColumn).data().toString(), QStringLiteral("cannot be opened"));
        QVERIFY(table.index(0, 0).data(Qt::ToolTipRole).toString().contains(broken.problem));
        table.set_conditions({}, 1);
        QCOMPARE(table.index(1, ModelTable::FitColumn).data().toString(), QStringLiteral("too large"));
        filter.sort(ModelTable::FitColumn);
        QCOMPARE(filter.index(0, 0).data().toString(), QStringLiteral("Good"));  // broken ones last
        filter.set_text(QStringLiteral("jan q8"));
        QCOMPARE(filter.rowCount(), 1);
        filter.set_text(QStringLiteral("nothing"));
        QCOMPARE(filter.rowCount(), 0);
        table.clear();
        QCOMPARE(table.rowCount(), 0);
    }
};

QTEST_GUILESS_MAIN(TestModelLook)
#include "tst_model_look.moc"
