/* SPDX-License-Identifier: MIT */
/* Pooling on the CPU: loops over windows and their elements, and inside over channels, which lie
 * side by side. They move as many bytes as the tensors have, times the windows that overlap. */
#include "runtime/cpu/routines.h"
#include "runtime/plan/routine.h"

#include <math.h>

/* The windows of one call, and one of them at a time. */
typedef struct {
    const MwKernelArg *args;
    int64_t channels;
    int64_t batch, at[MW_WINDOW_DIMS]; /* the window */
    int64_t y;                         /* its element 0 of y */
} Window;

/* Goes on to the next window; false after the last one. */
static bool next_window(Window *w)
{
    w->y += w->channels;
    for (int d = MW_WINDOW_DIMS - 1; d >= 0; d--) {
        if (++w->at[d] < w->args[MW_WINDOW_OUT + d].i)
            return true;
        w->at[d] = 0;
    }
    return ++w->batch < w->args[MW_WINDOW_BATCH].i;
}

static Window first_window(const MwKernelArg *args)
{
    return (Window){.args = args, .channels = args[MW_WINDOW_CHANNELS].i};
}

/* The part of a window inside x along dimension d: [*begin, *end). */
static void inside(const Window *w, int d, int64_t *begin, int64_t *end)
{
    const int64_t from =
        w->at[d] * w->args[MW_WINDOW_STRIDE + d].i - w->args[MW_WINDOW_BEFORE + d].i;
    *begin = mw_max(from, 0);
    *end = mw_min(from + w->args[MW_WINDOW_SIZE + d].i, w->args[MW_WINDOW_IN + d].i);
}

static int64_t point(const Window *w, int64_t i, int64_t j, int64_t k)
{
    const MwKernelArg *in = &w->args[MW_WINDOW_IN];
    return (((w->batch * in[0].i + i) * in[1].i + j) * in[2].i + k) * w->channels;
}

/* One call: for each window, in order, and each point of it inside x, in order, `visit` gets the
 * first elements of the window in y and of the point in x. */
typedef struct Pool Pool;
struct Pool {
    void (*visit)(const Pool *pool, int64_t y, int64_t x);
    const MwKernelArg *args;
    int64_t channels;
    const float *x, *d; /* d: the second operand of a gradient, like y, or of a pick, like x */
    float *out;
};

static void visit_points(const Pool *pool, const Window *w)
{
    int64_t begin[MW_WINDOW_DIMS], end[MW_WINDOW_DIMS];
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        inside(w, d, &begin[d], &end[d]);
    for (int64_t i = begin[0]; i < end[0]; i++)
        for (int64_t j = begin[1]; j < end[1]; j++)
            for (int64_t k = begin[2]; k < end[2]; k++)
                pool->visit(pool, w->y, point(w, i, j, k));
}

/* Sets all elements of the result, an image like x or like y, to `value`. */
static void fill(const Pool *pool, int first_size, float value)
{
    int64_t elements = pool->args[MW_WINDOW_BATCH].i * pool->channels;
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        elements *= pool->args[first_size + d].i;
    for (int64_t i = 0; i < elements; i++)
        pool->out[i] = value;
}

static bool run(const Pool *pool, int first_size, float value)
{
    Window w = first_window(pool->args);
    fill(pool, first_size, value);
    do
        visit_points(pool, &w);
    while (next_window(&w));
    return true;
}

/* ---- Maxima ---- */

/* A NaN stays. */
static void most(const Pool *pool, int64_t y, int64_t x)
{
    const float *restrict from = pool->x + x;
    float *restrict to = pool->out + y;
    for (int64_t c = 0; c < pool->channels; c++)
        to[c] = from[c] <= to[c] || to[c] != to[c] ? to[c] : from[c];
}

bool mw_cpu_max_pool(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Pool pool = {most, args, args[MW_WINDOW_CHANNELS].i, .x = operands[0],
                       .out = operands[1]};
    (void)fault;
    return run(&pool, MW_WINDOW_OUT, -INFINITY);
}

/* The greatest elements of a window so far, of some channels: the first NaN, or else the first of
 * equal ones; and which point of the window inside x has them. All is 4 bytes wide, so that loops
 * over channels become vector code. */
enum { CHANNELS_AT_ONCE = 64 };

typedef struct {
    float most[CHANNELS_AT_ONCE];
    int32_t point[CHANNELS_AT_ONCE];
} Greatest;

/* Some channels of a window, at a point of it: their first elements in images like x and like y. */
typedef struct {
    int64_t x, y, count;
} Channels;

static void find_greatest(const Pool *pool, Greatest *greatest, const Channels *at, int32_t point)
{
    const float *restrict x = pool->x + at->x;
    for (int64_t c = 0; c < at->count; c++) {
        const float most_yet = greatest->most[c];
        const bool stays = x[c] <= most_yet || most_yet != most_yet;
        greatest->most[c] = stays ? most_yet : x[c];
        greatest->point[c] = stays ? greatest->point[c] : point;
    }
}

static void add_to_greatest(const Pool *pool, Greatest *greatest, const Channels *at, int32_t point)
{
    const float *restrict d = pool->d + at->y;
    float *restrict out = pool->out + at->x;
    for (int64_t c = 0; c < at->count; c++)
        out[c] += greatest->point[c] == point ? d[c] : 0;
}

static void pick_greatest(const Pool *pool, Greatest *greatest, const Channels *at, int32_t point)
{
    const float *restrict v = pool->d + at->x;
    float *restrict out = pool->out + at->y;
    for (int64_t c = 0; c < at->count; c++)
        out[c] = greatest->point[c] == point ? v[c] : out[c];
}

typedef void Act(const Pool *pool, Greatest *greatest, const Channels *at, int32_t point);

/* Calls `act` for each point of the window inside x, in order. */
static void each_point(const Pool *pool, const Window *w, int64_t channel, Greatest *greatest,
                       Act *act)
{
    int64_t begin[MW_WINDOW_DIMS], end[MW_WINDOW_DIMS];
    int32_t count = 0;
    for (int d = 0; d < MW_WINDOW_DIMS; d++)
        inside(w, d, &begin[d], &end[d]);
    for (int64_t i = begin[0]; i < end[0]; i++)
        for (int64_t j = begin[1]; j < end[1]; j++)
            for (int64_t k = begin[2]; k < end[2]; k++) {
                const Channels at = {.x = point(w, i, j, k) + channel,
                                     .y = w->y + channel,
                                     .count = mw_min(pool->channels - channel, CHANNELS_AT_ONCE)};
                act(pool, greatest, &at, count++);
            }
}

/* Calls `act` for each window with its greatest elements; operand 2, an image of the sizes from
 * `first_size` on, is zero before. */
static bool at_greatest(void *const *operands, const MwKernelArg *args, int first_size, Act *act)
{
    const Pool pool = {.args = args,
                       .channels = args[MW_WINDOW_CHANNELS].i,
                       .x = operands[0],
                       .d = operands[1],
                       .out = operands[2]};
    Window w = first_window(args);
    fill(&pool, first_size, 0);
    do
        for (int64_t c = 0; c < pool.channels; c += CHANNELS_AT_ONCE) {
            Greatest greatest = {.point = {0}};
            for (int i = 0; i < CHANNELS_AT_ONCE; i++)
                greatest.most[i] = -INFINITY;
            each_point(&pool, &w, c, &greatest, find_greatest);
            each_point(&pool, &w, c, &greatest, act);
        }
    while (next_window(&w));
    return true;
}

bool mw_cpu_max_pool_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    (void)fault;
    return at_greatest(operands, args, MW_WINDOW_IN, add_to_greatest);
}

bool mw_cpu_max_pool_pick(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    (void)fault;
    return at_greatest(operands, args, MW_WINDOW_OUT, pick_greatest);
}

/* ---- Sums ---- */

static void add(float *restrict to, const float *restrict from, int64_t count)
{
    for (int64_t c = 0; c < count; c++)
        to[c] += from[c];
}

static void add_point(const Pool *pool, int64_t y, int64_t x)
{
    add(pool->out + y, pool->x + x, pool->channels);
}

bool mw_cpu_sum_pool(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Pool pool = {add_point, args, args[MW_WINDOW_CHANNELS].i, .x = operands[0],
                       .out = operands[1]};
    (void)fault;
    return run(&pool, MW_WINDOW_OUT, 0);
}

static void add_window(const Pool *pool, int64_t y, int64_t x)
{
    add(pool->out + x, pool->d + y, pool->channels);
}

bool mw_cpu_sum_pool_grad(void *const *operands, const MwKernelArg *args, MwFault *fault)
{
    const Pool pool = {add_window, args, args[MW_WINDOW_CHANNELS].i, .d = operands[0],
                       .out = operands[1]};
    (void)fault;
    return run(&pool, MW_WINDOW_IN, 0);
}
