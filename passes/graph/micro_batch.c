/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Micro-batches: cuts the forward and backward phases to one micro-batch; they run once for
 * each.
 *
 * In:  a graph on the whole batch, and the number of micro-batches.
 * Out: the same sums by smaller nodes. Values that depend on the batch are those of one
 *      micro-batch; operators that count positions get the shape of the whole. A sum over the
 *      batch that is used once per step (a gradient, a metric, an output) is accumulated: a
 *      state NAME.so_far, zero when the step begins, takes NAME.total = NAME.so_far + NAME after
 *      every micro-batch, and the update phase uses the total; the greatest element is, too, by
 *      accumulate_max. Sums are in f32, those of gradients in the type that the train statements
 *      say. Nodes that depend on such a total move to the update phase. Outputs that are not split
 *      leave the model in the update phase; with one micro-batch this is the only change.
 * Invariant: metrics and gradients are those of the whole batch, up to the order of sums. The
 * divisor of
 *      a mean is a constant of the whole batch, so terms of means add up to the mean as terms of
 *      sums do to the sum. */
#include "passes/graph/micro_state.h"

#include "ir/build.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "passes/pass.h"

#include <float.h>
#include <string.h>

typedef struct {
    MwRewrite rewrite;
    MwLoops loops;             /* of from */
    int count;                 /* number of micro-batches */
    const MwMicroState *state; /* [values of from] */
    /* [values of from] used in the update phase or outside of the graph */
    bool *is_used_late;
    /* [values of from][dimension] the slice of a whole value along the dimension, once made */
    MwValueId (*slice)[MW_MAX_RANK];
    MwValueId *total; /* [values of from] the total of a partial value that is used late */
} MicroBatch;

static MwTensor cut_tensor(const MicroBatch *m, MwTensor tensor, int dim)
{
    MW_ASSERT(tensor.dim[dim] % m->count == 0);
    tensor.dim[dim] /= m->count;
    return tensor;
}

/* The type of a result of `node`, cut along the dimension that runs over `factor`, if any. */
static MwTensor result_type(const MicroBatch *m, const MwNode *node, const MwShardingRule *rule,
                            int k, int factor)
{
    MwTensor type = m->rewrite.from->values.at[node->first_result + k].tensor;
    int dim = mw_micro_dim(&rule->results[k], type.rank, factor);
    return dim < 0 ? type : cut_tensor(m, type, dim);
}

/* Whether the tensor whose positions `node` counts by attribute `origin` is cut; `whole` is its
 * type before the cut. */
static bool counts_in_parts(const MicroBatch *m, const MwNode *node, MwAttrKey origin,
                            const MwShardingRule *rule, int factor, MwTensor *whole)
{
    int k = mw_op_counted_operand(node->op, origin);
    MwValueId counted = k < 0 ? (MwValueId){node->first_result} : node->operands[k];
    *whole = *mw_value_tensor(m->rewrite.from, counted);
    return mw_micro_dim(k < 0 ? &rule->results[0] : &rule->operands[k], whole->rank, factor) >= 0;
}

/* The attributes of `node` on operands that are cut along `factor`: local shape, and origin and
 * split. */
static const MwAttr *cut_attrs(MicroBatch *m, const MwNode *node, const MwShardingRule *rule,
                               int factor)
{
    MwGraph *to = m->rewrite.to;
    MwAttr *attrs = mw_arena_dup(to->arena, node->attrs, sizeof(MwAttr) * (size_t)node->attr_count);
    for (int i = 0; i < node->attr_count; i++) {
        MwTensor whole, result = result_type(m, node, rule, 0, factor);
        if (attrs[i].key == MW_ATTR_SHAPE)
            attrs[i] = mw_attr_shape(to->arena, &result);
        const MwAttrKey key = attrs[i].key;
        if (!mw_attr_is_origin(key) || !counts_in_parts(m, node, key, rule, factor, &whole))
            continue;
        MW_ASSERT(attrs[i + 1].key == key + 1);
        if (attrs[i].ints.count > 0) /* a padded tensor counts in what it is without padding */
            continue;
        attrs[i] = mw_attr_shape(to->arena, &whole);
        attrs[i].key = key;
        attrs[i + 1] = mw_attr_spec(key + 1, mw_spec_replicated(), whole.rank);
    }
    return attrs;
}

/* Emits `node` on operands that are cut along `factor`. */
static MwNodeId emit_cut(MicroBatch *m, const MwNode *node, const MwShardingRule *rule, int factor,
                         const MwValueId *operands)
{
    const MwGraph *from = m->rewrite.from;
    const char **names = MW_NEW(from->arena, const char *, node->result_count);
    for (int k = 0; k < node->result_count; k++)
        names[k] = from->values.at[node->first_result + k].name;
    MwNodeSpec spec = {.op = node->op,
                       .operands = operands,
                       .operand_count = node->operand_count,
                       .attrs = cut_attrs(m, node, rule, factor),
                       .attr_count = node->attr_count,
                       .result_names = names};
    m->rewrite.to->origin = node->origin;
    MwNodeId id = mw_build_node(m->rewrite.to, &spec);
    for (int k = 0; k < node->result_count; k++) {
        MwTensor type = result_type(m, node, rule, k, factor);
        MW_ASSERT(mw_tensor_equal(
            &type, mw_value_tensor(m->rewrite.to, mw_node_result(m->rewrite.to, id, k))));
    }
    return id;
}

static MwValueId slice_of_whole(MicroBatch *m, MwValueId value, int dim);

/* The operands of `node`, in slices where they run over `factor`. */
static MwValueId *cut_operands(MicroBatch *m, const MwNode *node, const MwShardingRule *rule,
                               int factor)
{
    MwValueId *operands = MW_NEW(m->rewrite.to->arena, MwValueId, node->operand_count);
    for (int k = 0; k < node->operand_count; k++) {
        MwValueId old = node->operands[k];
        int rank = mw_value_tensor(m->rewrite.from, old)->rank;
        int dim = mw_micro_dim(&rule->operands[k], rank, factor);
        bool is_cut = m->state[old.index].kind == MW_MICRO_SPLIT;
        operands[k] =
            dim >= 0 && !is_cut ? slice_of_whole(m, old, dim) : m->rewrite.value[old.index];
        MW_ASSERT(mw_has_value(operands[k]));
    }
    return operands;
}

/* The slice of a whole value along `dim` for the current micro-batch, computed from slices in
 * the phase of its first use; what a loop makes, in the phase of the loop. */
static MwValueId slice_of_whole(MicroBatch *m, MwValueId value, int dim)
{
    const MwGraph *from = m->rewrite.from;
    const MwNodeId maker = mw_value(from, value)->node;
    const MwNode *node = mw_node(from, maker);
    const MwPhase phase = m->rewrite.to->phase;
    MwValueId *slice = &m->slice[value.index][dim];
    if (mw_has_value(*slice))
        return *slice;
    if (m->loops.of_node[maker.index] >= 0 || node->op == MW_OP_SCAN_CARRY)
        m->rewrite.to->phase = node->phase;
    MwShardingRule rule = mw_sharding_rule(from->arena, from, maker);
    int factor = rule.results[value.index - node->first_result].factor[dim];
    MwNodeId id = emit_cut(m, node, &rule, factor, cut_operands(m, node, &rule, factor));
    for (int k = 0; k < node->result_count; k++) {
        const int v = node->first_result + k;
        const int own = mw_micro_dim(&rule.results[k], from->values.at[v].tensor.rank, factor);
        if (own >= 0)
            m->slice[v][own] = mw_node_result(m->rewrite.to, id, k);
    }
    m->rewrite.to->phase = phase;
    return *slice;
}

/* A slice of what a loop carries is carried by the steps, too: gives those that have none yet what
 * the next step takes over. True if there was one. */
static bool carry_slices(MicroBatch *m)
{
    const MwGraph *from = m->rewrite.from;
    bool changed = false;
    for (int n = 0; n < from->nodes.count; n++) {
        const int carry = from->nodes.at[n].first_result;
        if (from->nodes.at[n].op != MW_OP_SCAN_CARRY)
            continue;
        const MwValueId next = {from->nodes.at[m->loops.next[n]].first_result};
        for (int dim = 0; dim < from->values.at[carry].tensor.rank; dim++)
            if (mw_has_value(m->slice[carry][dim]) && !mw_has_value(m->slice[next.index][dim])) {
                slice_of_whole(m, next, dim);
                changed = true;
            }
    }
    return changed;
}

static void emit_on_slices(MicroBatch *m, MwNodeId id)
{
    const MwGraph *from = m->rewrite.from;
    const MwNode *node = mw_node(from, id);
    MwShardingRule rule = mw_sharding_rule(from->arena, from, id);
    int factor = mw_micro_factor(&rule, node, m->state);
    m->rewrite.to->phase = node->phase;
    MwNodeId cut = emit_cut(m, node, &rule, factor, cut_operands(m, node, &rule, factor));
    for (int k = 0; k < node->result_count; k++)
        m->rewrite.value[node->first_result + k] = mw_node_result(m->rewrite.to, cut, k);
}

/* The first step of a loop takes a slice of what is whole. */
static void emit_carry(MicroBatch *m, MwNodeId id)
{
    const MwGraph *from = m->rewrite.from;
    const MwNode *node = mw_node(from, id);
    const MwShardingRule rule = mw_sharding_rule(from->arena, from, id);
    const int factor = rule.results[0].factor[m->state[node->first_result].dim];
    m->rewrite.to->phase = node->phase;
    MwNodeId cut = emit_cut(m, node, &rule, factor, cut_operands(m, node, &rule, factor));
    m->rewrite.value[node->first_result] = mw_node_result(m->rewrite.to, cut, 0);
}

static void emit_input(MicroBatch *m, const MwNode *node)
{
    const MwValue *value = &m->rewrite.from->values.at[node->first_result];
    MwTensor tensor = cut_tensor(m, value->tensor, 0);
    mw_rewrite_at(&m->rewrite, node);
    MwNodeSpec spec = {.op = MW_OP_INPUT, .given = &tensor, .name = value->name};
    m->rewrite.value[node->first_result] =
        mw_node_result(m->rewrite.to, mw_build_node(m->rewrite.to, &spec), 0);
}

/* Whether a value of the new graph is the greatest of absolute values. */
static bool is_greatest_size(const MwGraph *to, MwValueId value)
{
    const MwNode *maker = mw_value_node(to, value);
    return maker->op == MW_OP_REDUCE_MAX && mw_value_node(to, maker->operands[0])->op == MW_OP_ABS;
}

/* The type that the terms of a sum are added up in: that of the train statement for gradients, f32
 * for other floats of 16 bits. */
static MwType sum_type(const MwGraph *to, MwValueId value)
{
    const MwType type = mw_value_tensor(to, value)->type;
    if (type != MW_F32 && !mw_type_is_half(type))
        return type;
    const bool is_gradient = mw_value_node(to, value)->phase == MW_PHASE_BACKWARD;
    return is_gradient && to->trains.count ? to->trains.at[0].accumulate : MW_F32;
}

/* The sum of `value` over all micro-batches, or the greatest. It begins with zeros where these
 * change nothing, since a device sets those itself. */
static MwValueId accumulate(MicroBatch *m, MwValueId value, MwMicroKind kind)
{
    const bool is_sum = kind == MW_MICRO_PARTIAL;
    MwGraph *to = m->rewrite.to;
    const bool is_zero = is_sum || is_greatest_size(to, value);
    MwTensor tensor = *mw_value_tensor(to, value);
    const char *name = mw_value(to, value)->name;
    if (is_sum)
        tensor.type = sum_type(to, value);
    const MwAttr attrs[] = {
        mw_attr_text(MW_ATTR_INIT, mw_intern(to->interner, is_zero ? "zeros" : "constant")),
        mw_attr_float(MW_ATTR_VALUE, is_zero ? 0 : -(double)FLT_MAX)};
    MwNodeSpec state = {.op = MW_OP_STATE,
                        .attrs = attrs,
                        .attr_count = MW_COUNT(attrs),
                        .given = &tensor,
                        .name = mw_arena_printf(to->arena, "%s.so_far", name)};
    MwValueId accumulator = mw_node_result(to, mw_build_node(to, &state), 0);
    /* the sum rounds; a cast would complete what devices have parts of, each time */
    const bool rounds = mw_type_is_float(mw_value_tensor(to, value)->type);
    MwValueId addend = rounds ? value : mw_build_cast(to, value, tensor.type);
    MwValueId total = mw_build(to, mw_arena_printf(to->arena, "%s.total", name),
                               is_sum ? MW_OP_ACCUMULATE : MW_OP_ACCUMULATE_MAX,
                               (MwValueId[]){accumulator, addend}, 2, NULL, 0);
    mw_vec_push(to->arena, &to->assigns, ((MwAssign){accumulator, total}));
    return total;
}

static bool works_on_slices(const MicroBatch *m, const MwNode *node)
{
    for (int k = 0; k < node->operand_count; k++)
        if (m->state[node->operands[k].index].kind == MW_MICRO_SPLIT)
            return true;
    return false;
}

/* Emits a node of the forward or backward phase, unless it waits for a total. */
static void emit_early(MicroBatch *m, MwNodeId id)
{
    const MwNode *node = mw_node(m->rewrite.from, id);
    MwMicroKind kind = m->state[node->first_result].kind;
    if (kind == MW_MICRO_LATE)
        return;
    if (works_on_slices(m, node))
        emit_on_slices(m, id);
    else if (kind == MW_MICRO_SPLIT && node->op == MW_OP_SCAN_CARRY)
        emit_carry(m, id);
    else if (kind == MW_MICRO_SPLIT)
        emit_input(m, node);
    else
        mw_rewrite_copy(&m->rewrite, node);
    for (int v = node->first_result; v < node->first_result + node->result_count; v++)
        if (m->is_used_late[v] &&
            (m->state[v].kind == MW_MICRO_PARTIAL || m->state[v].kind == MW_MICRO_GREATEST))
            m->total[v] = accumulate(m, m->rewrite.value[v], m->state[v].kind);
}

/* Makes every later use of an accumulated term use its total. */
static void use_totals(MicroBatch *m)
{
    const MwGraph *from = m->rewrite.from;
    m->rewrite.to->phase = MW_PHASE_UPDATE;
    for (int v = 0; v < from->values.count; v++) {
        if (!mw_has_value(m->total[v]))
            continue;
        m->rewrite.to->origin = mw_value_node(from, (MwValueId){v})->origin;
        m->rewrite.value[v] =
            mw_build_cast(m->rewrite.to, m->total[v], from->values.at[v].tensor.type);
    }
}

/* Emits a node that waits for a total, in the update phase. */
static void emit_late(MicroBatch *m, const MwNode *node)
{
    if (m->state[node->first_result].kind != MW_MICRO_LATE)
        return;
    MwNode late = *node;
    late.phase = MW_PHASE_UPDATE;
    mw_rewrite_copy(&m->rewrite, &late);
}

/* [values] used by a node that waits for a total, by an output, an assign or a metric. */
static bool *find_used_late(const MwGraph *graph, const MwMicroState *state)
{
    bool *used = MW_NEW(graph->arena, bool, graph->values.count);
    for (int i = 0; i < graph->metrics.count; i++)
        used[graph->metrics.at[i].value.index] = true;
    for (int i = 0; i < graph->outputs.count; i++)
        used[graph->outputs.at[i].value.index] = true;
    for (int i = 0; i < graph->assigns.count; i++)
        used[graph->assigns.at[i].value.index] = true;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        for (int k = 0; k < node->operand_count; k++)
            used[node->operands[k].index] |= state[node->first_result].kind == MW_MICRO_LATE;
    }
    return used;
}

/* Checks that the batch of every split output is its dimension 0, so that its slices are blocks
 * of the whole. */
static bool check_outputs(const MwGraph *graph, const MwMicroState *state, int count,
                          MwDiags *diags)
{
    for (int i = 0; i < graph->outputs.count; i++) {
        MwValueId value = graph->outputs.at[i].value;
        if (state[value.index].kind != MW_MICRO_SPLIT || state[value.index].dim == 0)
            continue;
        mw_diag_error(diags, mw_value_node(graph, value)->origin.span,
                      "cannot cut the batch into %d micro-batches: output '%s' has the batch in "
                      "dimension %d instead of 0",
                      count, graph->outputs.at[i].name, state[value.index].dim);
        return false;
    }
    return true;
}

/* Makes every output that is not split leave the model once a step, by a node of the update
 * phase, so that it uses the weights and states of this step. `state` is that of the values of
 * `from`; NULL: all are split. A weight or state always leaves so, as what is stored may be that of
 * the next step when outputs are taken. */
static void emit_outputs_late(MwGraph *graph, const MwGraph *from, const MwMicroState *state)
{
    graph->phase = MW_PHASE_UPDATE;
    for (int i = 0; i < graph->outputs.count; i++) {
        MwOutput *output = &graph->outputs.at[i];
        const MwNode *maker = mw_value_node(graph, output->value);
        const bool is_stored = maker->op == MW_OP_WEIGHT || maker->op == MW_OP_STATE;
        const bool is_split =
            !state || state[from->outputs.at[i].value.index].kind == MW_MICRO_SPLIT;
        if ((is_split && !is_stored) || maker->phase == MW_PHASE_UPDATE)
            continue;
        MwAttr type = mw_attr_int(MW_ATTR_TYPE, mw_value_tensor(graph, output->value)->type);
        graph->origin = maker->origin;
        const char *name = mw_arena_printf(graph->arena, "%s.out", output->name);
        output->value = mw_build(graph, name, MW_OP_CAST, &output->value, 1, &type, 1);
    }
}

/* Rewrites the graph for one micro-batch: only the outputs change. */
static void cut_into_one(MwGraph *graph)
{
    MwMicroState *state = MW_NEW(graph->arena, MwMicroState, graph->values.count);
    MwDiags *ignored = mw_diags_new(graph->arena);
    const bool can =
        mw_micro_states(graph, 1, state, ignored) && check_outputs(graph, state, 1, ignored);
    emit_outputs_late(graph, graph, can ? state : NULL);
}

static bool cut_into_many(MwCompilation *compilation, int count, MwDiags *diags)
{
    const MwGraph *graph = compilation->graph;
    MwMicroState *state = MW_NEW(graph->arena, MwMicroState, graph->values.count);
    if (!mw_micro_states(graph, count, state, diags) || !check_outputs(graph, state, count, diags))
        return false;
    MicroBatch m = {.rewrite = mw_rewrite_begin(graph),
                    .loops = mw_loops(graph->arena, graph),
                    .count = count,
                    .state = state,
                    .is_used_late = find_used_late(graph, state),
                    .total = MW_NEW(graph->arena, MwValueId, graph->values.count)};
    m.slice = mw_arena_alloc(graph->arena, sizeof *m.slice * (size_t)graph->values.count);
    memset(m.slice, -1, sizeof *m.slice * (size_t)graph->values.count);
    memset(m.total, -1, sizeof *m.total * (size_t)graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        emit_early(&m, (MwNodeId){n});
    while (carry_slices(&m))
        ;
    use_totals(&m);
    for (int n = 0; n < graph->nodes.count; n++)
        emit_late(&m, &graph->nodes.at[n]);
    mw_rewrite_finish(&m.rewrite);
    emit_outputs_late(m.rewrite.to, graph, state);
    compilation->graph = m.rewrite.to;
    return true;
}

/* Whether the graph is a dump after this pass. */
static bool is_cut(const MwGraph *graph)
{
    for (int i = 0; i < graph->assigns.count; i++)
        if (mw_assign_accumulates(graph, &graph->assigns.at[i]))
            return true;
    return false;
}

bool mw_pass_micro_batch(MwCompilation *compilation, MwDiags *diags)
{
    int count = compilation->staging.micro_batches;
    if (is_cut(compilation->graph))
        return true;
    if (count > 1)
        return cut_into_many(compilation, count, diags);
    cut_into_one(compilation->graph);
    return true;
}
