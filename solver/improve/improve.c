/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/improve/improve.h"

#include "base/threads.h"
#include "solver/bound/ascent.h"
#include "solver/improve/attempt.h"
#include "solver/improve/neighbourhood.h"
#include "solver/improve/pool.h"
#include "solver/tuning.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Attempts of a round for each thread: a thread that finishes early takes another one. */
enum { TASKS_PER_THREAD = 2 };

/* Number of rows of least slack that proposals try to free. */
#define TIGHT_ROWS (4 * MW_TUNED_PROPOSALS)

/* The least multiple of the current prices at which proposals are made. */
#define LEAST_MULTIPLE (2 / MW_TUNED_MAX_PRICE_MULTIPLE)

/* Limits of the local problem of a neighbourhood. */
static MwLocalLimits local_limits(void)
{
    return (MwLocalLimits){.table = MW_TUNED_LOCAL_WORK / 40, .work = MW_TUNED_LOCAL_WORK};
}

typedef struct {
    MwNeighbourhoodKind kind;
    int size; /* index of the size */
} Shape;

/* An attempt of a round; one thread writes it. */
typedef struct {
    Shape shape;
    MwDraws draws;
    MwArena *arena;
    MwAttemptWorkspace workspace;
    bool *seen;
    int *nodes;
    MwAttempt result;
    MwProposal *proposals; /* [MW_TUNED_PROPOSALS] results when moves are collected */
    double *proposal_sum;  /* [row + 1] prefix sums of the prices whose multiples are tried */
} Task;

/* Gain and work of recent neighbourhoods of a shape, with exponential decay. */
typedef struct {
    double gain, work;
} Yield;

struct MwImprover {
    MwArena *arena;
    const MwCore *core;
    MwFlatCore *flat;
    int threads, task_count;
    uint64_t seed, attempts;
    MwCost reported;             /* the least cost that was reported */
    MwAssignment *incumbent;     /* NULL: no choice yet */
    MwAssignment *current;       /* where the search stands */
    int failures;                /* attempts in a row without an improvement of `current` */
    double *price_sum;           /* [row + 1] prefix sums of the prices given */
    double *perturbed_price_sum; /* the same for the raised prices of a perturbation */
    Task *tasks;
    MwPool *pool;
    int *tight, tight_count;    /* [TIGHT_ROWS] rows of the incumbent in order of rising slack */
    int attempts_since_packing; /* attempts since moves were last packed */
    Yield *yield[MW_NEIGHBOURHOOD_KINDS]; /* [MW_TUNED_SIZES] */
    bool perturbing;
    const MwImproveLimits *limits;
};

MwImprover *mw_improver_new(MwArena *arena, const MwCore *core, int threads, uint64_t seed)
{
    MwImprover *improver = MW_NEW(arena, MwImprover, 1);
    *improver = (MwImprover){.arena = arena,
                             .core = core,
                             .threads = threads,
                             .seed = seed,
                             .reported = MW_ABOVE_ANY_COST,
                             .attempts_since_packing = INT_MAX / 2};
    improver->flat = mw_flat_core_new(arena, core);
    improver->pool = mw_pool_new(arena, improver->flat);
    improver->price_sum = MW_NEW(arena, double, core->row_count + 1);
    improver->perturbed_price_sum = MW_NEW(arena, double, core->row_count + 1);
    improver->tight = MW_NEW(arena, int, TIGHT_ROWS);
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        improver->yield[kind] = MW_NEW(arena, Yield, MW_TUNED_SIZES);
    improver->task_count = TASKS_PER_THREAD * threads;
    improver->tasks = MW_NEW(arena, Task, improver->task_count);
    int nodes = improver->flat->node_count;
    for (int i = 0; i < improver->task_count; i++)
        improver->tasks[i] = (Task){.workspace = mw_attempt_workspace(arena, improver->flat),
                                    .seen = MW_NEW(arena, bool, nodes),
                                    .nodes = MW_NEW(arena, int, nodes),
                                    .proposals = MW_NEW(arena, MwProposal, MW_TUNED_PROPOSALS),
                                    .proposal_sum = MW_NEW(arena, double, core->row_count + 1)};
    return improver;
}

void mw_improver_free(MwImprover *improver)
{
    for (int i = 0; i < improver->task_count; i++)
        mw_attempt_workspace_free(&improver->tasks[i].workspace);
    mw_pool_free(improver->pool);
}

const MwCore *mw_improver_core(const MwImprover *improver)
{
    return improver->core;
}

/* Merges into the incumbent the changes of the current choice that improve it, and returns to
 * it. */
static void merge_into_incumbent(MwImprover *improver)
{
    MwArena *scratch = mw_arena_new();
    int count = 0;
    MwChange *changes = MW_NEW(scratch, MwChange, improver->flat->node_count);
    for (int i = 0; i < improver->flat->node_count; i++)
        if (improver->current->choice[i] != improver->incumbent->choice[i])
            changes[count++] = (MwChange){i, improver->current->choice[i]};
    MwMove move = mw_assignment_select(scratch, improver->incumbent, NULL, count, changes);
    if (move.gain > 0)
        mw_assignment_apply(improver->incumbent, &move);
    mw_assignment_copy(improver->current, improver->incumbent);
    mw_arena_free(&scratch);
}

void mw_improver_start(MwImprover *improver, const int *choice)
{
    MwArena *scratch = mw_arena_new();
    int *entered = MW_NEW(scratch, int, improver->flat->node_count);
    mw_flat_choice_from_core(improver->flat, choice, entered);
    if (!improver->incumbent) {
        improver->incumbent = mw_assignment_new(improver->arena, improver->flat, entered);
        improver->current = mw_assignment_new(improver->arena, improver->flat, entered);
    } else {
        merge_into_incumbent(improver);
        mw_assignment_copy(improver->current, mw_assignment_new(scratch, improver->flat, entered));
    }
    if (improver->current->cost < improver->incumbent->cost)
        mw_assignment_copy(improver->incumbent, improver->current);
    mw_arena_free(&scratch);
}

void mw_improver_offer(MwImprover *improver, const int *choice)
{
    if (improver->incumbent && mw_core_cost(improver->core, choice) >= improver->incumbent->cost)
        return;
    mw_improver_start(improver, choice);
    improver->reported = improver->incumbent->cost;
}

/* Rows of both cores are ordered by time. */
void mw_improver_set_prices(MwImprover *improver, const MwCore *other, const double *price)
{
    const MwCore *core = improver->core;
    for (int row = 0, from = 0; row < core->row_count; row++) {
        while (from < other->row_count && other->time[from] < core->time[row])
            from++;
        bool same = from < other->row_count && other->time[from] == core->time[row];
        improver->price_sum[row + 1] = improver->price_sum[row] + (same ? price[from] : 0);
    }
}

static int size_of(const MwImprover *improver, int index)
{
    return (int)mw_min(MW_TUNED_LEAST_SIZE << index, improver->flat->node_count);
}

/* Returns the number of distinct sizes. */
static int size_count(const MwImprover *improver)
{
    int count = 1;
    while (count < MW_TUNED_SIZES && size_of(improver, count) > size_of(improver, count - 1))
        count++;
    return count;
}

static Shape draw_any_shape(const MwImprover *improver, MwDraws *draws)
{
    return (Shape){(MwNeighbourhoodKind)mw_draw_below(draws, MW_NEIGHBOURHOOD_KINDS),
                   mw_draw_below(draws, size_count(improver))};
}

/* Draws a shape: with probability one half uniformly, otherwise in proportion to gain per work
 * (roulette-wheel selection, as in adaptive large-neighbourhood search). */
static Shape draw_shape(const MwImprover *improver, MwDraws *draws)
{
    int sizes = size_count(improver);
    double total = 0;
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        for (int size = 0; size < sizes; size++)
            total += improver->yield[kind][size].gain / (improver->yield[kind][size].work + 1);
    double left = total * mw_draw_uniform(draws) / (1 - MW_TUNED_DRAW_SHARE);
    for (int kind = 0; kind < MW_NEIGHBOURHOOD_KINDS; kind++)
        for (int size = 0; size < sizes; size++) {
            left -= improver->yield[kind][size].gain / (improver->yield[kind][size].work + 1);
            if (left < 0)
                return (Shape){(MwNeighbourhoodKind)kind, size};
        }
    return draw_any_shape(improver, draws);
}

static int draw_nodes(const MwImprover *improver, Task *task)
{
    return mw_neighbourhood_draw(improver->flat, task->shape.kind,
                                 size_of(improver, task->shape.size), &task->draws, task->seen,
                                 task->nodes);
}

static MwAttemptRequest request_of(Task *task, const MwAssignment *assignment,
                                   const double *price_sum, int count)
{
    return (MwAttemptRequest){.assignment = assignment,
                              .price_sum = price_sum,
                              .count = count,
                              .nodes = task->nodes,
                              .draws = &task->draws,
                              .limits = local_limits()};
}

static void run_task(void *context, int i)
{
    MwImprover *improver = context;
    Task *task = &improver->tasks[i];
    if (mw_stopped(&improver->limits->stop))
        return;
    MwAttemptOptions options = {.rounds = improver->perturbing ? 1 : MW_TUNED_FOLLOW_ROUNDS,
                                .prices_usage = improver->perturbing};
    if (!improver->perturbing && mw_draw_uniform(&task->draws) < MW_TUNED_DRAW_SHARE) {
        options.discounted = mw_neighbourhood_group_size(&task->draws);
        options.discount = mw_draw_uniform(&task->draws);
    }
    const double *price_sum =
        improver->perturbing ? improver->perturbed_price_sum : improver->price_sum;
    const int count = draw_nodes(improver, task);
    const MwAttemptRequest request = request_of(task, improver->current, price_sum, count);
    task->result = mw_attempt(task->arena, &task->workspace, &request, &options);
}

static void update_yield(MwImprover *improver, const Task *task, double gain)
{
    Yield *yield = &improver->yield[task->shape.kind][task->shape.size];
    yield->gain = MW_TUNED_YIELD_KEPT * yield->gain + gain;
    yield->work = MW_TUNED_YIELD_KEPT * yield->work + (double)task->result.work;
}

/* Applies the move that a task found, as far as it still gains after the moves of other tasks. */
static MwCost apply_result(MwImprover *improver, const Task *task, bool changed)
{
    MwMove move = task->result.move;
    if (move.count == 0)
        return 0;
    MwArena *scratch = mw_arena_new();
    if (changed)
        move = mw_assignment_select(scratch, improver->current,
                                    improver->perturbing ? improver->perturbed_price_sum : NULL,
                                    move.count, move.changes);
    if (move.gain > 0 || improver->perturbing)
        mw_assignment_apply(improver->current, &move);
    mw_arena_free(&scratch);
    return move.gain;
}

static void begin_task(MwImprover *improver, Task *task)
{
    task->draws = (MwDraws){.seed = improver->seed, .stream = improver->attempts++};
    task->arena = mw_arena_new();
    task->result = (MwAttempt){0};
}

/* Returns the work done. */
static int64_t run_round(MwImprover *improver)
{
    bool changed = false;
    int64_t work = 0;
    for (int i = 0; i < improver->task_count; i++) {
        Task *task = &improver->tasks[i];
        begin_task(improver, task);
        task->shape = draw_shape(improver, &task->draws);
    }
    mw_parallel(improver->threads, improver->task_count, run_task, improver);
    for (int i = 0; i < improver->task_count; i++) {
        Task *task = &improver->tasks[i];
        MwCost gain = apply_result(improver, task, changed);
        changed |= task->result.move.count > 0;
        improver->failures = gain > 0 ? 0 : improver->failures + 1;
        if (!improver->perturbing)
            update_yield(improver, task, fmax(0, (double)gain));
        work += task->result.work;
        mw_arena_free(&task->arena);
    }
    improver->attempts_since_packing += improver->task_count;
    return work;
}

/* ---- Moves that are feasible only together ---- */

/* Finds the rows of least slack, in order of rising slack. */
static void find_tight(MwImprover *improver)
{
    const int64_t *slack = improver->incumbent->slack;
    const int rows = improver->core->row_count;
    improver->tight_count = 0;
    for (int row = 0; row < rows; row++) {
        int at = improver->tight_count;
        for (; at > 0 && slack[improver->tight[at - 1]] > slack[row]; at--)
            if (at < TIGHT_ROWS)
                improver->tight[at] = improver->tight[at - 1];
        if (at < TIGHT_ROWS)
            improver->tight[at] = row;
        improver->tight_count = (int)mw_min(improver->tight_count + 1, TIGHT_ROWS);
    }
}

/* Draws the prices and nodes of a proposal. With probability one half: the prices, and any nodes.
 * Otherwise: the prices plus their sum again for one of the tightest rows, and nodes that use that
 * row. The row need not have a price; its slack may be what other moves wait for. Returns the
 * number of nodes. */
static int draw_proposal(const MwImprover *improver, Task *task)
{
    const int rows = improver->core->row_count;
    int priced_row = rows;
    if (improver->tight_count > 0 && mw_draw_uniform(&task->draws) < MW_TUNED_DRAW_SHARE)
        priced_row = improver->tight[mw_draw_below(&task->draws, improver->tight_count)];
    for (int row = 0; row <= rows; row++)
        task->proposal_sum[row] =
            improver->price_sum[row] + (row > priced_row ? improver->price_sum[rows] : 0);
    task->shape = draw_any_shape(improver, &task->draws);
    const int size = size_of(improver, task->shape.size);
    const int count = priced_row == rows
                          ? 0
                          : mw_neighbourhood_of_row(improver->flat, priced_row, size, task->nodes);
    return count > 0 ? count : draw_nodes(improver, task);
}

static void run_proposal_task(void *context, int i)
{
    MwImprover *improver = context;
    Task *task = &improver->tasks[i];
    const double low = log2(LEAST_MULTIPLE), high = log2(MW_TUNED_MAX_PRICE_MULTIPLE);
    double *multiple = MW_NEW(task->arena, double, MW_TUNED_PROPOSALS);
    memset(task->proposals, 0, sizeof *task->proposals * MW_TUNED_PROPOSALS);
    if (mw_stopped(&improver->limits->stop))
        return;
    int count = draw_proposal(improver, task);
    for (int k = 0; k < MW_TUNED_PROPOSALS; k++)
        multiple[k] =
            exp2(low + (high - low) * (k + mw_draw_uniform(&task->draws)) / MW_TUNED_PROPOSALS);
    const MwAttemptRequest request =
        request_of(task, improver->incumbent, task->proposal_sum, count);
    task->result.work = mw_attempt_propose(task->arena, &task->workspace, &request,
                                           MW_TUNED_PROPOSALS, multiple, task->proposals);
}

/* Collects proposals. Returns the work done. */
static int64_t collect_moves(MwImprover *improver)
{
    int64_t work = 0;
    for (int i = 0; i < improver->task_count; i++)
        begin_task(improver, &improver->tasks[i]);
    mw_parallel(improver->threads, improver->task_count, run_proposal_task, improver);
    for (int i = 0; i < improver->task_count; i++) {
        Task *task = &improver->tasks[i];
        for (int k = 0; k < MW_TUNED_PROPOSALS; k++)
            mw_pool_add(improver->pool, improver->incumbent, task->proposals[k].count,
                        task->proposals[k].changes);
        work += task->result.work;
        mw_arena_free(&task->arena);
    }
    return work;
}

/* Improves the incumbent by a selection among the proposals of attempts at other prices; the search
 * goes on from there. Returns the work done. */
static int64_t pack_moves(MwImprover *improver)
{
    int64_t work = 0;
    find_tight(improver);
    for (int i = 0; i < MW_TUNED_PACKING_PERIOD; i += improver->task_count)
        work += collect_moves(improver);
    MwArena *scratch = mw_arena_new();
    const MwPoolLimits limits = {.threads = improver->threads,
                                 .seed = improver->seed + improver->attempts++,
                                 .stop = improver->limits->stop};
    MwPoolPacked packed =
        mw_pool_pack(scratch, improver->pool, improver->incumbent, improver->price_sum, &limits);
    if (packed.move.count > 0) {
        mw_assignment_apply(improver->incumbent, &packed.move);
        mw_assignment_copy(improver->current, improver->incumbent);
        improver->failures = 0;
    }
    improver->attempts_since_packing = 0;
    mw_arena_free(&scratch);
    return work + packed.work;
}

/* Perturbs: runs a round that minimises cost plus priced usage, at raised prices. Returns the work
 * done. */
static int64_t perturb(MwImprover *improver)
{
    MwDraws draws = {.seed = improver->seed, .stream = improver->attempts++};
    /* Mostly weak, sometimes strong. */
    double strength = mw_draw_uniform(&draws), multiple = exp(strength * strength);
    for (int row = 0; row < improver->core->row_count; row++)
        improver->perturbed_price_sum[row + 1] = multiple * improver->price_sum[row + 1];
    improver->perturbing = true;
    const int64_t work = run_round(improver);
    improver->perturbing = false;
    improver->failures = 0;
    return work;
}

/* Reports the incumbent if it is better than what was reported. Returns whether it is. */
static bool report(MwImprover *improver)
{
    if (improver->incumbent->cost >= improver->reported)
        return false;
    improver->reported = improver->incumbent->cost;
    MwArena *scratch = mw_arena_new();
    int *choice = MW_NEW(scratch, int, improver->core->node_count);
    mw_flat_choice_to_core(improver->flat, improver->incumbent->choice, choice);
    if (mw_core_allows(improver->core, choice))
        improver->limits->report(improver->limits->context, choice);
    mw_arena_free(&scratch);
    return true;
}

bool mw_improve(MwImprover *improver, const MwImproveLimits *limits)
{
    int64_t work = 0;
    int perturbations = 0, patience = MW_TUNED_PERTURB_PATIENCE +
                                      improver->flat->node_count / MW_TUNED_PERTURB_PATIENCE;
    const int packing_period =
        MW_TUNED_PACKING_PERIOD + improver->flat->node_count / (4 * MW_TUNED_PACKING_PERIOD);
    if (!improver->incumbent || improver->flat->node_count == 0)
        return false;
    MwCost first = improver->reported;
    improver->limits = limits;
    improver->failures = 0;
    report(improver);
    while (!mw_stopped(&limits->stop) && (limits->work == 0 || work < limits->work)) {
        const int64_t before = work;
        work += run_round(improver);
        if (improver->failures >= patience)
            merge_into_incumbent(improver);
        else if (improver->current->cost < improver->incumbent->cost)
            mw_assignment_copy(improver->incumbent, improver->current);
        if (improver->attempts_since_packing >= packing_period && improver->core->row_count > 0)
            work += pack_moves(improver);
        mw_stop_count(&limits->stop, work - before);
        if (report(improver))
            perturbations = 0;
        if (improver->failures < patience)
            continue;
        if (perturbations++ >= limits->perturbations)
            break;
        work += perturb(improver);
    }
    return improver->reported < first;
}
