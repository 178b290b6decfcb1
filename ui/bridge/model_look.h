// What can be known of a model file without loading it, and whether it fits into memory: for the lists that
// people choose from. Reads files, so it belongs on a thread that may wait; nothing here has state.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <QMetaType>
#include <QString>
#include <QStringList>

#include "core/engine/engine.h"

namespace vitrine::ui {

struct ModelLook {
    QString path;
    QString name;
    QString source;  // whose folder it lies in: "LM Studio"
    QString architecture;
    QString format;
    std::uint64_t file_bytes = 0;
    std::uint64_t weights_bytes = 0;
    std::uint64_t parameters = 0;
    QString problem;                            // why it cannot be opened, one sentence
    std::shared_ptr<const ModelConfig> config;  // null with a problem
};

struct ModelPlace {
    QString folder;
    QString source;
    int depth = 0;          // how many levels of folders below it are looked at
    bool expected = false;  // somebody named it: said where it is not there
};

// Vitrine's own folder first, then `own` ones, then, where wished, the usual ones of LM Studio, GPT4All, Jan
// and the Hugging Face cache, as far as they are there.
std::vector<ModelPlace> model_places(const QString& models_folder, const QStringList& own,
                                     bool other_programs);

// Each model once, also where links lead to it several times. Damaged ones carry their problem and leave the
// others alone. Folders are not followed through links, levels and entries are bounded. Looks at `cancel`
// between files; `found` is called for each.
void look_for_models(const std::vector<ModelPlace>& places, const std::atomic<bool>& cancel,
                     const std::function<void(ModelLook)>& found);

ModelLook look_at_model(const QString& path);

// How a model with these options sits in the memory that is free.
struct ModelFit {
    enum Kind { Unknown, Fits, Shortened, TooLarge };
    Kind kind = Unknown;
    std::uint64_t weights = 0;
    std::uint64_t kv = 0;
    std::uint64_t workspace = 0;
    std::uint64_t free = 0;
    std::int32_t context = 0;  // tokens there is room for
    QString why;               // with TooLarge: needed, free and what to change
    std::uint64_t needed() const { return weights + kv + workspace; }
};
// free: bytes for this model; 0: not known, then the kind is Unknown and the sizes are what they would be.
ModelFit fit_of(const ModelLook& look, const EngineOptions& options, std::uint64_t free);

// Bytes free now on a device that LoadOptions names; 0: not known.
std::uint64_t free_memory(const std::string& device);

}  // namespace vitrine::ui

Q_DECLARE_METATYPE(vitrine::ui::ModelLook)
