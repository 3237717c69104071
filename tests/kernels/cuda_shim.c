/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads of a block as copies of one stack.
 *
 * MW_LAUNCH calls the kernel once per thread, in a plain loop: a thread that never waits costs a
 * call. One that waits has its stack, from where it is up to and with the frame of that loop, copied
 * away, and longjmp goes back to the loop for the next thread. To go on, the copy is put back where
 * it was (addresses on a stack stay what they are) and longjmp enters it.
 *
 * A block goes in rounds. In a round every thread that can run does, in the order of the round, until
 * it waits or ends. Then a block whose threads are all at one barrier goes on, or every warp whose
 * lanes are all at one shuffle; if there is none, the others never come, and the launch has failed. */
#include "tests/kernels/cuda_shim.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARP = 32, MAX_THREADS = 1024, POISONED_BLOCKS = 16, POISON = 0xff };

typedef enum { FRESH, READY, RUNNING, AT_BARRIER, AT_SHUFFLE, DONE } State;

typedef struct {
    State state;
    int line;         /* where it waits */
    int shuffles;     /* how many it has begun */
    char given[2][8]; /* to its warp; a lane is never two shuffles ahead of another */
    jmp_buf at;
    char *stack; /* the copy, and above it that of the address sanitizer's shadow of it */
    size_t capacity, bytes;
    char *bottom; /* where the copy belongs */
} Thread;

typedef enum { FORWARD, BACKWARD, SHUFFLED } Order;

static struct {
    const char *kernel;
    int grid, block;           /* block: 0 after a failure */
    char *top;                 /* where the stack of threads ends */
    char *shared, *shared_end; /* shared memory */
    Order order;
    uint64_t random;
    int turns[MAX_THREADS]; /* threads in the order of this round */
    int turn;               /* the next one's place in it */
    Thread threads[MAX_THREADS];
    jmp_buf loop; /* of the launch */
    char *caught;
    size_t caught_size;
} shim;

CudaShimIndex threadIdx, blockIdx, blockDim, gridDim;

void cuda_shim_catch(char *text, size_t size)
{
    shim.caught = text;
    shim.caught_size = size;
    if (text)
        *text = '\0';
}

/* The launch ends: cuda_shim_next finds no thread. */
__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
    char what[200], text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof text, "kernel %s, block %u of %d: %s", shim.kernel, blockIdx.x, shim.grid,
             what);
    shim.block = 0;
    if (shim.caught) {
        snprintf(shim.caught, shim.caught_size, "%s", text);
        return;
    }
    fprintf(stderr, "cuda shim: %s\n", text);
    abort();
}

/* ---- Stacks ---- */

#ifdef __SANITIZE_ADDRESS__
#define UNCHECKED __attribute__((noinline, no_sanitize("address", "undefined")))
extern void __asan_get_shadow_mapping(size_t *scale, size_t *offset);

/* One byte of shadow speaks of 8 bytes of stack. */
UNCHECKED static char *shadow_of(char *bottom)
{
    size_t scale, offset;
    __asan_get_shadow_mapping(&scale, &offset);
    return (char *)(((uintptr_t)bottom >> scale) + offset);
}
#else
#define UNCHECKED __attribute__((noinline))
#endif

/* Not memcpy: stacks are full of what the address sanitizer forbids it to touch. */
UNCHECKED static void copy(char *to, const char *from, size_t bytes)
{
    size_t done = 0;
    for (; done + 8 <= bytes; done += 8)
        *(volatile uint64_t *)(void *)(to + done) = *(const uint64_t *)(const void *)(from + done);
    for (; done < bytes; done++)
        *(volatile char *)(to + done) = from[done];
}

/* Keeps the stack from the caller's frame up to that of the loop. */
UNCHECKED static void save_stack(Thread *thread)
{
    char *bottom = __builtin_frame_address(0);
    const size_t bytes = (size_t)(shim.top - bottom);
    if (bytes > thread->capacity) {
        free(thread->stack);
        thread->capacity = 2 * bytes;
        thread->stack = malloc(thread->capacity + thread->capacity / 8);
    }
    if (!thread->stack)
        abort();
    thread->bottom = bottom;
    thread->bytes = bytes;
    copy(thread->stack, bottom, bytes);
#ifdef __SANITIZE_ADDRESS__
    copy(thread->stack + bytes, shadow_of(bottom), bytes / 8);
#endif
}

/* Called from below the stack that it writes. */
UNCHECKED static void enter_stack(Thread *thread)
{
    copy(thread->bottom, thread->stack, thread->bytes);
    _longjmp(thread->at, 1);
}

UNCHECKED static void resume(Thread *thread)
{
    const char *here = __builtin_frame_address(0);
    const size_t above = here > thread->bottom ? (size_t)(here - thread->bottom) : 0;
    volatile char *room = __builtin_alloca(above + 256);
    room[0] = 0;
    enter_stack(thread);
}

/* Lets others run until this thread can go on. */
UNCHECKED static void wait_as(State state, int line)
{
    Thread *thread = &shim.threads[threadIdx.x];
    thread->state = state;
    thread->line = line;
    if (_setjmp(thread->at) == 0) {
        save_stack(thread);
        _longjmp(shim.loop, 1);
    }
#ifdef __SANITIZE_ADDRESS__
    const Thread *self = &shim.threads[threadIdx.x];
    copy(shadow_of(self->bottom), self->stack + self->bytes, self->bytes / 8);
#endif
}

void cuda_shim_barrier(int line)
{
    wait_as(AT_BARRIER, line);
}

void cuda_shim_warp_barrier(int line)
{
    wait_as(AT_SHUFFLE, line);
}

void cuda_shim_shuffle(int line, void *value, size_t bytes, unsigned from)
{
    const int self = (int)threadIdx.x;
    const int source = from < WARP ? self - self % WARP + (int)from : self;
    const int slot = shim.threads[self].shuffles++ % 2;
    if (bytes > sizeof shim.threads[self].given[slot])
        abort();
    memcpy(shim.threads[self].given[slot], value, bytes);
    wait_as(AT_SHUFFLE, line);
    if (source < shim.block)
        memcpy(value, shim.threads[source].given[slot], bytes);
    else
        memset(value, POISON, bytes);
}

/* ---- Order ---- */

static void read_order(void)
{
    const char *order = getenv("MW_SHIM_ORDER");
    char *end = NULL;
    shim.order = FORWARD;
    if (!order || strcmp(order, "forward") == 0)
        return;
    shim.order = strcmp(order, "backward") == 0 ? BACKWARD : SHUFFLED;
    shim.random = 0x9e3779b97f4a7c15u * (strtoull(order, &end, 10) + 1);
    if (shim.order == SHUFFLED && (end == order || *end))
        fail("MW_SHIM_ORDER is forward, backward or a number, not '%s'", order);
}

static int draw_below(int limit)
{
    shim.random ^= shim.random << 13;
    shim.random ^= shim.random >> 7;
    shim.random ^= shim.random << 17;
    return (int)((shim.random >> 32) % (uint64_t)limit);
}

static void begin_round(void)
{
    shim.turn = 0;
    if (shim.order != SHUFFLED)
        return;
    for (int i = shim.block - 1; i > 0; i--) {
        const int other = draw_below(i + 1), kept = shim.turns[i];
        shim.turns[i] = shim.turns[other];
        shim.turns[other] = kept;
    }
}

/* ---- Launches ---- */

UNCHECKED static void poison_shared(void)
{
    for (volatile char *at = shim.shared; at < shim.shared_end; at++)
        *at = (char)POISON;
}

static void begin_block(void)
{
    for (int i = 0; i < shim.block; i++) {
        shim.threads[i].state = FRESH;
        shim.threads[i].shuffles = 0;
    }
    if (blockIdx.x < POISONED_BLOCKS)
        poison_shared();
    begin_round();
}

void cuda_shim_launch(const char *kernel, int grid, int block, void *frame, char *shared,
                      char *shared_end)
{
    shim.kernel = kernel;
    shim.grid = grid;
    shim.block = block;
    shim.top = frame;
    shim.shared = shared;
    shim.shared_end = shared_end;
    threadIdx = blockIdx = (CudaShimIndex){0};
    gridDim = (CudaShimIndex){(unsigned)grid, 1, 1};
    blockDim = (CudaShimIndex){(unsigned)block, 1, 1};
    read_order();
    if (grid < 1 || block < 1 || block > MAX_THREADS)
        fail("CUDA launches no grid of %d blocks of %d threads", grid, block);
    for (int i = 0; i < shim.block; i++)
        shim.turns[i] = shim.order == BACKWARD ? shim.block - 1 - i : i;
    begin_block();
}

jmp_buf *cuda_shim_loop(void)
{
    return &shim.loop;
}

/* Lets the threads [first, end) go on if all of them are at the same place. */
static bool release(State state, int first, int end)
{
    Thread *threads = shim.threads;
    for (int i = first; i < end; i++)
        if (threads[i].state != state || threads[i].line != threads[first].line)
            return false;
    for (int i = first; i < end; i++)
        threads[i].state = READY;
    return true;
}

static bool release_warps(void)
{
    bool released = false;
    for (int first = 0; first < shim.block; first += WARP) {
        const int end = first + WARP < shim.block ? first + WARP : shim.block;
        released |= release(AT_SHUFFLE, first, end);
    }
    return released;
}

static void fail_stuck(int ended)
{
    int barriers = 0, first = 0;
    for (int i = 0; i < shim.block; i++)
        barriers += shim.threads[i].state == AT_BARRIER;
    while (shim.threads[first].state == DONE)
        first++;
    const Thread *thread = &shim.threads[first];
    fail("thread %d waits for ever at the %s of line %d: of %d threads, %d are at barriers, %d at "
         "shuffles, %d have ended",
         first, thread->state == AT_BARRIER ? "barrier" : "shuffle", thread->line, shim.block,
         barriers, shim.block - barriers - ended, ended);
}

/* After a round: who runs in the next one? False at the end of the launch. */
static bool next_round(void)
{
    int ended = 0;
    for (int i = 0; i < shim.block; i++)
        ended += shim.threads[i].state == DONE;
    if (ended < shim.block) {
        if (release(AT_BARRIER, 0, shim.block) || release_warps())
            begin_round();
        else
            fail_stuck(ended);
    } else if (shim.block && (int)++blockIdx.x < shim.grid) {
        begin_block();
    } else {
        return false;
    }
    return shim.block > 0;
}

bool cuda_shim_next(void)
{
    if (shim.block && shim.threads[threadIdx.x].state == RUNNING)
        shim.threads[threadIdx.x].state = DONE;
    do {
        while (shim.turn < shim.block) {
            threadIdx.x = (unsigned)shim.turns[shim.turn++];
            Thread *thread = &shim.threads[threadIdx.x];
            const State state = thread->state;
            if (state != FRESH && state != READY)
                continue;
            thread->state = RUNNING;
            if (state == FRESH)
                return true;
            resume(thread);
        }
    } while (next_round());
    return false;
}
