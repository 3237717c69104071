/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dynamic program from the ends of the model to its middle, for one time T that no mesh may
 * exceed. Layers [a, b) are left after i meshes, (i, a, b), if meshes 0 .. i - 1 can run all the
 * others within T and the memory:
 *
 *     (0, 0, layer_count)
 *     (i + 1, a', b')  if (i, a, b) and mesh i can run [a, a') and [b', b)
 *
 * The last mesh runs what is left. The least T follows by bisection. Of the cuts within it, one is
 * taken with the least sum of the differences of the two stages of each mesh, if that is wanted.
 *
 * Fewer layers take no longer, so that for each a the least b is enough as long as no stage is left
 * without a layer. All b are kept where there are few layers, else the least KEPT. */
#include "solver/stages/vee.h"

#include <stdlib.h>

/* Layers up to which all are kept, and how many are kept beyond. */
enum { FEW_LAYERS = 24, KEPT = 2 };

/* Share of the memory up to which the memory that is needed is found. */
static const double MEMORY_GAP = 0.01;

/* A candidate, in the order of rising time. */
typedef struct {
    MwVeeCandidate cost;
    int candidate;
} VeeWay;

typedef struct {
    bool is_asked;
    int count;
    VeeWay *ways; /* [count] by rising time; none is better than another in all respects */
} VeeInterval;

typedef struct {
    int least, most;
} VeeLimits;

typedef struct {
    MwArena *arena;
    const MwVeeProblem *problem;
    int stages;
    VeeInterval *intervals; /* [begin * (layer_count + 1) + end] */
    int64_t most_time, memory_bytes;
    VeeLimits *limits;          /* [stages + 1] of the first layer of each stage */
    int64_t *held, *least_held; /* [most_ways] of set_held */
    int most_ways;
    /* [meshes][layer_count + 1][layer_count + 1] by a and b: the index of the (a, b) that it comes
     * from; -1: not reached */
    int *reach;
    int64_t *uneven; /* as reach: the sum of the differences of the stages of the meshes before */
    bool is_evenest; /* the least of these is wanted, and not just any cut */
} VeeRun;

/* How a mesh runs its stages. */
typedef struct {
    const VeeWay *first, *second; /* second NULL: the mesh has one stage */
    int64_t time;
} VeePair;

static int64_t add(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* ---- Candidates ---- */

static int by_time(const void *a, const void *b)
{
    const VeeWay *x = a, *y = b;
    if (x->cost.time != y->cost.time)
        return x->cost.time < y->cost.time ? -1 : 1;
    return x->candidate - y->candidate;
}

/* Whether `a` needs no more memory than `b`, in any schedule. */
static bool is_leaner(const MwVeeCandidate *a, const MwVeeCandidate *b)
{
    for (int k = 0; k < MW_VEE_LIVES; k++)
        if (a->live_bytes[k] > b->live_bytes[k])
            return false;
    return a->kept_bytes <= b->kept_bytes && a->peak_bytes <= b->peak_bytes;
}

static void ask(VeeRun *run, VeeInterval *interval, int begin, int end)
{
    const MwVeeAnswer answer = run->problem->answer(run->problem->context, begin, end);
    VeeWay *ways = interval->ways = MW_NEW(run->arena, VeeWay, answer.count);
    for (int i = 0; i < answer.count; i++)
        ways[i] = (VeeWay){answer.candidates[i], i};
    qsort(ways, (size_t)answer.count, sizeof *ways, by_time);
    for (int i = 0; i < answer.count; i++) {
        bool is_dominated = false;
        for (int k = 0; k < interval->count && !is_dominated; k++)
            is_dominated = is_leaner(&ways[k].cost, &ways[i].cost);
        if (!is_dominated)
            ways[interval->count++] = ways[i];
    }
    interval->is_asked = true;
    if (interval->count > run->most_ways) {
        run->most_ways = 2 * interval->count;
        run->held = MW_NEW(run->arena, int64_t, run->most_ways);
        run->least_held = MW_NEW(run->arena, int64_t, run->most_ways);
    }
}

/* The ways to run layers as a stage. */
static VeeInterval ways_of(VeeRun *run, int begin, int end)
{
    VeeInterval *interval = &run->intervals[begin * (run->problem->layer_count + 1) + end];
    if (!interval->is_asked)
        ask(run, interval, begin, end);
    return *interval;
}

/* ---- Pins ---- */

/* Sets the layers with which each stage may begin: it has a layer, and those that are pinned. False
 * if there are none. */
static bool set_limits(VeeRun *run, const int *layer_stage)
{
    const int layers = run->problem->layer_count, stages = run->stages;
    for (int s = 0; s <= stages; s++)
        run->limits[s] = (VeeLimits){s, layers - (stages - s)};
    for (int l = 0; l < layers && layer_stage; l++) {
        const int s = layer_stage[l];
        if (s < 0 || s >= stages)
            continue;
        run->limits[s].most = (int)mw_min(run->limits[s].most, l);
        run->limits[s + 1].least = (int)mw_max(run->limits[s + 1].least, l + 1);
    }
    for (int s = 1; s <= stages; s++)
        run->limits[s].least = (int)mw_max(run->limits[s].least, run->limits[s - 1].least + 1);
    for (int s = stages - 1; s >= 0; s--)
        run->limits[s].most = (int)mw_min(run->limits[s].most, run->limits[s + 1].most - 1);
    for (int s = 0; s <= stages; s++)
        if (run->limits[s].least > run->limits[s].most)
            return false;
    return true;
}

static bool may_begin(const VeeRun *run, int stage, int layer)
{
    return layer >= run->limits[stage].least && layer <= run->limits[stage].most;
}

/* ---- One mesh ---- */

/* Bytes that a stage holds between tasks. */
static int64_t held_bytes(const VeeRun *run, int mesh, int chunk, const MwVeeCandidate *cost)
{
    const int *slots = run->problem->slots[mesh].of[chunk];
    int64_t bytes = cost->kept_bytes;
    for (int k = 0; k < MW_VEE_LIVES; k++)
        bytes = add(bytes, slots[k] * cost->live_bytes[k]);
    return bytes;
}

/* Sets what each way of the second stage of a mesh holds, and the least of it and those before. */
static void set_held(const VeeRun *run, int mesh, const VeeInterval *second)
{
    int64_t least = INT64_MAX;
    for (int k = 0; k < second->count; k++) {
        run->held[k] = held_bytes(run, mesh, 1, &second->ways[k].cost);
        run->least_held[k] = least = mw_min(least, run->held[k]);
    }
}

/* The first of the ways that holds no more than `most`, and with its peak no more than `with_peak`;
 * their number if there is none. */
static int first_that_fits(const VeeRun *run, const VeeInterval *second, int64_t most,
                           int64_t with_peak)
{
    int low = 0, high = second->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (run->least_held[middle] <= most)
            high = middle;
        else
            low = middle + 1;
    }
    while (low < second->count &&
           (run->held[low] > most ||
            add(run->held[low], second->ways[low].cost.peak_bytes) > with_peak))
        low++;
    return low;
}

/* The time of a mesh with stages that take so long. It grows with each of them. */
static int64_t pair_time(const VeeRun *run, int64_t first, int64_t second)
{
    const int64_t difference = first > second ? first - second : second - first;
    return add(add(first, second), (int64_t)(run->problem->uneven * (double)difference));
}

/* Whether a mesh can run these as its stages within time and memory; `second` NULL: it has one.
 * Gives the quickest pair that can. */
static bool find_pair(const VeeRun *run, int mesh, const VeeInterval *first,
                      const VeeInterval *second, VeePair *pair)
{
    pair->time = INT64_MAX;
    if (second)
        set_held(run, mesh, second);
    for (int i = 0; i < first->count && first->ways[i].cost.time <= run->most_time; i++) {
        const VeeWay *a = &first->ways[i], *b = NULL;
        const int64_t left = run->memory_bytes - held_bytes(run, mesh, 0, &a->cost);
        if (left < a->cost.peak_bytes)
            continue;
        if (second) {
            const int k = first_that_fits(run, second, left - a->cost.peak_bytes, left);
            if (k == second->count)
                continue;
            b = &second->ways[k];
        }
        const int64_t time = b ? pair_time(run, a->cost.time, b->cost.time) : a->cost.time;
        if (time <= run->most_time && time < pair->time)
            *pair = (VeePair){a, b, time};
    }
    return pair->time < INT64_MAX;
}

/* Whether the quickest ways take too long together. */
static bool is_too_slow(const VeeRun *run, const VeeInterval *first, const VeeInterval *second)
{
    return pair_time(run, first->ways[0].cost.time, second->ways[0].cost.time) > run->most_time;
}

/* ---- All meshes ---- */

static int index_of(const VeeRun *run, int a, int b)
{
    return a * (run->problem->layer_count + 1) + b;
}

static int *reach_of(const VeeRun *run, int mesh, int a, int b)
{
    const int size = run->problem->layer_count + 1;
    return &run->reach[mesh * size * size + index_of(run, a, b)];
}

/* Reaches [end, begin) after mesh `mesh`, which had [a, b), unless it is reached with less. */
static void reach_by(VeeRun *run, int mesh, int a, int b, int end, int begin, const VeePair *pair)
{
    int *reach = reach_of(run, mesh + 1, end, begin);
    const int64_t difference = pair->first->cost.time - pair->second->cost.time;
    const int64_t uneven =
        add(run->uneven[reach_of(run, mesh, a, b) - run->reach], llabs(difference));
    if (*reach >= 0 && uneven >= run->uneven[reach - run->reach])
        return;
    *reach = index_of(run, a, b);
    run->uneven[reach - run->reach] = uneven;
}

/* Whether as many smaller b are reached as are kept. */
static bool is_superfluous(const VeeRun *run, int mesh, int a, int b)
{
    int count = 0;
    if (run->problem->layer_count <= FEW_LAYERS)
        return false;
    for (int lower = a + 1; lower < b && count < KEPT; lower++)
        count += *reach_of(run, mesh, a, lower) >= 0;
    return count == KEPT;
}

/* Reaches what mesh `mesh` can leave of [a, b) if it runs [a, end) and others before `b`. */
static void extend(VeeRun *run, int mesh, int a, int b, int end)
{
    const int other = run->stages - 1 - mesh;
    const int left = other - (mesh + 1); /* stages of the meshes after it */
    const VeeInterval first = ways_of(run, a, end);
    for (int begin = b - 1; begin - end >= left && first.count > 0; begin--) {
        const VeeInterval second = ways_of(run, begin, b);
        const int *reach = reach_of(run, mesh + 1, end, begin);
        VeePair pair;
        if (second.count > 0 && is_too_slow(run, &first, &second))
            return;
        if (second.count > 0 && may_begin(run, other, begin) && (*reach < 0 || run->is_evenest) &&
            !is_superfluous(run, mesh + 1, end, begin) &&
            find_pair(run, mesh, &first, &second, &pair))
            reach_by(run, mesh, a, b, end, begin, &pair);
    }
}

/* The same for every end. */
static void extend_all(VeeRun *run, int mesh, int a, int b)
{
    for (int end = a + 1; end < b && end <= run->limits[mesh + 1].most; end++) {
        const VeeInterval first = ways_of(run, a, end);
        if (first.count > 0 && first.ways[0].cost.time > run->most_time)
            break;
        if (end >= run->limits[mesh + 1].least)
            extend(run, mesh, a, b, end);
    }
}

/* The index of what the last mesh runs if there is a cut within time and memory; else -1. */
static int find_cut(VeeRun *run)
{
    const int meshes = run->problem->meshes, layers = run->problem->layer_count;
    const int size = (layers + 1) * (layers + 1);
    int best = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < meshes * size; i++)
        run->reach[i] = -1;
    *reach_of(run, 0, 0, layers) = 0;
    for (int mesh = 0; mesh < meshes; mesh++)
        for (int a = mesh; a < layers; a++)
            for (int b = a + 1; b <= layers; b++) {
                if (*reach_of(run, mesh, a, b) < 0 || is_superfluous(run, mesh, a, b))
                    continue;
                if (mesh < meshes - 1) {
                    extend_all(run, mesh, a, b);
                    continue;
                }
                const VeeInterval middle = ways_of(run, a, b);
                VeePair pair;
                const int64_t uneven = run->uneven[reach_of(run, mesh, a, b) - run->reach];
                if (uneven >= least || !find_pair(run, mesh, &middle, NULL, &pair))
                    continue;
                best = index_of(run, a, b);
                least = uneven;
                if (!run->is_evenest)
                    return best;
            }
    return best;
}

/* Reads the cut whose last mesh runs `left`. Returns the time of the mesh that takes longest. */
static int64_t read_cut(VeeRun *run, int left, MwVeeCut *cut)
{
    const int size = run->problem->layer_count + 1;
    int64_t most = 0;
    for (int mesh = run->problem->meshes - 1; mesh >= 0; mesh--) {
        cut->begin[mesh] = left / size;
        cut->begin[run->stages - mesh] = left % size;
        left = *reach_of(run, mesh, left / size, left % size);
    }
    for (int mesh = 0; mesh < run->problem->meshes; mesh++) {
        const int other = run->stages - 1 - mesh;
        const VeeInterval first = ways_of(run, cut->begin[mesh], cut->begin[mesh + 1]);
        const VeeInterval second = ways_of(run, cut->begin[other], cut->begin[other + 1]);
        VeePair pair;
        const bool found = find_pair(run, mesh, &first, other > mesh ? &second : NULL, &pair);
        MW_ASSERT(found);
        cut->candidate[mesh] = pair.first->candidate;
        if (pair.second)
            cut->candidate[other] = pair.second->candidate;
        most = mw_max(most, pair.time);
    }
    return most;
}

/* ---- The least time ---- */

/* Why there is no cut within the time and the memory of the problem. */
static void explain(VeeRun *run, bool are_pins_met, MwVeeCut *cut)
{
    run->most_time = INT64_MAX - 1;
    if (are_pins_met && find_cut(run) >= 0) {
        cut->reason = MW_STAGES_TOTAL;
        return;
    }
    run->memory_bytes = INT64_MAX;
    if (!are_pins_met || find_cut(run) < 0) {
        const bool is_possible = set_limits(run, NULL) && find_cut(run) >= 0;
        cut->reason = is_possible ? MW_STAGES_PINS : MW_STAGES_UNANSWERED;
        return;
    }
    cut->reason = MW_STAGES_MEMORY;
    int64_t least = run->problem->memory_bytes, most = 2 * (least / 2 + 1);
    for (run->memory_bytes = most; find_cut(run) < 0; run->memory_bytes = most) {
        least = most;
        most = most > INT64_MAX / 2 ? INT64_MAX : 2 * most;
    }
    while (most - least > 1 && (double)(most - least) > MEMORY_GAP * (double)most) {
        run->memory_bytes = least + (most - least) / 2;
        if (find_cut(run) >= 0)
            most = run->memory_bytes;
        else
            least = run->memory_bytes;
    }
    cut->needed_bytes = most;
}

MwVeeCut mw_vee_cut(MwArena *arena, const MwVeeProblem *problem)
{
    const int layers = problem->layer_count, stages = 2 * problem->meshes - 1;
    MwVeeCut cut = {.reason = MW_STAGES_UNANSWERED,
                    .begin = MW_NEW(arena, int, stages + 1),
                    .candidate = MW_NEW(arena, int, stages)};
    if (layers < stages)
        return cut;
    MwArena *scratch = mw_arena_new();
    VeeRun run = {.arena = scratch,
                  .problem = problem,
                  .stages = stages,
                  .intervals = MW_NEW(scratch, VeeInterval, (layers + 1) * (layers + 1)),
                  .most_time = problem->time_below > 0 ? problem->time_below - 1 : INT64_MAX - 1,
                  .memory_bytes = problem->memory_bytes,
                  .limits = MW_NEW(scratch, VeeLimits, stages + 1),
                  .reach = MW_NEW(scratch, int, problem->meshes *(layers + 1) * (layers + 1)),
                  .uneven =
                      MW_NEW(scratch, int64_t, problem->meshes * (layers + 1) * (layers + 1))};
    const bool are_pins_met = set_limits(&run, problem->layer_stage);
    int last = are_pins_met ? find_cut(&run) : -1;
    if (last >= 0) {
        int64_t least = 0;
        cut.reason = MW_STAGES_POSSIBLE;
        cut.time = read_cut(&run, last, &cut);
        while ((double)(cut.time - least) > problem->gap * (double)cut.time &&
               cut.time - least > 1) {
            run.most_time = least + (cut.time - least) / 2;
            last = find_cut(&run);
            if (last >= 0)
                cut.time = read_cut(&run, last, &cut);
            else
                least = run.most_time;
        }
        run.most_time = cut.time;
        run.is_evenest = problem->is_evenest;
        /* By estimates fewer layers may take longer: then the time of a cut may not be enough to
         * find it again. */
        last = run.is_evenest ? find_cut(&run) : -1;
        if (last >= 0)
            cut.time = read_cut(&run, last, &cut);
    } else if (problem->needs_no_reason) {
        cut.reason = MW_STAGES_TOTAL;
    } else {
        explain(&run, are_pins_met, &cut);
    }
    mw_arena_free(&scratch);
    return cut;
}
