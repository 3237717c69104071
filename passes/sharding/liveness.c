/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One backward walk over the nodes finds last uses; views pass theirs on to what they view. But for
 * the identities behind values of the backward that the update takes (share.c): what they give has
 * storage of its own, and what they take may end with them.
 *
 * A value spans tasks by the rules of codegen/plan/storage.c: it is made in a task of one kind
 * and last used in one of another, or it is sent or received, which takes more slots.
 *
 * A value counts as fused if an element-wise operator makes it and a single node uses it, once,
 * in the same phase and loop, in a kernel of the kind that element-wise work is fused into. */
#include "passes/sharding/liveness.h"

#include "ir/invariant.h"
#include "ir/loops.h"

typedef struct {
    const MwGraph *graph;
    MwLoops loops;
    const MwFlight *flight; /* NULL: one micro-batch after another */
    MwLife *lives;
    MwPhase *last_phase;      /* [values] of the last use so far */
    const bool *is_invariant; /* [values] the same for all micro-batches */
    bool *is_kept;            /* [nodes] an identity of the backward that the update takes */
    bool *is_moving;          /* [values] sent or received */
    int *uses;                /* [values] operand slots, outputs, assignments */
    int *fusable_uses;        /* [values] uses in its phase by nodes that fuse their operands */
} LivenessWalk;

static bool is_view(const LivenessWalk *walk, const MwNode *node)
{
    if (walk->is_kept[node - walk->graph->nodes.at])
        return false;
    return mw_op_info(node->op)->lowering == MW_LOWER_VIEW || node->op == MW_OP_SEND;
}

static bool is_source(const MwNode *node)
{
    return mw_op_info(node->op)->lowering == MW_LOWER_SOURCE;
}

/* Whether element-wise work is fused into kernels of this kind. */
static bool fuses_operands(MwLowering lowering)
{
    return lowering == MW_LOWER_MAP || lowering == MW_LOWER_ROWS || lowering == MW_LOWER_REDUCE;
}

/* Whether a value is fused. A generator is computed again in every kernel that uses it. */
static bool is_fused(const LivenessWalk *walk, int value)
{
    const MwNode *maker = mw_node(walk->graph, walk->graph->values.at[value].node);
    return mw_op_info(maker->op)->lowering == MW_LOWER_MAP &&
           walk->fusable_uses[value] == walk->uses[value] &&
           (walk->uses[value] == 1 || mw_op_is_generator(maker->op));
}

/* Whether operand k of node n has the value of the step of n, where n runs in a loop, and else that
 * of no loop. */
static bool is_of_one_loop(const LivenessWalk *walk, int n, int k)
{
    const MwValueId operand = walk->graph->nodes.at[n].operands[k];
    return walk->loops.of_value[operand.index] == walk->loops.of_node[n] &&
           !mw_op_is_scan(mw_value_node(walk->graph, operand)->op);
}

static void count_uses(LivenessWalk *walk)
{
    const MwGraph *graph = walk->graph;
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        bool fuses = fuses_operands(mw_op_info(node->op)->lowering);
        for (int k = 0; k < node->operand_count; k++) {
            const MwNode *maker = mw_value_node(graph, node->operands[k]);
            bool is_near = mw_op_is_generator(maker->op) ||
                           (node->phase == maker->phase && is_of_one_loop(walk, n, k));
            walk->uses[node->operands[k].index]++;
            walk->is_kept[mw_value(graph, node->operands[k])->node.index] |=
                maker->op == MW_OP_IDENTITY && node->phase == MW_PHASE_UPDATE &&
                (maker->phase == MW_PHASE_BACKWARD || maker->phase == MW_PHASE_BACKWARD_WEIGHT);
            walk->fusable_uses[node->operands[k].index] += fuses && is_near;
        }
    }
    for (int i = 0; i < graph->outputs.count; i++)
        walk->uses[graph->outputs.at[i].value.index]++;
    for (int i = 0; i < graph->assigns.count; i++)
        walk->uses[graph->assigns.at[i].value.index]++;
    for (int i = 0; i < graph->metrics.count; i++)
        walk->uses[graph->metrics.at[i].value.index]++;
}

static void live_until(LivenessWalk *walk, MwValueId value, int64_t end, MwPhase phase)
{
    walk->lives[value.index].end = mw_max(walk->lives[value.index].end, end);
    walk->last_phase[value.index] = mw_max(walk->last_phase[value.index], phase);
}

/* Sets the kind of storage of a node's results, and their life up to their definition. */
static void set_storage(LivenessWalk *walk, MwNodeId id)
{
    const MwNode *node = mw_node(walk->graph, id);
    for (int k = 0; k < node->result_count; k++) {
        int value = node->first_result + k;
        MwLife *life = &walk->lives[value];
        life->begin = is_source(node) ? 0 : id.index;
        life->end = id.index + 1;
        walk->last_phase[value] = node->phase;
        walk->is_moving[value] = node->op == MW_OP_RECEIVE;
        if (is_source(node))
            life->end = walk->graph->nodes.count;
        else if (is_view(walk, node))
            life->storage = MW_STORE_VIEW;
        else if (is_fused(walk, value))
            life->storage = MW_STORE_FUSED;
    }
}

/* An output is live until the step ends; but where tasks of other micro-batches come between,
 * only until the program that makes it ends. */
static void keep_output(LivenessWalk *walk, MwValueId value)
{
    MwPhase phase = mw_value_node(walk->graph, value)->phase;
    bool is_taken_early = walk->flight && !walk->flight->is_sequential && phase != MW_PHASE_UPDATE;
    int end = walk->graph->nodes.count;
    while (is_taken_early && walk->graph->nodes.at[end - 1].phase != phase)
        end--;
    live_until(walk, value, end, is_taken_early ? phase : MW_PHASE_UPDATE);
}

/* Prolongs the lives of a node's operands to this use; a view passes on the uses of its result. */
static void walk_uses(LivenessWalk *walk, int n)
{
    const MwNode *node = &walk->graph->nodes.at[n];
    int64_t end = n + 1;
    MwPhase phase = node->phase;
    bool moves = node->op == MW_OP_SEND;
    if (is_view(walk, node)) {
        end = mw_max(end, walk->lives[node->first_result].end);
        phase = mw_max(phase, walk->last_phase[node->first_result]);
        moves |= walk->is_moving[node->first_result];
    }
    for (int k = 0; k < node->operand_count; k++) {
        live_until(walk, node->operands[k], end, phase);
        walk->is_moving[node->operands[k].index] |= moves;
    }
}

/* The phase from which a value is live. An input is live from its first use on. */
static MwPhase first_phase(const LivenessWalk *walk, const MwNode *node)
{
    if (node->op != MW_OP_INPUT || walk->last_phase[node->first_result] == MW_PHASE_FORWARD)
        return node->phase;
    MwPhase first = walk->last_phase[node->first_result];
    for (int n = 0; n < walk->graph->nodes.count; n++)
        for (int k = 0; k < walk->graph->nodes.at[n].operand_count; k++)
            if (walk->graph->nodes.at[n].operands[k].index == node->first_result)
                first = mw_min(first, walk->graph->nodes.at[n].phase);
    return first;
}

/* What a loop takes from outside is live until its last step, and what it gives from its first. */
static void live_through_loops(LivenessWalk *walk)
{
    const MwGraph *graph = walk->graph;
    for (int n = 0; n < graph->nodes.count && walk->loops.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (walk->loops.of_node[n] < 0)
            continue;
        const MwLoop *loop = &walk->loops.at[walk->loops.of_node[n]];
        for (int k = 0; k < node->operand_count; k++)
            if (mw_value(graph, node->operands[k])->node.index < loop->first)
                live_until(walk, node->operands[k], loop->last + 1, node->phase);
        if (node->op == MW_OP_SCAN_OUT)
            walk->lives[node->first_result].begin = loop->first;
    }
}

/* Decides whether a value, or a copy that it is a view of, spans tasks, and for how many
 * micro-batches that is live at once. */
static void set_slots(const LivenessWalk *walk, int value)
{
    const MwFlight *flight = walk->flight;
    const MwNode *node = mw_node(walk->graph, walk->graph->values.at[value].node);
    MwLife *life = &walk->lives[value];
    bool is_stored = node->op == MW_OP_WEIGHT || node->op == MW_OP_STATE;
    MwPhase from = first_phase(walk, node), to = mw_max(from, walk->last_phase[value]);
    bool moves = walk->is_moving[value];
    life->from = from;
    life->to = to;
    life->made = life->begin;
    life->used = life->end;
    life->slots = 1;
    const bool waits = flight && !is_stored &&
                       (moves || (from != MW_PHASE_UPDATE && !flight->is_sequential && from != to));
    int slots = 1;
    const bool is_same = walk->is_invariant[value] && !moves;
    if (waits && from != MW_PHASE_UPDATE && to != MW_PHASE_UPDATE && !is_same)
        slots = mw_flight_slots(flight, from, to, moves);
    life->copy_slots = waits && life->storage == MW_STORE_VIEW ? slots : 0;
    life->spans_tasks = waits && life->storage == MW_STORE_OWN;
    if (!life->spans_tasks)
        return;
    life->slots = slots;
    life->begin = 0;
    life->end = walk->graph->nodes.count;
}

MwLife *mw_liveness(MwArena *arena, const MwGraph *graph, const MwFlight *flight)
{
    LivenessWalk walk = {.graph = graph,
                         .is_invariant = mw_find_invariant(arena, graph),
                         .loops = mw_loops(arena, graph),
                         .flight = flight,
                         .lives = MW_NEW(arena, MwLife, graph->values.count),
                         .last_phase = MW_NEW(arena, MwPhase, graph->values.count),
                         .is_kept = MW_NEW(arena, bool, graph->nodes.count),
                         .is_moving = MW_NEW(arena, bool, graph->values.count),
                         .uses = MW_NEW(arena, int, graph->values.count),
                         .fusable_uses = MW_NEW(arena, int, graph->values.count)};
    count_uses(&walk);
    for (int n = 0; n < graph->nodes.count; n++)
        set_storage(&walk, (MwNodeId){n});
    for (int i = 0; i < graph->assigns.count; i++)
        walk.lives[graph->assigns.at[i].value.index].storage = MW_STORE_IN_PLACE;
    for (int i = 0; i < graph->outputs.count; i++)
        keep_output(&walk, graph->outputs.at[i].value);
    for (int i = 0; i < graph->metrics.count; i++)
        live_until(&walk, graph->metrics.at[i].value, graph->nodes.count, MW_PHASE_UPDATE);
    live_through_loops(&walk);
    for (int n = graph->nodes.count - 1; n >= 0; n--)
        walk_uses(&walk, n);
    for (int v = 0; v < graph->values.count; v++)
        set_slots(&walk, v);
    return walk.lives;
}
