/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/reference/spmd.h"

#include "tests/reference/evaluate.h"
#include "tests/reference/spread.h"

#include <string.h>

enum { MOST_OPERANDS = 64 };

typedef struct {
    const SpmdRun *run;
    const MwLocalGraph *local;
    const MwGraph *global;
    MwArena *arena;
    uint64_t random;
    double **whole; /* [global values] */
    Spread *parts;  /* [local values] */
    SpmdResult result;
} Simulation;

/* ---- The global graph ---- */

static void draw_data(Simulation *s, const MwNode *node, const MwTensor *tensor, double *elements)
{
    for (int64_t i = 0; i < mw_tensor_elements(tensor); i++) {
        double uniform = (double)(random_next(&s->random) >> 11) * 0x1p-53;
        if (!mw_type_is_float(tensor->type))
            elements[i] = random_below(&s->random, s->run->integers_below);
        else if (node->op == MW_OP_STATE) /* second moments are not negative */
            elements[i] = uniform;
        else
            elements[i] = 2 * uniform - 1;
    }
}

static void run_global(Simulation *s)
{
    Place place = place_alone(s->run->seed);
    place.micro_batch = s->run->micro_batch;
    for (int n = 0; n < s->global->nodes.count; n++) {
        const MwNode *node = &s->global->nodes.at[n];
        const double *operands[MOST_OPERANDS];
        MW_ASSERT(node->operand_count <= MOST_OPERANDS);
        for (int k = 0; k < node->operand_count; k++)
            operands[k] = s->whole[node->operands[k].index];
        for (int k = 0; k < node->result_count; k++)
            s->whole[node->first_result + k] =
                MW_NEW(s->arena, double,
                       mw_tensor_elements(&s->global->values.at[node->first_result + k].tensor));
        if (mw_op_is_data(node->op))
            draw_data(s, node, &s->global->values.at[node->first_result].tensor,
                      s->whole[node->first_result]);
        else
            evaluate_node(s->global, node, &place, operands, &s->whole[node->first_result]);
    }
}

/* ---- The local graph ---- */

static const MwTensor *global_type(const Simulation *s, int value)
{
    return mw_value_tensor(s->global, s->local->value_global[value]);
}

static double *global_data(const Simulation *s, int value)
{
    return s->whole[s->local->value_global[value].index];
}

static void run_data(Simulation *s, const MwNode *node)
{
    int v = node->first_result;
    s->parts[v] = spread_scatter(s->arena, &s->local->mesh, global_type(s, v), global_data(s, v),
                                 s->local->value_spec[v], &s->random);
}

static MwCombine parse_combine(const char *name)
{
    int combine = 0;
    while (strcmp(mw_combine_name((MwCombine)combine), name) != 0)
        MW_ASSERT(++combine < MW_COMBINE_COUNT);
    return (MwCombine)combine;
}

static void run_collective(Simulation *s, const MwNode *node)
{
    const MwAttr *dim = mw_node_attr(node, MW_ATTR_AXIS);
    const MwAttr *from_dim = mw_node_attr(node, MW_ATTR_FROM_AXIS);
    const MwAttr *combine = mw_node_attr(node, MW_ATTR_COMBINE);
    s->result.collectives += node->op != MW_OP_SHARD;
    s->parts[node->first_result] = spread_collective(
        s->arena, &s->parts[node->operands[0].index], node->op,
        (int)mw_node_int(node, MW_ATTR_MESH_AXIS), dim ? (int)dim->i : -1,
        from_dim ? (int)from_dim->i : -1, combine ? parse_combine(combine->text) : MW_COMBINE_SUM);
}

static void run_on_device(Simulation *s, const MwNode *node, int device)
{
    const double *operands[MOST_OPERANDS];
    double *results[MOST_OPERANDS];
    Place place = {.seed = s->run->seed,
                   .step = 1,
                   .micro_batch = s->run->micro_batch,
                   .mesh = s->local->mesh};
    mw_mesh_coordinates(&s->local->mesh, device, place.coordinate);
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = s->parts[node->operands[k].index].at[device];
    for (int k = 0; k < node->result_count; k++)
        results[k] = s->parts[node->first_result + k].at[device];
    evaluate_node(s->local->graph, node, &place, operands, results);
}

static void run_everywhere(Simulation *s, const MwNode *node)
{
    MW_ASSERT(node->operand_count <= MOST_OPERANDS && node->result_count <= MOST_OPERANDS);
    for (int k = 0; k < node->result_count; k++) {
        int v = node->first_result + k;
        s->parts[v] = spread_new(s->arena, &s->local->mesh, &s->local->graph->values.at[v].tensor);
    }
    for (int device = 0; device < mw_mesh_devices(&s->local->mesh); device++)
        run_on_device(s, node, device);
}

static void compare(Simulation *s, int value)
{
    if (!mw_has_value(s->local->value_global[value]))
        return;
    double error = spread_error(&s->parts[value], s->local->value_spec[value],
                                global_type(s, value), global_data(s, value));
    if (!s->result.worst || !(error <= s->result.error)) {
        s->result.error = error;
        s->result.worst = s->local->graph->values.at[value].name;
    }
}

static void run_local(Simulation *s)
{
    for (int n = 0; n < s->local->graph->nodes.count; n++) {
        const MwNode *node = &s->local->graph->nodes.at[n];
        if (mw_op_is_data(node->op))
            run_data(s, node);
        else if (node->op == MW_OP_SHARD || mw_op_info(node->op)->lowering == MW_LOWER_COLLECTIVE)
            run_collective(s, node);
        else
            run_everywhere(s, node);
        for (int k = 0; k < node->result_count; k++)
            compare(s, node->first_result + k);
    }
}

/* ---- What leaves the graph ---- */

static MwValueId global_of(const Simulation *s, MwValueId local)
{
    return s->local->value_global[local.index];
}

/* The global value that identities pass on as `value`. */
static MwValueId origin_of(const Simulation *s, MwValueId value)
{
    while (mw_value_node(s->global, value)->op == MW_OP_IDENTITY)
        value = mw_value_node(s->global, value)->operands[0];
    return value;
}

/* Assignments are of the same global values, in the spec of what is stored; outputs are whole. */
static void check_ends(const Simulation *s)
{
    const MwGraph *graph = s->local->graph;
    MW_ASSERT(graph->assigns.count == s->global->assigns.count);
    for (int i = 0; i < graph->assigns.count; i++) {
        MwAssign local = graph->assigns.at[i], global = s->global->assigns.at[i];
        MW_ASSERT(mw_value_equal(global_of(s, local.target), global.target));
        MW_ASSERT(mw_value_equal(global_of(s, local.value), origin_of(s, global.value)));
        MW_ASSERT(mw_spec_equal(s->local->value_spec[local.target.index],
                                s->local->value_spec[local.value.index]));
    }
    MW_ASSERT(graph->outputs.count == s->global->outputs.count);
    for (int i = 0; i < graph->outputs.count; i++) {
        MwValueId value = graph->outputs.at[i].value;
        MwValueId wanted = origin_of(s, s->global->outputs.at[i].value);
        MW_ASSERT(mw_spec_partial(s->local->value_spec[value.index]) == 0);
        MW_ASSERT(mw_value_equal(origin_of(s, global_of(s, value)), wanted));
    }
    MW_ASSERT(graph->metrics.count == s->global->metrics.count);
    for (int i = 0; i < graph->metrics.count; i++)
        MW_ASSERT(s->local->value_spec[graph->metrics.at[i].value.index].bits == 0);
}

SpmdResult spmd_run(const SpmdRun *run)
{
    MwArena *arena = mw_arena_new();
    Simulation s = {.run = run,
                    .local = run->local,
                    .global = run->local->global,
                    .arena = arena,
                    .random = run->seed};
    s.whole = MW_NEW(arena, double *, s.global->values.count);
    s.parts = MW_NEW(arena, Spread, s.local->graph->values.count);
    run_global(&s);
    run_local(&s);
    check_ends(&s);
    mw_arena_free(&arena);
    return s.result;
}
