/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/phase_join.h"

#include "codegen/fuse/kernel_merge.h"

/* What joins the backward together. */
typedef struct {
    MwFusion *f;
    int from, into;        /* units: of the forward, and of the backward */
    MW_VEC(int32_t) after; /* units of the forward that wait for `from` */
} Move;

static bool moves(const Move *m, int unit)
{
    bool found = unit == m->from;
    for (int i = 0; i < m->after.count; i++)
        found |= unit == m->after.at[i];
    return found;
}

/* ---- What follows in the forward ---- */

/* Whether the unit can run in the backward, and its results are less than the points of `from`. */
static bool is_small(const Move *m, int unit)
{
    const MwFusion *f = m->f;
    const MwUnit *u = mw_fusion_unit(f, unit);
    const MwLowering lowering = mw_op_info(mw_legal_at(f->legal, u->nodes.at[0])->op)->lowering;
    if (u->loop >= 0 || (!u->is_kernel && lowering != MW_LOWER_COLLECTIVE))
        return false;
    for (int i = 0; i < u->nodes.count; i++) {
        const MwNode *node = mw_legal_at(f->legal, u->nodes.at[i]);
        for (int k = 0; k < node->result_count; k++) {
            const MwValueId result = {node->first_result + k};
            if (mw_tensor_elements(mw_value_tensor(f->legal->graph, result)) >=
                mw_fusion_unit(f, m->from)->space.points)
                return false;
        }
    }
    return true;
}

/* Lists the units of the forward that read results of `unit`. */
static bool list_readers(Move *m, int unit)
{
    const MwFusion *f = m->f;
    const MwUnit *u = mw_fusion_unit(f, unit);
    for (int i = 0; i < u->nodes.count; i++) {
        const int n = u->nodes.at[i];
        for (int r = f->readers.begin[n]; r < f->readers.begin[n + 1]; r++) {
            const int reader = f->out->unit_of[f->readers.at[r]];
            if (mw_fusion_unit(f, reader)->phase != MW_PHASE_FORWARD || moves(m, reader))
                continue;
            if (!is_small(m, reader))
                return false;
            mw_vec_push(f->arena, &m->after, reader);
        }
    }
    return true;
}

/* Lists all that waits for `from` in the forward. False if some of it cannot run later. */
static bool list_after(Move *m)
{
    bool good = list_readers(m, m->from);
    for (int i = 0; i < m->after.count && good; i++)
        good = list_readers(m, m->after.at[i]);
    return good;
}

/* ---- What they read ---- */

static bool unit_reads(const MwFusion *f, int unit, MwValueId root)
{
    const MwUnit *u = mw_fusion_unit(f, unit);
    for (int i = 0; i < u->nodes.count; i++) {
        const MwNode *node = mw_legal_at(f->legal, u->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++)
            if (mw_value_equal(mw_legal_root(f->legal, node->operands[k]), root))
                return true;
    }
    return false;
}

/* Whether a weight or state has its value of before the step until the backward: nothing else of
 * the forward gives it a new one. */
static bool keeps_value(const Move *m, MwValueId root)
{
    const MwGraph *graph = m->f->legal->graph;
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        const MwValueId value = mw_legal_root(m->f->legal, assign->value);
        const int maker = mw_value(graph, value)->node.index;
        if (mw_value_equal(mw_legal_root(m->f->legal, assign->target), root) &&
            mw_legal_at(m->f->legal, maker)->phase == MW_PHASE_FORWARD &&
            !moves(m, m->f->out->unit_of[maker]))
            return false;
    }
    return true;
}

/* Whether `root` is there for a later unit as it is now, and takes no more memory for that. */
static bool stays(const Move *m, MwValueId root)
{
    const MwNode *maker = mw_value_node(m->f->legal->graph, root);
    const int unit = m->f->out->unit_of[mw_value(m->f->legal->graph, root)->node.index];
    if (mw_op_is_generator(maker->op) || (unit >= 0 && moves(m, unit)))
        return true;
    if (maker->op == MW_OP_WEIGHT || maker->op == MW_OP_STATE)
        return keeps_value(m, root);
    return unit_reads(m->f, m->into, root);
}

static bool operands_stay(const Move *m, int unit)
{
    const MwUnit *u = mw_fusion_unit(m->f, unit);
    for (int i = 0; i < u->nodes.count; i++) {
        const MwNode *node = mw_legal_at(m->f->legal, u->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++)
            if (!stays(m, mw_legal_root(m->f->legal, node->operands[k])))
                return false;
    }
    return true;
}

/* ---- The walk ---- */

static bool reduces_rows(const MwUnit *unit)
{
    return unit->space.columns && unit->space.columns < unit->space.points;
}

static void join(MwFusion *f, int from, int into)
{
    const MwUnit *a = mw_fusion_unit(f, from), *b = mw_fusion_unit(f, into);
    Move m = {.f = f, .from = from, .into = into};
    if (a->phase != MW_PHASE_FORWARD || b->phase != MW_PHASE_BACKWARD || a->loop >= 0 ||
        !reduces_rows(a) || !list_after(&m))
        return;
    bool stay = operands_stay(&m, from);
    for (int i = 0; i < m.after.count; i++)
        stay = stay && operands_stay(&m, m.after.at[i]);
    if (!stay || !mw_fusion_merge_phases(f, from, into))
        return;
    for (int i = 0; i < m.after.count; i++)
        mw_fusion_unit(f, m.after.at[i])->phase = MW_PHASE_BACKWARD;
}

void mw_fusion_join_phases(MwFusion *f)
{
    for (int n = 0; n < f->legal->graph->nodes.count; n++) {
        const MwNode *node = mw_legal_at(f->legal, n);
        for (int k = 0; k < node->operand_count && f->out->unit_of[n] >= 0; k++) {
            const int maker = f->out->unit_of[mw_fusion_producer(f->legal, node, k)];
            if (maker >= 0 && mw_fusion_unit(f, maker)->is_kernel)
                join(f, maker, f->out->unit_of[n]);
        }
    }
}
