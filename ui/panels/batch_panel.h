// The dock "Batch": who is computed together, iteration by iteration, and who waits for what. While hidden,
// records only go into the model.
#pragma once

#include "ui/panels/batch_model.h"
#include "ui/panels/panel.h"
#include "ui/panels/request_book.h"
#include "ui/panels/throttle.h"
#include "ui/settings/sequence_colors.h"

namespace vitrine::ui {

class BatchStrip;
class FigureRow;

class BatchPanel : public Panel {
    Q_OBJECT

  public:
    // `colors` is shared with the chat list and lives longer than the panel.
    explicit BatchPanel(SequenceColors* colors, QWidget* parent = nullptr);

    const BatchModel& model() const { return model_; }
    BatchStrip* strip() { return strip_; }
    FigureRow* figure_row() { return figures_; }
    int refreshes() const { return refreshes_; }
    bool timers_running() const { return refresh_.pending() || figure_refresh_.pending(); }

    // One row a run of iterations.
    QString csv() const override;
    void set_snapshot(std::shared_ptr<const vitrine::KvSnapshot> snapshot) override;
    void append(const std::vector<vitrine::Record>& records) override;
    void set_request_session(qint64 request, qint64 session) override;
    void set_names(const QHash<qint64, QString>& names) override;
    void set_paused(bool paused) override;
    void clear() override;
    void bring_up_to_date() override;

  signals:
    void chat_clicked(qint64 session);

  protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

  private:
    void request_refresh();
    void refresh();
    void refresh_figures();
    QString waits() const;      // who waits for what
    QString last_step() const;  // what the newest iteration did

    BatchModel model_;
    RequestBook book_;
    std::shared_ptr<const KvSnapshot> snapshot_;
    bool paused_ = false;
    FigureRow* figures_;
    BatchStrip* strip_;
    Throttle refresh_;
    Throttle figure_refresh_;
    int refreshes_ = 0;
};

}  // namespace vitrine::ui
