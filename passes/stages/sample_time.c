/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In:  the problem of a sample, and a choice of strategies.
 * Out: the times of its tasks and of its update. */
#include "passes/stages/sample_time.h"

#include "base/backend.h"
#include "cost/units.h"
#include "ir/host.h"
#include "ir/kept_casts.h"

#include <math.h>

typedef struct {
    MwArena *arena;
    const MwIntraProblem *intra;
    const MwGraph *graph;
    const MwLife *lives;
    const int *choice;
    const int *uses; /* [values] by nodes, assignments, metrics and outputs */
} SampleTime;

static const MwStrategy *strategy_of(const SampleTime *t, int n)
{
    return &t->intra->lists[n]->at[t->choice[n]];
}

static MwSpec spec_of(const SampleTime *t, MwValueId value)
{
    const MwNodeId maker = mw_value(t->graph, value)->node;
    return strategy_of(t, maker.index)
        ->results[value.index - mw_node(t->graph, maker)->first_result];
}

static double local_bytes(const SampleTime *t, MwValueId value)
{
    const MwTensor local =
        mw_spec_local(spec_of(t, value), mw_value_tensor(t->graph, value), &t->intra->model.mesh);
    return (double)mw_tensor_bytes(&local);
}

/* Whether node n takes operand k as it is made. */
static bool takes_as_made(const SampleTime *t, int n, int k)
{
    return mw_spec_equal(spec_of(t, t->graph->nodes.at[n].operands[k]),
                         strategy_of(t, n)->operands[k]);
}

/* [values] */
static const int *count_uses(MwArena *arena, const MwGraph *graph)
{
    int *uses = MW_NEW(arena, int, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count; k++)
            uses[graph->nodes.at[n].operands[k].index]++;
    for (int i = 0; i < graph->assigns.count; i++)
        uses[graph->assigns.at[i].value.index]++;
    for (int i = 0; i < graph->metrics.count; i++)
        uses[graph->metrics.at[i].value.index]++;
    for (int i = 0; i < graph->outputs.count; i++)
        uses[graph->outputs.at[i].value.index]++;
    return uses;
}

/* ---- Sums of gradients ---- */

/* Whether node n adds to a state what a product makes for it alone, so that the product does. */
static bool is_added_by_product(const SampleTime *t, int n)
{
    const MwNode *node = &t->graph->nodes.at[n];
    if (node->op != MW_OP_ACCUMULATE)
        return false;
    const MwNode *product = mw_value_node(t->graph, node->operands[1]);
    return product->op == MW_OP_EINSUM && product->phase == node->phase &&
           t->uses[node->operands[1].index] == 1 && t->uses[node->operands[0].index] == 1 &&
           mw_value_tensor(t->graph, node->operands[0])->type == MW_F32 &&
           mw_value_tensor(t->graph, node->operands[1])->type == MW_F32 && takes_as_made(t, n, 0) &&
           takes_as_made(t, n, 1);
}

/* Seconds of a run by which a product takes longer that adds to where its result lies: it reads
 * that, too. */
static double adding_s(const SampleTime *t, MwValueId product)
{
    MwWork work = strategy_of(t, mw_value(t->graph, product)->node.index)->work;
    const double alone_s = mw_cost_work_s(&t->intra->model, &work);
    work.bytes += local_bytes(t, product);
    return mw_cost_work_s(&t->intra->model, &work) - alone_s;
}

/* Seconds of a step in which node n runs. */
static double node_s(const SampleTime *t, int n)
{
    if (!is_added_by_product(t, n))
        return mw_seconds(t->intra->problem.nodes[n].cost[t->choice[n]]);
    return mw_intra_node_runs(t->intra, (MwNodeId){n}) *
           adding_s(t, t->graph->nodes.at[n].operands[1]);
}

/* ---- Casts of weights ---- */

/* Whether an assignment stores a value as it is made. */
static bool stores_as_made(const SampleTime *t, const MwAssign *assign)
{
    return mw_spec_equal(spec_of(t, assign->value), spec_of(t, assign->target));
}

/* Sets what casts of weights take that copies may stand for, and the bytes of these copies beyond
 * what is held of the casts. */
static void measure_copies(const SampleTime *t, MwStageCost *cost)
{
    const MwGraph *graph = t->graph;
    const int32_t *assign = mw_find_kept_casts(t->arena, graph);
    bool *is_counted = MW_NEW(t->arena, bool, graph->values.count); /* of weights */
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (assign[n] < 0 || !takes_as_made(t, n, 0) ||
            !stores_as_made(t, &graph->assigns.at[assign[n]]))
            continue;
        const MwLife *life = &t->lives[node->first_result];
        const bool is_held = life->storage == MW_STORE_OWN && life->from != life->to;
        bool *counted = &is_counted[node->operands[0].index];
        cost->cast_s[node->phase] += node_s(t, n) / t->intra->micro_batches;
        if (!*counted && !is_held)
            cost->copy_bytes += local_bytes(t, mw_node_result(graph, (MwNodeId){n}, 0));
        *counted = true;
    }
}

/* ---- All ---- */

/* Whether the node copies to or from the host while others run. */
static bool runs_beside(const SampleTime *t, const MwNode *node)
{
    return (node->op == MW_OP_TO_HOST || node->op == MW_OP_TO_DEVICE) &&
           node->phase != MW_PHASE_UPDATE &&
           mw_backend_named(t->intra->model.cluster->backend)->overlaps;
}

void mw_sample_time(MwArena *arena, const MwIntraProblem *intra, const MwLife *lives,
                    const int *choice, MwStageCost *cost)
{
    const MwGraph *graph = intra->graph;
    const MwProblem *problem = &intra->problem;
    const SampleTime t = {.arena = arena,
                          .intra = intra,
                          .graph = graph,
                          .lives = lives,
                          .choice = choice,
                          .uses = count_uses(arena, graph)};
    double seconds[MW_PHASE_COUNT] = {0}, beside_s[MW_PHASE_COUNT] = {0}, host_s = 0;
    int operands = 0;
    const bool *on_host = mw_on_host(arena, graph);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const double time_s = node_s(&t, n);
        *(runs_beside(&t, node) ? &beside_s[node->phase] : &seconds[node->phase]) += time_s;
        const bool is_of_host = on_host[node->first_result] || node->op == MW_OP_TO_DEVICE;
        host_s += is_of_host && node->phase == MW_PHASE_UPDATE ? time_s : 0;
        operands += node->operand_count;
    }
    /* Edges of operands come first. The resharding of an assignment counts in the phase of the
     * node that makes the value. */
    for (int e = 0; e < problem->edge_count; e++) {
        const MwProblemEdge *edge = &problem->edges[e];
        int at = choice[edge->a] * problem->nodes[edge->b].strategy_count + choice[edge->b];
        seconds[graph->nodes.at[e < operands ? edge->b : edge->a].phase] +=
            mw_seconds(edge->cost[at]);
    }
    /* Of copies beside others only what takes longer than these counts. */
    const double forward_s = fmax(seconds[MW_PHASE_FORWARD], beside_s[MW_PHASE_FORWARD]);
    const double backward_s = fmax(seconds[MW_PHASE_BACKWARD],
                                   beside_s[MW_PHASE_BACKWARD] - seconds[MW_PHASE_BACKWARD_WEIGHT]);
    cost->forward_s = forward_s / intra->micro_batches;
    cost->backward_s = backward_s / intra->micro_batches;
    cost->weight_s = seconds[MW_PHASE_BACKWARD_WEIGHT] / intra->micro_batches;
    cost->step_s = seconds[MW_PHASE_UPDATE];
    cost->host_s = host_s;
    measure_copies(&t, cost);
}
