// What the emulator offers to whoever launches kernels: a C interface.
#pragma once

#include <cstddef>
#include <cstdint>

#define EMULATOR_API __attribute__((visibility("default")))

extern "C" {

struct EmulatorLaunch {
    const char *name;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    // In which order blocks, warps and lanes run: 0 forward, 1 reverse, 2 shuffled by `seed`.
    unsigned order;
    uint64_t seed;
    // A pointer to each parameter's value.
    void **arguments;
    unsigned argument_count;
};

// Runs a kernel to its end. Returns 0, or 1 after it was stopped, with the reason in `message`.
EMULATOR_API int emulator_launch(const EmulatorLaunch *launch, char *message, size_t room);

// The number of parameters of an entry point and their sizes, as far as there is room; -1 where there is none of this name.
EMULATOR_API int emulator_entry(const char *name, unsigned *sizes, unsigned room);

// Poisoned memory that ends at a guard page, or begins at one; null where there is none left.
EMULATOR_API void *emulator_allocate(size_t bytes, int begins_at_guard);
EMULATOR_API void emulator_free(void *memory);
}
