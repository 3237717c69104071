/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rewrites the global graph to what each device runs.
 *
 * In:  the graph and a strategy for every node.
 * Out: MwLocalGraph. Every node has local shapes. Before a node stand the collectives and slices
 *      that reshard its operands from the specs of their producers to those that the node wants;
 *      after it those that reshard a result to the spec of the weight or state it is assigned
 *      to. They are the paths that priced the edges of the intra-operator problem. After a node
 *      that is split over a factor of its normaliser stands what combines and weighs its results,
 *      about one whose windows are split the exchange of borders (borders.h), for one with a
 *      ring its nodes on all blocks (ring.h), and for one with mirrored halves those on both
 *      (mirror.h).
 *      Identities are removed.
 * Invariant: value_spec and value_global say, for every local value, which block of which global
 *      value each device holds; values on the way to or from a local node (weights, borders) are
 *      none of them.
 *
 * The construction is that of GSPMD (Xu et al. 2021, section 4), with partial as a state. */
#include "passes/sharding/partition.h"

#include "ir/build.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "passes/sharding/borders.h"
#include "passes/sharding/mirror.h"
#include "passes/sharding/result.h"
#include "passes/sharding/ring.h"
#include "passes/sharding/step_node.h"

#include <float.h>
#include <string.h>

typedef struct {
    const MwSharding *sharding;
    const MwGraph *global;
    MwLocalGraph *local;
    MwGraph *graph; /* local->graph */
    MwArena *arena;
    MwValueId *form; /* [global values] the local value in the spec of its producer */
    MW_VEC(MwSpec) value_spec;
    MW_VEC(MwValueId) value_global;
    MW_VEC(MwNodeId) node_global;
} Partition;

static MwSpec value_spec(const Partition *p, MwValueId value)
{
    return mw_sharding_value_spec(p->sharding, value);
}

static MwTensor local_type(const Partition *p, MwValueId global, MwSpec spec)
{
    return mw_spec_local(spec, mw_value_tensor(p->global, global), &p->local->mesh);
}

/* Records the global value that the next local value is a form of, and its spec; none for a value
 * on the way to one. */
static void note_value(Partition *p, MwValueId global, MwSpec spec)
{
    const MwValueId local = {p->value_spec.count};
    if (mw_has_value(global)) {
        MwTensor wanted = local_type(p, global, spec);
        MW_ASSERT(mw_tensor_equal(&wanted, mw_value_tensor(p->graph, local)));
    }
    mw_vec_push(p->arena, &p->value_spec, spec);
    mw_vec_push(p->arena, &p->value_global, global);
}

/* Records the global node of the newest local node. */
static void note_origin(Partition *p, MwNodeId local, MwNodeId global)
{
    MW_ASSERT(p->node_global.count == local.index &&
              p->value_spec.count == mw_node(p->graph, local)->first_result);
    mw_vec_push(p->arena, &p->node_global, global);
}

/* Records the global node of the newest local node; its results are forms of the global values
 * from `first` on. */
static void note_node(Partition *p, MwNodeId local, MwNodeId global, MwValueId first,
                      const MwSpec *specs)
{
    note_origin(p, local, global);
    for (int k = 0; k < mw_node(p->graph, local)->result_count; k++)
        note_value(p, (MwValueId){first.index + k}, specs[k]);
}

/* ---- Resharding ---- */

/* The form of `global` in spec `to`, from local value `value` in spec `from`. */
static MwValueId reshard(Partition *p, MwValueId value, MwValueId global, MwSpec from, MwSpec to,
                         MwNodeId for_node)
{
    if (mw_spec_equal(from, to))
        return value;
    MwReshardPath path = mw_reshard_path(p->arena, p->sharding->problem->resharder,
                                         mw_value_tensor(p->global, global), from, to);
    for (int i = 0; i < path.count; i++) {
        const MwReshardStep *step = &path.steps[i];
        value =
            mw_step_node(p->graph, &p->local->mesh, step, value, mw_value(p->global, global)->name);
        note_node(p, mw_value(p->graph, value)->node, for_node, global, &step->to);
    }
    return value;
}

/* ---- Normalisers ---- */

/* Records the new local nodes before `end`, which stand on the way to or from that of `id`. */
static void note_way(Partition *p, MwNodeId id, int end)
{
    while (p->node_global.count < end) {
        const MwNodeId local = {p->node_global.count};
        note_origin(p, local, id);
        for (int k = 0; k < mw_node(p->graph, local)->result_count; k++)
            note_value(p, mw_no_value(), mw_spec_replicated());
    }
}

/* Records the new local nodes; the last gives the form of the global values from `first` on. */
static void note_last(Partition *p, MwNodeId id, MwValueId first, const MwSpec *specs)
{
    const MwNodeId last = {p->graph->nodes.count - 1};
    note_way(p, id, last.index);
    note_node(p, last, id, first, specs);
}

/* Records the new local nodes. Those of their values that are `forms`, [results of `id`], are forms
 * of its results, with the specs given. */
static void note_forms(Partition *p, MwNodeId id, const MwValueId *forms, const MwSpec *specs)
{
    const int count = mw_node(p->global, id)->result_count;
    while (p->node_global.count < p->graph->nodes.count) {
        const MwNodeId local = {p->node_global.count};
        note_origin(p, local, id);
        for (int k = 0; k < mw_node(p->graph, local)->result_count; k++) {
            int at = 0;
            while (at < count && !mw_value_equal(forms[at], mw_node_result(p->graph, local, k)))
                at++;
            note_value(p, at < count ? mw_node_result(p->global, id, at) : mw_no_value(),
                       at < count ? specs[at] : mw_spec_replicated());
        }
    }
}

/* exp(part - whole), with a dimension of 1 at its end. Where no device has a weight, both are
 * -infinity, and so is their difference, as `whole` is bounded below. */
static MwValueId weights_of(Partition *p, MwNodeId id, MwValueId part, MwValueId whole)
{
    MwValueId least = mw_build_scalar(p->graph, -FLT_MAX);
    MwValueId bounded = mw_build_binary(p->graph, MW_OP_MAXIMUM, whole, least);
    MwValueId rest = mw_build_binary(p->graph, MW_OP_SUB, part, bounded);
    MwValueId weights = mw_build_unary(p->graph, MW_OP_EXP, rest);
    MwTensor column = *mw_value_tensor(p->graph, weights);
    column.dim[column.rank++] = 1;
    weights = mw_build_reshape(p->graph, weights, &column);
    note_way(p, id, p->graph->nodes.count);
    return weights;
}

/* `part` times `weights`, multiplied in f32: the part of `global` of which the sum over the devices
 * is the whole. */
static MwValueId weigh(Partition *p, MwNodeId id, MwValueId part, MwValueId weights,
                       MwValueId global, MwSpec spec)
{
    const MwType type = mw_value_tensor(p->graph, part)->type;
    part = mw_build_cast(p->graph, part, MW_F32);
    MwValueId result = mw_build_binary(p->graph, MW_OP_MUL, part, weights);
    result = mw_build_cast(p->graph, result, type);
    note_last(p, id, global, &spec);
    return result;
}

/* Adds what makes `results`, local ones of `id`, those of its strategy: combines the normaliser,
 * and weighs the others by it (MwShardingRule). */
static void normalise(Partition *p, MwNodeId id, const MwValueId *results)
{
    const MwStrategy *strategy = mw_sharding_strategy(p->sharding, id);
    const int n = strategy->normaliser, count = mw_node(p->global, id)->result_count;
    const MwValueId whole = mw_node_result(p->global, id, n);
    MwValueId *forms = MW_NEW(p->arena, MwValueId, count);
    MwSpec *specs = MW_NEW(p->arena, MwSpec, count);
    for (int k = 0; k < count; k++)
        forms[k] = k == n ? results[n] : mw_no_value();
    specs[n] = strategy->parts;
    note_forms(p, id, forms, specs);
    p->form[whole.index] = reshard(p, results[n], whole, strategy->parts, strategy->results[n], id);
    const MwValueId weights = weights_of(p, id, results[n], p->form[whole.index]);
    for (int k = 0; k < count; k++) {
        const MwValueId global = mw_node_result(p->global, id, k);
        if (k != n)
            p->form[global.index] = weigh(p, id, results[k], weights, global, strategy->results[k]);
    }
}

/* ---- Nodes ---- */

/* The tensor whose global positions a node counts in, and its spec; see the head of ir/ops.def. */
typedef struct {
    MwValueId value;
    MwSpec spec;
} Counted;

/* The tensor whose positions node `id` counts by its attribute `origin`. */
static Counted counted_tensor(const Partition *p, MwNodeId id, MwAttrKey origin)
{
    const MwNode *node = mw_node(p->global, id);
    const MwStrategy *strategy = mw_sharding_strategy(p->sharding, id);
    int k = mw_op_counted_operand(node->op, origin);
    if (k >= 0)
        return (Counted){node->operands[k], strategy->operands[k]};
    return (Counted){mw_node_result(p->global, id, 0), strategy->results[0]};
}

/* Sets the split of the counted tensor, and its global shape as the origin unless the node has
 * one. */
static void localise_origin(const Partition *p, MwNodeId id, MwAttr *origin, MwAttr *split)
{
    const MwAttrKey key = origin->key;
    Counted counted = counted_tensor(p, id, key);
    const MwTensor *whole = mw_value_tensor(p->global, counted.value);
    MwSpec spec = mw_spec_with_partial(counted.spec, 0, MW_COMBINE_SUM);
    *split = mw_attr_spec(key + 1, spec, whole->rank);
    if (origin->ints.count == 0) {
        *origin = mw_attr_shape(p->arena, whole);
        origin->key = key;
    }
}

/* The padding of windows, none where they are split. */
static MwAttr local_padding(const Partition *p, const MwAttr *padding, const MwBorders *borders)
{
    int64_t *sizes =
        mw_arena_dup(p->arena, padding->ints.at, sizeof(int64_t) * (size_t)padding->ints.count);
    for (int i = 0; i < borders->count; i++)
        sizes[2 * (borders->at[i].dim - 1)] = sizes[2 * (borders->at[i].dim - 1) + 1] = 0;
    return mw_attr_ints(MW_ATTR_PADDING, sizes, padding->ints.count);
}

static MwAttr *local_attrs(const Partition *p, MwNodeId id, const MwBorders *borders)
{
    const MwNode *node = mw_node(p->global, id);
    MwAttr *attrs = mw_arena_dup(p->arena, node->attrs, sizeof(MwAttr) * (size_t)node->attr_count);
    for (int i = 0; i < node->attr_count; i++) {
        if (attrs[i].key == MW_ATTR_SHAPE) {
            MwValueId result = mw_node_result(p->global, id, 0);
            MwTensor local = local_type(p, result, value_spec(p, result));
            if (borders->gives)
                local = mw_borders_tensor(borders);
            attrs[i] = mw_attr_shape(p->arena, &local);
        } else if (attrs[i].key == MW_ATTR_PADDING) {
            attrs[i] = local_padding(p, &attrs[i], borders);
        } else if (mw_attr_is_origin(attrs[i].key)) {
            MW_ASSERT(attrs[i + 1].key == attrs[i].key + 1);
            localise_origin(p, id, &attrs[i], &attrs[i + 1]);
        }
    }
    return attrs;
}

static const char **result_names(const Partition *p, const MwNode *node)
{
    const char **names = MW_NEW(p->arena, const char *, node->result_count);
    for (int k = 0; k < node->result_count; k++)
        names[k] = p->global->values.at[node->first_result + k].name;
    return names;
}

static void add_plain_node(Partition *p, const MwNodeSpec *spec, MwValueId *results)
{
    const MwNodeId local = mw_build_node(p->graph, spec);
    for (int k = 0; k < mw_node(p->graph, local)->result_count; k++)
        results[k] = mw_node_result(p->graph, local, k);
}

static void add_local_node(Partition *p, MwNodeId id, MwValueId *operands)
{
    const MwNode *node = mw_node(p->global, id);
    const MwStrategy *strategy = mw_sharding_strategy(p->sharding, id);
    const MwBorders borders = mw_borders(p->global, id, strategy, &p->sharding->problem->model);
    for (int k = 0; k < borders.takes; k++)
        operands[k] = mw_borders_take(p->graph, &borders, &p->local->mesh, k, operands[k],
                                      mw_value(p->global, node->operands[k])->name);
    MwValueId first = mw_node_result(p->global, id, 0);
    MwTensor given = local_type(p, first, strategy->results[0]);
    MwNodeSpec spec = {.op = node->op,
                       .operands = operands,
                       .operand_count = node->operand_count,
                       .attrs = local_attrs(p, id, &borders),
                       .attr_count = node->attr_count,
                       .given = &given,
                       .result_names = result_names(p, node)};
    MwValueId *results = &p->form[first.index];
    if (mw_has_ring(strategy))
        mw_ring_build(p->graph, &p->local->mesh, strategy, &spec, results);
    else if (mw_is_mirrored(strategy))
        mw_mirror_build(p->graph, &p->local->mesh, strategy, &spec, results);
    else
        add_plain_node(p, &spec, results);
    if (mw_spec_partial(strategy->parts)) {
        normalise(p, id,
                  mw_arena_dup(p->arena, results, sizeof *results * (size_t)node->result_count));
        return;
    }
    if (borders.gives)
        results[0] = mw_borders_give(p->graph, &borders, &p->local->mesh, results[0],
                                     mw_value(p->global, first)->name);
    note_forms(p, id, results, strategy->results);
}

/* Reshards the operands of a global node and adds its local node. */
static void partition_node(Partition *p, MwNodeId id)
{
    const MwNode *node = mw_node(p->global, id);
    const MwStrategy *strategy = mw_sharding_strategy(p->sharding, id);
    MwValueId *operands = MW_NEW(p->arena, MwValueId, node->operand_count);
    p->graph->origin = node->origin;
    p->graph->phase = node->phase;
    for (int k = 0; k < node->operand_count; k++)
        operands[k] = reshard(p, p->form[node->operands[k].index], node->operands[k],
                              value_spec(p, node->operands[k]), strategy->operands[k], id);
    if (node->op == MW_OP_IDENTITY)
        p->form[node->first_result] = operands[0];
    else
        add_local_node(p, id, operands);
}

/* ---- Assignments ---- */

/* The assignments of each value, as linked lists: index + 1 of the first assignment and of the
 * next one. */
typedef struct {
    int *first; /* [global values] */
    int *next;  /* [assigns] */
} AssignIndex;

static AssignIndex index_assigns(const Partition *p)
{
    AssignIndex index = {MW_NEW(p->arena, int, p->global->values.count),
                         MW_NEW(p->arena, int, p->global->assigns.count)};
    for (int i = p->global->assigns.count - 1; i >= 0; i--) {
        int *first = &index.first[p->global->assigns.at[i].value.index];
        index.next[i] = *first;
        *first = i + 1;
    }
    return index;
}

/* Reshards the results of `id` to the specs of the targets they are assigned to. */
static void store_results(Partition *p, MwNodeId id, const AssignIndex *index, MwAssign *assigns)
{
    const MwNode *node = mw_node(p->global, id);
    for (int k = 0; k < node->result_count; k++) {
        MwValueId value = {node->first_result + k};
        for (int i = index->first[value.index]; i; i = index->next[i - 1]) {
            MwValueId target = p->global->assigns.at[i - 1].target;
            assigns[i - 1].target = p->form[target.index];
            assigns[i - 1].value = reshard(p, p->form[value.index], value, value_spec(p, value),
                                           value_spec(p, target), id);
        }
    }
}

static void finish(Partition *p, const MwAssign *assigns)
{
    for (int i = 0; i < p->global->assigns.count; i++)
        mw_vec_push(p->arena, &p->graph->assigns, assigns[i]);
    for (int i = 0; i < p->global->outputs.count; i++) {
        MwOutput output = p->global->outputs.at[i];
        output.value = p->form[output.value.index];
        mw_vec_push(p->arena, &p->graph->outputs, output);
    }
    for (int i = 0; i < p->global->metrics.count; i++) {
        MwOutput metric = p->global->metrics.at[i];
        metric.value = p->form[metric.value.index];
        mw_vec_push(p->arena, &p->graph->metrics, metric);
    }
    p->local->value_spec = p->value_spec.at;
    p->local->value_global = p->value_global.at;
    p->local->node_global = p->node_global.at;
}

MwLocalGraph *mw_partition(MwArena *arena, const MwSharding *sharding)
{
    const MwGraph *global = sharding->problem->graph;
    MwLocalGraph *local = MW_NEW(arena, MwLocalGraph, 1);
    local->global = global;
    local->graph = mw_graph_new_like(global->arena, global);
    local->mesh = sharding->problem->model.mesh;
    Partition p = {.sharding = sharding,
                   .global = global,
                   .local = local,
                   .graph = local->graph,
                   .arena = arena,
                   .form = MW_NEW(arena, MwValueId, global->values.count)};
    AssignIndex index = index_assigns(&p);
    MwAssign *assigns = MW_NEW(arena, MwAssign, global->assigns.count);
    for (int n = 0; n < global->nodes.count; n++) {
        partition_node(&p, (MwNodeId){n});
        store_results(&p, (MwNodeId){n}, &index, assigns);
    }
    finish(&p, assigns);
    return local;
}

bool mw_pass_partition(MwCompilation *compilation, MwDiags *diags)
{
    (void)diags;
    for (int i = 0; i < compilation->staging.stage_count; i++)
        compilation->stages[i].local =
            mw_partition(compilation->arena, compilation->stages[i].sharding);
    return true;
}
