/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ir/loops.h"

bool mw_op_is_scan(MwOp op)
{
    return op == MW_OP_SCAN_IN || op == MW_OP_SCAN_CARRY || op == MW_OP_SCAN_NEXT ||
           op == MW_OP_SCAN_OUT;
}

/* The steps of the loop that a scan operator says; 0: it does not say. */
static int64_t steps_of(const MwGraph *graph, const MwNode *node)
{
    if (node->op == MW_OP_SCAN_IN)
        return mw_value_tensor(graph, node->operands[0])->dim[mw_node_int(node, MW_ATTR_AXIS)];
    return mw_node_attr(node, MW_ATTR_STEPS) ? mw_node_int(node, MW_ATTR_STEPS) : 0;
}

static int count_loops(const MwGraph *graph)
{
    int count = 0;
    for (int n = 0; n < graph->nodes.count; n++)
        if (mw_op_is_scan(graph->nodes.at[n].op))
            count = (int)mw_max(count, mw_node_int(&graph->nodes.at[n], MW_ATTR_LOOP) + 1);
    return count;
}

/* The loop that a node runs in, when those that give its operands are known; -1: none. */
static int loop_of(const MwLoops *loops, const MwNode *node)
{
    if (node->op == MW_OP_SCAN_CARRY)
        return -1;
    if (mw_op_is_scan(node->op))
        return (int)mw_node_int(node, MW_ATTR_LOOP);
    int loop = -1;
    for (int k = 0; k < node->operand_count; k++)
        loop = (int)mw_max(loop, loops->of_value[node->operands[k].index]);
    return loop;
}

/* The loop that gives the results of a node anew at every step. */
static int loop_of_results(const MwNode *node, int own)
{
    if (node->op == MW_OP_SCAN_CARRY)
        return (int)mw_node_int(node, MW_ATTR_LOOP);
    return node->op == MW_OP_SCAN_NEXT || node->op == MW_OP_SCAN_OUT ? -1 : own;
}

MwLoops mw_loops(MwArena *arena, const MwGraph *graph)
{
    MwLoops loops = {.count = count_loops(graph),
                     .nodes = graph->nodes.count,
                     .of_node = MW_NEW(arena, int, graph->nodes.count),
                     .of_value = MW_NEW(arena, int, graph->values.count),
                     .next = MW_NEW(arena, int, graph->nodes.count)};
    loops.at = MW_NEW(arena, MwLoop, loops.count);
    for (int n = 0; n < graph->nodes.count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        const int own = loops.of_node[n] = loop_of(&loops, node);
        loops.next[n] = -1;
        for (int k = 0; k < node->result_count; k++)
            loops.of_value[node->first_result + k] = loop_of_results(node, own);
        if (node->op == MW_OP_SCAN_NEXT)
            loops.next[mw_value(graph, node->operands[1])->node.index] = n;
        if (own < 0)
            continue;
        MwLoop *loop = &loops.at[own];
        if (!loop->steps)
            loop->first = n;
        loop->last = n;
        loop->steps = mw_max(loop->steps, mw_max(steps_of(graph, node), 1));
    }
    return loops;
}

int64_t mw_loop_runs(const MwLoops *loops, MwNodeId node)
{
    const int loop = loops->of_node[node.index];
    return loop < 0 ? 1 : loops->at[loop].steps;
}

/* ---- Order ---- */

typedef struct {
    MwArena *arena;
    const MwGraph *graph;
    const MwLoops *loops;
    int32_t *order;
    int count;
    bool *placed; /* [nodes] */
} Ordering;

static void place_node(Ordering *o, int n)
{
    o->placed[n] = true;
    o->order[o->count++] = n;
}

static void place_loop(Ordering *o, int loop);

static void place(Ordering *o, int n)
{
    if (o->placed[n])
        return;
    if (o->loops->of_node[n] >= 0)
        place_loop(o, o->loops->of_node[n]);
    else
        place_node(o, n);
}

/* Places the nodes of a loop, after those that stand between them and that they depend on. */
static void place_loop(Ordering *o, int loop)
{
    const MwLoop *range = &o->loops->at[loop];
    bool *wanted = MW_NEW(o->arena, bool, range->last - range->first + 1);
    for (int n = range->last; n >= range->first; n--) {
        const MwNode *node = &o->graph->nodes.at[n];
        const bool is_own = o->loops->of_node[n] == loop;
        for (int k = 0; k < node->operand_count && (is_own || wanted[n - range->first]); k++) {
            const int maker = mw_value(o->graph, node->operands[k])->node.index;
            if (maker >= range->first)
                wanted[maker - range->first] = true;
        }
    }
    for (int n = range->first; n <= range->last; n++)
        if (wanted[n - range->first] && o->loops->of_node[n] != loop)
            place(o, n);
    for (int n = range->first; n <= range->last; n++)
        if (o->loops->of_node[n] == loop)
            place_node(o, n);
}

int32_t *mw_loops_order(MwArena *arena, const MwGraph *graph, const MwLoops *loops)
{
    Ordering o = {.arena = arena,
                  .graph = graph,
                  .loops = loops,
                  .order = MW_NEW(arena, int32_t, graph->nodes.count),
                  .placed = MW_NEW(arena, bool, graph->nodes.count)};
    for (int n = 0; n < graph->nodes.count; n++)
        place(&o, n);
    MW_ASSERT(o.count == graph->nodes.count);
    return o.order;
}

/* ---- Searches ---- */

int mw_loops_need_next(const MwLoops *loops, bool *needed)
{
    for (int n = 0; n < loops->nodes && loops->count; n++) {
        const int next = loops->next[n];
        if (next < 0 || !needed[n] || needed[next])
            continue;
        needed[next] = true;
        return next;
    }
    return -1;
}

bool mw_loops_carry_on(const MwLoops *loops, const MwGraph *graph, bool *holds)
{
    bool any = false;
    for (int n = 0; n < loops->nodes && loops->count; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (node->op != MW_OP_SCAN_NEXT || !holds[node->operands[0].index] ||
            holds[node->operands[1].index])
            continue;
        any = holds[node->operands[1].index] = true;
    }
    return any;
}

/* ---- Check ---- */

/* What is wrong with one node; NULL: nothing. */
static const char *check_node(const MwLoops *loops, const MwGraph *graph, int n)
{
    const MwNode *node = &graph->nodes.at[n];
    const int own = loops->of_node[n];
    const bool begins = node->op == MW_OP_SCAN_CARRY || node->op == MW_OP_SCAN_IN;
    for (int k = 0; k < node->operand_count; k++) {
        const int loop = loops->of_value[node->operands[k].index];
        if (loop >= 0 && begins)
            return "begins a loop inside of a loop";
        if (loop >= 0 && loop != own)
            return "takes values of two loops";
    }
    if (!mw_op_is_scan(node->op))
        return NULL;
    const int64_t steps = steps_of(graph, node);
    if (steps != loops->at[mw_node_int(node, MW_ATTR_LOOP)].steps)
        return "has another number of steps than its loop";
    if (node->op != MW_OP_SCAN_NEXT)
        return NULL;
    const int carry = mw_value(graph, node->operands[1])->node.index;
    if (graph->nodes.at[carry].op != MW_OP_SCAN_CARRY)
        return "continues what is no scan_carry";
    return loops->next[carry] == n ? NULL : "is the second that continues its scan_carry";
}

static bool leaves_loop(const MwLoops *loops, MwValueId value)
{
    return mw_has_value(value) && loops->of_value[value.index] >= 0;
}

const char *mw_loops_check(const MwGraph *graph, MwNodeId *node)
{
    for (int n = 0; n < graph->nodes.count; n++) {
        node->index = n;
        if (mw_op_is_scan(graph->nodes.at[n].op) &&
            mw_node_int(&graph->nodes.at[n], MW_ATTR_LOOP) >= graph->nodes.count)
            return "has a loop whose number is too great";
    }
    MwArena *arena = mw_arena_new();
    const MwLoops loops = mw_loops(arena, graph);
    const char *wrong = NULL;
    for (int n = 0; n < graph->nodes.count && !wrong && loops.count; n++) {
        wrong = check_node(&loops, graph, n);
        node->index = n;
    }
    MwValueId left = mw_no_value();
    for (int i = 0; i < graph->metrics.count; i++)
        if (leaves_loop(&loops, graph->metrics.at[i].value))
            left = graph->metrics.at[i].value;
    for (int i = 0; i < graph->outputs.count; i++)
        if (leaves_loop(&loops, graph->outputs.at[i].value))
            left = graph->outputs.at[i].value;
    for (int i = 0; i < graph->assigns.count; i++)
        if (leaves_loop(&loops, graph->assigns.at[i].value))
            left = graph->assigns.at[i].value;
    if (!wrong && mw_has_value(left)) {
        wrong = "leaves its loop";
        *node = mw_value(graph, left)->node;
    }
    mw_arena_free(&arena);
    return wrong;
}
