// The docks beside the chat: makes them, lays them out, hands to each what the engine tells, and knows
// whether anybody looks.
#pragma once

#include <memory>
#include <vector>

#include <QObject>
#include <QSet>

#include "ui/bridge/engine_worker.h"
#include "ui/settings/sequence_colors.h"

class QDockWidget;
class QMainWindow;

namespace vitrine::ui {

class BatchPanel;
class KvPanel;
class LatencyPanel;
class MemoryPanel;
class Panel;
class SpecPanel;

class PanelDocks : public QObject {
    Q_OBJECT

  public:
    // Both live longer. The docks are the window's children, and go with this object.
    PanelDocks(QMainWindow* window, SequenceColors* colors);
    ~PanelDocks() override;

    KvPanel* kv() { return kv_; }
    LatencyPanel* latency() { return latency_; }
    SpecPanel* speculation() { return speculation_; }
    BatchPanel* batch() { return batch_; }
    MemoryPanel* memory() { return memory_; }
    const std::vector<QDockWidget*>& docks() const { return docks_; }
    const std::vector<Panel*>& panels() const { return panels_; }
    bool any_visible() const { return !visible_.isEmpty(); }

    void reset();  // as in the beginning
    // Their width in a window of this width, beside the list and the chat.
    void fit(int window_width, int list_width);
    // What QMainWindow::saveState() gave with this version; an older layout is not restored.
    static constexpr int layout_version = 3;

    void set_model(const ModelInfo& info);  // an empty one: none is loaded
    void set_snapshot(const std::shared_ptr<const KvSnapshot>& snapshot);
    void append(const std::vector<Record>& records);
    void set_free_memory(std::uint64_t bytes);  // on the device now; 0: not known
    void set_bandwidth(double weights_gb_s, double read_gb_s);
    void set_request_session(qint64 request, qint64 session);
    void set_names(const QHash<qint64, QString>& names);
    void set_selected(qint64 session);
    void set_paused(bool paused);

  signals:
    void visibility_changed();
    void chat_clicked(qint64 session);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void look_at(QDockWidget* dock);  // whether somebody can see it
    QDockWidget* add(Panel* panel, const QString& name);
    void lay_out();

    QMainWindow* window_;
    std::vector<QDockWidget*> docks_;
    std::vector<Panel*> panels_;
    QSet<QDockWidget*> visible_;
    KvPanel* kv_;
    LatencyPanel* latency_;
    SpecPanel* speculation_;
    BatchPanel* batch_;
    MemoryPanel* memory_;
    QByteArray first_layout_;
};

}  // namespace vitrine::ui
