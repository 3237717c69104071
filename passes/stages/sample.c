/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  an interval of layers as a graph, and a logical mesh.
 * Out: its costs (sample.h). */
#include "passes/stages/sample.h"

#include "base/threads.h"
#include "ir/invariant.h"
#include "passes/sharding/footprint.h"
#include "passes/stages/sample_time.h"
#include "passes/tuning.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    MwArena *arena; /* of the thread that solves */
    const MwStagePricing *pricing;
    MwTables *tables; /* that samples of one group share */
    MwStageSample *sample;
    MwIntraProblem *intra;
    const MwLife *lives;
    const bool *is_invariant; /* [values] the same for all micro-batches */
    const signed char
        *half; /* [nodes] of the layers, 0 or 1, -1: none; NULL: there are no halves */
    const double *held_share; /* [nodes] of what a node holds: that of half of the layers */
} SampleSolve;

/* What takes about as much time as building an entry of a cost table: visits of entries by the
 * solver. A node takes as much as NODE_ENTRIES of these, beside the entries of its edges. */
enum { ENTRY_VISITS = 16, NODE_ENTRIES = 64 };

typedef enum { TRANSIENT, KEPT, SAVED, SAVED_LATE, SAVED_FOR_WEIGHTS, LIFETIME_COUNT } Lifetime;

static bool is_stored(const MwNode *node)
{
    return node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE;
}

/* How long the results of a node stay in memory, if the node stores any. */
static Lifetime lifetime_of(const SampleSolve *s, int n)
{
    const MwNode *node = &s->intra->graph->nodes.at[n];
    Lifetime lifetime = is_stored(node) ? KEPT : TRANSIENT;
    for (int v = node->first_result; v < node->first_result + node->result_count; v++) {
        const MwLife *life = &s->lives[v];
        if (lifetime != TRANSIENT || life->storage != MW_STORE_OWN ||
            life->from == MW_PHASE_UPDATE || (life->from == life->to && !life->spans_tasks))
            continue;
        if (life->to == MW_PHASE_UPDATE || life->from == life->to || s->is_invariant[v])
            lifetime = KEPT;
        else if (life->from != MW_PHASE_FORWARD)
            lifetime = SAVED_FOR_WEIGHTS;
        else
            lifetime = life->to == MW_PHASE_BACKWARD ? SAVED : SAVED_LATE;
    }
    return lifetime;
}

static int slots_of(const SampleSolve *s, int n)
{
    const MwNode *node = &s->intra->graph->nodes.at[n];
    int slots = 1;
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        slots = (int)mw_max(slots, s->lives[v].slots);
    return slots;
}

/* Micro-batches in flight in the middle of a pipeline of such stages. */
static double usual_in_flight(const SampleSolve *s)
{
    double stages = (double)mw_cluster_devices(s->pricing->model->lowered[0].cluster) /
                    mw_mesh_devices(&s->sample->mesh);
    return s->sample->is_sequential ? 1 : fmin(s->intra->micro_batches, (stages + 1) / 2);
}

/* The problem with the memory of each strategy added to its cost, at a price. */
static MwProblem add_memory_price(const SampleSolve *s, double price)
{
    MwProblem problem = s->intra->problem;
    if (price == 0)
        return problem;
    double ps_per_byte = price * s->pricing->ps_per_byte;
    problem.nodes =
        mw_arena_dup(s->arena, problem.nodes, sizeof *problem.nodes * (size_t)problem.node_count);
    for (int n = 0; n < problem.node_count; n++) {
        MwProblemNode *node = &problem.nodes[n];
        Lifetime lifetime = node->usage ? lifetime_of(s, n) : TRANSIENT;
        if (lifetime == TRANSIENT)
            continue;
        double weight = lifetime == KEPT ? ps_per_byte : ps_per_byte * usual_in_flight(s);
        int64_t *cost = MW_NEW(s->arena, int64_t, node->strategy_count);
        for (int i = 0; i < node->strategy_count; i++)
            cost[i] =
                mw_min(node->cost[i] + llround(weight * (double)node->usage[i]), MW_COST_INFINITE);
        node->cost = cost;
    }
    return problem;
}

/* Adds to usage [nodes + 1] what a node stores for gradients of weights, as changes, while it is
 * used: from what it makes first until the last use of any. */
static void add_joint(const SampleSolve *s, int n, double bytes, double *usage)
{
    const MwNode *node = &s->intra->graph->nodes.at[n];
    int64_t begin = n, end = n + 1;
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        end = mw_max(end, s->lives[v].used);
    usage[begin] += bytes;
    usage[end] -= bytes;
}

/* Sets the peaks: what is used beyond what is held between tasks. */
static void measure_peaks(const SampleSolve *s, const int *choice, MwStageCost *cost)
{
    const int nodes = s->intra->graph->nodes.count;
    const MwSharding sharding = {.problem = s->intra, .choice = (int *)choice};
    const int64_t *usage = mw_sharding_usage(s->arena, &sharding);
    double *joint = MW_NEW(s->arena, double, nodes + 1), joint_bytes = 0;
    for (int n = 0; n < nodes; n++)
        if (s->intra->problem.nodes[n].usage && lifetime_of(s, n) == SAVED_FOR_WEIGHTS)
            add_joint(s, n, (double)s->intra->problem.nodes[n].usage[choice[n]] / slots_of(s, n),
                      joint);
    const double held =
        cost->kept_bytes + cost->saved_bytes + cost->late_bytes + cost->weight_bytes;
    for (int n = 0; n < nodes; n++) {
        joint_bytes += joint[n];
        cost->peak_bytes = fmax(cost->peak_bytes, (double)usage[n] - held);
        cost->joint_peak_bytes =
            fmax(cost->joint_peak_bytes, (double)usage[n] - held + joint_bytes);
    }
}

/* Sums the usages of nodes by lifetime; `of_half`: those of half of the layers, `are_stored`: of
 * weights and states alone. */
static void sum_usages(const SampleSolve *s, const int *choice, bool of_half, bool are_stored,
                       double bytes[LIFETIME_COUNT])
{
    const MwProblem *problem = &s->intra->problem;
    for (int n = 0; n < problem->node_count; n++) {
        if (!problem->nodes[n].usage || (are_stored && !is_stored(&s->intra->graph->nodes.at[n])))
            continue;
        double all = (of_half ? s->held_share[n] : 1) * (double)problem->nodes[n].usage[choice[n]];
        Lifetime lifetime = lifetime_of(s, n);
        double of_one = lifetime == KEPT ? all : all / slots_of(s, n);
        bytes[lifetime] += of_one;
        bytes[KEPT] += lifetime == TRANSIENT ? 0 : all - of_one;
    }
}

/* Sets what is held between tasks. */
static void measure_held(const SampleSolve *s, const int *choice, bool of_half, MwStageCost *cost)
{
    double bytes[LIFETIME_COUNT] = {0};
    sum_usages(s, choice, of_half, s->sample->is_sequential, bytes);
    cost->kept_bytes = bytes[KEPT];
    cost->saved_bytes = bytes[SAVED];
    cost->late_bytes = bytes[SAVED_LATE];
    cost->weight_bytes = bytes[SAVED_FOR_WEIGHTS];
}

/* Bytes of a micro-batch that wait on the host for its backward. */
static double host_bytes(const SampleSolve *s, const int *choice)
{
    const MwGraph *graph = s->intra->graph;
    double bytes = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_TO_HOST && graph->nodes.at[n].phase == MW_PHASE_FORWARD)
            bytes += s->intra->lists[n]->at[choice[n]].work.bytes;
    return bytes;
}

/* What half of the layers holds from the forward to the backward, in a sequence. */
static double sequential_bytes(const SampleSolve *s, const int *choice)
{
    double all[LIFETIME_COUNT] = {0}, stored[LIFETIME_COUNT] = {0};
    sum_usages(s, choice, true, false, all);
    sum_usages(s, choice, true, true, stored);
    return all[KEPT] + all[SAVED] + all[SAVED_LATE] - stored[KEPT];
}

/* Sets what half of the layers costs, of the cost of all. */
static void measure_half(const SampleSolve *s, const int *choice, const MwStageCost *cost,
                         MwStageCost *half)
{
    *half = *cost;
    half->recomputed /= 2;
    half->forward_s /= 2;
    half->backward_s /= 2;
    half->weight_s /= 2;
    half->step_s /= 2;
    half->host_s /= 2;
    half->host_bytes /= 2;
    half->copy_bytes /= 2;
    for (int phase = 0; phase < MW_PHASE_UPDATE; phase++)
        half->cast_s[phase] /= 2;
    measure_held(s, choice, true, half);
    if (s->sample->is_sequential)
        half->peak_bytes = half->joint_peak_bytes = sequential_bytes(s, choice);
}

/* ---- Halves ---- */

/* [nodes] the half of the layers that a node is of, 0 or 1; -1: it is of other layers. */
static const signed char *find_halves(const SampleSolve *s)
{
    const MwGraph *graph = s->intra->graph;
    const int layers = s->sample->end - s->sample->begin, first = s->sample->graph->first_layer;
    signed char *half = MW_NEW(s->arena, signed char, graph->nodes.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const int layer = graph->nodes.at[n].origin.layer - first;
        half[n] = layer < 0 || layer >= layers ? -1 : layer >= layers / 2;
    }
    return half;
}

/* [nodes] the share of half of the layers in what a node holds: all that later tasks of the other
 * half alone use, and nothing that only leaves for other layers. NULL: the layers are odd in
 * number. */
static const double *find_held_shares(const SampleSolve *s)
{
    const MwGraph *graph = s->intra->graph;
    const int nodes = graph->nodes.count;
    if ((s->sample->end - s->sample->begin) % 2 != 0)
        return NULL;
    const signed char *half = find_halves(s);
    double *share = MW_NEW(s->arena, double, nodes);
    bool *is_used[2]; /* [halves][nodes] whether later tasks of a half use what a node makes */
    bool *is_sent = MW_NEW(s->arena, bool, nodes);
    for (int h = 0; h < 2; h++)
        is_used[h] = MW_NEW(s->arena, bool, nodes);
    for (int n = 0; n < nodes; n++)
        for (int i = 0; i < graph->nodes.at[n].operand_count; i++) {
            const int maker = mw_value(graph, graph->nodes.at[n].operands[i])->node.index;
            if (half[n] >= 0 && graph->nodes.at[n].phase != graph->nodes.at[maker].phase)
                is_used[half[n]][maker] = true;
            is_sent[maker] |= graph->nodes.at[n].op == MW_OP_SEND;
        }
    for (int n = 0; n < nodes; n++) {
        const int own = half[n];
        const bool is_passed = own >= 0 && is_used[!own][n] && !is_used[own][n];
        const bool leaves = own >= 0 && is_sent[n] && !is_used[own][n];
        share[n] = own < 0 ? 0 : is_passed ? 1 : leaves ? 0 : 0.5;
    }
    return share;
}

/* Entries of all cost tables, and NODE_ENTRIES for each node. */
static int64_t count_entries(const MwProblem *problem)
{
    int64_t entries = NODE_ENTRIES * (int64_t)problem->node_count;
    for (int e = 0; e < problem->edge_count; e++)
        entries += (int64_t)problem->nodes[problem->edges[e].a].strategy_count *
                   problem->nodes[problem->edges[e].b].strategy_count;
    return entries;
}

static void solve_at(const SampleSolve *s, int price)
{
    MwStageSample *sample = s->sample;
    const double prices[MW_MEMORY_PRICES] = {0, MW_TUNED_LOW_PRICE, MW_TUNED_HIGH_PRICE};
    MwProblem problem = add_memory_price(s, prices[price]);
    const MwSolveOptions options = {.gap = MW_TUNED_STAGE_GAP, .quick = true, .tables = s->tables};
    MwSolution solution = mw_solve(s->arena, &problem, &options);
    sample->effort += count_entries(&problem) + solution.visits / ENTRY_VISITS;
    sample->possible[price] = solution.choice != NULL;
    if (!solution.choice)
        return;
    sample->cost[price] = (MwStageCost){
        .mesh = sample->mesh,
        .price = price,
        .remat = sample->remat,
        .recomputed = sample->remat > MW_LAYER_KEEPS ? sample->end - sample->begin : 0};
    mw_sample_time(s->arena, s->intra, s->lives, solution.choice, &sample->cost[price]);
    measure_held(s, solution.choice, false, &sample->cost[price]);
    sample->cost[price].host_bytes = host_bytes(s, solution.choice);
    measure_peaks(s, solution.choice, &sample->cost[price]);
    if (s->held_share)
        measure_half(s, solution.choice, &sample->cost[price], &sample->half[price]);
}

/* A flight with one slot for each value that waits between tasks, so that the usage of such
 * values can be told from that of the others. */
static MwFlight unit_flight(int micro_batches)
{
    MwFlight flight = {.micro_batches = micro_batches};
    for (int from = 0; from < MW_PHASE_COUNT; from++)
        for (int to = 0; to < MW_PHASE_COUNT; to++)
            flight.slots[from][to] = 1;
    return flight;
}

static void solve_sample(MwStageSample *sample, const MwStagePricing *pricing, MwTables *tables)
{
    const MwStageModel *model = pricing->model;
    SampleSolve s = {
        .arena = mw_arena_new(), .pricing = pricing, .tables = tables, .sample = sample};
    MwGraph graph = *sample->graph->graph;
    graph.arena = s.arena;
    MwFlight flight = unit_flight(model->micro_batches);
    MwIntraQuery query = {.graph = &graph,
                          .cluster = model->lowered[0].cluster,
                          .mesh = sample->mesh,
                          .micro_batches = model->micro_batches,
                          .flight = sample->is_sequential ? NULL : &flight,
                          .memory_bytes = MW_USAGE_UNLIMITED};
    s.intra = mw_intra_problem(s.arena, &query, mw_diags_new(s.arena));
    if (s.intra) {
        s.lives = mw_liveness(s.arena, &graph, query.flight);
        s.is_invariant = mw_find_invariant(s.arena, &graph);
        s.held_share = find_held_shares(&s);
    }
    sample->effort = 0;
    for (int price = 0; price < MW_MEMORY_PRICES; price++) {
        if (!sample->wanted[price])
            continue;
        sample->wanted[price] = false;
        sample->solved[price] = true;
        if (s.intra)
            solve_at(&s, price);
    }
    mw_arena_free(&s.arena);
}

/* ---- Groups of samples ---- */

/* Groups that several threads find to do, where there are as many samples, whatever the number of
 * threads: no result may depend on it. Where GROUP_SAMPLES alone limits them, bench/planning
 * gpt-39b takes 9.3 s on two cores instead of 8.5, and 11.1 s of CPU instead of 12. */
enum { WANTED_GROUPS = 8 };

/* Consecutive samples of one mesh, at most MW_TUNED_GROUP_SAMPLES, solved one after another. */
typedef struct {
    const MwStagePricing *pricing;
    MwStageSample **samples;
    MW_VEC(int) ends; /* of the groups, as indices of samples */
} Groups;

/* Orders samples by mesh, and then by what they have in common. */
static int by_mesh(const void *a, const void *b)
{
    const MwStageSample *x = *(MwStageSample *const *)a, *y = *(MwStageSample *const *)b;
    if (x->mesh.axis_count != y->mesh.axis_count)
        return x->mesh.axis_count - y->mesh.axis_count;
    for (int i = 0; i < x->mesh.axis_count; i++)
        if (x->mesh.size[i] != y->mesh.size[i])
            return x->mesh.size[i] - y->mesh.size[i];
    if (x->begin != y->begin)
        return x->begin - y->begin;
    if (x->end != y->end)
        return x->end - y->end;
    return x->remat != y->remat ? (int)x->remat - (int)y->remat
                                : x->is_sequential - y->is_sequential;
}

static void solve_group(void *context, int group)
{
    const Groups *groups = context;
    MwArena *arena = mw_arena_new();
    MwTables *tables = mw_tables_new(arena);
    for (int i = group > 0 ? groups->ends.at[group - 1] : 0; i < groups->ends.at[group]; i++) {
        if (mw_arena_bytes(arena) >> 20 >= (size_t)MW_TUNED_SHARED_MEGABYTES) {
            mw_arena_free(&arena);
            arena = mw_arena_new();
            tables = mw_tables_new(arena);
        }
        solve_sample(groups->samples[i], groups->pricing, tables);
    }
    mw_arena_free(&arena);
}

void mw_stage_samples_solve(MwStageSample **samples, int count, const MwStagePricing *pricing,
                            int threads)
{
    MwArena *scratch = mw_arena_new();
    Groups groups = {.pricing = pricing, .samples = samples};
    const int most = (int)mw_min(MW_TUNED_GROUP_SAMPLES, mw_ceil_div(count, WANTED_GROUPS));
    if (count > 1)
        qsort(samples, (size_t)count, sizeof *samples, by_mesh);
    for (int i = 1, begin = 0; i <= count; i++)
        if (i == count || i - begin == most ||
            !mw_mesh_equal(&samples[i]->mesh, &samples[begin]->mesh)) {
            mw_vec_push(scratch, &groups.ends, i);
            begin = i;
        }
    mw_parallel(threads, groups.ends.count, solve_group, &groups);
    mw_arena_free(&scratch);
}
