// The state of the kernel that runs, and the change between its threads and the scheduler.
#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fiber.hpp"
#include "memory.hpp"
#include "shim.hpp"

namespace emulator {

constexpr size_t STACK_BYTES = 64 * 1024;
constexpr unsigned LARGEST_BLOCK = 1024;
// Dynamic shared memory of a block on the smallest device meant (sm_80).
constexpr unsigned LARGEST_SHARED = 163 * 1024;

enum class State { Ready, AtBarrier, AtExchange, Done };

struct Fiber {
    Context context;
    State state;
    Place3 place;
    Site site;
    uint64_t bits;
    unsigned source;
};

// Stops the kernel with a reason; thrown by the scheduler alone, never across a fiber.
struct Stopped {
    std::string reason;
};

inline std::string at(const Site &site) {
    std::string_view file = site.file_name();
    file.remove_prefix(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
    return std::string(file) + ":" + std::to_string(site.line());
}

inline bool same(const Site &a, const Site &b) { return a.line() == b.line() && std::string_view(a.file_name()) == b.file_name(); }

inline std::string where(Place3 place) {
    return "(" + std::to_string(place.x) + ", " + std::to_string(place.y) + ", " + std::to_string(place.z) + ")";
}

// The kernel that runs: there is one at a time.
struct Machine {
    std::unique_ptr<Guarded> stacks;
    std::vector<Fiber> fibers;
    std::unique_ptr<Guarded> shared;
    float *dynamic = nullptr;
    Context scheduler;
    Fiber *current = nullptr;
    const Entry *entry = nullptr;
    void **arguments = nullptr;
    // Set where a fiber broke a rule, for the scheduler to report.
    const char *volatile broken = nullptr;
    // Whether a fiber runs, as against the scheduler.
    volatile std::sig_atomic_t inside = 0;
};

inline Machine machine;

inline void give_way(State state, Site site) {
    machine.current->state = state;
    machine.current->site = site;
    switch_context(machine.current->context, machine.scheduler);
}

inline void run_thread() {
    machine.entry->call(machine.arguments);
    give_way(State::Done, Site());
    __builtin_unreachable();
}

inline void resume(Fiber &fiber) {
    machine.current = &fiber;
    threadIdx = fiber.place;
    machine.inside = 1;
    switch_context(machine.scheduler, fiber.context);
    machine.inside = 0;
    if (machine.broken != nullptr) {
        throw Stopped{std::string(machine.broken) + " by thread " + where(fiber.place) + " of block " + where(blockIdx)};
    }
}

}  // namespace emulator
