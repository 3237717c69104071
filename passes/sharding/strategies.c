/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Enumerates strategies from the sharding rule.
 *
 * Every mesh axis independently takes one of the roles that the node offers: replication, a
 * splittable factor, the ring of the rule, or a way to carry partial sums (the `linear` column of
 * ir/ops.def). An assignment of roles is valid if the divisor of every factor is a multiple of the
 * number of ways it is split, which for windows is no more than MwFactor.most, the factors before
 * allow that it is split (MwFactor.follows), and no more than one axis is a ring, of no more than
 * MW_TUNED_RING_DEVICES devices: the local graph has a node for each block. There are as many
 * assignments as the number of roles to the power of the number of axes, of which there are at most
 * MW_MAX_AXES. Among assignments with the same specs of operands and results, the one with the
 * least work stays: it dominates the others, because nothing outside the node can tell them
 * apart. Nor can it tell whether devices have mirrored halves, so a strategy has them where they
 * are quicker. */
#include "passes/sharding/strategies.h"

#include "ir/key_map.h"
#include "passes/sharding/mirror.h"
#include "passes/tuning.h"

#include <string.h>

/* A role of one mesh axis. */
typedef struct {
    int factor;       /* the factor that the axis splits; -1: none */
    bool is_ring;     /* it splits the factor of the rule that travels, too */
    uint32_t carries; /* bit k: operand k is partial along the axis, and so are the results */
    bool carries_sum; /* partial sums pass through, even where there is no operand */
} AxisOption;

enum { MAX_OPTIONS = 2 + MW_MAX_FACTORS + 32 };

struct MwStrategyTable {
    MwArena *arena;
    MwCostModel model;
    MwKeyMap lists;    /* by structure */
    MwKeyMap filtered; /* by list and what it is restricted to */
    MwKeyWords key;    /* scratch key of the current node */
    int list_count;
};

MwStrategyTable *mw_strategy_table_new(MwArena *arena, const MwCostModel *model)
{
    MwStrategyTable *table = MW_NEW(arena, MwStrategyTable, 1);
    table->arena = arena;
    table->model = *model;
    return table;
}

/* ---- Structure: what two nodes must agree in to share a list ---- */

static void push_attr(MwArena *arena, MwKeyWords *key, const MwAttr *attr)
{
    switch (attr->key) {
    case MW_ATTR_BEGIN: /* of a slice or pad: the types of operand and result say how long it is */
    case MW_ATTR_END:
    case MW_ATTR_KEY:
    case MW_ATTR_VALUE:
    case MW_ATTR_INIT:
    case MW_ATTR_TRANSFER:
    case MW_ATTR_LOOP:
    case MW_ATTR_CARRY:
        return;
    default:
        break;
    }
    switch (mw_attr_kind(attr->key)) {
    case MW_KIND_TEXT:
        mw_vec_push(arena, key, (int64_t)(intptr_t)attr->text);
        break;
    case MW_KIND_INTS:
        mw_vec_push(arena, key, attr->ints.count);
        for (int i = 0; i < attr->ints.count; i++)
            mw_vec_push(arena, key, attr->ints.at[i]);
        break;
    case MW_KIND_SPEC:
        mw_vec_push(arena, key, attr->spec_rank);
        mw_vec_push(arena, key, (int64_t)attr->spec.bits);
        break;
    case MW_KIND_INT:
    case MW_KIND_BOOL:
    case MW_KIND_TYPE:
    case MW_KIND_FLOAT: /* the bits of the number */
        mw_vec_push(arena, key, attr->i);
        break;
    }
}

static void push_tensor(MwArena *arena, MwKeyWords *key, const MwTensor *tensor)
{
    mw_vec_push(arena, key, (int64_t)tensor->type << 8 | tensor->rank);
    for (int d = 0; d < tensor->rank; d++)
        mw_vec_push(arena, key, tensor->dim[d]);
}

/* Operators fix the order of their attributes, so equal keys mean equal nodes. */
void mw_node_structure(MwArena *arena, MwKeyWords *key, const MwGraph *graph, MwNodeId id)
{
    const MwNode *node = mw_node(graph, id);
    mw_vec_push(arena, key, node->op);
    mw_vec_push(arena, key, (int64_t)node->operand_count << 32 | node->result_count);
    for (int i = 0; i < node->attr_count; i++)
        push_attr(arena, key, &node->attrs[i]);
    for (int k = 0; k < node->operand_count; k++)
        push_tensor(arena, key, mw_value_tensor(graph, node->operands[k]));
    for (int k = 0; k < node->result_count; k++)
        push_tensor(arena, key, mw_value_tensor(graph, mw_node_result(graph, id, k)));
}

/* ---- StrategyEnumeration ---- */

typedef struct {
    MwArena *arena;
    const MwCostModel *model;
    const MwGraph *graph;
    MwNodeId id;
    const MwNode *node;
    MwStrategyRole role;
    MwShardingRule rule;
    AxisOption options[MAX_OPTIONS];
    int option_count;
    MwStrategy *found;
    int count;
    MwKeyMap by_specs;
    MwKeyWords key;
} StrategyEnumeration;

static bool operand_is_float(const StrategyEnumeration *e, int k)
{
    return mw_type_is_float(mw_value_tensor(e->graph, e->node->operands[k])->type);
}

static void add_carry(StrategyEnumeration *e, uint32_t operands)
{
    MW_ASSERT(e->option_count < MAX_OPTIONS);
    e->options[e->option_count++] =
        (AxisOption){.factor = -1, .carries = operands, .carries_sum = true};
}

static void add_carry_one(StrategyEnumeration *e, int k)
{
    if (operand_is_float(e, k))
        add_carry(e, UINT32_C(1) << k);
}

static void add_carry_joint(StrategyEnumeration *e)
{
    for (int k = 0; k < e->node->operand_count; k++)
        if (!operand_is_float(e, k))
            return;
    if (e->node->operand_count > 0 && e->node->operand_count < 32)
        add_carry(e, (UINT32_C(1) << e->node->operand_count) - 1);
}

/* Lists the ways in which partial sums pass through the node. */
static void add_carries(StrategyEnumeration *e)
{
    if (e->role == MW_STRATEGY_WHOLE)
        return;
    if (e->role == MW_STRATEGY_PARTIAL)
        add_carry(e, 0);
    switch (mw_op_info(e->node->op)->linear) {
    case MW_LINEAR_NONE:
        break;
    case MW_LINEAR_JOINT:
        add_carry_joint(e);
        break;
    case MW_LINEAR_EACH:
        for (int k = 0; k < e->node->operand_count && k < 32; k++)
            add_carry_one(e, k);
        break;
    case MW_LINEAR_FIRST:
        add_carry_one(e, 0);
        break;
    case MW_LINEAR_LAST:
        add_carry_one(e, e->node->operand_count - 1);
        break;
    }
}

/* Lists the roles that a mesh axis may have for the node. */
static void add_options(StrategyEnumeration *e)
{
    for (int f = 0; f < e->rule.factor_count; f++)
        if (e->rule.factors[f].kind != MW_FACTOR_FIXED && e->rule.factors[f].divisor > 1)
            e->options[e->option_count++] = (AxisOption){.factor = f};
    if (e->rule.ring.travels >= 0)
        e->options[e->option_count++] = (AxisOption){.factor = e->rule.ring.stays, .is_ring = true};
    add_carries(e);
    e->options[e->option_count++] = (AxisOption){.factor = -1};
}

static MwSpec split_dims(const MwFactorMap *map, int rank, const MwAxes *factor_axes)
{
    MwSpec spec = mw_spec_replicated();
    for (int d = 0; d < rank; d++) {
        MwAxes axes = 0;
        for (int f = map->factor[d]; f >= 0 && f <= map->last[d]; f++)
            axes |= factor_axes[f];
        spec = mw_spec_with_dim(spec, d, axes);
    }
    return spec;
}

/* The roles of all axes. */
typedef struct {
    const AxisOption *option[MW_MAX_AXES]; /* NULL: an axis of one device */
    MwAxes factor_axes[MW_MAX_FACTORS];
    int ways[MW_MAX_FACTORS];
    int replicated_axes;
    int ring_axis; /* -1: none */
} Assignment;

/* Whether a factor may be split as `a` says, given the one before. */
static bool follows_whole(const StrategyEnumeration *e, const Assignment *a, int f)
{
    if (!e->rule.factors[f].follows || a->ways[f] == 1)
        return true;
    const MwAxes lowest = a->factor_axes[f] & -a->factor_axes[f];
    return a->ways[f - 1] == e->rule.factors[f - 1].size && a->factor_axes[f - 1] < lowest;
}

/* Splits the factor that travels over the ring, if there is one. False if there are two, or too
 * many devices. */
static bool fill_ring(const StrategyEnumeration *e, Assignment *a)
{
    a->ring_axis = -1;
    for (int axis = 0; axis < e->model->mesh.axis_count; axis++) {
        if (!a->option[axis] || !a->option[axis]->is_ring)
            continue;
        if (a->ring_axis >= 0 || e->model->mesh.size[axis] > MW_TUNED_RING_DEVICES)
            return false;
        a->ring_axis = axis;
        a->factor_axes[e->rule.ring.travels] |= (MwAxes)(1 << axis);
    }
    return true;
}

/* Computes the split of each factor. False if a factor does not divide, or may not be split. */
static bool fill_factors(const StrategyEnumeration *e, Assignment *a)
{
    memset(a->factor_axes, 0, sizeof a->factor_axes);
    a->replicated_axes = 0;
    for (int axis = 0; axis < e->model->mesh.axis_count; axis++) {
        const AxisOption *option = a->option[axis];
        if (option && option->factor >= 0)
            a->factor_axes[option->factor] |= (MwAxes)(1 << axis);
        else if (option && !option->carries_sum)
            a->replicated_axes++;
    }
    if (!fill_ring(e, a))
        return false;
    for (int f = 0; f < e->rule.factor_count; f++) {
        a->ways[f] = mw_mesh_ways(&e->model->mesh, a->factor_axes[f]);
        const MwFactor *factor = &e->rule.factors[f];
        if (factor->divisor % a->ways[f] != 0 || !follows_whole(e, a, f) ||
            (factor->kind == MW_FACTOR_WINDOWS && a->ways[f] > factor->most))
            return false;
    }
    return true;
}

/* The spec of operand `k` under an assignment. */
static MwSpec operand_spec(const StrategyEnumeration *e, const Assignment *a, int k)
{
    int rank = mw_value_tensor(e->graph, e->node->operands[k])->rank;
    MwAxes carried = 0;
    for (int axis = 0; axis < e->model->mesh.axis_count; axis++)
        if (a->option[axis] && k < 32 && a->option[axis]->carries >> k & 1)
            carried |= (MwAxes)(1 << axis);
    return mw_spec_with_partial(split_dims(&e->rule.operands[k], rank, a->factor_axes), carried,
                                MW_COMBINE_SUM);
}

/* The spec in which devices compute result `k`: partial, by `combine`, over axes that carry sums or
 * split a factor that the result lacks. */
static MwSpec result_spec(const StrategyEnumeration *e, const Assignment *a, int k,
                          MwCombine combine)
{
    int rank = mw_value_tensor(e->graph, mw_node_result(e->graph, e->id, k))->rank;
    MwSpec spec = split_dims(&e->rule.results[k], rank, a->factor_axes);
    MwAxes whole = mw_spec_axes(spec, rank), partial = 0;
    for (int axis = 0; axis < e->model->mesh.axis_count; axis++) {
        const AxisOption *option = a->option[axis];
        if (option && (option->carries_sum || (option->factor >= 0 && !(whole >> axis & 1))))
            partial |= (MwAxes)(1 << axis);
    }
    return mw_spec_with_partial(spec, partial, combine);
}

/* Keeps `strategy` unless an earlier one with the same specs does no more work. */
static void keep(StrategyEnumeration *e, const MwStrategy *strategy)
{
    e->key.count = 0;
    for (int k = 0; k < e->node->operand_count; k++)
        mw_vec_push(e->arena, &e->key, (int64_t)strategy->operands[k].bits);
    for (int k = 0; k < e->node->result_count; k++)
        mw_vec_push(e->arena, &e->key, (int64_t)strategy->results[k].bits);
    void **same = mw_key_map_at_words(e->arena, &e->by_specs, &e->key);
    MwStrategy *other = *same;
    if (!other)
        *same = other = &e->found[e->count++];
    else if (mw_cost_work_s(e->model, &strategy->work) >= mw_cost_work_s(e->model, &other->work))
        return;
    *other = *strategy;
}

static bool has_partial_result(const StrategyEnumeration *e, const MwSpec *results)
{
    for (int k = 0; k < e->node->result_count; k++)
        if (mw_spec_partial(results[k]))
            return true;
    return false;
}

/* Bit k: tensor k of `count` runs over `factor`. */
static uint32_t running_over(const MwFactorMap *maps, int count, int factor)
{
    uint32_t found = 0;
    for (int k = 0; k < count && k < 32; k++)
        for (int d = 0; d < MW_MAX_RANK; d++)
            if (mw_factor_map_has(&maps[k], d, factor))
                found |= UINT32_C(1) << k;
    return found;
}

/* Sets the work of a strategy and its ring, in which a device goes through all blocks. */
static void set_work(const StrategyEnumeration *e, const Assignment *a, MwStrategy *strategy)
{
    int ways[MW_MAX_FACTORS];
    memcpy(ways, a->ways, sizeof ways);
    strategy->ring = (MwRing){.ways = 1};
    if (a->ring_axis >= 0) {
        const int travels = e->rule.ring.travels, size = e->model->mesh.size[a->ring_axis];
        strategy->ring =
            (MwRing){.axis = a->ring_axis,
                     .ways = size,
                     .operands = running_over(e->rule.operands, e->node->operand_count, travels),
                     .results = running_over(e->rule.results, e->node->result_count, travels),
                     .block = mw_cost_node_work(e->graph, e->id, &e->rule, ways)};
        ways[travels] /= size;
    }
    strategy->work = mw_cost_node_work(e->graph, e->id, &e->rule, ways);
}

/* Gives devices mirrored halves of the uneven factor where these take less time. */
static void mirror(const StrategyEnumeration *e, const Assignment *a, MwStrategy *strategy)
{
    const int uneven = e->rule.uneven;
    if (uneven < 0 || a->ways[uneven] == 1 || strategy->ring.ways > 1 ||
        e->rule.factors[uneven].divisor % (2 * a->ways[uneven]) != 0)
        return;
    MwStrategy mirrored = *strategy;
    mirrored.mirror = (MwMirror){.axes = a->factor_axes[uneven],
                                 .half = mw_cost_half_work(e->graph, e->id, &e->rule, a->ways)};
    mirrored.work.flops = 2 * mirrored.mirror.half.flops;
    if (mw_mirror_s(e->arena, e->graph, e->id, &mirrored, e->model) <
        mw_cost_work_s(e->model, &strategy->work))
        *strategy = mirrored;
}

/* Adds the strategy of an assignment, if it is valid. */
static void try_assignment(StrategyEnumeration *e, Assignment *a)
{
    if (!fill_factors(e, a))
        return;
    MwSpec *operands = MW_NEW(e->arena, MwSpec, e->node->operand_count);
    MwSpec *results = MW_NEW(e->arena, MwSpec, e->node->result_count);
    for (int k = 0; k < e->node->operand_count; k++)
        operands[k] = operand_spec(e, a, k);
    for (int k = 0; k < e->node->result_count; k++)
        results[k] = result_spec(e, a, k, mw_op_info(e->node->op)->combine);
    MwSpec parts = mw_spec_replicated();
    const int normaliser = e->rule.normaliser;
    if (normaliser >= 0) {
        parts = result_spec(e, a, normaliser, MW_COMBINE_LOGSUMEXP);
        results[normaliser] = mw_spec_with_partial(parts, 0, MW_COMBINE_SUM);
    }
    if (e->role == MW_STRATEGY_WHOLE && has_partial_result(e, results))
        return;
    MwStrategy strategy = {.operands = operands,
                           .results = results,
                           .normaliser = normaliser,
                           .parts = parts,
                           .replicated_axes = a->replicated_axes};
    set_work(e, a, &strategy);
    mirror(e, a, &strategy);
    keep(e, &strategy);
}

/* Tries all roles of the axes from `axis` on; the first axis varies slowest. */
static void assign_axes(StrategyEnumeration *e, Assignment *a, int axis)
{
    if (axis == e->model->mesh.axis_count) {
        try_assignment(e, a);
        return;
    }
    if (e->model->mesh.size[axis] == 1) {
        a->option[axis] = NULL;
        assign_axes(e, a, axis + 1);
        return;
    }
    for (int i = 0; i < e->option_count; i++) {
        a->option[axis] = &e->options[i];
        assign_axes(e, a, axis + 1);
    }
}

static int assignment_count(const StrategyEnumeration *e)
{
    int count = 1;
    for (int axis = 0; axis < e->model->mesh.axis_count; axis++)
        count *= e->model->mesh.size[axis] == 1 ? 1 : e->option_count;
    return count;
}

/* All strategies of a node, without dominated ones. */
static MwStrategyList *enumerate(MwStrategyTable *table, const MwGraph *graph, MwNodeId id,
                                 MwStrategyRole role)
{
    StrategyEnumeration e = {.arena = table->arena,
                             .model = &table->model,
                             .graph = graph,
                             .id = id,
                             .node = mw_node(graph, id),
                             .role = role};
    e.rule = mw_sharding_rule(table->arena, graph, id);
    add_options(&e);
    e.found = MW_NEW(table->arena, MwStrategy, assignment_count(&e));
    Assignment assignment;
    assign_axes(&e, &assignment, 0);
    MW_ASSERT(e.count > 0);
    MwStrategyList *list = MW_NEW(table->arena, MwStrategyList, 1);
    *list = (MwStrategyList){.count = e.count,
                             .at = e.found,
                             .operand_count = e.node->operand_count,
                             .result_count = e.node->result_count,
                             .index = table->list_count++,
                             .combine = mw_op_info(e.node->op)->combine};
    return list;
}

const MwStrategyList *mw_strategies(MwStrategyTable *table, const MwGraph *graph, MwNodeId node,
                                    MwStrategyRole role)
{
    table->key.count = 0;
    mw_vec_push(table->arena, &table->key, role);
    mw_node_structure(table->arena, &table->key, graph, node);
    void **list = mw_key_map_at_words(table->arena, &table->lists, &table->key);
    if (!*list)
        *list = enumerate(table, graph, node, role);
    return *list;
}

/* ---- Restricted lists ---- */

const MwStrategyList *mw_strategies_kept(MwStrategyTable *table, const MwStrategyList *list,
                                         const bool *keep)
{
    table->key.count = 0;
    mw_vec_push(table->arena, &table->key, list->index);
    for (int s = 0; s < list->count; s++)
        if (keep[s])
            mw_vec_push(table->arena, &table->key, s);
    const int count = table->key.count - 1;
    if (count == 0 || count == list->count)
        return count ? list : NULL;
    void **kept = mw_key_map_at_words(table->arena, &table->filtered, &table->key);
    if (!*kept) {
        MwStrategyList *made = mw_arena_dup(table->arena, list, sizeof *list);
        MwStrategy *at = MW_NEW(table->arena, MwStrategy, count);
        for (int i = 0; i < count; i++)
            at[i] = list->at[table->key.at[i + 1]];
        made->at = at;
        made->count = count;
        made->index = table->list_count++;
        *kept = made;
    }
    return *kept;
}

const MwStrategyList *mw_strategies_with_result(MwStrategyTable *table, const MwStrategyList *list,
                                                int k, MwSpec spec)
{
    bool *keep = MW_NEW(table->arena, bool, list->count);
    for (int s = 0; s < list->count; s++)
        keep[s] = mw_spec_equal(list->at[s].results[k], spec);
    return mw_strategies_kept(table, list, keep);
}

const MwStrategyList *mw_strategies_with_ring(MwStrategyTable *table, const MwStrategyList *list,
                                              bool ring)
{
    bool *keep = MW_NEW(table->arena, bool, list->count);
    for (int s = 0; s < list->count; s++)
        keep[s] = (list->at[s].ring.ways > 1) == ring;
    return mw_strategies_kept(table, list, keep);
}
