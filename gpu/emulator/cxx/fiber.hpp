// Switching between stacks on one processor thread.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulator {

#if defined(__x86_64__)

// What is kept of a stack that does not run: where its top is. The rest lies on it.
struct Context {
    void *top;
};

// Pushes the registers that a call must preserve, exchanges the stacks, pops those of the other side.
extern "C" void emulator_switch(void **from, void *to);
asm(R"(
.text
.p2align 4
.hidden emulator_switch
.globl emulator_switch
.type emulator_switch, @function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulator_switch, .-emulator_switch
)");

inline void switch_context(Context &from, Context &to) { emulator_switch(&from.top, to.top); }

// A context that begins with `start` on this stack; `start` must not return.
inline void begin_context(Context &context, std::byte *stack, size_t size, void (*start)()) {
    auto top = reinterpret_cast<uintptr_t>(stack + size) & ~uintptr_t{15};
    auto *words = reinterpret_cast<void **>(top);
    // Six registers, the address to start at, and a return address that is never used: a function begins with its stack
    // eight bytes off sixteen.
    words[-1] = nullptr;
    words[-2] = reinterpret_cast<void *>(start);
    for (int i = 3; i <= 8; i++) words[-i] = nullptr;
    context.top = words - 8;
}

#else

struct Context {
    ucontext_t state;
};

inline void switch_context(Context &from, Context &to) { swapcontext(&from.state, &to.state); }

inline void begin_context(Context &context, std::byte *stack, size_t size, void (*start)()) {
    getcontext(&context.state);
    context.state.uc_stack.ss_sp = stack;
    context.state.uc_stack.ss_size = size;
    context.state.uc_link = nullptr;
    makecontext(&context.state, start, 0);
}

#endif

}  // namespace emulator
