// The dock "Latency": percentiles of the time between tokens, speed of the selected chat, share of the memory
// bandwidth, and every token on a timeline. While hidden, records are only put into the model's ring.
#pragma once

#include <vector>

#include <QHash>

#include "ui/panels/kv_model.h"
#include "ui/panels/latency_model.h"
#include "ui/panels/panel.h"
#include "ui/panels/throttle.h"
#include "ui/plot/figure_format.h"
#include "ui/settings/sequence_colors.h"

namespace vitrine::ui {

class FigureRow;
class LatencyPlot;
class PhaseStrip;

class LatencyPanel : public Panel {
    Q_OBJECT

  public:
    // `colors` is shared with the chat list and lives longer than the panel.
    explicit LatencyPanel(SequenceColors* colors, QWidget* parent = nullptr);

    const LatencyModel& model() const { return model_; }
    LatencyPlot* plot() { return plot_; }
    PhaseStrip* phases() { return phases_; }
    FigureRow* figure_row() { return figures_; }
    int refreshes() const { return refreshes_; }  // see KvPanel
    bool timers_running() const { return refresh_.pending() || figure_refresh_.pending(); }
    // Shows everything known so far at once, for screenshots. Nothing where the panel is hidden.
    void bring_up_to_date() override;

    // One row a token.
    QString csv() const override;

  public slots:
    void append(const std::vector<vitrine::Record>& records) override;
    // Whose colour and name a request's tokens have. Before or after its first records.
    void set_request_session(qint64 request, qint64 session) override;
    void set_selected(qint64 session) override;
    void set_names(const QHash<qint64, QString>& names) override;
    // Weights read by the engine and what this machine can read, both measured, in 10⁹ bytes a second. Not
    // positive: not known.
    void set_bandwidth(double weights_gb_s, double read_gb_s);
    // While the engine is stepped: what the newest iteration took, and its standing still is not counted.
    void set_paused(bool paused) override;
    // The weights have another format from now on: marked in the timeline.
    void note_format(const QString& label);
    // Another model: its engine counts requests and time from zero.
    void clear() override;

  signals:
    // session 0 where the request belongs to none.
    void token_clicked(qint64 request, qint64 session, int index);

  protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

  private:
    SequenceKey key_of_request(std::int64_t request) const;
    QString name_of_request(std::int64_t request) const;
    void request_refresh();
    void refresh();
    void refresh_figures();
    void forget_old_requests();
    QString describe(const LatencyPoint& point) const;
    QString outlier_sentence() const;
    QString last_step() const;

    LatencyModel model_;
    SequenceColors* colors_;
    QHash<qint64, qint64> session_of_request_;
    QHash<qint64, QString> names_;
    qint64 selected_ = 0;
    double weights_gb_s_ = 0;
    double read_gb_s_ = 0;
    double typical_ = unknown;
    bool paused_ = false;
    FigureRow* figures_;
    LatencyPlot* plot_;
    PhaseStrip* phases_;
    Throttle refresh_;
    Throttle figure_refresh_;
    int refreshes_ = 0;
};

}  // namespace vitrine::ui
