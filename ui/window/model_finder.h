// Which model files there are, and which one to open at the start.
#pragma once

#include <vector>

#include <QString>
#include <QStringList>

namespace vitrine::ui {

QString models_folder();        // $XDG_DATA_HOME/vitrine/models
QString default_model_path();   // in it; may not exist
QString embedded_model_path();  // from where the program lies; empty: not there
bool is_embedded_model(const QString& path);

// What people call it: the file's name without the format, which stands beside it. Names inside files are
// often those of a training run; the built-in model's is ours.
QString shown_model_name(const QString& path, const QString& own_name);

struct FoundModel {
    QString path;
    QString name;
    qint64 bytes = 0;
    QString problem;  // why it cannot be opened; empty: nothing was found at a glance
};
// GGUF files (a split model once) and Hugging Face folders directly in the models folder, by name. Damaged
// ones are there with their problem.
std::vector<FoundModel> installed_models();

// A GGUF file, or a folder with a config.json: something that can be asked to open.
bool looks_like_model(const QString& path);

struct StartModel {
    QString path;       // empty: none to open
    QString missing;    // the one used last is not there any more
    QString held_back;  // would have been opened, but the program ended while loading it
};
// In this order: what was asked for, used last, default, embedded.
StartModel choose_start_model(const QString& asked, const QString& last, const QString& unfinished);

}  // namespace vitrine::ui
