/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads of a block as copies of one stack.
 *
 * MW_LAUNCH calls the kernel once per thread, in a plain loop: a thread that never waits costs a
 * call. One that waits has its stack, from where it is up to and with the frame of that loop,
 * copied away, and longjmp goes back to the loop for the next thread. To go on, the copy is put
 * back where it was (addresses on a stack stay what they are) and longjmp enters it.
 *
 * A block goes in rounds. In a round every thread of one warp that can run does, in the order of
 * the round, until it waits or ends. So a warp whose lanes are all at one shuffle may go on while
 * others have not begun: as far apart as barriers let them. A block whose threads are all at one
 * barrier goes on; if there is none, the others never come, and the launch has failed. */
#include "tests/kernels/cuda_shim.h"

#include "base/half.h"
#include "runtime/cuda/launch.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WARP = 32,
    MAX_THREADS = 1024,
    POISONED_BLOCKS = 16,
    POISON = 0xff,
    MOST_GIVEN = 32, /* bytes */
    MOST_COPIES = 64 /* of a thread, under way */
};

typedef enum { FRESH, READY, RUNNING, AT_BARRIER, AT_SHUFFLE, DONE } State;

typedef struct {
    char *to;
    const char *from; /* NULL: zeros */
    size_t bytes;
    int group;
} Copy;

typedef struct {
    State state;
    int line;                  /* where it waits */
    int shuffles;              /* how many it has begun */
    char given[2][MOST_GIVEN]; /* to its warp; a lane is never two shuffles ahead of another */
    Copy copies[MOST_COPIES];  /* under way */
    int copy_count;
    int groups; /* of copies, committed */
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
    char *shared, *shared_end; /* shared memory that kernels declare, */
    int64_t shared_bytes;      /* and besides */
    Order order;
    uint64_t random;
    int turns[WARP]; /* threads in the order of this round, all of one warp */
    int turn_count;
    int turn; /* the next one's place among them */
    Thread threads[MAX_THREADS];
    jmp_buf loop; /* of the launch */
    char *caught;
    size_t caught_size;
} shim;

/* A launch has the end of it, so that the address sanitizer knows where it ends. */
static _Alignas(128) char shared_bytes[MW_MOST_SHARED_BYTES];

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

#ifdef __SANITIZE_ADDRESS__
/* Not memcpy: stacks are full of what the address sanitizer forbids it to touch. */
UNCHECKED static void copy(char *to, const char *from, size_t bytes)
{
    size_t done = 0;
    for (; done + 8 <= bytes; done += 8)
        *(volatile uint64_t *)(void *)(to + done) = *(const uint64_t *)(const void *)(from + done);
    for (; done < bytes; done++)
        *(volatile char *)(to + done) = from[done];
}
#else
static void copy(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

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

/* Gives the warp `bytes` of `value`; when all lanes have, the slot where each one's is. */
static int give(int line, const void *value, size_t bytes)
{
    Thread *self = &shim.threads[threadIdx.x];
    const int slot = self->shuffles++ % 2;
    if (bytes > MOST_GIVEN)
        abort();
    memcpy(self->given[slot], value, bytes);
    wait_as(AT_SHUFFLE, line);
    return slot;
}

void cuda_shim_shuffle(int line, void *value, size_t bytes, unsigned from)
{
    const int self = (int)threadIdx.x;
    const int source = from < WARP ? self - self % WARP + (int)from : self;
    const int slot = give(line, value, bytes);
    if (source < shim.block)
        memcpy(value, shim.threads[source].given[slot], bytes);
    else
        memset(value, POISON, bytes);
}

/* ---- Conversions ---- */

float cuda_shim_half_load(uint16_t half)
{
    return mw_f16_to_f32(half);
}

uint16_t cuda_shim_half_store(float value)
{
    return mw_f16_from_f32(value);
}

/* ---- Products of a warp ---- */

unsigned cuda_shim_bf16_pair(float low, float high)
{
    return (unsigned)mw_bf16_from_f32(low) | (unsigned)mw_bf16_from_f32(high) << 16;
}

/* Number `number` of what a lane of this warp gave, an array of unsigned with two bf16 each. */
static float half_of(int slot, int lane, int number)
{
    const int first = (int)threadIdx.x / WARP * WARP;
    uint16_t half;
    memcpy(&half, shim.threads[first + lane].given[slot] + 2 * number, sizeof half);
    return mw_bf16_to_f32(half);
}

/* A [16, 16] begins at number 0 of every lane, b [16, 8] at number 8. */
static float product_at(int slot, int row, int column)
{
    float sum = 0;
    for (int k = 0; k < 16; k++) {
        const int pair = k % 8 / 2, a = (row >= 8) + 2 * (k >= 8), b = k >= 8;
        sum += half_of(slot, row % 8 * 4 + pair, 2 * a + k % 2) *
               half_of(slot, column * 4 + pair, 8 + 2 * b + k % 2);
    }
    return sum;
}

static void want_whole_warps(void)
{
    if (shim.block % WARP) {
        fail("a block of %d threads has no whole warps", shim.block);
        _longjmp(shim.loop, 1);
    }
}

void cuda_shim_mma(int line, float c[4], const unsigned a[4], const unsigned b[2])
{
    const unsigned mine[] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    want_whole_warps();
    const int slot = give(line, mine, sizeof mine), lane = (int)threadIdx.x % WARP;
    for (int i = 0; i < 4; i++)
        c[i] += product_at(slot, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
}

void cuda_shim_load_matrices(int line, unsigned to[4], const void *row, bool turned)
{
    want_whole_warps();
    if ((uintptr_t)row % 16) {
        fail("a row of a matrix is not at 16 bytes");
        _longjmp(shim.loop, 1);
    }
    const int slot = give(line, &row, sizeof row), lane = (int)threadIdx.x % WARP;
    const Thread *lanes = &shim.threads[(int)threadIdx.x / WARP * WARP];
    for (int i = 0; i < 4; i++) {
        uint16_t pair[2];
        for (int k = 0; k < 2; k++) {
            const int r = turned ? lane % 4 * 2 + k : lane / 4;
            const int column = turned ? lane / 4 : lane % 4 * 2 + k;
            const uint16_t *from;
            memcpy(&from, lanes[8 * i + r].given[slot], sizeof from);
            pair[k] = from[column];
        }
        memcpy(&to[i], pair, sizeof to[i]);
    }
}

/* ---- Copies that go on ---- */

void cuda_shim_copy_begin(void *shared, const void *global, size_t bytes, bool is_there)
{
    Thread *thread = &shim.threads[threadIdx.x];
    if ((uintptr_t)shared % bytes || (is_there && (uintptr_t)global % bytes) ||
        thread->copy_count == MOST_COPIES) {
        fail("a copy is not at %zu bytes, or one of more than %d", bytes, MOST_COPIES);
        _longjmp(shim.loop, 1);
    }
    memset(shared, POISON, bytes);
    thread->copies[thread->copy_count++] =
        (Copy){shared, is_there ? global : NULL, bytes, thread->groups};
}

void cuda_shim_copies_commit(void)
{
    shim.threads[threadIdx.x].groups++;
}

void cuda_shim_copies_wait(int left)
{
    Thread *thread = &shim.threads[threadIdx.x];
    int kept = 0;
    for (int i = 0; i < thread->copy_count; i++) {
        const Copy copied = thread->copies[i];
        if (copied.group >= thread->groups - left)
            thread->copies[kept++] = copied;
        else if (copied.from)
            memcpy(copied.to, copied.from, copied.bytes);
        else
            memset(copied.to, 0, copied.bytes);
    }
    thread->copy_count = kept;
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

static int warp_end(int first)
{
    return first + WARP < shim.block ? first + WARP : shim.block;
}

/* Whether a warp, by its first thread, has threads that can run. */
static bool can_run(int first)
{
    for (int i = first; i < warp_end(first); i++)
        if (shim.threads[i].state == FRESH || shim.threads[i].state == READY)
            return true;
    return false;
}

/* The first thread of the warp whose turn it is; -1 if none can run. */
static int choose_warp(void)
{
    int chosen = -1, seen = 0;
    for (int first = 0; first < shim.block; first += WARP) {
        if (!can_run(first))
            continue;
        seen++;
        if (chosen < 0 || shim.order == BACKWARD ||
            (shim.order == SHUFFLED && draw_below(seen) == 0))
            chosen = first;
    }
    return chosen;
}

static bool begin_round(void)
{
    const int first = choose_warp();
    shim.turn = shim.turn_count = 0;
    if (first < 0)
        return false;
    const int end = warp_end(first);
    shim.turn_count = end - first;
    for (int i = 0; i < shim.turn_count; i++)
        shim.turns[i] = shim.order == BACKWARD ? end - 1 - i : first + i;
    for (int i = shim.turn_count - 1; i > 0 && shim.order == SHUFFLED; i--) {
        const int other = draw_below(i + 1), kept = shim.turns[i];
        shim.turns[i] = shim.turns[other];
        shim.turns[other] = kept;
    }
    return true;
}

/* ---- Launches ---- */

UNCHECKED static void poison_shared(void)
{
    for (volatile char *at = shim.shared; at < shim.shared_end; at++)
        *at = (char)POISON;
    memset(cuda_shim_shared_bytes(), POISON, (size_t)shim.shared_bytes);
}

static void begin_block(void)
{
    for (int i = 0; i < shim.block; i++) {
        shim.threads[i].state = FRESH;
        shim.threads[i].shuffles = 0;
        shim.threads[i].copy_count = shim.threads[i].groups = 0;
    }
    if (blockIdx.x < POISONED_BLOCKS)
        poison_shared();
    begin_round();
}

void cuda_shim_launch(const char *kernel, int grid, int block, int64_t bytes, void *frame,
                      char *shared, char *shared_end)
{
    shim.kernel = kernel;
    shim.grid = grid;
    shim.block = block;
    shim.top = frame;
    shim.shared = shared;
    shim.shared_end = shared_end;
    shim.shared_bytes = bytes;
    threadIdx = blockIdx = (CudaShimIndex){0};
    gridDim = (CudaShimIndex){(unsigned)grid, 1, 1};
    blockDim = (CudaShimIndex){(unsigned)block, 1, 1};
    read_order();
    if (grid < 1 || block < 1 || block > MAX_THREADS)
        fail("CUDA launches no grid of %d blocks of %d threads", grid, block);
    if (bytes < 0 || bytes > cuda_shim_most_shared())
        fail("no block has %lld bytes of shared memory", (long long)bytes);
    begin_block();
}

int cuda_shim_most_shared(void)
{
    const char *kib = getenv("MW_SHIM_SHARED_KIB");
    return kib ? atoi(kib) << 10 : MW_MOST_SHARED_BYTES;
}

void *cuda_shim_shared_bytes(void)
{
    return shared_bytes + MW_MOST_SHARED_BYTES - shim.shared_bytes;
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

static void release_warps(void)
{
    for (int first = 0; first < shim.block; first += WARP)
        release(AT_SHUFFLE, first, warp_end(first));
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
        release_warps();
        if (!begin_round() && !(release(AT_BARRIER, 0, shim.block) && begin_round()))
            fail_stuck(ended);
    } else if (shim.block && (int)++blockIdx.x < shim.grid) {
        begin_block();
    } else {
        return false;
    }
    return shim.block > 0;
}

/* Lets other streams do something while the launch is where it is: between rounds the stacks of all
 * threads are copies, and the launches of others have the memory of this one, which is kept
 * meanwhile. */
static void pause_launch(void)
{
    const size_t static_bytes = (size_t)(shim.shared_end - shim.shared);
    char *statics = malloc(static_bytes + 1), *dynamics = malloc(sizeof shared_bytes);
    __typeof__(shim) *kept = malloc(sizeof *kept);
    const CudaShimIndex thread = threadIdx, block = blockIdx, blocks = gridDim, threads = blockDim;
    if (!statics || !dynamics || !kept)
        abort();
    copy(statics, shim.shared, static_bytes);
    copy(dynamics, shared_bytes, sizeof shared_bytes);
    *kept = shim;
    for (int i = 0; i < MAX_THREADS; i++) {
        shim.threads[i].stack = NULL;
        shim.threads[i].capacity = 0;
    }
    cuda_shim_pause();
    for (int i = 0; i < MAX_THREADS; i++)
        free(shim.threads[i].stack);
    shim = *kept;
    copy(shim.shared, statics, static_bytes);
    copy(shared_bytes, dynamics, sizeof shared_bytes);
    threadIdx = thread, blockIdx = block, gridDim = blocks, blockDim = threads;
    free(statics);
    free(dynamics);
    free(kept);
}

bool cuda_shim_next(void)
{
    Thread *last = &shim.threads[threadIdx.x];
    if (shim.block && last->state == RUNNING) {
        last->state = DONE;
        if (last->copy_count)
            fail("thread %u ends with %d copies under way", threadIdx.x, last->copy_count);
    }
    do {
        while (shim.turn < shim.turn_count) {
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
        if (cuda_shim_pauses && shim.block && cuda_shim_pauses())
            pause_launch();
    } while (next_round());
    return false;
}
