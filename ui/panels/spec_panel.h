// The dock "Speculation": what drafting gives and what it costs, measured. While hidden, records only go into
// the model.
#pragma once

#include "ui/panels/panel.h"
#include "ui/panels/request_book.h"
#include "ui/panels/spec_model.h"
#include "ui/panels/throttle.h"

namespace vitrine::ui {

class FigureRow;
class SpecPicture;

class SpecPanel : public Panel {
    Q_OBJECT

  public:
    explicit SpecPanel(QWidget* parent = nullptr);

    const SpecModel& model() const { return model_; }
    SpecPicture* picture() { return picture_; }
    FigureRow* figure_row() { return figures_; }
    int refreshes() const { return refreshes_; }
    bool timers_running() const { return refresh_.pending() || figure_refresh_.pending(); }

    // One row a verification step.
    QString csv() const override;
    void append(const std::vector<vitrine::Record>& records) override;
    void set_request_session(qint64 request, qint64 session) override;
    void set_names(const QHash<qint64, QString>& names) override;
    void set_paused(bool paused) override;
    void clear() override;
    void bring_up_to_date() override;

  signals:
    // session 0 where the request belongs to none.
    void token_clicked(qint64 request, qint64 session, int index);

  protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

  private:
    void request_refresh();
    void refresh();
    void refresh_figures();
    QString verdict(const SpecFigures& f) const;
    QString last_step() const;

    SpecModel model_;
    RequestBook book_;
    bool paused_ = false;
    FigureRow* figures_;
    SpecPicture* picture_;
    Throttle refresh_;
    Throttle figure_refresh_;
    int refreshes_ = 0;
};

}  // namespace vitrine::ui
