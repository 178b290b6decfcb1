// Runs something at once, but not again before an interval has passed; requests in between are one run at its
// end. No timer runs while nothing is requested.
#pragma once

#include <functional>

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

namespace vitrine::ui {

class Throttle : public QObject {
  public:
    Throttle(int interval_ms, std::function<void()> action, QObject* parent);

    void request();
    void run_now();  // for a panel that has just become visible
    void cancel() { timer_.stop(); }
    bool pending() const { return timer_.isActive(); }

  private:
    int interval_ms_;
    std::function<void()> action_;
    QElapsedTimer since_;
    QTimer timer_;
};

}  // namespace vitrine::ui
