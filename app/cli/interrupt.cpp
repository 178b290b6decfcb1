#include "app/cli/interrupt.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace vitrine::cli {

namespace {

std::atomic<int> presses{0};
std::array<int, 2> wake{-1, -1};
static_assert(std::atomic<int>::is_always_lock_free, "used in a signal handler");

void on_interrupt(int /*signal*/) {
    const int saved = errno;
    presses.fetch_add(1);
    const char byte = 0;
    static_cast<void>(!::write(wake[1], &byte, 1));
    errno = saved;
}

}  // namespace

Interrupts::Interrupts() {
    if (::pipe2(wake.data(), O_CLOEXEC | O_NONBLOCK) != 0) wake = {-1, -1};
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, nullptr);
}

Interrupts::~Interrupts() {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGINT, &action, nullptr);
    for (int& end : wake) {
        if (end >= 0) ::close(end);
        end = -1;
    }
}

int Interrupts::pending() const { return presses.load(); }

int Interrupts::take() {
    std::array<char, 64> bytes{};
    while (wake[0] >= 0 && ::read(wake[0], bytes.data(), bytes.size()) > 0) {
    }
    return presses.exchange(0);
}

int Interrupts::wake_fd() const { return wake[0]; }

}  // namespace vitrine::cli
