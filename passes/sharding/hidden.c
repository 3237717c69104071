/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/hidden.h"

#include "cost/units.h"
#include "ir/invariant.h"

#include <math.h>

/* Part of the memory of a device that one value may take, whole and in f32, to be hidden, a weight
 * like its gradient: where memory is short there is no room for it beside what is used meanwhile.
 * Without a limit `bench/planning gpt-175b`, whose products have weights of 2.4 GB, is planned as
 * one stage, 18.7 s a step instead of 18.2 s (llama-405b 6.66 s instead of 6.91 s). With a half of
 * this GPT-39B of docs/models.md in bf16 on 64 A100 has a step of 18.9 s instead of 17.0 s. */
static const double LARGEST_SHARE = 1.0 / 64;

/* Part of a collective that counts however much is computed beside it: those that wait for each
 * other come late, and of equal plans the one with fewer is better. With 0 sums of small gradients
 * are as cheap in each micro-batch as once a step. Steps of models of docs/models.md with 0 and
 * with this: GPT-2 XL on 32 V100 (batch 256, f16) 1.87 and 1.85 s, Gemma 2 9B on 16 A100 (batch 64)
 * 12.6 and 12.4 s, T5 11B on 32 A100 (batch 256) 1.71 and 1.64 s, GShard MoE 10B on 32 A100 (batch
 * 1024) 1.26 and 1.30 s. */
static const double LEAST_SEEN = 0.2;

/* What a layer does in a phase, in one micro-batch. */
typedef struct {
    double compute_s;      /* divided evenly over the devices */
    double gathered_bytes; /* of what is gathered for it */
    double summed_bytes;   /* of what it leaves to the update */
} LayerTask;

typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    const MwProblem *problem;
    int micro_batches;
    double most_elements;     /* of a value that may be hidden */
    const bool *is_invariant; /* [values] */
    bool *is_late;            /* [values] of the backward, and only the update waits for it */
    LayerTask *tasks;         /* [layers][phases before the update] */
    double *begin_s, *end_s;  /* [nodes] in the seconds in which its phase computes */
    double phase_s[MW_PHASE_UPDATE];
    double *gathered_s; /* [values] invariant: what runs beside gathering it */
} Hiding;

static bool is_backward(const MwNode *node)
{
    return node->phase == MW_PHASE_BACKWARD || node->phase == MW_PHASE_BACKWARD_WEIGHT;
}

/* Of a node before the update. */
static LayerTask *task_of(const Hiding *h, const MwNode *node)
{
    return &h->tasks[MW_PHASE_UPDATE * node->origin.layer + (int)node->phase];
}

static double value_bytes(const Hiding *h, int value)
{
    return (double)mw_tensor_bytes(mw_value_tensor(h->graph, (MwValueId){value}));
}

/* Whether operand k is gathered for the node, and not for what else is made of weights alone. */
static bool is_gathered_for(const Hiding *h, const MwNode *node, int k)
{
    return h->is_invariant[node->operands[k].index] && !h->is_invariant[node->first_result];
}

/* Whether a node only hands on what it takes, or adds it to what was so far. */
static bool hands_on(const MwNode *node)
{
    return node->op == MW_OP_IDENTITY || mw_op_accumulates(node->op);
}

/* Whether a node leaves its operands, of the backward, to the update. */
static bool leaves_late(const Hiding *h, const MwNode *node)
{
    return node->phase == MW_PHASE_UPDATE || (hands_on(node) && h->is_late[node->first_result]);
}

static void find_late(Hiding *h)
{
    h->is_late = MW_NEW(h->arena, bool, h->graph->values.count);
    for (int v = 0; v < h->graph->values.count; v++) {
        const MwNode *node = mw_value_node(h->graph, (MwValueId){v});
        h->is_late[v] = is_backward(node) && node->op != MW_OP_SEND;
    }
    for (int n = h->graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &h->graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++)
            h->is_late[node->operands[k].index] &= leaves_late(h, node);
    }
}

/* Seconds of a node in one micro-batch, in its quickest strategy. */
static double least_s(const Hiding *h, int n)
{
    const MwProblemNode *node = &h->problem->nodes[n];
    int64_t least = MW_COST_INFINITE;
    for (int s = 0; s < node->strategy_count; s++)
        least = mw_min(least, node->cost[s]);
    return mw_seconds(least) / h->micro_batches;
}

static void add_to_task(Hiding *h, int n)
{
    const MwNode *node = &h->graph->nodes.at[n];
    LayerTask *task = task_of(h, node);
    const double seconds = least_s(h, n);
    task->compute_s += seconds;
    h->begin_s[n] = h->phase_s[node->phase];
    h->end_s[n] = h->phase_s[node->phase] += seconds;
    for (int k = 0; k < node->operand_count; k++)
        if (is_gathered_for(h, node, k))
            task->gathered_bytes += value_bytes(h, node->operands[k].index);
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        if (h->is_late[v] && !hands_on(node))
            task->summed_bytes += value_bytes(h, v);
}

static void sum_tasks(Hiding *h)
{
    int layers = 1;
    for (int n = 0; n < h->graph->nodes.count; n++)
        layers = (int)mw_max(layers, h->graph->nodes.at[n].origin.layer + 1);
    h->tasks = MW_NEW(h->arena, LayerTask, MW_PHASE_UPDATE * layers);
    h->begin_s = MW_NEW(h->arena, double, h->graph->nodes.count);
    h->end_s = MW_NEW(h->arena, double, h->graph->nodes.count);
    for (int n = 0; n < h->graph->nodes.count; n++) {
        const MwNode *node = &h->graph->nodes.at[n];
        if (node->phase != MW_PHASE_UPDATE && node->op != MW_OP_RECEIVE)
            add_to_task(h, n);
    }
}

/* What runs beside gathering operand k for the node. What else is made of it, such as a cast to a
 * shorter type, is to be gathered instead. */
static double gathered_s(const Hiding *h, const MwNode *node, int k)
{
    if (!is_gathered_for(h, node, k))
        return node->op == MW_OP_IDENTITY ? h->gathered_s[node->first_result] : 0;
    const LayerTask *task = task_of(h, node);
    const double part = value_bytes(h, node->operands[k].index) / task->gathered_bytes;
    return fmin(task->compute_s * part / (task->summed_bytes > 0 ? 2 : 1),
                h->begin_s[node - h->graph->nodes.at]);
}

/* What is gathered once for several nodes has the time of the one that has most. */
static void find_gathered(Hiding *h)
{
    h->gathered_s = MW_NEW(h->arena, double, h->graph->values.count);
    for (int n = h->graph->nodes.count - 1; n >= 0; n--) {
        const MwNode *node = &h->graph->nodes.at[n];
        for (int k = 0; k < node->operand_count && node->phase != MW_PHASE_UPDATE; k++) {
            const int value = node->operands[k].index;
            if (h->is_invariant[value])
                h->gathered_s[value] = fmax(h->gathered_s[value], gathered_s(h, node, k));
        }
    }
}

/* What runs beside summing up a value. */
static double summed_s(const Hiding *h, int value)
{
    const MwNode *maker = mw_value_node(h->graph, (MwValueId){value});
    const LayerTask *task = task_of(h, maker);
    const double bytes = value_bytes(h, value), part = bytes / fmax(bytes, task->summed_bytes);
    return fmin(task->compute_s * part,
                h->phase_s[maker->phase] - h->end_s[maker - h->graph->nodes.at]);
}

/* What runs beside one resharding of operand k. */
static double beside_s(const Hiding *h, const MwNode *node, int k)
{
    const int value = node->operands[k].index;
    if ((double)mw_tensor_elements(mw_value_tensor(h->graph, node->operands[k])) > h->most_elements)
        return 0;
    if (h->is_late[value])
        return summed_s(h, value);
    return node->phase == MW_PHASE_UPDATE ? 0 : h->gathered_s[value];
}

const double *const *mw_hidden_beside_s(MwArena *arena, const MwGraph *graph,
                                        const MwProblem *problem, int micro_batches,
                                        int64_t device_bytes)
{
    const double **all = MW_NEW(arena, const double *, graph->nodes.count);
    Hiding h = {.arena = arena,
                .graph = graph,
                .problem = problem,
                .micro_batches = micro_batches,
                .most_elements =
                    LARGEST_SHARE * (double)device_bytes / (double)mw_type_bytes(MW_F32),
                .is_invariant = mw_find_invariant(arena, graph)};
    find_late(&h);
    sum_tasks(&h);
    find_gathered(&h);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        double *of_node = MW_NEW(arena, double, node->operand_count);
        for (int k = 0; k < node->operand_count; k++)
            of_node[k] = beside_s(&h, node, k);
        all[n] = of_node;
    }
    return all;
}

double mw_exposed_s(double collective_s, double beside_s, double share)
{
    return fmax(fmax(share, LEAST_SEEN) * collective_s, collective_s - beside_s);
}
