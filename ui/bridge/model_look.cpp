#include "ui/bridge/model_look.h"

#include <filesystem>
#include <set>
#include <utility>

#include <QCoreApplication>
#include <QDir>
#include <QStandardPaths>

#include "core/engine/device_memory.h"
#include "core/io/model_list.h"
#include "core/io/model_source.h"

namespace vitrine::ui {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_folders = 20'000;

struct Words {
    Q_DECLARE_TR_FUNCTIONS(ModelLook)
};

QString text_of(const std::string& text) { return QString::fromStdString(text); }

QString file_text(const fs::path& path) {
    const std::string bytes = path.string();
    return QString::fromLocal8Bit(bytes.data(), static_cast<qsizetype>(bytes.size()));
}

fs::path path_of(const QString& path) { return fs::path(path.toLocal8Bit().toStdString()); }

// "models--org--name/snapshots/<hash>" of the Hugging Face cache as people call it.
QString cache_name(const fs::path& path) {
    for (const fs::path& part : path) {
        const QString name = file_text(part);
        if (name.startsWith(QLatin1String("models--")))
            return name.mid(8).replace(QStringLiteral("--"), QStringLiteral("/"));
    }
    return {};
}

class Search {
  public:
    Search(const std::atomic<bool>& cancel, const std::function<void(ModelLook)>& found)
        : cancel_(cancel), found_(found) {}

    void run(const ModelPlace& place) {
        const fs::path root = path_of(place.folder);
        std::error_code failed;
        if (!fs::is_directory(root, failed)) {
            if (!place.expected) return;
            ModelLook missing;
            missing.path = place.folder;
            missing.name = QDir::toNativeSeparators(place.folder);
            missing.source = place.source;
            missing.problem = Words::tr(
                "This folder is not there now. It is kept among your folders and looked into again "
                "when it is back.");
            return found_(missing);
        }
        std::vector<std::pair<fs::path, int>> open{{root, 0}};
        while (!open.empty() && !cancel_) {
            const auto [folder, level] = std::move(open.back());
            open.pop_back();
            if (++folders_ > most_folders) return;
            std::set<fs::path> models;
            for (const ListedModel& listed : list_models(folder)) {
                if (cancel_) return;
                models.insert(listed.path);
                report(listed, place);
            }
            if (level >= place.depth) continue;
            for (fs::directory_iterator it(folder, fs::directory_options::skip_permission_denied, failed),
                 end;
                 !failed && it != end; it.increment(failed)) {
                std::error_code ignored;
                // Links to folders can lead round in circles.
                if (it->is_symlink(ignored) || !it->is_directory(ignored)) continue;
                if (!models.count(it->path())) open.emplace_back(it->path(), level + 1);
            }
        }
    }

  private:
    void report(const ListedModel& listed, const ModelPlace& place) {
        std::error_code failed;
        fs::path real = fs::canonical(listed.path, failed);
        if (!seen_.insert(failed ? listed.path : real).second) return;
        ModelLook look;
        if (listed.problem.empty()) {
            look = look_at_model(file_text(listed.path));
        } else {
            look.path = file_text(listed.path);
            look.problem = text_of(listed.problem);
        }
        look.name = text_of(listed.name);
        if (const QString cached = cache_name(listed.path); !cached.isEmpty())
            look.name = listed.path.extension() == ".gguf" ? cached + u'/' + look.name : cached;
        look.source = place.source;
        look.file_bytes = listed.bytes;
        found_(std::move(look));
    }

    const std::atomic<bool>& cancel_;
    const std::function<void(ModelLook)>& found_;
    std::set<fs::path> seen_;
    std::size_t folders_ = 0;
};

}  // namespace

std::vector<ModelPlace> model_places(const QString& models_folder, const QStringList& own,
                                     bool other_programs) {
    std::vector<ModelPlace> places;
    places.push_back({models_folder, QStringLiteral("Vitrine"), 3, false});
    for (const QString& folder : own) places.push_back({folder, Words::tr("own folder"), 4, true});
    if (!other_programs) return places;
    const QDir home = QDir::home();
    const QDir data(QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation));
    const QDir cache(QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation));
    const QDir config(QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation));
    const QString lm_studio = QStringLiteral("LM Studio");
    places.push_back({home.filePath(QStringLiteral(".lmstudio/models")), lm_studio, 3, false});
    places.push_back({cache.filePath(QStringLiteral("lm-studio/models")), lm_studio, 3, false});
    places.push_back(
        {data.filePath(QStringLiteral("nomic.ai/GPT4All")), QStringLiteral("GPT4All"), 1, false});
    for (const QString& folder :
         {data.filePath(QStringLiteral("Jan/data/llamacpp/models")),
          data.filePath(QStringLiteral("Jan/data/models")),
          config.filePath(QStringLiteral("Jan/data/llamacpp/models")),
          config.filePath(QStringLiteral("Jan/data/models")), home.filePath(QStringLiteral("jan/models"))})
        places.push_back({folder, QStringLiteral("Jan"), 4, false});
    // https://huggingface.co/docs/huggingface_hub: HF_HUB_CACHE, else HF_HOME/hub, else the user's cache.
    QString hub = qEnvironmentVariable("HF_HUB_CACHE");
    if (hub.isEmpty() && !qEnvironmentVariableIsEmpty("HF_HOME"))
        hub = QDir(qEnvironmentVariable("HF_HOME")).filePath(QStringLiteral("hub"));
    if (hub.isEmpty()) hub = cache.filePath(QStringLiteral("huggingface/hub"));
    places.push_back({hub, QStringLiteral("Hugging Face"), 4, false});
    return places;
}

void look_for_models(const std::vector<ModelPlace>& places, const std::atomic<bool>& cancel,
                     const std::function<void(ModelLook)>& found) {
    Search search(cancel, found);
    for (const ModelPlace& place : places) {
        if (cancel) return;
        search.run(place);
    }
}

ModelLook look_at_model(const QString& path) {
    ModelLook look;
    look.path = path;
    const auto source = ModelSource::open(path_of(path));
    if (!source.ok()) {
        look.problem = text_of(source.error().message);
        return look;
    }
    const ModelSource& model = **source;
    look.config = std::make_shared<const ModelConfig>(model.config());
    look.architecture = text_of(model.config().architecture);
    look.format = text_of(model.weights_format());
    look.weights_bytes = model.weights_bytes();
    look.parameters = model.parameters();
    return look;
}

ModelFit fit_of(const ModelLook& look, const EngineOptions& options, std::uint64_t free) {
    ModelFit fit;
    if (!look.config) return fit;
    fit.weights = look.weights_bytes;
    fit.free = free;
    const auto wanted = plan_memory(*look.config, options, look.weights_bytes, 0);
    if (wanted.ok()) {
        fit.kv = wanted->kv;
        fit.workspace = wanted->workspace;
        fit.context = wanted->options.context;
    }
    if (free == 0) {
        if (!wanted.ok()) fit.why = text_of(wanted.error().message);
        return fit;
    }
    if (free <= look.weights_bytes) {
        fit.kind = ModelFit::TooLarge;
        return fit;
    }
    const auto plan = plan_memory(*look.config, options, look.weights_bytes, free - look.weights_bytes);
    if (!plan.ok()) {
        fit.kind = ModelFit::TooLarge;
        fit.why = text_of(plan.error().message);
        return fit;
    }
    const std::int32_t full = options.context > 0 ? options.context : look.config->context;
    fit.kv = plan->kv;
    fit.workspace = plan->workspace;
    fit.context = plan->options.context;
    fit.kind = fit.context < full ? ModelFit::Shortened : ModelFit::Fits;
    return fit;
}

std::uint64_t free_memory(const std::string& device) { return device_memory(device).free; }

}  // namespace vitrine::ui
