/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  layers as a graph of their own, and a mesh.
 * Out: their costs (cell.h). */
#include "passes/stages/cell.h"

#include "cost/units.h"
#include "passes/sharding/footprint.h"
#include "passes/sharding/liveness.h"

#include <math.h>

static const double PRICES[MW_MEMORY_PRICES] = {0, 0.1, 2};

/* How near the best an answer must be. */
static const double GAP = 0.01;

typedef struct {
    MwArena *arena; /* of the thread */
    const MwStageMarket *market;
    MwStageCell *cell;
    MwIntraProblem *intra;
    const MwLife *lives;
} Solving;

typedef enum { PASSING, KEPT, SAVED, SAVED_LATE, SAVED_FOR_WEIGHTS, STAY_COUNT } Stay;

static bool is_stored(const MwNode *node)
{
    return node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE;
}

/* How long the results of a node stay, if they are stored at all. */
static Stay stay_of(const Solving *s, int n)
{
    const MwNode *node = &s->intra->graph->nodes.at[n];
    Stay stay = is_stored(node) ? KEPT : PASSING;
    for (int v = node->first_result; v < node->first_result + node->result_count; v++) {
        const MwLife *life = &s->lives[v];
        if (stay != PASSING || life->storage != MW_STORE_OWN || life->from == MW_PHASE_UPDATE ||
            (life->from == life->to && !life->spans))
            continue;
        if (life->to == MW_PHASE_UPDATE || life->from == life->to)
            stay = KEPT;
        else if (life->from != MW_PHASE_FORWARD)
            stay = SAVED_FOR_WEIGHTS;
        else
            stay = life->to == MW_PHASE_BACKWARD ? SAVED : SAVED_LATE;
    }
    return stay;
}

static int slots_of(const Solving *s, int n)
{
    const MwNode *node = &s->intra->graph->nodes.at[n];
    int slots = 1;
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        slots = (int)mw_max(slots, s->lives[v].slots);
    return slots;
}

/* Micro-batches in flight in the middle of a pipeline of such stages. */
static double usual_in_flight(const Solving *s)
{
    double stages = (double)mw_cluster_devices(s->market->model->cut[0].cluster) /
                    mw_mesh_devices(&s->cell->mesh);
    return s->cell->is_chain ? 1 : fmin(s->intra->micro_batches, (stages + 1) / 2);
}

/* The problem with the price of memory on its strategies. */
static MwProblem priced(const Solving *s, double price)
{
    MwProblem problem = s->intra->problem;
    if (price == 0)
        return problem;
    double ps_per_byte = price * s->market->ps_per_byte;
    problem.nodes =
        mw_arena_dup(s->arena, problem.nodes, sizeof *problem.nodes * (size_t)problem.node_count);
    for (int n = 0; n < problem.node_count; n++) {
        MwProblemNode *node = &problem.nodes[n];
        Stay stay = node->usage ? stay_of(s, n) : PASSING;
        if (stay == PASSING)
            continue;
        double weight = stay == KEPT ? ps_per_byte : ps_per_byte * usual_in_flight(s);
        int64_t *cost = MW_NEW(s->arena, int64_t, node->strategy_count);
        for (int i = 0; i < node->strategy_count; i++)
            cost[i] =
                mw_min(node->cost[i] + llround(weight * (double)node->usage[i]), MW_COST_INFINITE);
        node->cost = cost;
    }
    return problem;
}

static void measure_time(const Solving *s, const int *choice, MwStageCost *cost)
{
    const MwGraph *graph = s->intra->graph;
    const MwProblem *problem = &s->intra->problem;
    double seconds[MW_PHASE_COUNT] = {0};
    int operands = 0;
    for (int n = 0; n < graph->nodes.count; n++) {
        seconds[graph->nodes.at[n].phase] += mw_seconds(problem->nodes[n].cost[choice[n]]);
        operands += graph->nodes.at[n].operand_count;
    }
    /* Edges of operands come first; what an assignment reshards belongs to what makes the value. */
    for (int e = 0; e < problem->edge_count; e++) {
        const MwProblemEdge *edge = &problem->edges[e];
        int at = choice[edge->a] * problem->nodes[edge->b].strategy_count + choice[edge->b];
        seconds[graph->nodes.at[e < operands ? edge->b : edge->a].phase] +=
            mw_seconds(edge->cost[at]);
    }
    cost->forward_s = seconds[MW_PHASE_FORWARD] / s->intra->micro_batches;
    cost->backward_s = seconds[MW_PHASE_BACKWARD] / s->intra->micro_batches;
    cost->weight_s = seconds[MW_PHASE_BACKWARD_WEIGHT] / s->intra->micro_batches;
    cost->step_s = seconds[MW_PHASE_UPDATE];
}

static void measure_memory(const Solving *s, int *choice, MwStageCost *cost)
{
    const MwProblem *problem = &s->intra->problem;
    double bytes[STAY_COUNT] = {0};
    for (int n = 0; n < problem->node_count; n++) {
        if (!problem->nodes[n].usage ||
            (s->cell->is_chain && !is_stored(&s->intra->graph->nodes.at[n])))
            continue;
        double all = (double)problem->nodes[n].usage[choice[n]];
        Stay stay = stay_of(s, n);
        double of_one = stay == KEPT ? all : all / slots_of(s, n);
        bytes[stay] += of_one;
        bytes[KEPT] += stay == PASSING ? 0 : all - of_one;
    }
    cost->kept_bytes = bytes[KEPT];
    cost->saved_bytes = bytes[SAVED];
    cost->late_bytes = bytes[SAVED_LATE];
    cost->weight_bytes = bytes[SAVED_FOR_WEIGHTS];
    MwSharding sharding = {.problem = s->intra, .choice = choice};
    double longer = bytes[KEPT] + bytes[SAVED] + bytes[SAVED_LATE] + bytes[SAVED_FOR_WEIGHTS];
    cost->peak_bytes = fmax(0, (double)mw_sharding_peak(&sharding) - longer);
}

static void solve_at(const Solving *s, int price)
{
    MwStageCell *cell = s->cell;
    MwProblem problem = priced(s, PRICES[price]);
    MwSolution solution =
        mw_solve(s->arena, &problem, &(MwSolveOptions){.gap = GAP, .quick = true});
    cell->possible[price] = solution.choice != NULL;
    if (!solution.choice)
        return;
    cell->cost[price] = (MwStageCost){.mesh = cell->mesh,
                                      .price = price,
                                      .recomputed = cell->recomputes ? cell->end - cell->begin : 0};
    measure_time(s, solution.choice, &cell->cost[price]);
    measure_memory(s, solution.choice, &cell->cost[price]);
}

/* One slot for each of what waits between tasks, so that it can be told from what does not. */
static MwFlight unit_flight(int micro_batches)
{
    MwFlight flight = {.micro_batches = micro_batches};
    for (int from = 0; from < MW_PHASE_COUNT; from++)
        for (int to = 0; to < MW_PHASE_COUNT; to++)
            flight.slots[from][to] = 1;
    return flight;
}

void mw_stage_cell_solve(MwStageCell *cell, const MwStageMarket *market)
{
    const MwStageModel *model = market->model;
    Solving s = {.arena = mw_arena_new(), .market = market, .cell = cell};
    MwGraph graph = *cell->graph;
    graph.arena = s.arena;
    MwFlight flight = unit_flight(model->micro_batches);
    MwIntraQuery query = {.graph = &graph,
                          .cluster = model->cut[0].cluster,
                          .mesh = cell->mesh,
                          .micro_batches = model->micro_batches,
                          .flight = cell->is_chain ? NULL : &flight,
                          .memory_bytes = MW_USAGE_UNLIMITED};
    s.intra = mw_intra_problem(s.arena, &query, mw_diags_new(s.arena));
    if (s.intra)
        s.lives = mw_liveness(s.arena, &graph, query.flight);
    for (int price = 0; price < MW_MEMORY_PRICES; price++) {
        if (!cell->wanted[price])
            continue;
        cell->wanted[price] = false;
        cell->solved[price] = true;
        if (s.intra)
            solve_at(&s, price);
    }
    mw_arena_free(&s.arena);
}
