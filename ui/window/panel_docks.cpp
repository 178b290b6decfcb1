#include "ui/window/panel_docks.h"

#include <algorithm>

#include <QDockWidget>
#include <QEvent>
#include <QMainWindow>
#include <QPainter>
#include <QPointer>
#include <QScrollArea>
#include <QTabBar>
#include <QVBoxLayout>

#include "ui/panels/batch_panel.h"
#include "ui/panels/kv_panel.h"
#include "ui/panels/latency_panel.h"
#include "ui/panels/memory_panel.h"
#include "ui/panels/spec_panel.h"
#include "ui/settings/theme.h"

namespace vitrine::ui {
namespace {

// The strip over a panel by which it can be moved, closed or floated; the panel itself has the title.
class DockHandle : public QWidget {
  public:
    explicit DockHandle(QWidget* parent) : QWidget(parent) {
        setToolTip(PanelDocks::tr("Drag to move this panel; double-click to float it"));
        setCursor(Qt::OpenHandCursor);
        setAttribute(Qt::WA_Hover);
    }
    QSize sizeHint() const override { return {40, 6}; }
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    void paintEvent(QPaintEvent*) override {
        if (!underMouse()) return;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(current_theme().text_third);
        painter.drawRoundedRect(QRectF(width() / 2.0 - 16, 2, 32, 3), 1.5, 1.5);
    }
};

// Where there is not enough height for a panel it can be scrolled: nothing is cut off, and a small screen
// does not make the window larger than itself.
class DockPad : public QScrollArea {
  public:
    explicit DockPad(QWidget* content) {
        auto* inner = new QWidget;
        auto* column = new QVBoxLayout(inner);
        column->setContentsMargins(5, 0, 8, 4);
        column->addWidget(content);
        setWidget(inner);
        setWidgetResizable(true);
        setFrameShape(QFrame::NoFrame);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setFocusPolicy(Qt::NoFocus);
        inner->setAutoFillBackground(false);
        viewport()->setAutoFillBackground(false);
    }
    QSize sizeHint() const override { return widget()->sizeHint(); }
    QSize minimumSizeHint() const override { return {widget()->minimumSizeHint().width(), 72}; }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(viewport());
        painter.fillRect(viewport()->rect(), current_theme().window);
    }
};

}  // namespace

PanelDocks::PanelDocks(QMainWindow* window, SequenceColors* colors) : window_(window) {
    kv_ = new KvPanel(colors);
    latency_ = new LatencyPanel(colors);
    speculation_ = new SpecPanel;
    batch_ = new BatchPanel(colors);
    memory_ = new MemoryPanel;
    add(kv_, QStringLiteral("kv"));
    add(latency_, QStringLiteral("latency"));
    add(speculation_, QStringLiteral("speculation"));
    add(batch_, QStringLiteral("batch"));
    add(memory_, QStringLiteral("memory"));
    connect(batch_, &BatchPanel::chat_clicked, this, &PanelDocks::chat_clicked);
    window_->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    window_->installEventFilter(this);
    lay_out();
    first_layout_ = window_->saveState(layout_version);
}

PanelDocks::~PanelDocks() {
    window_->removeEventFilter(this);
    for (QDockWidget* dock : docks_) {
        dock->removeEventFilter(this);
        dock->disconnect(this);
        delete dock;
    }
}

// The pool and the time of each token are always there; who is computed together, what drafting gives and
// what memory takes share a place, one behind the other.
void PanelDocks::lay_out() {
    QDockWidget* kv = docks_[0];
    QDockWidget* latency = docks_[1];
    QDockWidget* batch = docks_[3];
    window_->splitDockWidget(kv, latency, Qt::Vertical);
    window_->splitDockWidget(latency, batch, Qt::Vertical);
    window_->tabifyDockWidget(batch, docks_[2]);
    window_->tabifyDockWidget(batch, docks_[4]);
    batch->raise();
    window_->resizeDocks({kv, latency, batch}, {285, 290, 245}, Qt::Vertical);
}

QDockWidget* PanelDocks::add(Panel* panel, const QString& name) {
    auto* dock = new QDockWidget(panel->title(), window_);
    dock->setObjectName(QStringLiteral("dock-") + name);
    dock->setTitleBarWidget(new DockHandle(dock));
    dock->setWidget(new DockPad(panel));
    panel->hide();  // until look_at() sees it
    dock->setMinimumWidth(current_theme().metrics.docks_min);
    window_->addDockWidget(Qt::RightDockWidgetArea, dock);
    connect(dock, &QDockWidget::visibilityChanged, this, [this, dock] { look_at(dock); });
    dock->installEventFilter(this);
    docks_.push_back(dock);
    panels_.push_back(panel);
    return dock;
}

bool PanelDocks::eventFilter(QObject* watched, QEvent* event) {
    // The tabs of docks that share a place are made by the window when it needs them.
    if (watched == window_ && event->type() == QEvent::ChildPolished)
        if (auto* tabs = qobject_cast<QTabBar*>(static_cast<QChildEvent*>(event)->child()))
            tabs->setAccessibleName(tr("Panels"));
    if (event->type() == QEvent::Move || event->type() == QEvent::Show || event->type() == QEvent::Hide)
        if (auto* dock = qobject_cast<QDockWidget*>(watched)) {
            // Hide is told before isVisible() knows.
            QMetaObject::invokeMethod(
                this,
                [this, dock = QPointer<QDockWidget>(dock)] {
                    if (dock) look_at(dock);
                },
                Qt::QueuedConnection);
        }
    return QObject::eventFilter(watched, event);
}

// A dock behind another one's tab counts as visible to Qt: it lies outside of the window. Its panel is hidden
// here, so that it works no more than a closed one.
void PanelDocks::look_at(QDockWidget* dock) {
    const bool seen =
        dock->isVisible() &&
        (dock->isFloating() || (dock->geometry().right() >= 0 && dock->geometry().bottom() >= 0));
    const auto at = std::find(docks_.begin(), docks_.end(), dock);
    if (at == docks_.end() || seen == visible_.contains(dock)) return;
    if (seen) {
        visible_.insert(dock);
    } else {
        visible_.remove(dock);
    }
    panels_[static_cast<std::size_t>(at - docks_.begin())]->setVisible(seen);
    emit visibility_changed();
}

void PanelDocks::reset() { window_->restoreState(first_layout_, layout_version); }

// The answer is the largest thing: panels get their full width only where there is enough.
void PanelDocks::fit(int window_width, int list_width) {
    const Metrics& metrics = current_theme().metrics;
    const int wanted = std::clamp(window_width - list_width - 560, metrics.docks_min, metrics.docks);
    window_->resizeDocks({docks_[0]}, {wanted}, Qt::Horizontal);
}

void PanelDocks::set_model(const ModelInfo& info) {
    if (info.valid()) {
        for (Panel* panel : panels_) panel->clear();
        const std::uint64_t taken = info.kv_bytes + info.workspace_bytes;
        memory_->set_facts({.weights = info.weights_bytes,
                            .kv = info.kv_bytes,
                            .workspace = info.workspace_bytes,
                            .draft = 0,
                            .free = info.free_bytes > taken ? info.free_bytes - taken : 0,
                            .format = info.format,
                            .device = info.device,
                            .kv_dtype = info.kv_dtype,
                            .layers = info.layers,
                            .kv_heads = info.kv_heads,
                            .head_dim = info.head_dim,
                            .context = info.context,
                            .block_size = info.block_size,
                            .blocks = info.blocks});
    } else {
        set_snapshot(nullptr);
    }
}

void PanelDocks::set_snapshot(const std::shared_ptr<const KvSnapshot>& snapshot) {
    for (Panel* panel : panels_) panel->set_snapshot(snapshot);
}

void PanelDocks::append(const std::vector<Record>& records) {
    for (Panel* panel : panels_) panel->append(records);
}

void PanelDocks::set_free_memory(std::uint64_t bytes) { memory_->set_free(bytes); }

void PanelDocks::set_bandwidth(double weights_gb_s, double read_gb_s) {
    latency_->set_bandwidth(weights_gb_s, read_gb_s);
}

void PanelDocks::set_request_session(qint64 request, qint64 session) {
    for (Panel* panel : panels_) panel->set_request_session(request, session);
}

void PanelDocks::set_names(const QHash<qint64, QString>& names) {
    for (Panel* panel : panels_) panel->set_names(names);
}

void PanelDocks::set_selected(qint64 session) {
    for (Panel* panel : panels_) panel->set_selected(session);
}

void PanelDocks::set_paused(bool paused) {
    for (Panel* panel : panels_) panel->set_paused(paused);
}

}  // namespace vitrine::ui
