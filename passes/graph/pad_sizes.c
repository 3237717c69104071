/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "passes/graph/pad_sizes.h"

#include "cost/cost.h"
#include "passes/graph/micro_state.h"
#include "passes/tuning.h"

#include <math.h>
#include <stdlib.h>

/* ---- Union-find ---- */

static int root_of(const MwPadSizes *sizes, int dim)
{
    while (sizes->parent[dim] != dim)
        dim = sizes->parent[dim] = sizes->parent[sizes->parent[dim]];
    return dim;
}

static int dim_of(const MwPadSizes *sizes, MwValueId value, int d)
{
    return sizes->first[value.index] + d;
}

MwPadSize *mw_pad_size(const MwPadSizes *sizes, MwValueId value, int d)
{
    return &sizes->size[root_of(sizes, dim_of(sizes, value, d))];
}

bool mw_pad_is_padded(const MwPadSizes *sizes, MwValueId value, int d)
{
    const MwPadSize *size = mw_pad_size(sizes, value, d);
    return size->padded != size->blocks;
}

bool mw_pad_matters(const MwPadSizes *sizes, const MwPadSize *size)
{
    return !size->has_companion &&
           (size->is_divided || size->flops > MW_TUNED_PADDED_WORK * sizes->flops);
}

double mw_pad_growth(const MwPadSizes *sizes, const MwPadSize *size, double most)
{
    if (size->blocks == 1 || size->has_companion)
        return 0;
    if (mw_pad_matters(sizes, size))
        return most;
    return size->alike_flops > MW_TUNED_PADDED_WORK * sizes->flops ? fmin(most, MW_TUNED_STAGE_GAP)
                                                                   : 0;
}

MwTensor mw_pad_tensor(const MwPadSizes *sizes, MwValueId value)
{
    MwTensor tensor = *mw_value_tensor(sizes->graph, value);
    for (int d = 0; d < tensor.rank; d++) {
        const MwPadSize *size = mw_pad_size(sizes, value, d);
        tensor.dim[d] = tensor.dim[d] / size->blocks * size->padded;
    }
    return tensor;
}

static void unite(const MwPadSizes *sizes, int a, int b)
{
    a = root_of(sizes, a);
    b = root_of(sizes, b);
    if (a == b)
        return;
    MwPadSize *kept = &sizes->size[mw_min(a, b)], *other = &sizes->size[mw_max(a, b)];
    kept->blocks = mw_common_divisor(kept->blocks, other->blocks);
    kept->is_divided |= other->is_divided;
    kept->flops += other->flops;
    if (kept->barrier.index < 0 ||
        (other->barrier.index >= 0 && other->barrier.index < kept->barrier.index))
        kept->barrier = other->barrier;
    sizes->parent[mw_max(a, b)] = mw_min(a, b);
}

/* Lets the size have only as many blocks as divide `divisor`, because of `node`. */
static void bound(MwPadSize *size, int64_t divisor, MwNodeId node)
{
    const int64_t blocks = mw_common_divisor(size->blocks, divisor);
    if (blocks == 1 && size->blocks > 1 && size->barrier.index < 0)
        size->barrier = node;
    size->blocks = blocks;
}

/* ---- What a node says ---- */

int mw_pad_operand_dim(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule, int k,
                       int factor)
{
    return mw_micro_dim(&rule->operands[k], mw_value_tensor(graph, node->operands[k])->rank,
                        factor);
}

bool mw_pad_is_combined(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule,
                        int factor)
{
    for (int k = 0; k < node->result_count; k++)
        if (mw_micro_dim(&rule->results[k], graph->values.at[node->first_result + k].tensor.rank,
                         factor) < 0)
            return true;
    return false;
}

/* Of the operands that run over `factor`, the one that is made in the phase of the node, or else
 * the smallest. */
static int cheapest_operand(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule,
                            int factor)
{
    int best = MW_PAD_NEVER;
    bool best_is_near = false;
    int64_t best_elements = 0;
    for (int k = 0; k < node->operand_count; k++) {
        const int64_t elements = mw_tensor_elements(mw_value_tensor(graph, node->operands[k]));
        const bool is_near = mw_value_node(graph, node->operands[k])->phase == node->phase;
        if (mw_pad_operand_dim(graph, node, rule, k, factor) < 0 ||
            (best >= 0 &&
             (best_is_near > is_near || (best_is_near == is_near && best_elements <= elements))))
            continue;
        best = k;
        best_is_near = is_near;
        best_elements = elements;
    }
    return best;
}

/* Whether what runs over `factor` is looked up in. */
static bool is_looked_up(const MwShardingRule *rule, int factor)
{
    return rule->factors[factor].size < rule->factors[factor].divisor;
}

int mw_pad_addend(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule, int factor,
                  bool *all)
{
    const MwOpPadding padding = mw_op_info(node->op)->padding;
    *all = false;
    if (rule->normaliser >= 0 || padding.is_wild)
        return MW_PAD_NEVER;
    if (is_looked_up(rule, factor))
        return -1; /* what is looked up is no padding */
    switch (padding.kind) {
    case MW_PADDING_REST:
        *all = padding.operand == 0;
        return *all ? -1 : MW_PAD_NEVER;
    case MW_PADDING_ANY:
        return cheapest_operand(graph, node, rule, factor);
    case MW_PADDING_AT:
    case MW_PADDING_SCATTER:
        if (mw_pad_operand_dim(graph, node, rule, padding.operand, factor) < 0)
            return MW_PAD_NEVER;
        return padding.operand;
    case MW_PADDING_NONE:
    case MW_PADDING_ZERO:
    case MW_PADDING_QUOTIENT:
    case MW_PADDING_KEPT:
        return MW_PAD_NEVER;
    }
    MW_UNREACHABLE();
}

double mw_pad_least(MwType type)
{
    if (mw_type_is_float(type))
        return -INFINITY;
    return mw_type_is_integer(type) ? mw_type_clamp(type, -INFINITY) : 0;
}

/* Whether the node is a maximum over integers of which no constant is the least. */
static bool has_no_least(const MwGraph *graph, const MwNode *node)
{
    const MwType type = mw_value_tensor(graph, node->operands[0])->type;
    return mw_op_info(node->op)->combine == MW_COMBINE_MAX &&
           !mw_type_holds(type, mw_pad_least(type));
}

/* Whether the node, of a step of the rows of a table alone, would count rows of the padding. */
static bool counts_rows(const MwGraph *graph, const MwNode *node)
{
    bool is_sparse = false;
    for (int i = 0; i < graph->trains.count; i++)
        is_sparse |= graph->trains.at[i].sparse.count > 0;
    return is_sparse && node->op == MW_OP_EMBEDDING_GRAD;
}

/* The number that the blocks of what runs over `factor` must divide. */
static int64_t divisor_of(const MwGraph *graph, const MwNode *node, const MwShardingRule *rule,
                          int factor)
{
    bool all;
    if (rule->factors[factor].kind != MW_FACTOR_SPLITTABLE)
        return 1;
    if (mw_pad_is_combined(graph, node, rule, factor) &&
        ((mw_op_info(node->op)->combine == MW_COMBINE_SUM &&
          mw_pad_addend(graph, node, rule, factor, &all) == MW_PAD_NEVER) ||
         has_no_least(graph, node) ||
         (counts_rows(graph, node) && mw_pad_operand_dim(graph, node, rule, 0, factor) >= 0)))
        return 1;
    return rule->factors[factor].divisor;
}

/* Unites the dimensions of `value` with what else runs over their most significant factors,
 * unless these follow others elsewhere; `dim` [factors] is a dimension that does, -1: there is
 * none yet. */
static void add_map(const MwPadSizes *sizes, MwNodeId id, const MwShardingRule *rule,
                    const MwFactorMap *map, MwValueId value, int dim[MW_MAX_FACTORS])
{
    for (int d = 0; d < mw_value_tensor(sizes->graph, value)->rank; d++) {
        const int factor = map->factor[d], own = dim_of(sizes, value, d);
        if (factor < 0 || rule->factors[factor].follows) {
            bound(&sizes->size[root_of(sizes, own)], 1, id);
            continue;
        }
        if (dim[factor] >= 0)
            unite(sizes, own, dim[factor]);
        dim[factor] = own;
    }
}

/* FLOPs of a node whose loops devices divide among them; 0: it is none. */
static double divided_flops(const MwGraph *graph, MwNodeId id, const MwShardingRule *rule)
{
    int ways[MW_MAX_FACTORS];
    if (mw_op_info(mw_node(graph, id)->op)->precision != MW_PRECISION_HALF)
        return 0;
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        ways[f] = 1;
    return mw_cost_node_work(graph, id, rule, ways).flops;
}

static void add_node(MwPadSizes *sizes, MwArena *scratch, MwNodeId id)
{
    const MwGraph *graph = sizes->graph;
    const MwNode *node = mw_node(graph, id);
    const MwShardingRule rule = mw_sharding_rule(scratch, graph, id);
    int dim[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        dim[f] = -1;
    for (int k = 0; k < node->operand_count; k++)
        add_map(sizes, id, &rule, &rule.operands[k], node->operands[k], dim);
    for (int k = 0; k < node->result_count; k++)
        add_map(sizes, id, &rule, &rule.results[k], mw_node_result(graph, id, k), dim);
    const double flops = divided_flops(graph, id, &rule);
    sizes->flops += flops;
    for (int f = 0; f < rule.factor_count; f++) {
        if (dim[f] < 0)
            continue;
        MwPadSize *size = &sizes->size[root_of(sizes, dim[f])];
        size->is_divided |= is_looked_up(&rule, f);
        size->flops += flops;
        bound(size, divisor_of(graph, node, &rule, f), id);
    }
    if (node->op == MW_OP_INPUT && !mw_input_is_whole(graph, node))
        mw_pad_size(sizes, mw_node_result(graph, id, 0), 0)->is_divided = true;
}

static int compare_blocks(const void *a, const void *b)
{
    const MwPadSize *x = *(MwPadSize *const *)a, *y = *(MwPadSize *const *)b;
    return (x->blocks > y->blocks) - (x->blocks < y->blocks);
}

/* Sets alike_flops of all sizes. */
static void sum_alike(MwPadSizes *sizes, MwArena *scratch)
{
    MwPadSize **roots = MW_NEW(scratch, MwPadSize *, sizes->count);
    int count = 0;
    for (int i = 0; i < sizes->count; i++)
        if (sizes->parent[i] == i)
            roots[count++] = &sizes->size[i];
    qsort(roots, (size_t)count, sizeof *roots, compare_blocks);
    for (int first = 0, end; first < count; first = end) {
        double flops = 0;
        for (end = first; end < count && roots[end]->blocks == roots[first]->blocks; end++)
            flops += roots[end]->flops;
        for (int i = first; i < end; i++)
            roots[i]->alike_flops = flops;
    }
}

MwPadSizes mw_pad_sizes(MwArena *arena, const MwGraph *graph)
{
    MwPadSizes sizes = {.graph = graph, .first = MW_NEW(arena, int, graph->values.count)};
    int count = 0;
    for (int v = 0; v < graph->values.count; v++) {
        sizes.first[v] = count;
        count += graph->values.at[v].tensor.rank;
    }
    sizes.count = count;
    sizes.parent = MW_NEW(arena, int, count);
    sizes.size = MW_NEW(arena, MwPadSize, count);
    for (int v = 0, i = 0; v < graph->values.count; v++)
        for (int d = 0; d < graph->values.at[v].tensor.rank; d++, i++) {
            sizes.parent[i] = i;
            sizes.size[i] =
                (MwPadSize){.blocks = graph->values.at[v].tensor.dim[d], .barrier = {-1}};
        }
    MwArena *scratch = mw_arena_new();
    for (int n = 0; n < graph->nodes.count; n++)
        add_node(&sizes, scratch, (MwNodeId){n});
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        for (int d = 0; d < mw_value_tensor(graph, assign->target)->rank; d++)
            unite(&sizes, dim_of(&sizes, assign->target, d), dim_of(&sizes, assign->value, d));
    }
    for (int i = 0; i < count; i++)
        sizes.size[i].padded = sizes.size[i].blocks;
    sum_alike(&sizes, scratch);
    mw_arena_free(&scratch);
    return sizes;
}

/* ---- Companions ---- */

/* The sizes that may be companions of one, as far as nodes were looked at. */
typedef struct {
    bool is_known; /* a node was; until then any size may be */
    int count;
    int roots[MW_MAX_FACTORS]; /* dimensions */
} Companions;

static void intersect(Companions *companions, const int *roots, int count)
{
    const Companions before = *companions;
    *companions = (Companions){.is_known = true};
    for (int i = 0; i < count; i++) {
        bool is_in = !before.is_known;
        for (int k = 0; k < before.count; k++)
            is_in |= before.roots[k] == roots[i];
        if (is_in)
            companions->roots[companions->count++] = roots[i];
    }
}

/* Notes the sizes of the most significant factors of `map`, where it is none yet. */
static void note_sizes(const MwPadSizes *sizes, const MwFactorMap *map, MwValueId value,
                       int root[MW_MAX_FACTORS])
{
    for (int d = 0; d < mw_value_tensor(sizes->graph, value)->rank; d++)
        if (map->factor[d] >= 0 && root[map->factor[d]] < 0)
            root[map->factor[d]] = root_of(sizes, dim_of(sizes, value, d));
}

/* Takes from the companions of the sizes of a node what is none there. */
static void restrict_companions(const MwPadSizes *sizes, MwNodeId id, const MwShardingRule *rule,
                                int devices, Companions *companions)
{
    const MwGraph *graph = sizes->graph;
    const MwNode *node = mw_node(graph, id);
    int root[MW_MAX_FACTORS];
    for (int f = 0; f < MW_MAX_FACTORS; f++)
        root[f] = -1;
    for (int k = 0; k < node->operand_count; k++)
        note_sizes(sizes, &rule->operands[k], node->operands[k], root);
    for (int k = 0; k < node->result_count; k++)
        note_sizes(sizes, &rule->results[k], mw_node_result(graph, id, k), root);
    for (int f = 0; f < rule->factor_count; f++) {
        int others[MW_MAX_FACTORS], count = 0;
        for (int g = 0; g < rule->factor_count && root[f] >= 0 && !mw_op_is_data(node->op); g++)
            if (root[g] >= 0 && root[g] != root[f] && sizes->size[root[g]].blocks % devices == 0 &&
                (mw_pad_is_combined(graph, node, rule, f) ||
                 !mw_pad_is_combined(graph, node, rule, g)))
                others[count++] = root[g];
        if (root[f] >= 0)
            intersect(&companions[root[f]], others, count);
    }
}

void mw_pad_find_companions(MwPadSizes *sizes, int devices)
{
    const MwGraph *graph = sizes->graph;
    MwArena *scratch = mw_arena_new();
    Companions *companions = MW_NEW(scratch, Companions, sizes->count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNodeId id = {n};
        const MwShardingRule rule = mw_sharding_rule(scratch, graph, id);
        if (mw_op_is_data(mw_node(graph, id)->op) || divided_flops(graph, id, &rule) > 0)
            restrict_companions(sizes, id, &rule, devices, companions);
    }
    for (int i = 0; i < sizes->count; i++)
        sizes->size[i].has_companion =
            sizes->size[i].blocks % devices != 0 && companions[i].count > 0;
    mw_arena_free(&scratch);
}
