#include "ui/models/presets.h"

#include <algorithm>
#include <cmath>

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace vitrine::ui {
namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(Presets)
};

constexpr std::size_t most_presets = 100;

}  // namespace

void SamplerPreset::apply_to(ChatSettings& s) const {
    s.temperature = temperature;
    s.top_k = top_k;
    s.top_p = top_p;
    s.min_p = min_p;
    s.repetition_penalty = repetition_penalty;
}

bool SamplerPreset::matches(const ChatSettings& s) const {
    const auto equal = [](double a, double b) { return std::abs(a - b) < 1e-6; };
    // At temperature 0 the other filters change nothing.
    if (temperature == 0 && s.temperature == 0) return equal(repetition_penalty, s.repetition_penalty);
    return equal(temperature, s.temperature) && top_k == s.top_k && equal(top_p, s.top_p) &&
           equal(min_p, s.min_p) && equal(repetition_penalty, s.repetition_penalty);
}

SamplerPreset preset_of(const QString& name, const ChatSettings& s) {
    return {name.simplified().left(40), true, s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty};
}

std::vector<SamplerPreset> standard_presets() {
    const ChatSettings standard;
    SamplerPreset balanced = preset_of(Words::tr("Balanced"), standard);
    balanced.own = false;
    return {balanced,
            {Words::tr("Precise"), false, 0.2, 20, 0.9, 0.1, 1.05},
            {Words::tr("Creative"), false, 1.0, 0, 0.98, 0.03, 1.1},
            {Words::tr("Plain sampling"), false, 1.0, 0, 1.0, 0.0, 1.0},
            {Words::tr("Greedy"), false, 0.0, 0, 1.0, 0.0, 1.0}};
}

std::vector<SamplerPreset> presets_from_json(const QByteArray& json) {
    std::vector<SamplerPreset> presets;
    for (const QJsonValueConstRef value : QJsonDocument::fromJson(json).array()) {
        const QJsonObject o = value.toObject();
        // Read as a chat's settings are, so that the same bounds hold.
        const ChatSettings settings = ChatSettings::from_json(
            QJsonDocument(o.value("sampler").toObject()).toJson(QJsonDocument::Compact));
        SamplerPreset preset = preset_of(o.value("name").toString(), settings);
        const bool known = std::any_of(presets.begin(), presets.end(),
                                       [&](const SamplerPreset& p) { return p.name == preset.name; });
        if (!preset.name.isEmpty() && !known && presets.size() < most_presets)
            presets.push_back(std::move(preset));
    }
    return presets;
}

QByteArray presets_to_json(const std::vector<SamplerPreset>& presets) {
    QJsonArray list;
    for (const SamplerPreset& preset : presets) {
        if (!preset.own) continue;
        ChatSettings settings;
        preset.apply_to(settings);
        list.append(QJsonObject{{"name", preset.name},
                                {"sampler", QJsonDocument::fromJson(settings.to_json()).object()}});
    }
    return QJsonDocument(list).toJson(QJsonDocument::Compact);
}

}  // namespace vitrine::ui
