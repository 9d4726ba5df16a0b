// Runs kernels: one fiber a CUDA thread, block after block.
//
// What is caught, each with its place: a barrier or a warp operation that not all threads reach, or reach at different
// lines; a partial warp mask; an access beyond a buffer or beyond dynamic shared memory (guard pages); an index beyond an
// array (compiled in); shared memory read before it is written (it is poisoned with NaN before each block, so results show).

#include "emulator.hpp"

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

#include "block.hpp"
#include "signals.hpp"

Place3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {
namespace {

std::mutex one_at_a_time;

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
        throw Stopped{std::to_string(launch.argument_count) + " arguments for " + std::to_string(machine.entry->count) +
                      " parameters"};
    }
    const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    if (threads == 0 || threads > LARGEST_BLOCK || threads % warpSize != 0) {
        throw Stopped{"a block of " + std::to_string(threads) + " threads is not a multiple of 32 up to 1,024"};
    }
    const auto [x, y, z] = launch.grid;
    if (x == 0 || y == 0 || z == 0) throw Stopped{"the grid is empty"};
    if (x > 0x7fffffffu || y > 65535 || z > 65535) throw Stopped{"the grid is too large"};
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
