// The threads of a block: in which order they run, what they wait for, and what may not happen while they wait.
#pragma once

#include <numeric>
#include <utility>

#include "emulator.hpp"
#include "machine.hpp"

// Where the shared variables of all kernels lie; the linker names the ends of a section so.
extern "C" {
extern std::byte __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern std::byte __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));
}

namespace emulator {

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
        const std::string waiting = "thread " + where(one.place) + " waits at " + at(one.site);
        const std::string elsewhere = other.state == State::Done ? " has ended" : " waits at " + at(other.site);
        throw Stopped{std::string("divergent ") + what + ": " + waiting + ", thread " + where(other.place) + elsewhere};
    }

    const EmulatorLaunch &launch_;
    Shuffler &shuffler_;
    unsigned threads_;
    std::vector<unsigned> warps_, lanes_;
};

}  // namespace emulator
