/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/sharding/mirror.h"

#include "cost/units.h"
#include "ir/build.h"
#include "passes/sharding/step_node.h"
#include "passes/sharding/steps.h"

/* The dimension that runs over the uneven factor, which alone is split over these axes; -1: there
 * is none. */
static int halved_dim(const MwStrategy *strategy, MwSpec spec)
{
    for (int d = 0; d < MW_MAX_RANK; d++)
        if (mw_spec_dim(spec, d) == strategy->mirror.axes)
            return d;
    return -1;
}

/* ---- Costs ---- */

typedef struct {
    const MwGraph *graph;
    MwNodeId id;
    const MwNode *node;
    const MwStrategy *strategy;
    const MwMeshShape *mesh;
} Halves;

static Halves halves_of(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                        const MwMeshShape *mesh)
{
    return (Halves){graph, id, mw_node(graph, id), strategy, mesh};
}

static int64_t local_bytes(const Halves *h, MwValueId value, MwSpec spec)
{
    const MwTensor local = mw_spec_local(spec, mw_value_tensor(h->graph, value), h->mesh);
    return mw_tensor_bytes(&local);
}

/* Bytes of both halves of an operand or result; 0 if it has none. */
static int64_t halved_bytes(const Halves *h, MwValueId value, MwSpec spec)
{
    return halved_dim(h->strategy, spec) >= 0 ? local_bytes(h, value, spec) : 0;
}

/* Bytes of a result of which there are two parts to add up; 0 if it has halves. */
static int64_t added_bytes(const Halves *h, MwValueId value, MwSpec spec)
{
    return halved_dim(h->strategy, spec) >= 0 ? 0 : local_bytes(h, value, spec);
}

static void add_exchange(MwSteps *steps, const Halves *h, MwValueId value, MwSpec spec)
{
    const int64_t bytes = halved_bytes(h, value, spec) / 2;
    for (int axis = 0; axis < h->mesh->axis_count && bytes > 0; axis++)
        if (h->strategy->mirror.axes >> axis & 1)
            mw_steps_add(steps, MW_OP_MIRROR, axis, -1, bytes);
}

MwReshardPath mw_mirror_path(MwArena *arena, const MwGraph *graph, MwNodeId id,
                             const MwStrategy *strategy, const MwCostModel *model)
{
    const Halves h = halves_of(graph, id, strategy, &model->mesh);
    MwSteps steps = {.arena = arena, .model = model};
    for (int k = 0; k < h.node->operand_count; k++)
        add_exchange(&steps, &h, h.node->operands[k], strategy->operands[k]);
    mw_steps_hide(&steps, 0, mw_cost_work_s(model, &strategy->mirror.half));
    for (int k = 0; k < h.node->result_count; k++)
        add_exchange(&steps, &h, mw_node_result(graph, id, k), strategy->results[k]);
    return mw_steps_path(&steps);
}

static double stream_s(const MwCostModel *model, double bytes)
{
    const MwWork work = {MW_WORK_STREAM, .bytes = bytes};
    return bytes > 0 ? mw_cost_work_s(model, &work) : 0;
}

double mw_mirror_s(MwArena *arena, const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                   const MwCostModel *model)
{
    const Halves h = halves_of(graph, id, strategy, &model->mesh);
    double seconds = mw_seconds(mw_mirror_path(arena, graph, id, strategy, model).cost) +
                     2 * mw_cost_work_s(model, &strategy->mirror.half);
    for (int k = 0; k < h.node->operand_count; k++) { /* each half is read and written */
        const int64_t bytes = halved_bytes(&h, h.node->operands[k], strategy->operands[k]);
        seconds += stream_s(model, 2.0 * (double)bytes);
    }
    for (int k = 0; k < h.node->result_count; k++) { /* halves likewise; two parts make a sum */
        const MwValueId result = mw_node_result(graph, id, k);
        seconds += stream_s(model, 2.0 * (double)halved_bytes(&h, result, strategy->results[k])) +
                   stream_s(model, 3.0 * (double)added_bytes(&h, result, strategy->results[k]));
    }
    return seconds;
}

/* While the node runs on the early half, there are both halves of each operand and the one that
 * came, and of the results no more than what they take themselves. When the results go back, there
 * are as many halves of them, and besides the sums both parts, of which a sum takes the place of
 * one. */
int64_t mw_mirror_bytes(const MwGraph *graph, MwNodeId id, const MwStrategy *strategy,
                        const MwMeshShape *mesh)
{
    const Halves h = halves_of(graph, id, strategy, mesh);
    int64_t taken = 0, given = 0, added = 0;
    for (int k = 0; k < h.node->operand_count; k++)
        taken += halved_bytes(&h, h.node->operands[k], strategy->operands[k]);
    for (int k = 0; k < h.node->result_count; k++) {
        const MwValueId result = mw_node_result(graph, id, k);
        given += halved_bytes(&h, result, strategy->results[k]);
        added += added_bytes(&h, result, strategy->results[k]);
    }
    return mw_max(3 * (taken / 2), mw_max(3 * (given / 2), taken / 2) + added);
}

/* ---- Nodes ---- */

typedef struct {
    MwGraph *graph;
    const MwMeshShape *mesh;
    const MwStrategy *strategy;
    const MwNodeSpec *spec;
} Mirror;

/* What the device in the mirror has for `x`, which belongs to a tensor named `name`. */
static MwValueId exchanged(const Mirror *m, MwValueId x, const char *name)
{
    for (int axis = 0; axis < m->mesh->axis_count; axis++)
        if (m->strategy->mirror.axes >> axis & 1)
            x = mw_step_node(m->graph, m->mesh, &(MwReshardStep){.op = MW_OP_MIRROR, .axis = axis},
                             x, name);
    return x;
}

/* [operands] the node's own early half of each, or the late half from the device in the mirror. */
static MwValueId *half_operands(const Mirror *m, bool is_late)
{
    const MwNodeSpec *spec = m->spec;
    MwValueId *operands = mw_arena_dup(m->graph->arena, spec->operands,
                                       sizeof *operands * (size_t)spec->operand_count);
    for (int k = 0; k < spec->operand_count; k++) {
        const int dim = halved_dim(m->strategy, m->strategy->operands[k]);
        if (dim < 0)
            continue;
        const int64_t size = mw_value_tensor(m->graph, operands[k])->dim[dim];
        operands[k] = mw_build_slice(m->graph, operands[k], dim, is_late ? size / 2 : 0,
                                     is_late ? size : size / 2);
        if (is_late)
            operands[k] = exchanged(m, operands[k], mw_value(m->graph, spec->operands[k])->name);
    }
    return operands;
}

/* The node on the half of which `operands` are. */
static MwNodeId half_node(const Mirror *m, const MwValueId *operands, bool is_late)
{
    MwNodeSpec spec = *m->spec;
    MwAttr *attrs =
        mw_arena_dup(m->graph->arena, spec.attrs, sizeof *attrs * (size_t)spec.attr_count);
    const int64_t half[] = {is_late};
    int64_t *kept = mw_arena_dup(m->graph->arena, half, sizeof half);
    for (int i = 0; i < spec.attr_count; i++)
        if (attrs[i].key == MW_ATTR_QUERY_HALF)
            attrs[i] = mw_attr_ints(MW_ATTR_QUERY_HALF, kept, MW_COUNT(half));
    spec.attrs = attrs;
    spec.operands = operands;
    return mw_build_node(m->graph, &spec);
}

/* The sum of both parts of a result, in the type that they have. */
static MwValueId sum_of(const Mirror *m, MwValueId early, MwValueId late)
{
    const MwType type = mw_value_tensor(m->graph, early)->type;
    const MwValueId sum =
        mw_build_binary(m->graph, MW_OP_ADD, mw_build_cast(m->graph, early, MW_F32),
                        mw_build_cast(m->graph, late, MW_F32));
    return mw_build_cast(m->graph, sum, type);
}

/* Makes the node on the late half, of which `operands` are, wait for that on the early one, while
 * which they come. */
static void wait_for_early(const Mirror *m, MwNodeId early, MwValueId *operands)
{
    int k = 0;
    while (halved_dim(m->strategy, m->strategy->operands[k]) < 0)
        k++;
    const MwValueId pair[] = {operands[k], mw_node_result(m->graph, early, 0)};
    operands[k] = mw_build(m->graph, NULL, MW_OP_RUN_AFTER, pair, MW_COUNT(pair), NULL, 0);
}

void mw_mirror_build(MwGraph *local, const MwMeshShape *mesh, const MwStrategy *strategy,
                     const MwNodeSpec *spec, MwValueId *results)
{
    const Mirror m = {local, mesh, strategy, spec};
    /* The halves set out first, and come while the node runs on the early one. */
    MwValueId *late_operands = half_operands(&m, true);
    const MwNodeId early = half_node(&m, half_operands(&m, false), false);
    wait_for_early(&m, early, late_operands);
    const MwNodeId late = half_node(&m, late_operands, true);
    for (int k = 0; k < mw_node(local, early)->result_count; k++) {
        MwValueId parts[] = {mw_node_result(local, early, k), mw_node_result(local, late, k)};
        const int dim = halved_dim(strategy, strategy->results[k]);
        if (dim < 0) {
            results[k] = sum_of(&m, parts[0], parts[1]);
            continue;
        }
        parts[1] = exchanged(&m, parts[1], spec->result_names[k]);
        results[k] = mw_build_concat(local, parts, MW_COUNT(parts), dim);
    }
}
