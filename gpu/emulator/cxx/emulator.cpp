// Runs kernels: one fiber a CUDA thread, block after block.
//
// What is caught, each with its place: a barrier or a warp operation that not all threads reach, or reach at different
// lines; a partial warp mask; an access beyond a buffer or beyond dynamic shared memory (guard pages); an index beyond an
// array (compiled in); shared memory read before it is written (it is poisoned with NaN before each block, so results show).

#include "emulator.hpp"

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "fiber.hpp"
#include "memory.hpp"
#include "shim.hpp"

Place3 threadIdx, blockIdx, blockDim, gridDim;

// Where the shared variables of all kernels lie; the linker names the ends of a section so.
extern "C" {
extern std::byte __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern std::byte __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));
}

namespace emulator {
namespace {

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

std::string at(const Site &site) {
    std::string_view file = site.file_name();
    file.remove_prefix(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
    return std::string(file) + ":" + std::to_string(site.line());
}

bool same(const Site &a, const Site &b) { return a.line() == b.line() && std::string_view(a.file_name()) == b.file_name(); }

std::string where(Place3 place) {
    return "(" + std::to_string(place.x) + ", " + std::to_string(place.y) + ", " + std::to_string(place.z) + ")";
}

// Small, seeded, the same everywhere.
struct Shuffler {
    uint64_t state;

    uint64_t next() {
        state += 0x9e3779b97f4a7c15u;
        uint64_t word = state;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
        word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
        return word ^ (word >> 31);
    }

    void shuffle(std::vector<unsigned> &items) {
        for (size_t left = items.size(); left > 1; left--) std::swap(items[left - 1], items[next() % left]);
    }
};

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

Machine machine;
std::mutex one_at_a_time;

void give_way(State state, Site site) {
    machine.current->state = state;
    machine.current->site = site;
    switch_context(machine.current->context, machine.scheduler);
}

void run_thread() {
    machine.entry->call(machine.arguments);
    give_way(State::Done, Site());
    __builtin_unreachable();
}

void resume(Fiber &fiber) {
    machine.current = &fiber;
    threadIdx = fiber.place;
    machine.inside = 1;
    switch_context(machine.scheduler, fiber.context);
    machine.inside = 0;
    if (machine.broken != nullptr) {
        throw Stopped{std::string(machine.broken) + " by thread " + where(fiber.place) + " of block " + where(blockIdx)};
    }
}

// Guard pages and compiled-in checks end here, on the signal stack. The fiber is given up; the scheduler goes on.
void on_signal(int signal) {
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

// The threads of one block, until all are done.
class Block {
   public:
    Block(const EmulatorLaunch &launch, Shuffler &shuffler) : launch_(launch), shuffler_(shuffler) {
        threads_ = launch.block[0] * launch.block[1] * launch.block[2];
        warps_.resize(threads_ / warpSize);
        lanes_.resize(warpSize);
        std::iota(warps_.begin(), warps_.end(), 0u);
        std::iota(lanes_.begin(), lanes_.end(), 0u);
        arrange();
    }

    void run(Place3 place) {
        blockIdx = place;
        poison(__start_emulated_shared, static_cast<size_t>(__stop_emulated_shared - __start_emulated_shared));
        poison(machine.dynamic, launch_.shared_bytes);
        for (unsigned i = 0; i < threads_; i++) begin(i);
        while (!finished()) {
            if (launch_.order == 2) arrange();
            for (unsigned warp : warps_) {
                for (unsigned lane : lanes_) {
                    Fiber &fiber = machine.fibers[warp * warpSize + lane];
                    if (fiber.state == State::Ready) resume(fiber);
                }
            }
            if (!exchange_warps()) release_barrier();
        }
    }

   private:
    void arrange() {
        if (launch_.order == 2) {
            shuffler_.shuffle(warps_);
            shuffler_.shuffle(lanes_);
        } else if (launch_.order == 1) {
            std::iota(warps_.rbegin(), warps_.rend(), 0u);
            std::iota(lanes_.rbegin(), lanes_.rend(), 0u);
        }
    }

    void begin(unsigned i) {
        Fiber &fiber = machine.fibers[i];
        const unsigned x = launch_.block[0], y = launch_.block[1];
        fiber.state = State::Ready;
        fiber.place = {i % x, i / x % y, i / (x * y)};
        std::byte *slot = machine.stacks->begin() + i * (STACK_BYTES + page_size());
        begin_context(fiber.context, slot + page_size(), STACK_BYTES, run_thread);
    }

    bool finished() const {
        for (unsigned i = 0; i < threads_; i++) {
            if (machine.fibers[i].state != State::Done) return false;
        }
        return true;
    }

    // Carries out the warp operations that whole warps have reached; says whether there were any.
    bool exchange_warps() {
        bool any = false;
        for (unsigned warp = 0; warp < threads_ / warpSize; warp++) {
            Fiber *lanes = &machine.fibers[warp * warpSize];
            unsigned waiting = 0, one = 0;
            for (unsigned lane = 0; lane < warpSize; lane++) {
                if (lanes[lane].state == State::AtExchange) waiting++, one = lane;
            }
            if (waiting == 0) continue;
            for (unsigned lane = 0; lane < warpSize; lane++) check_together(lanes[one], lanes[lane], "warp operation");
            uint64_t results[warpSize];
            for (unsigned lane = 0; lane < warpSize; lane++) results[lane] = lanes[lanes[lane].source].bits;
            for (unsigned lane = 0; lane < warpSize; lane++) {
                lanes[lane].bits = results[lane];
                lanes[lane].state = State::Ready;
            }
            any = true;
        }
        return any;
    }

    void release_barrier() {
        const Fiber *one = nullptr;
        for (unsigned i = 0; i < threads_; i++) {
            if (machine.fibers[i].state == State::AtBarrier) one = &machine.fibers[i];
        }
        if (one == nullptr) return;
        for (unsigned i = 0; i < threads_; i++) check_together(*one, machine.fibers[i], "barrier");
        for (unsigned i = 0; i < threads_; i++) machine.fibers[i].state = State::Ready;
    }

    void check_together(const Fiber &one, const Fiber &other, const char *what) const {
        if (other.state == one.state && same(other.site, one.site)) return;
        std::string reason = std::string("divergent ") + what + ": thread " + where(one.place) + " waits at " + at(one.site) + ", thread " +
                             where(other.place);
        reason += other.state == State::Done ? " has ended" : " waits at " + at(other.site);
        throw Stopped{reason};
    }

    const EmulatorLaunch &launch_;
    Shuffler &shuffler_;
    unsigned threads_;
    std::vector<unsigned> warps_, lanes_;
};

const Entry *find(std::string_view name) {
    for (size_t i = 0; i < entry_count; i++) {
        if (name == entries[i].name) return &entries[i];
    }
    return nullptr;
}

void prepare(const EmulatorLaunch &launch) {
    machine.entry = find(launch.name);
    if (machine.entry == nullptr) throw Stopped{"there is no entry point of this name"};
    if (machine.entry->count != launch.argument_count) {
        throw Stopped{std::to_string(launch.argument_count) + " arguments for " + std::to_string(machine.entry->count) + " parameters"};
    }
    const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    if (threads == 0 || threads > LARGEST_BLOCK || threads % warpSize != 0) {
        throw Stopped{"a block of " + std::to_string(threads) + " threads is not a multiple of 32 up to 1,024"};
    }
    if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) throw Stopped{"the grid is empty"};
    if (launch.grid[0] > 0x7fffffffu || launch.grid[1] > 65535 || launch.grid[2] > 65535) throw Stopped{"the grid is too large"};
    if (launch.shared_bytes > LARGEST_SHARED) throw Stopped{"more dynamic shared memory than a device has"};
    if (machine.stacks == nullptr) {
        machine.stacks = std::make_unique<Guarded>(LARGEST_BLOCK * (STACK_BYTES + page_size()));
        machine.shared = std::make_unique<Guarded>(LARGEST_SHARED);
        if (!machine.stacks->usable() || !machine.shared->usable()) throw Stopped{"no memory for stacks"};
        for (unsigned i = 0; i < LARGEST_BLOCK; i++) {
            mprotect(machine.stacks->begin() + i * (STACK_BYTES + page_size()), page_size(), PROT_NONE);
        }
        machine.fibers.resize(LARGEST_BLOCK);
    }
    machine.dynamic = reinterpret_cast<float *>(machine.shared->end() - launch.shared_bytes);
    machine.arguments = launch.arguments;
    machine.broken = nullptr;
    blockDim = {launch.block[0], launch.block[1], launch.block[2]};
    gridDim = {launch.grid[0], launch.grid[1], launch.grid[2]};
}

void run_blocks(const EmulatorLaunch &launch) {
    Shuffler shuffler{launch.seed};
    std::vector<unsigned> order(launch.grid[0] * launch.grid[1] * launch.grid[2]);
    std::iota(order.begin(), order.end(), 0u);
    if (launch.order == 1) std::iota(order.rbegin(), order.rend(), 0u);
    if (launch.order == 2) shuffler.shuffle(order);
    Block block(launch, shuffler);
    for (unsigned i : order) {
        block.run({i % launch.grid[0], i / launch.grid[0] % launch.grid[1], i / (launch.grid[0] * launch.grid[1])});
    }
}

}  // namespace

float *dynamic_shared() { return machine.dynamic; }

unsigned lane() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
}

void barrier(Site site) { give_way(State::AtBarrier, site); }

uint64_t exchange(uint64_t bits, unsigned mask, unsigned source, Site site) {
    Fiber &fiber = *machine.current;
    if (mask != 0xffffffffu) machine.broken = "a warp operation of a part of the warp";
    fiber.bits = bits;
    fiber.source = source % warpSize;
    give_way(State::AtExchange, site);
    return fiber.bits;
}

}  // namespace emulator

using namespace emulator;

extern "C" int emulator_launch(const EmulatorLaunch *launch, char *message, size_t room) {
    const std::lock_guard lock(one_at_a_time);
    std::string reason;
    try {
        prepare(*launch);
        const SignalScope signals;
        run_blocks(*launch);
        return 0;
    } catch (const Stopped &stopped) {
        reason = stopped.reason;
    }
    std::snprintf(message, room, "%s: %s", launch->name, reason.c_str());
    return 1;
}

extern "C" int emulator_entry(const char *name, unsigned *sizes, unsigned room) {
    const Entry *entry = find(name);
    if (entry == nullptr) return -1;
    for (unsigned i = 0; i < entry->count && i < room; i++) sizes[i] = entry->sizes[i];
    return static_cast<int>(entry->count);
}

namespace {
std::mutex memory_lock;
std::map<void *, std::unique_ptr<Guarded>> memories;
}  // namespace

extern "C" void *emulator_allocate(size_t bytes, int begins_at_guard) {
    auto memory = std::make_unique<Guarded>(bytes);
    if (!memory->usable()) return nullptr;
    poison(memory->begin(), memory->size());
    void *first = begins_at_guard ? memory->begin() : memory->end() - bytes;
    const std::lock_guard lock(memory_lock);
    // Two empty pieces of memory may have one address.
    memories[first] = std::move(memory);
    return first;
}

extern "C" void emulator_free(void *memory) {
    const std::lock_guard lock(memory_lock);
    memories.erase(memory);
}
