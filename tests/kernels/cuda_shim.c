/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads of a block, each on a stack of its own as soon as it waits.
 *
 * A stack runs one thread after another, by plain calls, until one of them waits: a thread that
 * never does costs a call. The launch then goes on with the next thread, and enters the stack of
 * the one that waited when that has its turn again.
 *
 * A block goes in rounds. In a round every thread of one warp that can run does, in the order of
 * the round, until it waits or ends. So a warp whose lanes are all at one shuffle may go on while
 * others have not begun: as far apart as barriers let them. A block whose threads are all at one
 * barrier goes on; if there is none, the others never come, and the launch has failed. */
#include "tests/kernels/cuda_shim.h"

#include "base/half.h"
#include "runtime/cuda/launch.h"
#include "tests/kernels/fibers.h"

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
    int line;     /* where it waits */
    int shuffles; /* how many it has begun */
    int copy_count;
    int groups;                /* of copies, committed */
    Fiber *fiber;              /* that has its stack, from when it begins until it ends */
    char given[2][MOST_GIVEN]; /* to its warp; a lane is never two shuffles ahead of another */
    Copy copies[MOST_COPIES];  /* under way */
} Thread;

typedef enum { FORWARD, BACKWARD, SHUFFLED } Order;

typedef struct Launch {
    const CudaShimLaunch *now;
    int block; /* 0 after a failure */
    Order order;
    uint64_t random;
    int first;       /* thread of the warp of this round */
    int turns[WARP]; /* threads in the order of this round, all of that warp */
    int turn_count;
    int turn;                         /* the next one's place among them */
    int ended;                        /* threads of the block */
    bool can_run[MAX_THREADS / WARP]; /* by warps, of which one that can has had no round since */
    Thread threads[MAX_THREADS];
    FiberPlace loop;      /* between turns */
    struct Launch *inner; /* one that runs while this one pauses; NULL before there is one */
} Launch;

static Launch outermost, *shim = &outermost;

static struct {
    char *text; /* NULL: failures end the program */
    size_t size;
} caught;

/* A launch has the end of it, so that the address sanitizer knows where it ends. */
static _Alignas(128) char shared_bytes[MW_MOST_SHARED_BYTES];

CudaShimIndex threadIdx, blockIdx, blockDim, gridDim;

void cuda_shim_catch(char *text, size_t size)
{
    caught.text = text;
    caught.size = size;
    if (text)
        *text = '\0';
}

/* The launch ends: no thread has a turn any more. */
__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
    char what[200], text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof text, "kernel %s, block %u of %d: %s", shim->now->kernel, blockIdx.x,
             shim->now->grid, what);
    shim->block = shim->turn_count = 0;
    if (caught.text) {
        snprintf(caught.text, caught.size, "%s", text);
        return;
    }
    fprintf(stderr, "cuda shim: %s\n", text);
    abort();
}

/* ---- Waiting ---- */

/* Gives the turn to others. */
static void leave(void)
{
    fiber_leave(shim->threads[threadIdx.x].fiber, shim->loop);
}

/* Lets others run until this thread can go on. */
static void wait_as(State state, int line)
{
    Thread *thread = &shim->threads[threadIdx.x];
    thread->state = state;
    thread->line = line;
    leave();
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
    Thread *self = &shim->threads[threadIdx.x];
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
    if (source < shim->block)
        memcpy(value, shim->threads[source].given[slot], bytes);
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

static void want_whole_warps(void)
{
    if (shim->block % WARP) {
        fail("a block of %d threads has no whole warps", shim->block);
        leave();
    }
}

/* Two bf16, of which the one of the even index is in the low half. */
typedef struct {
    float low, high;
} Halves;

static Halves halves_of(unsigned pair)
{
    return (Halves){mw_bf16_to_f32((uint16_t)pair), mw_bf16_to_f32((uint16_t)(pair >> 16))};
}

/* What a lane gave for a product. */
typedef struct {
    unsigned a[4], b[2];
} Factors;

static Factors factors_of(int slot, int lane)
{
    Factors factors;
    memcpy(&factors, shim->threads[(int)threadIdx.x / WARP * WARP + lane].given[slot],
           sizeof factors);
    return factors;
}

/* Four sums at once, each of its terms in order: c[i] is in row g or g + 8 and column 2t or
 * 2t + 1 (see runtime/cuda/tensor_core.h). */
typedef float Four __attribute__((vector_size(16)));

void cuda_shim_mma(int line, float c[4], const unsigned a[4], const unsigned b[2])
{
    const Factors mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    want_whole_warps();
    const int slot = give(line, &mine, sizeof mine), lane = (int)threadIdx.x % WARP;
    Four sum = {0}, terms[16];
    for (int pair = 0; pair < 4; pair++) {
        const Factors row = factors_of(slot, lane / 4 * 4 + pair);
        const Factors left = factors_of(slot, lane % 4 * 8 + pair);
        const Factors right = factors_of(slot, lane % 4 * 8 + 4 + pair);
        for (int upper = 0; upper < 2; upper++) {
            const Halves g = halves_of(row.a[2 * upper]), g8 = halves_of(row.a[2 * upper + 1]);
            const Halves l = halves_of(left.b[upper]), r = halves_of(right.b[upper]);
            Four *term = &terms[8 * upper + 2 * pair];
            term[0] = (Four){g.low, g.low, g8.low, g8.low} * (Four){l.low, r.low, l.low, r.low};
            term[1] =
                (Four){g.high, g.high, g8.high, g8.high} * (Four){l.high, r.high, l.high, r.high};
        }
    }
    for (int k = 0; k < 16; k++)
        sum += terms[k];
    for (int i = 0; i < 4; i++)
        c[i] += sum[i];
}

void cuda_shim_load_matrices(int line, unsigned to[4], const void *row, bool turned)
{
    want_whole_warps();
    if ((uintptr_t)row % 16) {
        fail("a row of a matrix is not at 16 bytes");
        leave();
    }
    const int slot = give(line, &row, sizeof row), lane = (int)threadIdx.x % WARP;
    const Thread *lanes = &shim->threads[(int)threadIdx.x / WARP * WARP];
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
    Thread *thread = &shim->threads[threadIdx.x];
    if ((uintptr_t)shared % bytes || (is_there && (uintptr_t)global % bytes) ||
        thread->copy_count == MOST_COPIES) {
        fail("a copy is not at %zu bytes, or one of more than %d", bytes, MOST_COPIES);
        leave();
    }
    memset(shared, POISON, bytes);
    thread->copies[thread->copy_count++] =
        (Copy){shared, is_there ? global : NULL, bytes, thread->groups};
}

void cuda_shim_copies_commit(void)
{
    shim->threads[threadIdx.x].groups++;
}

void cuda_shim_copies_wait(int left)
{
    Thread *thread = &shim->threads[threadIdx.x];
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
    shim->order = FORWARD;
    if (!order || strcmp(order, "forward") == 0)
        return;
    shim->order = strcmp(order, "backward") == 0 ? BACKWARD : SHUFFLED;
    shim->random = 0x9e3779b97f4a7c15u * (strtoull(order, &end, 10) + 1);
    if (shim->order == SHUFFLED && (end == order || *end))
        fail("MW_SHIM_ORDER is forward, backward or a number, not '%s'", order);
}

static int draw_below(int limit)
{
    shim->random ^= shim->random << 13;
    shim->random ^= shim->random >> 7;
    shim->random ^= shim->random << 17;
    return (int)((shim->random >> 32) % (uint64_t)limit);
}

static int warp_end(int first)
{
    return first + WARP < shim->block ? first + WARP : shim->block;
}

/* The first thread of the warp whose turn it is; -1 if none can run. */
static int choose_warp(void)
{
    int chosen = -1, seen = 0;
    for (int first = 0; first < shim->block; first += WARP) {
        if (!shim->can_run[first / WARP])
            continue;
        seen++;
        if (chosen < 0 || shim->order == BACKWARD ||
            (shim->order == SHUFFLED && draw_below(seen) == 0))
            chosen = first;
    }
    return chosen;
}

static bool begin_round(void)
{
    const int first = choose_warp();
    shim->turn = shim->turn_count = 0;
    if (first < 0)
        return false;
    const int end = warp_end(first);
    shim->first = first;
    shim->can_run[first / WARP] = false; /* unless released */
    shim->turn_count = end - first;
    for (int i = 0; i < shim->turn_count; i++)
        shim->turns[i] = shim->order == BACKWARD ? end - 1 - i : first + i;
    for (int i = shim->turn_count - 1; i > 0 && shim->order == SHUFFLED; i--) {
        const int other = draw_below(i + 1), kept = shim->turns[i];
        shim->turns[i] = shim->turns[other];
        shim->turns[other] = kept;
    }
    return true;
}

/* ---- Launches ---- */

static void poison_shared(void)
{
    if (shim->now->shared)
        memset(shim->now->shared, POISON, (size_t)(shim->now->shared_end - shim->now->shared));
    memset(cuda_shim_shared_bytes(), POISON, (size_t)shim->now->shared_bytes);
}

static void begin_block(void)
{
    for (int i = 0; i < shim->block; i++) {
        shim->threads[i].state = FRESH;
        shim->threads[i].shuffles = 0;
        shim->threads[i].copy_count = shim->threads[i].groups = 0;
        shim->can_run[i / WARP] = true;
    }
    shim->ended = 0;
    if (blockIdx.x < POISONED_BLOCKS)
        poison_shared();
    begin_round();
}

int cuda_shim_most_shared(void)
{
    const char *kib = getenv("MW_SHIM_SHARED_KIB");
    return kib ? atoi(kib) << 10 : MW_MOST_SHARED_BYTES;
}

void *cuda_shim_shared_bytes(void)
{
    return shared_bytes + MW_MOST_SHARED_BYTES - shim->now->shared_bytes;
}

/* Lets the threads [first, end) go on if all of them are at the same place. */
static bool release(State state, int first, int end)
{
    Thread *threads = shim->threads;
    for (int i = first; i < end; i++)
        if (threads[i].state != state || threads[i].line != threads[first].line)
            return false;
    for (int i = first; i < end; i++) {
        threads[i].state = READY;
        shim->can_run[i / WARP] = true;
    }
    return true;
}

static void fail_stuck(void)
{
    int barriers = 0, first = 0;
    for (int i = 0; i < shim->block; i++)
        barriers += shim->threads[i].state == AT_BARRIER;
    while (shim->threads[first].state == DONE)
        first++;
    const Thread *thread = &shim->threads[first];
    fail("thread %d waits for ever at the %s of line %d: of %d threads, %d are at barriers, %d at "
         "shuffles, %d have ended",
         first, thread->state == AT_BARRIER ? "barrier" : "shuffle", thread->line, shim->block,
         barriers, shim->block - barriers - shim->ended, shim->ended);
}

/* After a round, in which the threads of one warp came where they are: who runs in the next one?
 * False at the end of the launch. */
static bool next_round(void)
{
    if (shim->ended < shim->block) {
        release(AT_SHUFFLE, shim->first, warp_end(shim->first));
        if (!begin_round() && !(release(AT_BARRIER, 0, shim->block) && begin_round()))
            fail_stuck();
    } else if (shim->block && (int)++blockIdx.x < shim->now->grid) {
        begin_block();
    } else {
        return false;
    }
    return shim->block > 0;
}

/* Lets other streams do something while the launch is where it is. Launches of theirs have the
 * shared memory of this one, which is kept meanwhile. */
static void pause_launch(void)
{
    Launch *paused = shim;
    const CudaShimLaunch *now = paused->now;
    const size_t statics = (size_t)(now->shared_end - now->shared);
    const size_t dynamics = (size_t)now->shared_bytes;
    char *dynamic = cuda_shim_shared_bytes(), *kept = malloc(statics + dynamics + 1);
    const CudaShimIndex thread = threadIdx, block = blockIdx, blocks = gridDim, threads = blockDim;
    if (!paused->inner)
        paused->inner = calloc(1, sizeof *paused->inner);
    if (!kept || !paused->inner)
        abort();
    if (statics)
        memcpy(kept, now->shared, statics);
    memcpy(kept + statics, dynamic, dynamics);
    shim = paused->inner;
    cuda_shim_pause();
    shim = paused;
    if (statics)
        memcpy(now->shared, kept, statics);
    memcpy(dynamic, kept + statics, dynamics);
    threadIdx = thread, blockIdx = block, gridDim = blocks, blockDim = threads;
    free(kept);
}

/* ---- Turns ---- */

/* The next thread of this round that can run; NULL if there is none left. */
static Thread *whose_turn(void)
{
    for (; shim->turn < shim->turn_count; shim->turn++) {
        Thread *thread = &shim->threads[shim->turns[shim->turn]];
        if (thread->state == FRESH || thread->state == READY)
            return thread;
    }
    return NULL;
}

static void begin_turn(Thread *thread, Fiber *fiber)
{
    shim->turn++;
    threadIdx.x = (unsigned)(thread - shim->threads);
    thread->state = RUNNING;
    thread->fiber = fiber;
}

/* What a stack runs: threads that begin, until one waits. */
static void run_threads(void)
{
    for (;;) {
        shim->now->thread(shim->now);
        Thread *ended = &shim->threads[threadIdx.x];
        Fiber *fiber = ended->fiber;
        ended->state = DONE;
        ended->fiber = NULL;
        shim->ended++;
        if (ended->copy_count)
            fail("thread %u ends with %d copies under way", threadIdx.x, ended->copy_count);
        Thread *next = whose_turn();
        if (next && next->state == FRESH) {
            begin_turn(next, fiber);
        } else {
            fiber_rest(fiber);
            fiber_leave(fiber, shim->loop);
        }
    }
}

static void run_round(void)
{
    for (Thread *next; (next = whose_turn());) {
        begin_turn(next, next->state == FRESH ? fiber_take(run_threads) : next->fiber);
        fiber_enter(shim->threads[threadIdx.x].fiber, shim->loop);
    }
    if (cuda_shim_pauses && shim->block && cuda_shim_pauses())
        pause_launch();
}

/* Stacks of threads that a failure left in the middle. */
static void forget_threads(void)
{
    for (int i = 0; i < MAX_THREADS; i++) {
        Fiber *fiber = shim->threads[i].fiber;
        if (!fiber)
            continue;
        shim->threads[i].fiber = NULL;
        fiber_forget(fiber);
        fiber_rest(fiber);
    }
}

void cuda_shim_launch(void *launch)
{
    const CudaShimLaunch *now = launch;
    shim->now = now;
    shim->block = now->block;
    threadIdx = blockIdx = (CudaShimIndex){0};
    gridDim = (CudaShimIndex){(unsigned)now->grid, 1, 1};
    blockDim = (CudaShimIndex){(unsigned)now->block, 1, 1};
    read_order();
    if (now->grid < 1 || now->block < 1 || now->block > MAX_THREADS)
        fail("CUDA launches no grid of %d blocks of %d threads", now->grid, now->block);
    if (now->shared_bytes < 0 || now->shared_bytes > cuda_shim_most_shared())
        fail("no block has %lld bytes of shared memory", (long long)now->shared_bytes);
    if (!shim->block)
        return;
    begin_block();
    do
        run_round();
    while (next_round());
    if (!shim->block)
        forget_threads();
}
