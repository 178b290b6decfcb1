// Ctrl+C as a value: the signal only counts, and wakes whoever waits for input.
#pragma once

namespace vitrine::cli {

class Interrupts {
  public:
    // From now on SIGINT no longer ends the program. One object at a time.
    Interrupts();
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    // How often Ctrl+C was pressed since the last call of take().
    int pending() const;
    int take();
    // Readable while presses are pending.
    int wake_fd() const;
};

}  // namespace vitrine::cli
