// What the program remembers between two starts, as an INI file that a person can read and repair.
//
// A value of the wrong kind or out of range counts as absent, and is said; the others are kept. A file that
// is no INI file at all is set aside under a new name. Where the file cannot be written the program runs
// with what it could read, and says which path it is.
#pragma once

#include <memory>

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QStringList>

namespace vitrine::ui {

enum class ThemeChoice { System, Light, Dark };

class AppSettings {
  public:
    // The folder is made where it is not there.
    explicit AppSettings(const QString& folder);

    ThemeChoice theme() const;
    void set_theme(ThemeChoice theme);
    double text_zoom() const;  // 0.7 to 2.5
    void set_text_zoom(double zoom);
    int threads() const;  // 0: one for each core
    void set_threads(int threads);
    QString kv_dtype() const;  // "F32", "F16", "BF16"
    void set_kv_dtype(const QString& dtype);
    int block_size() const;  // 8 to 256, a multiple of 8
    void set_block_size(int tokens);
    int slow_pace() const;  // iterations a second when the engine runs slowly, 1 to 20
    void set_slow_pace(int per_second);
    QString device() const;  // "auto", "cpu", "cuda"
    void set_device(const QString& device);
    int context() const;  // tokens; 0: as much as the model was trained for
    void set_context(int tokens);
    int memory_budget_mib() const;  // for weights, KV pool and workspace; 0: what is free
    void set_memory_budget_mib(int mib);
    int panel_refresh() const;  // a second, 1 to 60
    void set_panel_refresh(int per_second);
    // Folders with models beside Vitrine's own. One that is not there is kept: it may be on a disk that is
    // off-line.
    QStringList model_folders() const;
    void set_model_folders(const QStringList& folders);
    bool search_other_programs() const;  // LM Studio, GPT4All, Jan, Hugging Face
    void set_search_other_programs(bool search);
    QString language() const;  // "de", "en"; empty: as the system
    void set_language(const QString& language);
    // The same before there is a window: only looks.
    static QString stored_language(const QString& folder);
    QByteArray presets() const;  // as presets_to_json() writes them
    void set_presets(const QByteArray& json);
    QString last_model() const;
    void set_last_model(const QString& path);
    qint64 last_chat() const;
    void set_last_chat(qint64 id);
    QByteArray geometry() const;
    QByteArray layout() const;
    void set_window(const QByteArray& geometry, const QByteArray& layout);
    int list_width() const;  // 160 to 600
    void set_list_width(int width);
    // Sampler settings that new chats begin with, as ChatSettings writes them.
    QByteArray chat_defaults() const;
    void set_chat_defaults(const QByteArray& json);

    QString path() const;
    // What was wrong, for people; empty afterwards.
    QStringList take_notices();
    void sync();

  private:
    int number(const QString& key, int standard, int least, int most) const;
    void complain(const QString& key, const QVariant& value, const QString& used) const;

    std::unique_ptr<QSettings> file_;
    mutable QStringList notices_;
    mutable QStringList complained_;
    bool write_failure_said_ = false;
};

}  // namespace vitrine::ui
