#include "ui/panels/throttle.h"

#include <algorithm>
#include <utility>

namespace vitrine::ui {

Throttle::Throttle(int interval_ms, std::function<void()> action, QObject* parent)
    : QObject(parent), interval_ms_(interval_ms), action_(std::move(action)) {
    timer_.setSingleShot(true);
    QObject::connect(&timer_, &QTimer::timeout, this, [this] { run_now(); });
}

void Throttle::request() {
    if (timer_.isActive()) return;
    const qint64 passed = since_.isValid() ? since_.elapsed() : interval_ms_;
    if (passed >= interval_ms_) {
        run_now();
    } else {
        timer_.start(std::max(1, static_cast<int>(interval_ms_ - passed)));
    }
}

void Throttle::run_now() {
    timer_.stop();
    since_.start();
    action_();
}

}  // namespace vitrine::ui
