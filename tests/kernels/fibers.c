/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fiber begins by makecontext, and from then on is entered and left by gcc's __builtin_setjmp and
 * __builtin_longjmp, which keep three registers and ask neither the kernel nor the C library: some
 * nanoseconds, however much is on the stack.
 *
 * To the address sanitizer a stack is memory like any other: functions mark in its shadow what lies
 * between their variables. It must not hear of the jumps, at which it would take the shadow of the
 * stack of the process as that which is left. */
#include "tests/kernels/fibers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    STACK_BYTES = 256 << 10, /* of which those are memory that are used */
    GUARD_BYTES = 64 << 10,  /* below it, where nothing may be used; whole pages of any machine */
    /* Stacks begin at different lines of their page, or all would compete for the same lines of the
     * cache. */
    STAGGER_BYTES = 576,
    STAGGERS = 32
};

struct Fiber {
    FiberPlace place;
    void (*run)(void);
    char *stack;
    size_t stack_bytes;
    bool is_begun;
    Fiber *next; /* of those at rest */
};

static Fiber *at_rest;
static int made;

#ifdef __SANITIZE_ADDRESS__
#define UNCHECKED __attribute__((noinline, no_sanitize("address", "undefined")))
extern void __asan_unpoison_memory_region(const volatile void *at, size_t bytes);
#else
#define UNCHECKED __attribute__((noinline))
#define __asan_unpoison_memory_region(at, bytes) ((void)0)
#endif

static Fiber *make(void)
{
    Fiber *fiber = calloc(1, sizeof *fiber);
    char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!fiber || memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE))
        abort();
    fiber->stack = memory + GUARD_BYTES;
    fiber->stack_bytes = STACK_BYTES - (size_t)(made++ % STAGGERS * STAGGER_BYTES);
    return fiber;
}

Fiber *fiber_take(void (*run)(void))
{
    Fiber *fiber = at_rest;
    if (fiber)
        at_rest = fiber->next;
    else
        fiber = make();
    fiber->run = run;
    return fiber;
}

void fiber_rest(Fiber *fiber)
{
    fiber->next = at_rest;
    at_rest = fiber;
}

void fiber_forget(Fiber *fiber)
{
    fiber->is_begun = false;
    __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
}

UNCHECKED static void begin(Fiber *fiber, FiberPlace back)
{
    ucontext_t context;
    if (getcontext(&context))
        abort();
    context.uc_stack.ss_sp = fiber->stack;
    context.uc_stack.ss_size = fiber->stack_bytes;
    context.uc_link = NULL;
    makecontext(&context, fiber->run, 0);
    fiber->is_begun = true;
    if (__builtin_setjmp(back) == 0)
        setcontext(&context);
}

/* A function of its own: gcc takes a jump in the function of __builtin_setjmp for one that leaves
 * it for ever. */
UNCHECKED static void jump(FiberPlace to)
{
    __builtin_longjmp(to, 1);
}

UNCHECKED static void go(FiberPlace from, FiberPlace to)
{
    if (__builtin_setjmp(from) == 0)
        jump(to);
}

void fiber_enter(Fiber *fiber, FiberPlace back)
{
    if (fiber->is_begun)
        go(back, fiber->place);
    else
        begin(fiber, back);
}

void fiber_leave(Fiber *fiber, FiberPlace back)
{
    go(fiber->place, back);
}
