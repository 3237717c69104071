/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resharding as a shortest path.
 *
 * The vertices are all specs of a tensor on a mesh: each mesh axis is unused, splits one
 * dimension, or is partial. The edges are single collectives along one axis, and the local
 * slice:
 *
 *     all_reduce      +Pa            -> (unused)
 *     reduce_scatter  +Pa            -> dimension d split over a
 *     all_gather      d split over a -> (unused)
 *     all_to_all      e split over a -> d split over a
 *     shard           (unused)       -> d split over a
 *
 * A dimension split over several axes is blocked by its lowest axis first. So only its highest
 * axis can be gathered, and only a higher axis can split it further. Lengths are the cost
 * model's seconds in picoseconds, so that sums are exact and ties are real. The search is
 * Dijkstra's; it computes a row of the table at the first request for it.
 *
 * A collective along a dimension that is not the outermost moves blocks that are not contiguous,
 * and pays for a copy of its data on that side. */
#include "cost/reshard.h"

#include "cost/units.h"
#include "ir/key_map.h"

#include <string.h>

typedef struct {
    int to; /* index of a state */
    int64_t cost, local;
} ReshardEdge;

typedef struct {
    bool valid;
    MwSpec spec;
    int64_t bytes;      /* per device */
    ReshardEdge *edges; /* to the states one step away; NULL: not listed yet */
    int edge_count;
} ReshardState;

/* Shortest paths from one state. `previous` is the state before each on its path, `local` what
 * kernels take of its cost. */
typedef struct {
    int64_t *cost, *local;
    int16_t *previous;
    int16_t *steps;
} ReshardRow;

struct MwReshardTable {
    MwArena *arena;
    const MwCostModel *model;
    MwTensor tensor;
    MwCombine combine;
    int digit_count;         /* rank + 2: unused, a dimension, partial */
    int weight[MW_MAX_AXES]; /* of an axis in a state's index; 0: the axis has one device */
    int state_count;
    ReshardState *states;
    ReshardRow *rows; /* [state_count]; cost NULL: not searched yet */
};

struct MwResharder {
    MwArena *arena;
    MwCostModel model;
    MwKeyMap tables; /* by tensor type and combine */
};

MwResharder *mw_resharder_new(MwArena *arena, const MwCostModel *model)
{
    MwResharder *resharder = MW_NEW(arena, MwResharder, 1);
    resharder->arena = arena;
    resharder->model = *model;
    return resharder;
}

static int digit_of(const MwReshardTable *table, int state, int axis)
{
    return table->weight[axis] ? state / table->weight[axis] % table->digit_count : 0;
}

/* Fills the spec and size of a state from the digits of its index. */
static void fill_state(MwReshardTable *table, int number)
{
    ReshardState *state = &table->states[number];
    MwAxes dims[MW_MAX_RANK] = {0}, partial = 0;
    for (int axis = 0; axis < table->model->mesh.axis_count; axis++) {
        int digit = digit_of(table, number, axis);
        if (digit == table->digit_count - 1)
            partial |= (MwAxes)(1 << axis);
        else if (digit)
            dims[digit - 1] |= (MwAxes)(1 << axis);
    }
    state->spec = mw_spec_with_partial(mw_spec_replicated(), partial, table->combine);
    for (int d = 0; d < table->tensor.rank; d++)
        state->spec = mw_spec_with_dim(state->spec, d, dims[d]);
    state->valid = mw_spec_is_valid(state->spec, &table->tensor, &table->model->mesh);
    if (!state->valid)
        return;
    MwTensor local = mw_spec_local(state->spec, &table->tensor, &table->model->mesh);
    state->bytes = mw_tensor_bytes(&local);
}

static MwReshardTable *table_new(MwResharder *resharder, const MwTensor *tensor, MwCombine combine)
{
    MwReshardTable *table = MW_NEW(resharder->arena, MwReshardTable, 1);
    table->arena = resharder->arena;
    table->model = &resharder->model;
    table->tensor = *tensor;
    table->combine = combine;
    table->digit_count = tensor->rank + 2;
    table->state_count = 1;
    for (int axis = 0; axis < resharder->model.mesh.axis_count; axis++) {
        if (resharder->model.mesh.size[axis] == 1)
            continue;
        table->weight[axis] = table->state_count;
        table->state_count *= table->digit_count;
    }
    table->states = MW_NEW(table->arena, ReshardState, table->state_count);
    table->rows = MW_NEW(table->arena, ReshardRow, table->state_count);
    for (int i = 0; i < table->state_count; i++)
        fill_state(table, i);
    return table;
}

MwReshardTable *mw_reshard_table(MwResharder *resharder, const MwTensor *tensor, MwCombine combine)
{
    struct {
        MwTensor tensor;
        int64_t combine;
    } key;
    memset(&key, 0, sizeof key);
    key.tensor = *tensor;
    key.combine = combine;
    void **table = mw_key_map_at(resharder->arena, &resharder->tables, &key, sizeof key);
    if (!*table)
        *table = table_new(resharder, tensor, combine);
    return *table;
}

int mw_reshard_index(const MwReshardTable *table, MwSpec spec)
{
    MwAxes partial = mw_spec_partial(spec);
    if (partial && mw_spec_combine(spec) != table->combine)
        return -1;
    int state = 0;
    for (int axis = 0; axis < table->model->mesh.axis_count; axis++) {
        if (partial >> axis & 1)
            state += table->weight[axis] * (table->digit_count - 1);
        for (int d = 0; d < table->tensor.rank; d++)
            if (mw_spec_dim(spec, d) >> axis & 1)
                state += table->weight[axis] * (d + 1);
    }
    MW_ASSERT(table->states[state].valid);
    return state;
}

/* Seconds to copy `bytes` once if the blocks of `dim` in a local tensor under `spec` are not
 * contiguous, that is, if a dimension before it is longer than 1. */
static double repack_s(const MwReshardTable *table, MwSpec spec, int dim, int64_t bytes)
{
    for (int d = 0; d < dim; d++)
        if (table->tensor.dim[d] > mw_mesh_ways(&table->model->mesh, mw_spec_dim(spec, d)))
            return mw_cost_work_s(table->model,
                                  &(MwWork){MW_WORK_STREAM, .bytes = 2.0 * (double)bytes});
    return 0;
}

/* Whether it is done by gathering all parts and combining them locally: a partial log-sum-exp. */
static bool gathers_parts(const MwReshardTable *table, const MwReshardStep *step)
{
    return step->op == MW_OP_ALL_REDUCE && table->combine == MW_COMBINE_LOGSUMEXP;
}

static double collective_s(const MwReshardTable *table, const MwReshardStep *step)
{
    const double bytes = (double)step->bytes;
    if (step->op == MW_OP_SHARD)
        return 0;
    if (gathers_parts(table, step))
        return mw_cost_collective_s(table->model, MW_ALL_GATHER, step->axis,
                                    bytes * table->model->mesh.size[step->axis]);
    return mw_cost_collective_s(table->model, mw_op_collective(step->op), step->axis, bytes);
}

/* Seconds of two copies: one before a collective that makes the blocks it splits contiguous, one
 * after it for the blocks that it joins. */
static double repacks_s(const MwReshardTable *table, const MwReshardStep *step,
                        const ReshardState *a, const ReshardState *b)
{
    const MwCollectiveInfo *info = mw_collective_info(mw_op_collective(step->op));
    double seconds = 0;
    if (info->splits)
        seconds += repack_s(table, a->spec, step->dim, a->bytes);
    if (info->joins)
        seconds += repack_s(table, b->spec, info->splits ? step->from_dim : step->dim, b->bytes);
    return seconds;
}

/* Seconds of what kernels do for a step. */
static double local_s(const MwReshardTable *table, const MwReshardStep *step, const ReshardState *a,
                      const ReshardState *b)
{
    MwWork work = {MW_WORK_STREAM, .bytes = 2.0 * (double)b->bytes};
    if (gathers_parts(table, step)) {
        work.flops = (double)step->bytes * table->model->mesh.size[step->axis];
        work.bytes = work.flops + (double)step->bytes;
    } else if (step->op != MW_OP_SHARD) {
        return mw_collective_in_place(mw_op_collective(step->op)) ? 0
                                                                  : repacks_s(table, step, a, b);
    }
    return mw_cost_work_s(table->model, &work);
}

/* Sets the bytes and the cost of a step. */
static void set_cost(const MwReshardTable *table, MwReshardStep *step, const ReshardState *a,
                     const ReshardState *b)
{
    step->bytes = mw_max(a->bytes, b->bytes);
    const double local = local_s(table, step, a, b);
    step->local = mw_picoseconds(local);
    step->cost = mw_max(1, mw_picoseconds(collective_s(table, step) + local));
}

/* True if `axis` is above every other axis in `axes`. */
static bool is_highest(MwAxes axes, int axis)
{
    return (axes & ~(1 << axis)) >> axis == 0;
}

/* Fills `step` with the change of `axis` to digit `to`, if one collective or slice does it. */
static bool find_step(const MwReshardTable *table, int state, int axis, int to, MwReshardStep *step)
{
    int from = digit_of(table, state, axis), partial = table->digit_count - 1;
    if (from == to || to == partial)
        return false;
    const ReshardState *a = &table->states[state];
    const ReshardState *b = &table->states[state + (to - from) * table->weight[axis]];
    bool leaves_dim = from && from != partial;
    if (!b->valid || (leaves_dim && !is_highest(mw_spec_dim(a->spec, from - 1), axis)) ||
        (to && !is_highest(mw_spec_dim(b->spec, to - 1), axis)))
        return false;
    if (from == partial && to && table->combine != MW_COMBINE_SUM)
        return false;
    *step = (MwReshardStep){.axis = axis,
                            .dim = to - 1,
                            .from_dim = -1,
                            .from = a->spec,
                            .to = b->spec,
                            .combine = table->combine};
    if (from == partial) {
        step->op = to ? MW_OP_REDUCE_SCATTER : MW_OP_ALL_REDUCE;
    } else if (leaves_dim) {
        step->op = to ? MW_OP_ALL_TO_ALL : MW_OP_ALL_GATHER;
        if (to)
            step->from_dim = from - 1;
        else
            step->dim = from - 1;
    } else {
        step->op = MW_OP_SHARD;
    }
    set_cost(table, step, a, b);
    return true;
}

/* The nearest state that is not done, by cost, then steps, then index; -1 if none is left. */
static int nearest(const MwReshardTable *table, const ReshardRow *row, const bool *done)
{
    int best = -1;
    for (int i = 0; i < table->state_count; i++) {
        if (done[i] || row->cost[i] >= MW_COST_INFINITE)
            continue;
        if (best < 0 || row->cost[i] < row->cost[best] ||
            (row->cost[i] == row->cost[best] && row->steps[i] < row->steps[best]))
            best = i;
    }
    return best;
}

/* Lists the states one step away, with their costs. */
static void list_edges(MwReshardTable *table, int number)
{
    ReshardState *state = &table->states[number];
    MwReshardStep step;
    state->edges =
        MW_NEW(table->arena, ReshardEdge, table->model->mesh.axis_count * table->digit_count);
    for (int axis = 0; axis < table->model->mesh.axis_count; axis++)
        for (int to = 0; table->weight[axis] && to < table->digit_count; to++)
            if (find_step(table, number, axis, to, &step))
                state->edges[state->edge_count++] = (ReshardEdge){
                    number + (to - digit_of(table, number, axis)) * table->weight[axis], step.cost,
                    step.local};
}

/* Relaxes the edges of a state, as in Dijkstra's algorithm. */
static void relax(MwReshardTable *table, ReshardRow *row, int number)
{
    const ReshardState *state = &table->states[number];
    if (!state->edges)
        list_edges(table, number);
    for (int i = 0; i < state->edge_count; i++) {
        int next = state->edges[i].to;
        int64_t cost = row->cost[number] + state->edges[i].cost;
        int16_t steps = (int16_t)(row->steps[number] + 1);
        if (cost > row->cost[next] || (cost == row->cost[next] && steps >= row->steps[next]))
            continue;
        row->cost[next] = cost;
        row->local[next] = row->local[number] + state->edges[i].local;
        row->steps[next] = steps;
        row->previous[next] = (int16_t)number;
    }
}

/* The shortest paths from a state, computed at the first call. */
static const ReshardRow *search_from(MwReshardTable *table, int source)
{
    ReshardRow *row = &table->rows[source];
    if (row->cost)
        return row;
    int n = table->state_count;
    row->cost = MW_NEW(table->arena, int64_t, n);
    row->local = MW_NEW(table->arena, int64_t, n);
    row->previous = MW_NEW(table->arena, int16_t, n);
    row->steps = MW_NEW(table->arena, int16_t, n);
    for (int i = 0; i < n; i++)
        row->cost[i] = MW_COST_INFINITE;
    row->cost[source] = 0;
    row->previous[source] = -1;
    bool *done = MW_NEW(table->arena, bool, n);
    for (int state = source; state >= 0; state = nearest(table, row, done)) {
        done[state] = true;
        relax(table, row, state);
    }
    return row;
}

int64_t mw_reshard_cost(MwReshardTable *table, int from, int to)
{
    if (from < 0 || to < 0)
        return MW_COST_INFINITE;
    return from == to ? 0 : search_from(table, from)->cost[to];
}

int64_t mw_reshard_local(MwReshardTable *table, int from, int to)
{
    return from < 0 || to < 0 ? 0 : search_from(table, from)->local[to];
}

/* The step between two neighbouring states of a path: the one axis whose digit differs. */
static MwReshardStep step_between(const MwReshardTable *table, int state, int next)
{
    MwReshardStep step;
    for (int axis = 0; axis < table->model->mesh.axis_count; axis++)
        if (digit_of(table, state, axis) != digit_of(table, next, axis) &&
            find_step(table, state, axis, digit_of(table, next, axis), &step))
            return step;
    MW_UNREACHABLE();
}

MwReshardPath mw_reshard_path(MwArena *arena, MwResharder *resharder, const MwTensor *tensor,
                              MwSpec from, MwSpec to)
{
    MwCombine combine = mw_spec_partial(from) ? mw_spec_combine(from) : MW_COMBINE_SUM;
    MwReshardTable *table = mw_reshard_table(resharder, tensor, combine);
    int source = mw_reshard_index(table, from), target = mw_reshard_index(table, to);
    MW_ASSERT(source >= 0 && target >= 0);
    const ReshardRow *row = search_from(table, source);
    MW_ASSERT(row->cost[target] < MW_COST_INFINITE);
    MwReshardPath path = {.count = row->steps[target], .cost = row->cost[target]};
    path.steps = MW_NEW(arena, MwReshardStep, path.count);
    for (int state = target, i = path.count - 1; i >= 0; state = row->previous[state], i--)
        path.steps[i] = step_between(table, row->previous[state], state);
    return path;
}
