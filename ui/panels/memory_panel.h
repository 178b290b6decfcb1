// The dock "Memory": one bar with what takes it, the KV calculator, and what would fit next.
#pragma once

#include "ui/panels/memory_model.h"
#include "ui/panels/panel.h"
#include "ui/panels/throttle.h"

namespace vitrine::ui {

class FigureRow;
class KvCalculator;
class MemoryBar;

class MemoryPanel : public Panel {
    Q_OBJECT

  public:
    explicit MemoryPanel(QWidget* parent = nullptr);

    MemoryBar* bar() { return bar_; }
    KvCalculator* calculator() { return calculator_; }
    FigureRow* figure_row() { return figures_; }
    int refreshes() const { return refreshes_; }
    bool timers_running() const { return refresh_.pending(); }

    QString csv() const override;
    // Invalid facts: no model is loaded.
    void set_facts(const MemoryFacts& facts);
    // Free on the device now; 0: not known.
    void set_free(std::uint64_t bytes);
    void set_snapshot(std::shared_ptr<const vitrine::KvSnapshot> snapshot) override;
    void set_paused(bool paused) override;
    void bring_up_to_date() override;

  protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

  private:
    void request_refresh();
    void refresh();
    QString what_fits() const;
    QString last_step() const;

    MemoryFacts facts_;
    std::shared_ptr<const KvSnapshot> snapshot_;
    std::int32_t used_before_ = -1;  // blocks, at the iteration before
    std::int32_t used_now_ = -1;
    std::int64_t iteration_ = -1;
    bool paused_ = false;
    MemoryBar* bar_;
    FigureRow* figures_;
    KvCalculator* calculator_;
    Throttle refresh_;
    int refreshes_ = 0;
};

}  // namespace vitrine::ui
