// Guard pages and compiled-in checks speak by signals.
#pragma once

#include <csignal>
#include <iterator>
#include <vector>

#include "machine.hpp"

namespace emulator {

// A stray access ends here, on the signal stack. The fiber is given up; the scheduler goes on.
inline void on_signal(int signal) {
    if (!machine.inside) {
        // Not a kernel's: let it happen again without us.
        std::signal(signal, SIG_DFL);
        return;
    }
    if (signal == SIGILL || signal == SIGTRAP) {
        machine.broken = "an index outside of its array";
    } else {
        machine.broken = signal == SIGFPE ? "a division by 0" : "an access outside of memory";
    }
    switch_context(machine.current->context, machine.scheduler);
}

// Catches signals while it lives.
class SignalScope {
   public:
    SignalScope() : stack_(64 * 1024) {
        stack_t ours = {};
        ours.ss_sp = stack_.data();
        ours.ss_size = stack_.size();
        sigaltstack(&ours, &old_stack_);
        struct sigaction action = {};
        action.sa_handler = on_signal;
        // The handler does not return, so the signal must not be held back while it runs.
        action.sa_flags = SA_ONSTACK | SA_NODEFER;
        for (size_t i = 0; i < std::size(SIGNALS); i++) sigaction(SIGNALS[i], &action, &old_[i]);
    }
    ~SignalScope() {
        for (size_t i = 0; i < std::size(SIGNALS); i++) sigaction(SIGNALS[i], &old_[i], nullptr);
        sigaltstack(&old_stack_, nullptr);
    }

   private:
    static constexpr int SIGNALS[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
    std::vector<std::byte> stack_;
    stack_t old_stack_ = {};
    struct sigaction old_[std::size(SIGNALS)] = {};
};

}  // namespace emulator
