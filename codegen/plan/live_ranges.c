/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/live_ranges.h"

#include "ir/invariant.h"

#include <string.h>

int mw_live_made_at(const MwLiveRanges *live, MwValueId root)
{
    int unit = live->units->unit_of[mw_value(live->legal->graph, root)->node.index];
    return unit < 0 ? -1 : live->order->position[unit];
}

bool mw_live_is_persistent(const MwLiveRanges *live, MwValueId root)
{
    MwOp op = mw_value_node(live->legal->graph, root)->op;
    return op == MW_OP_WEIGHT || op == MW_OP_STATE;
}

MwPhase mw_live_phase_at(const MwLiveRanges *live, int position)
{
    for (int p = 0; p < MW_PHASE_COUNT; p++)
        if (position < live->order->begin[p + 1])
            return (MwPhase)p;
    return MW_PHASE_UPDATE;
}

int mw_live_program_end(const MwLiveRanges *live, int position)
{
    return position < live->order->count
               ? live->order->begin[mw_live_phase_at(live, position) + 1] - 1
               : live->order->count;
}

MwPhase mw_live_input_phase(const MwLegal *legal, const MwUnits *units, MwValueId root)
{
    const MwGraph *graph = legal->graph;
    MwPhase first = MW_PHASE_UPDATE;
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].operand_count && units->unit_of[n] >= 0; k++)
            if (mw_value_equal(mw_legal_root(legal, graph->nodes.at[n].operands[k]), root) &&
                mw_units_phase(legal, units, n) < first)
                first = mw_units_phase(legal, units, n);
    return first == MW_PHASE_UPDATE ? MW_PHASE_FORWARD : first;
}

/* The loop of the unit at `position`; -1: none. */
static int loop_at(const MwLiveRanges *live, int position)
{
    return position < 0 || position >= live->order->count
               ? -1
               : live->units->units.at[live->order->unit[position]].loop;
}

bool mw_live_is_outside_loop(const MwLiveRanges *live, MwValueId root, int position)
{
    const int loop = loop_at(live, position);
    return loop >= 0 && live->legal->loops.of_value[root.index] != loop &&
           loop_at(live, mw_live_made_at(live, root)) != loop;
}

int mw_live_begin(const MwLiveRanges *live, MwValueId root)
{
    if (mw_value_node(live->legal->graph, root)->op == MW_OP_SCAN_OUT)
        return live->order->loops[loop_at(live, mw_live_made_at(live, root))].first;
    if (mw_value_node(live->legal->graph, root)->op == MW_OP_INPUT)
        return live->order->begin[mw_live_input_phase(live->legal, live->units, root)];
    return (int)mw_max(mw_live_made_at(live, root), 0);
}

static void note_use(MwLiveRanges *live, MwValueId value, int position)
{
    int32_t *last = &live->last_use[mw_legal_root(live->legal, value).index];
    *last = (int32_t)mw_max(*last, position);
}

void mw_live_note_use_after(MwLiveRanges *live, MwValueId value, int position)
{
    note_use(live, value, position);
    live->outlives[mw_legal_root(live->legal, value).index] = true;
}

/* A value that leaves the step is read at the end of the step, or after the last program of its
 * micro-batch; where other tasks may run before that, after the program that makes it. */
static void note_leaving(MwLiveRanges *live, MwValueId value)
{
    MwValueId root = mw_legal_root(live->legal, value);
    int begin = mw_live_begin(live, root), end = live->order->begin[MW_PHASE_UPDATE] - 1;
    if (mw_live_is_persistent(live, root) || begin > end)
        mw_live_note_use_after(live, value, live->order->count);
    else
        mw_live_note_use_after(
            live, value, live->flight->is_sequential ? end : mw_live_program_end(live, begin));
}

/* Notes that the unit at `position` reads `value`: what it takes from outside of its loop, all
 * steps of the loop read, and also what a step takes over from the one before. */
static void note_read(MwLiveRanges *live, MwValueId value, int position)
{
    const MwValueId root = mw_legal_root(live->legal, value);
    const bool stays = mw_live_is_outside_loop(live, root, position) ||
                       mw_value_node(live->legal->graph, root)->op == MW_OP_SCAN_CARRY;
    const int loop = loop_at(live, position);
    note_use(live, value, stays && loop >= 0 ? live->order->loops[loop].last : position);
}

/* Where collectives run while kernels do, what goes to one other device lasts until what comes from
 * one is read: the units between run meanwhile, and may not write over it. */
static void note_exchanged(MwLiveRanges *live, const MwNode *node, const int32_t *first_use)
{
    const int first = first_use[node->first_result];
    const bool has_peer = mw_op_info(node->op)->lowering == MW_LOWER_COLLECTIVE &&
                          mw_collective_info(mw_op_collective(node->op))->peer != MW_PEER_ALL;
    if (has_peer && live->legal->backend->overlaps && first >= 0)
        mw_live_note_use_after(live, node->operands[0], first - 1);
}

/* [values] the position of the first unit that reads each root; -1: none. In `arena`. */
static int32_t *first_uses(MwArena *arena, const MwLiveRanges *live)
{
    const MwGraph *graph = live->legal->graph;
    int32_t *first = MW_NEW(arena, int32_t, graph->values.count);
    memset(first, -1, sizeof *first * (size_t)graph->values.count);
    for (int p = live->order->count - 1; p >= 0; p--) {
        const MwUnit *unit = &live->units->units.at[live->order->unit[p]];
        for (int i = 0; i < unit->nodes.count; i++) {
            const MwNode *node = mw_legal_at(live->legal, unit->nodes.at[i]);
            for (int k = 0; k < node->operand_count; k++)
                first[mw_legal_root(live->legal, node->operands[k]).index] = p;
        }
    }
    return first;
}

static void note_moving(MwLiveRanges *live, const MwNode *node)
{
    if (node->op == MW_OP_SEND)
        live->is_moving[mw_legal_root(live->legal, node->operands[0]).index] = true;
    if (node->op == MW_OP_RECEIVE)
        live->is_moving[node->first_result] = true;
}

/* What several units of a bucket read last cannot be written over by one of them. */
static void note_readers_at_once(MwLiveRanges *live)
{
    const MwGraph *graph = live->legal->graph;
    int32_t *reader = MW_NEW(graph->arena, int32_t, graph->values.count);
    memset(reader, -1, sizeof *reader * (size_t)graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = mw_legal_at(live->legal, n);
        const int unit = live->units->unit_of[n];
        for (int k = 0; k < node->operand_count && unit >= 0; k++) {
            const int root = mw_legal_root(live->legal, node->operands[k]).index;
            if (live->order->position[unit] != live->last_use[root])
                continue;
            live->outlives[root] |= reader[root] >= 0 && reader[root] != unit;
            reader[root] = unit;
        }
    }
}

/* Fills is_invariant. A unit that makes something else writes all its results for each. */
static void find_invariant(MwLiveRanges *live)
{
    const MwGraph *graph = live->legal->graph;
    const bool *is_invariant = mw_find_invariant(graph->arena, graph);
    bool *differs = MW_NEW(graph->arena, bool, live->units->units.count);
    live->is_invariant = MW_NEW(graph->arena, bool, graph->values.count);
    for (int n = 0; n < graph->nodes.count; n++)
        for (int k = 0; k < graph->nodes.at[n].result_count && live->units->unit_of[n] >= 0; k++)
            differs[live->units->unit_of[n]] |= !is_invariant[graph->nodes.at[n].first_result + k];
    for (int v = 0; v < graph->values.count; v++) {
        const int unit = live->units->unit_of[graph->values.at[v].node.index];
        live->is_invariant[v] = is_invariant[v] && (unit < 0 || !differs[unit]);
    }
}

MwLiveRanges mw_live_ranges(const MwLegal *legal, const MwUnits *units, const MwOrder *order,
                            const MwFlight *flight)
{
    const MwGraph *graph = legal->graph;
    MwLiveRanges live = {.legal = legal, .units = units, .order = order, .flight = flight};
    live.last_use = MW_NEW(graph->arena, int32_t, graph->values.count);
    memset(live.last_use, -1, sizeof(int32_t) * (size_t)graph->values.count);
    live.outlives = MW_NEW(graph->arena, bool, graph->values.count);
    live.is_moving = MW_NEW(graph->arena, bool, graph->values.count);
    find_invariant(&live);
    const int32_t *first_use = first_uses(graph->arena, &live);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = mw_legal_at(legal, n);
        const int unit = units->unit_of[n];
        note_moving(&live, node);
        note_exchanged(&live, node, first_use);
        for (int k = 0; k < node->operand_count && unit >= 0; k++) {
            note_read(&live, node->operands[k], order->position[unit]);
            if (order->held && order->held[unit] >= 0)
                mw_live_note_use_after(&live, node->operands[k], order->held[unit]);
        }
    }
    note_readers_at_once(&live);
    for (int i = 0; i < graph->outputs.count; i++)
        note_leaving(&live, graph->outputs.at[i].value);
    for (int i = 0; i < graph->metrics.count; i++)
        mw_live_note_use_after(&live, graph->metrics.at[i].value, order->count);
    return live;
}

bool mw_live_is_read_later(const MwLiveRanges *live, MwValueId value, MwValueId target)
{
    const int maker = live->units->unit_of[mw_value(live->legal->graph, value)->node.index];
    int own = mw_live_made_at(live, value),
        end = (int)mw_min(mw_live_program_end(live, own), live->last_use[target.index]);
    for (int p = own + 1; p <= end; p++) {
        const MwUnit *unit = &live->units->units.at[live->order->unit[p]];
        if (live->order->unit[p] == maker)
            continue;
        for (int i = 0; i < unit->nodes.count; i++) {
            const MwNode *node = mw_legal_at(live->legal, unit->nodes.at[i]);
            for (int k = 0; k < node->operand_count; k++)
                if (mw_value_equal(mw_legal_root(live->legal, node->operands[k]), target))
                    return true;
        }
    }
    return false;
}
