/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/bucket_items.h"

#include "codegen/plan/unit_times.h"

#include <math.h>
#include <string.h>

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    const MwCostModel *model;
    const MwOrder *order;
    MwPhase phase;
    double *end_s;     /* [units] when a unit ends, in the time of its phase */
    double *begin_s;   /* [units] */
    bool *is_given;    /* [units] it is a kernel of weights and states alone */
    int32_t *level_of; /* [units] of a collective that is in an item */
    MwBucketItems out;
} Finder;

/* ---- Units ---- */

bool mw_unit_may_join(const MwLegal *legal, const MwUnits *units, const MwCostModel *model,
                      int unit)
{
    const MwNode *node = mw_unit_first_node(legal, units, unit);
    if (mw_op_info(node->op)->lowering != MW_LOWER_COLLECTIVE || units->units.at[unit].loop >= 0)
        return false;
    const MwCollective kind = mw_op_collective(node->op);
    return (kind == MW_ALL_REDUCE || kind == MW_ALL_GATHER || kind == MW_REDUCE_SCATTER) &&
           model->mesh.size[mw_node_int(node, MW_ATTR_MESH_AXIS)] > 1;
}

static MwBucketKey key_of(const MwLegal *legal, const MwUnits *units, int unit)
{
    const MwNode *node = mw_unit_first_node(legal, units, unit);
    const MwAttr *combine = mw_node_attr(node, MW_ATTR_COMBINE);
    return (MwBucketKey){.kind = mw_op_collective(node->op),
                         .axis = (int)mw_node_int(node, MW_ATTR_MESH_AXIS),
                         .type = mw_legal_operand_tensor(legal, node, 0)->type,
                         .combine = combine ? combine->text : NULL};
}

static bool keys_equal(const MwBucketKey *a, const MwBucketKey *b)
{
    return a->kind == b->kind && a->axis == b->axis && a->type == b->type &&
           (a->combine && b->combine ? strcmp(a->combine, b->combine) == 0
                                     : a->combine == b->combine);
}

double mw_bucket_call_bytes(const MwLegal *legal, const MwUnits *units, int unit)
{
    const MwNode *node = mw_unit_first_node(legal, units, unit);
    const MwTensor *result = &legal->graph->values.at[node->first_result].tensor;
    return (double)mw_max(mw_tensor_bytes(mw_legal_operand_tensor(legal, node, 0)),
                          mw_tensor_bytes(result));
}

/* ---- When units run ---- */

/* The times of a phase begin with the phase. */
static double find_times(Finder *f, MwPhase phase)
{
    double clock_s = 0;
    for (int p = f->order->begin[phase]; p < f->order->begin[phase + 1]; p++) {
        const int unit = f->order->unit[p];
        f->begin_s[unit] = clock_s;
        clock_s += mw_unit_s(f->arena, f->legal, f->units, f->model, unit);
        f->end_s[unit] = clock_s;
    }
    return clock_s;
}

/* ---- Items ---- */

int mw_bucket_find_key(MwArena *arena, MwBucketItems *items, const MwLegal *legal,
                       const MwUnits *units, int unit)
{
    const MwBucketKey key = key_of(legal, units, unit);
    for (int i = 0; i < items->keys.count; i++)
        if (keys_equal(&items->keys.at[i], &key))
            return i;
    mw_vec_push(arena, &items->keys, key);
    return items->keys.count - 1;
}

static void add_call(Finder *f, int item, int level, int unit)
{
    const MwBucketCall call = {unit, level,
                               mw_bucket_find_key(f->arena, &f->out, f->legal, f->units, unit),
                               mw_bucket_call_bytes(f->legal, f->units, unit)};
    f->out.item_of[unit] = item;
    f->level_of[unit] = level;
    f->out.items.at[item].bytes += call.bytes;
    mw_vec_push(f->arena, &f->out.items.at[item].calls, call);
}

/* The last phase before the update that has units makes the gradients, and its time counts: what
 * others make is there when it begins. */
static double made_at(const Finder *f, int maker)
{
    MwPhase last = MW_PHASE_UPDATE - 1;
    while (last > 0 && f->order->begin[last] == f->order->begin[last + 1])
        last--;
    return maker >= 0 && f->units->units.at[maker].phase == last ? f->end_s[maker] : 0;
}

/* Whether operand k of a node depends on weights and states alone, by way of kernels. */
static bool is_operand_given(const Finder *f, const MwNode *node, int k)
{
    const int maker = mw_operand_maker(f->legal, f->units, node, k);
    const MwValueId root = mw_legal_root(f->legal, node->operands[k]);
    return maker < 0 ? mw_value_node(f->legal->graph, root)->op != MW_OP_INPUT : f->is_given[maker];
}

/* Whether an item may begin with a collective on what `maker` makes; -1: it is there already. */
static bool may_begin(const Finder *f, int maker, int unit)
{
    if (f->phase == MW_PHASE_UPDATE)
        return maker < 0 || f->units->units.at[maker].phase != MW_PHASE_UPDATE;
    const MwNode *node = mw_unit_first_node(f->legal, f->units, unit);
    return mw_op_collective(node->op) == MW_ALL_GATHER && is_operand_given(f, node, 0);
}

static void take_collective(Finder *f, int unit)
{
    const int maker =
        mw_operand_maker(f->legal, f->units, mw_unit_first_node(f->legal, f->units, unit), 0);
    const int before = maker < 0 ? -1 : f->out.item_of[maker];
    if (before >= 0) {
        add_call(f, before, f->level_of[maker] + 1, unit);
    } else if (may_begin(f, maker, unit)) {
        *mw_vec_add(f->arena, &f->out.items) =
            (MwBucketItem){.made_s = made_at(f, maker), .used_s = f->out.end_s};
        add_call(f, f->out.items.count - 1, 0, unit);
    }
}

static bool is_given(const Finder *f, int u)
{
    const MwUnit *unit = &f->units->units.at[u];
    bool given = unit->is_kernel && unit->loop < 0;
    for (int i = 0; i < unit->nodes.count && given; i++) {
        const MwNode *node = mw_legal_at(f->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count && given; k++)
            given =
                mw_operand_maker(f->legal, f->units, node, k) == u || is_operand_given(f, node, k);
    }
    return given;
}

/* Notes that the unit reads what items make. */
static void note_use(Finder *f, int u)
{
    const MwUnit *unit = &f->units->units.at[u];
    for (int i = 0; i < unit->nodes.count && f->out.item_of[u] < 0; i++) {
        const MwNode *node = mw_legal_at(f->legal, unit->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            const int maker = mw_operand_maker(f->legal, f->units, node, k);
            if (maker < 0 || f->out.item_of[maker] < 0)
                continue;
            MwBucketItem *item = &f->out.items.at[f->out.item_of[maker]];
            item->used_s = fmin(item->used_s, f->begin_s[u]);
        }
    }
}

MwBucketItems mw_bucket_items(MwArena *arena, const MwLegal *legal, const MwUnits *units,
                              const MwCostModel *model, const MwOrder *order, MwPhase phase)
{
    const int count = units->units.count;
    Finder f = {.arena = arena,
                .legal = legal,
                .units = units,
                .model = model,
                .order = order,
                .phase = phase,
                .end_s = MW_NEW(arena, double, count),
                .begin_s = MW_NEW(arena, double, count),
                .is_given = MW_NEW(arena, bool, count),
                .level_of = MW_NEW(arena, int32_t, count),
                .out = {.item_of = MW_NEW(arena, int32_t, count)}};
    memset(f.out.item_of, -1, sizeof(int32_t) * (size_t)count);
    for (int p = 0; p <= (int)phase; p++)
        f.out.end_s = find_times(&f, (MwPhase)p);
    for (int p = order->begin[phase]; p < order->begin[phase + 1]; p++) {
        const int unit = order->unit[p];
        if (mw_unit_may_join(legal, units, model, unit))
            take_collective(&f, unit);
        else
            f.is_given[unit] = is_given(&f, unit);
        note_use(&f, unit);
    }
    return f.out;
}
