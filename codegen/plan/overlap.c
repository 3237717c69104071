/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/overlap.h"

#include "codegen/plan/bucket_items.h"
#include "codegen/plan/unit_times.h"
#include "codegen/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a step of the order is for the collectives beside it. */
typedef enum {
    STEP_OTHER,
    STEP_GATHER, /* of what is there when the task begins, such as weights */
    STEP_GIVEN,  /* a kernel on what is there when the task begins, such as a cast */
    STEP_SUM,    /* of what a micro-batch adds to gradients */
    STEP_TAKER,  /* a kernel on such sums, which leaves to the task nothing but further sums */
    STEP_FIXED,  /* a message, which nothing is moved past */
} StepKind;

/* Units that follow each other in any case: those of a bucket, or of a loop. */
typedef struct {
    StepKind kind;
    int first, count; /* positions */
    double begin_s;   /* when it begins, in the seconds in which the phase computes */
    double alone_s;   /* of a collective */
    double wait_s;    /* of a sum: with those before it that it sums up further */
    double wanted_s;  /* when the first reader of what it makes wants it */
    double start_s;   /* when it is to begin */
    /* where it goes: before step `at` if `side` < 0, behind it if > 0 */
    int at, side;
    int held; /* what it reads stays until this step; -1: as long as it is read */
} Step;

typedef struct {
    MwArena *arena;
    const MwLiveRanges *live;
    const MwLegal *legal;
    const MwUnits *units;
    const MwCostModel *model;
    MwOrder *order;
    MwPhase phase;
    double peak_share;
    int64_t *live_bytes; /* [positions] besides what has a place of its own */
    double most_bytes;   /* up to which they may grow */
    double end_s;        /* when the phase ends */
    int32_t *step_of;    /* [units] of the phase; -1: of another one */
    MW_VEC(Step) steps;
} Mover;

/* ---- Live bytes ---- */

static int64_t root_bytes(const Mover *m, int root)
{
    return mw_tensor_bytes(mw_value_tensor(m->legal->graph, (MwValueId){root}));
}

static void sum_live(Mover *m)
{
    const MwLiveRanges *live = m->live;
    m->live_bytes = MW_NEW(m->arena, int64_t, m->order->count + 1);
    for (int v = 0; v < m->legal->graph->values.count; v++) {
        const MwValueId root = {v};
        if (!m->units->is_stored[v] || mw_live_is_persistent(live, root) ||
            mw_legal_root(m->legal, root).index != v)
            continue;
        const int begin = mw_live_begin(live, root), end = (int)mw_max(begin, live->last_use[v]);
        if (!live->flight->is_sequential &&
            mw_live_phase_at(live, begin) != mw_live_phase_at(live, end))
            continue;
        m->live_bytes[begin] += root_bytes(m, v);
        m->live_bytes[mw_min(end + 1, m->order->count)] -= root_bytes(m, v);
    }
    for (int p = 1; p < m->order->count; p++)
        m->live_bytes[p] += m->live_bytes[p - 1];
    for (int p = 0; p < m->order->count; p++)
        m->most_bytes = fmax(m->most_bytes, m->peak_share * (double)m->live_bytes[p]);
}

static bool has_room(const Mover *m, int position, int64_t bytes)
{
    return (double)(m->live_bytes[position] + bytes) <= m->most_bytes;
}

static void add_live(const Mover *m, int begin, int end, int64_t bytes)
{
    for (int p = begin; p < end; p++)
        m->live_bytes[p] += bytes;
}

/* ---- Steps ---- */

static const MwUnit *unit_at(const Mover *m, int position)
{
    return &m->units->units.at[m->order->unit[position]];
}

static const MwNode *first_node(const Mover *m, const Step *step)
{
    return mw_unit_first_node(m->legal, m->units, m->order->unit[step->first]);
}

static bool is_collective(const Mover *m, const Step *step)
{
    const MwNode *node = first_node(m, step);
    if (mw_op_info(node->op)->lowering != MW_LOWER_COLLECTIVE || unit_at(m, step->first)->loop >= 0)
        return false;
    return mw_collective_info(mw_op_collective(node->op))->peer == MW_PEER_ALL &&
           m->model->mesh.size[mw_node_int(node, MW_ATTR_MESH_AXIS)] > 1;
}

/* The end of the units that stay with the one at `position`. */
static int end_of(const Mover *m, int position)
{
    const int end = m->order->begin[m->phase + 1], loop = unit_at(m, position)->loop;
    int last = position + 1;
    while (last < end && ((loop >= 0 && unit_at(m, last)->loop == loop) ||
                          m->order->position[m->order->unit[last]] == position))
        last++;
    return last;
}

static double collective_s(const Mover *m, const Step *step)
{
    const MwNode *node = first_node(m, step);
    double bytes = 0;
    for (int p = step->first; p < step->first + step->count; p++)
        bytes += mw_bucket_call_bytes(m->legal, m->units, m->order->unit[p]);
    return mw_cost_collective_s(m->model, mw_op_collective(node->op),
                                (int)mw_node_int(node, MW_ATTR_MESH_AXIS), bytes);
}

static void cut_steps(Mover *m)
{
    double clock_s = 0;
    for (int p = m->order->begin[m->phase], end; p < m->order->begin[m->phase + 1]; p = end) {
        end = end_of(m, p);
        Step step = {.first = p,
                     .count = end - p,
                     .begin_s = clock_s,
                     .wanted_s = INFINITY,
                     .at = m->steps.count,
                     .held = -1};
        if (mw_op_info(first_node(m, &step)->op)->lowering == MW_LOWER_TRANSFER)
            step.kind = STEP_FIXED;
        if (is_collective(m, &step))
            step.alone_s = collective_s(m, &step);
        for (; p < end; p++) {
            clock_s += mw_unit_s(m->arena, m->legal, m->units, m->model, m->order->unit[p]);
            m->step_of[m->order->unit[p]] = m->steps.count;
        }
        mw_vec_push(m->arena, &m->steps, step);
    }
    m->end_s = clock_s;
}

/* ---- Readers and makers ---- */

typedef MW_VEC(int) Indices;

/* The steps of the phase that make what a step reads, some of them several times. */
static Indices makers_of(const Mover *m, int index)
{
    const Step *step = &m->steps.at[index];
    Indices makers = {0};
    for (int p = step->first; p < step->first + step->count; p++)
        for (int i = 0; i < unit_at(m, p)->nodes.count; i++) {
            const MwNode *node = mw_legal_at(m->legal, unit_at(m, p)->nodes.at[i]);
            for (int k = 0; k < node->operand_count; k++) {
                const int unit = mw_operand_maker(m->legal, m->units, node, k);
                const int maker = unit < 0 ? -1 : m->step_of[unit];
                if (maker >= 0 && maker != index)
                    mw_vec_push(m->arena, &makers, maker);
            }
        }
    return makers;
}

static bool is_kernel(const Mover *m, const Step *step)
{
    return step->count == 1 && unit_at(m, step->first)->is_kernel &&
           unit_at(m, step->first)->loop < 0;
}

/* Whether a kernel or a collective takes nothing but what is there when the task begins. */
static void find_given(Mover *m)
{
    for (int i = 0; i < m->steps.count; i++) {
        Step *step = &m->steps.at[i];
        const Indices makers = makers_of(m, i);
        bool is_given = step->kind == STEP_OTHER && (step->alone_s > 0 || is_kernel(m, step));
        for (int k = 0; k < makers.count; k++) {
            const StepKind maker = m->steps.at[makers.at[k]].kind;
            is_given &= maker == STEP_GATHER || maker == STEP_GIVEN;
        }
        if (is_given)
            step->kind = step->alone_s > 0 ? STEP_GATHER : STEP_GIVEN;
    }
}

/* Whether what a collective makes may be a sum of gradients. */
static bool may_sum(const Mover *m, const Step *step)
{
    return step->kind == STEP_OTHER && step->alone_s > 0 && m->phase != MW_PHASE_FORWARD &&
           mw_op_collective(first_node(m, step)->op) != MW_ALL_GATHER;
}

/* Sums are collectives that only sums and takers read; takers are kernels that nothing reads, or
 * only these. */
static void find_sums(Mover *m)
{
    const int count = m->steps.count;
    bool *is_needed = MW_NEW(m->arena, bool, count);
    for (int i = count - 1; i >= 0; i--) {
        Step *step = &m->steps.at[i];
        const Indices makers = makers_of(m, i);
        if (may_sum(m, step) && !is_needed[i])
            step->kind = STEP_SUM;
        else if (step->kind == STEP_OTHER && is_kernel(m, step) && !is_needed[i])
            step->kind = STEP_TAKER;
        for (int k = 0; k < makers.count; k++)
            is_needed[makers.at[k]] |= step->kind != STEP_SUM && step->kind != STEP_TAKER;
    }
}

/* ---- Sums of gradients ---- */

static int64_t result_bytes(const Mover *m, const Step *step)
{
    int64_t bytes = 0;
    for (int p = step->first; p < step->first + step->count; p++)
        for (int i = 0; i < unit_at(m, p)->nodes.count; i++) {
            const MwNode *node = mw_legal_at(m->legal, unit_at(m, p)->nodes.at[i]);
            for (int k = 0; k < node->result_count; k++)
                if (m->units->is_stored[node->first_result + k])
                    bytes += root_bytes(m, node->first_result + k);
        }
    return bytes;
}

static int64_t operand_bytes(const Mover *m, const Step *step)
{
    int64_t bytes = 0;
    for (int p = step->first; p < step->first + step->count; p++) {
        const MwNode *node = mw_legal_at(m->legal, unit_at(m, p)->nodes.at[0]);
        bytes += mw_tensor_bytes(mw_legal_operand_tensor(m->legal, node, 0));
    }
    return bytes;
}

static bool has_room_beside(const Mover *m, const Step *step, int64_t bytes)
{
    for (int p = step->first; p < step->first + step->count; p++)
        if (!has_room(m, p, bytes))
            return false;
    return true;
}

/* The last step behind `index` that begins before `until_s` and up to which `bytes` more may be
 * live; they are, from then on. */
static int keep_until(const Mover *m, int index, double until_s, int64_t bytes)
{
    int last = index;
    while (last + 1 < m->steps.count && m->steps.at[last + 1].kind != STEP_FIXED &&
           m->steps.at[last + 1].begin_s < until_s &&
           has_room_beside(m, &m->steps.at[last + 1], bytes))
        last++;
    const Step *end = &m->steps.at[last];
    add_live(m, m->steps.at[index].first + m->steps.at[index].count, end->first + end->count,
             bytes);
    return last;
}

/* When a step begins where it goes. */
static double placed_s(const Mover *m, const Step *step)
{
    if (step->side <= 0)
        return step->begin_s;
    return step->at + 1 < m->steps.count ? m->steps.at[step->at + 1].begin_s : m->end_s;
}

/* What is summed up stays until the sum is there, if that is not written over it. */
static void hold(const Mover *m, Step *step)
{
    if (mw_op_collective(first_node(m, step)->op) != MW_REDUCE_SCATTER)
        return;
    const int last =
        keep_until(m, step->at, placed_s(m, step) + MW_TUNED_BUCKET_CAUTION * step->wait_s,
                   operand_bytes(m, step));
    step->held = last > step->at ? last : -1;
}

/* Moves what takes sums back until these are there, and what sums them up further with it. */
static void move_sum(const Mover *m, int index)
{
    Step *step = &m->steps.at[index];
    const Indices makers = makers_of(m, index);
    double wait_s = 0, made_s = 0;
    int64_t bytes = 0;
    bool takes_all = makers.count > 0;
    for (int k = 0; k < makers.count; k++) {
        const Step *maker = &m->steps.at[makers.at[k]];
        takes_all &= maker->kind == STEP_SUM;
        wait_s = fmax(wait_s, maker->wait_s);
        made_s = fmax(made_s, placed_s(m, maker));
        bytes += result_bytes(m, maker);
        if (maker->at >= step->at) {
            step->at = maker->at;
            step->side = 1;
        }
    }
    if (step->kind == STEP_TAKER && takes_all) {
        step->at = keep_until(m, step->at, made_s + MW_TUNED_BUCKET_CAUTION * wait_s, bytes);
        step->side = step->at > index ? 1 : step->side;
        wait_s = fmax(0, made_s + wait_s - placed_s(m, step));
    }
    step->wait_s = step->alone_s + wait_s;
    if (step->kind == STEP_SUM)
        hold(m, step);
}

static void move_sums(Mover *m)
{
    for (int i = 0; i < m->steps.count; i++)
        if (m->steps.at[i].kind == STEP_SUM || m->steps.at[i].kind == STEP_TAKER)
            move_sum(m, i);
}

/* ---- Gathers of weights ---- */

/* Gathers are done one after another: from the last one on, each begins early enough for its reader
 * and for the next gather, and what it gathers is made as early. */
static void time_gathers(Mover *m)
{
    double next_s = INFINITY;
    for (int i = m->steps.count - 1; i >= 0; i--) {
        Step *step = &m->steps.at[i];
        const Indices makers = makers_of(m, i);
        const double wanted_s = fmin(step->wanted_s, step->begin_s);
        step->start_s = step->kind == STEP_GIVEN ? wanted_s : step->begin_s;
        if (step->kind == STEP_GATHER) {
            const double takes_s = MW_TUNED_BUCKET_CAUTION * step->alone_s;
            step->start_s =
                fmin(next_s, fmax(wanted_s - 2 * takes_s, fmin(wanted_s, next_s) - takes_s));
            next_s = step->start_s;
        }
        for (int k = 0; k < makers.count; k++) {
            double *maker_s = &m->steps.at[makers.at[k]].wanted_s;
            *maker_s = fmin(*maker_s, step->start_s);
        }
    }
}

/* The first step in front of which one may be: behind the message before it and all that it reads,
 * which may be moved. */
static int floor_of(const Mover *m, int index)
{
    const Indices makers = makers_of(m, index);
    int floor = index;
    while (floor > 0 && m->steps.at[floor - 1].kind != STEP_FIXED)
        floor--;
    for (int k = 0; k < makers.count; k++) {
        const Step *maker = &m->steps.at[makers.at[k]];
        floor = (int)mw_max(floor, maker->side < 0 ? maker->at : makers.at[k] + 1);
    }
    return floor;
}

/* Moves a step ahead to when it is to begin, as far as there is memory for what it makes. */
static void move_ahead(const Mover *m, int index, int floor)
{
    Step *step = &m->steps.at[index];
    const int64_t bytes = result_bytes(m, step);
    while (step->at > floor && m->steps.at[step->at].begin_s > step->start_s &&
           has_room_beside(m, &m->steps.at[step->at - 1], bytes))
        step->at--;
    step->side = step->at < index ? -1 : 0;
    add_live(m, m->steps.at[step->at].first, step->first, bytes);
}

static void move_gathers(Mover *m)
{
    time_gathers(m);
    for (int i = 0; i < m->steps.count; i++)
        if (m->steps.at[i].start_s < m->steps.at[i].begin_s)
            move_ahead(m, i, floor_of(m, i));
}

/* ---- The new order ---- */

/* A step and its place in the new order. */
typedef struct {
    int at, side, index;
} Place;

static int compare_places(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    if (x->at != y->at)
        return x->at - y->at;
    return x->side != y->side ? x->side - y->side : x->index - y->index;
}

static void reorder(Mover *m)
{
    const int count = m->steps.count, begin = m->order->begin[m->phase];
    Place *places = MW_NEW(m->arena, Place, count);
    int32_t *unit = MW_NEW(m->arena, int32_t, m->order->begin[m->phase + 1] - begin);
    int placed = 0;
    for (int i = 0; i < count; i++)
        places[i] = (Place){m->steps.at[i].at, m->steps.at[i].side, i};
    qsort(places, (size_t)count, sizeof *places, compare_places);
    for (int i = 0; i < count; i++) {
        Step *step = &m->steps.at[places[i].index];
        const int moved = begin + placed - step->first;
        for (int p = step->first; p < step->first + step->count; p++) {
            unit[placed++] = m->order->unit[p];
            m->order->position[m->order->unit[p]] += moved;
        }
        step->first += moved;
    }
    memcpy(m->order->unit + begin, unit, sizeof *unit * (size_t)placed);
}

static void note_held(Mover *m)
{
    for (int i = 0; i < m->steps.count; i++) {
        const Step *step = &m->steps.at[i];
        for (int p = step->first; p < step->first + step->count && step->held >= 0; p++)
            m->order->held[m->order->unit[p]] = m->steps.at[step->held].first;
    }
}

static void move_phase(MwArena *arena, Mover *m)
{
    const int units = m->units->units.count;
    m->arena = arena;
    m->step_of = MW_NEW(arena, int32_t, units);
    memset(m->step_of, -1, sizeof(int32_t) * (size_t)units);
    sum_live(m);
    cut_steps(m);
    find_given(m);
    find_sums(m);
    move_gathers(m);
    move_sums(m);
    reorder(m);
    note_held(m);
}

void mw_order_overlap(const MwLiveRanges *live, const MwCostModel *model, double peak_share,
                      MwOrder *order)
{
    const int units = live->units->units.count;
    if (peak_share == 0 || !live->legal->backend->overlaps)
        return;
    order->held = MW_NEW(live->legal->graph->arena, int32_t, units);
    memset(order->held, -1, sizeof(int32_t) * (size_t)units);
    for (int phase = 0; phase < MW_PHASE_UPDATE; phase++) {
        MwArena *arena = mw_arena_new();
        move_phase(arena, &(Mover){.live = live,
                                   .legal = live->legal,
                                   .units = live->units,
                                   .model = model,
                                   .order = order,
                                   .phase = (MwPhase)phase,
                                   .peak_share = peak_share});
        mw_arena_free(&arena);
    }
    mw_order_find_loops(live->legal, live->units, order);
}
