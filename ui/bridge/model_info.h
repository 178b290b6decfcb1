// What the window knows of the loaded model: a value, made by the worker when loading ended.
#pragma once

#include <cstdint>

#include <QMetaType>
#include <QString>
#include <QStringList>

namespace vitrine::ui {

struct ModelInfo {
    QString name;  // for people
    QString path;
    QString architecture;
    QString format;       // "Q4_1"
    QString device;       // "CPU AVX-512 VNNI · 2 threads"
    QString device_note;  // why it is not a GPU; empty where it is
    QString kv_dtype;     // "F16"
    std::uint64_t weights_bytes = 0;
    std::uint64_t parameters = 0;
    std::uint64_t kv_bytes = 0;
    std::uint64_t workspace_bytes = 0;
    std::uint64_t free_bytes = 0;  // on the device, before the KV pool was made
    std::int32_t context = 0;      // most tokens of one conversation
    std::int32_t block_size = 0;
    std::int32_t blocks = 0;
    std::int32_t layers = 0;
    std::int32_t kv_heads = 0;
    std::int32_t head_dim = 0;  // numbers of one key of one head
    bool has_template = false;
    QString template_source;
    QStringList template_switches;  // what the template can be asked: "enable_thinking"
    QString template_error;         // why it cannot chat, where it has a template that does not parse
    QStringList warnings;
    bool valid() const { return !path.isEmpty(); }
};

}  // namespace vitrine::ui

Q_DECLARE_METATYPE(vitrine::ui::ModelInfo)
