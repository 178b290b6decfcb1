// Sampler settings under a name.
#pragma once

#include <vector>

#include <QByteArray>
#include <QString>

#include "ui/models/message.h"

namespace vitrine::ui {

struct SamplerPreset {
    QString name;
    bool own = false;  // made by the user; the others come with the program
    double temperature = 0.7;
    int top_k = 40;
    double top_p = 0.95;
    double min_p = 0.05;
    double repetition_penalty = 1.1;

    void apply_to(ChatSettings& settings) const;
    bool matches(const ChatSettings& settings) const;
};

SamplerPreset preset_of(const QString& name, const ChatSettings& settings);
std::vector<SamplerPreset> standard_presets();

// The user's own, as they are kept among the settings. What makes no sense is left out.
std::vector<SamplerPreset> presets_from_json(const QByteArray& json);
QByteArray presets_to_json(const std::vector<SamplerPreset>& presets);

}  // namespace vitrine::ui
