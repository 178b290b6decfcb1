// The main window: puts the parts together and carries what happens from one to the other.
#pragma once

#include <memory>

#include <QElapsedTimer>
#include <QMainWindow>
#include <QTimer>

#include "ui/bridge/engine_worker.h"
#include "ui/settings/app_settings.h"
#include "ui/settings/load_marker.h"
#include "ui/settings/sequence_colors.h"
#include "ui/window/chat_controller.h"
#include "ui/window/options.h"
#include "ui/window/panel_docks.h"
#include "ui/window/throughput.h"
#include "ui/window/token_recorder.h"

class QSplitter;

namespace vitrine::ui {

class ChatList;
class ChatPage;
class ModelPicker;
class SettingsDialog;
class StatusStrip;
struct Handover;
class TemplateDialog;
class TopBar;

class MainWindow : public QMainWindow {
    Q_OBJECT

  public:
    // folder: where chats and settings lie.
    MainWindow(const Options& options, const QString& folder, std::unique_ptr<Backend> backend);
    ~MainWindow() override;

    // Opens the model that the options, the settings or the installation give.
    void open_first_model();
    void open_model(const QString& path);

    ChatController& chats() { return controller_; }
    EngineWorker& worker() { return worker_; }
    ChatPage* page() { return page_; }
    ChatList* chat_list() { return chat_list_; }
    TopBar* top_bar() { return top_bar_; }
    PanelDocks* panels() { return panels_.get(); }
    KvPanel* kv_panel() { return panels_->kv(); }
    LatencyPanel* latency_panel() { return panels_->latency(); }
    const ModelInfo& model() const { return model_; }
    qint64 current_chat() const { return current_; }
    void show_chat(qint64 id);
    qint64 start_chat();
    void set_theme(ThemeChoice choice);
    SettingsDialog* show_settings();
    ModelPicker* show_picker();
    TemplateDialog* show_template();  // null: no model is open
    void save_preset(const QString& name, const ChatSettings& settings);
    // What a second start of the program was asked for.
    void take_over(const Handover& handover);
    // Without a dialog; what happened is said in the chat.
    void write_export(qint64 chat, const QString& path, bool markdown);
    void import_file(const QString& path);

  signals:
    void model_ready();
    void model_refused(const QString& why);

  protected:
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

  private:
    // main_window.cpp
    void build();
    void connect_parts();
    void apply_theme();
    void update_visibility();
    void on_records(const std::vector<Record>& records);
    void show_notices();
    void fit_docks();
    void show_steps();
    void run_slowly(int per_second);
    // main_window_chats.cpp
    void update_empty_text();
    void update_composer();
    void keep_draft();
    void ask_count();
    void on_counted(qint64 chat, const CountAnswer& answer);
    void announce_overflow(const CountAnswer& answer, int context);
    void set_cut_oldest(bool cut);
    void on_not_sent(qint64 chat, const QString& text, const Error& error, const std::vector<Turn>& turns);
    void remove_chat(qint64 id);
    void begin_edit(qint64 message);
    void leave_edit();
    void choose_version(qint64 message, int by);
    void step_version(int by);
    QStringList earlier_messages() const;
    // main_window_files.cpp
    void connect_files();
    void export_chat(qint64 id, bool markdown);
    void import_chats();
    // main_window_settings.cpp
    void connect_settings();
    void keep_on_screen();
    // main_window_actions.cpp
    void build_actions();
    QAction* add_action(QMenu* menu, const QString& text, const QKeySequence& keys,
                        std::function<void()> run);
    void show_shortcuts();
    void show_about();
    void zoom_text(double factor);
    void step_chat(int by);
    // main_window_tokens.cpp
    struct CachePlace {
        int logical = -1;
        int physical = -1;
    };
    CachePlace cache_place(qint64 message, qint32 offset) const;
    void connect_tokens();
    void build_reading_actions(QMenu* menu);
    bool close_over_text();
    // main_window_model.cpp
    void build_model_menus();
    void fill_model_menu();
    void fill_cache_menu();
    void choose_file();
    void choose_folder();
    QString folder_to_look_in() const;
    void on_loaded(const ModelInfo& loaded);
    void on_load_failed(const QString& path, const Error& error, bool kept);
    LoadSpec spec_for(const QString& path) const;

    Options options_;
    QString folder_;
    AppSettings settings_;
    LoadMarker marker_;
    bool system_dark_ = false;
    SequenceColors colors_;
    StoreThread store_;
    EngineWorker worker_;
    ChatController controller_;
    TokenRecorder recorder_;
    Throughput throughput_;
    EngineFigures figures_;
    double read_gb_s_ = 0;
    qint64 iteration_ = 0;

    TopBar* top_bar_ = nullptr;
    ChatList* chat_list_ = nullptr;
    ChatPage* page_ = nullptr;
    StatusStrip* status_ = nullptr;
    QSplitter* splitter_ = nullptr;
    std::unique_ptr<PanelDocks> panels_;
    QMenu* model_menu_ = nullptr;
    QMenu* cache_menu_ = nullptr;
    std::vector<QAction*> listed_;  // under F1

    ModelInfo model_;
    QString loading_path_;
    qint64 current_ = 0;
    qint64 editing_ = 0;  // the message of the user that the composer changes
    QString kept_text_;   // what was in the composer before
    QString too_long_;    // why the present text cannot be sent
    QTimer count_timer_;
    QTimer draft_timer_;
    bool chats_ready_ = false;
};

}  // namespace vitrine::ui
