/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders the units by list scheduling, by several rules, and keeps of each phase the order that
 * needs the least memory; what is live when it begins is the same by all.
 *
 * Each phase has a heap of its ready units. The key of a ready unit can only fall. When it falls,
 * the unit is pushed again, and the entry with the old key is skipped later. */
#include "codegen/fuse/order.h"

#include "codegen/tuning.h"

#include <string.h>

/* Says which of several ready units runs first. */
typedef enum {
    BY_LAST_NODE,  /* the one whose last node is first in the graph */
    BY_FIRST_NODE, /* the one whose first node is first in the graph */
    BY_MEMORY,     /* the one that frees most and allocates least; BY_LAST_NODE among equals */
    RULE_COUNT
} Rule;

/* Lists in one array: those of item i are at[begin[i]] to at[begin[i + 1] - 1]. */
typedef struct {
    int32_t *at, *begin;
} Lists;

/* Units, and the roots that pass between them. */
typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    Lists reads;         /* [units] roots that another unit makes */
    Lists readers;       /* [values] units that read a root made by another */
    bool *is_assigned;   /* [values] to a weight or state, which it is mostly written over */
    int64_t *made_bytes; /* [units] bytes that the unit stores and that were not there before */
} Dependencies;

static const MwUnit *unit_at(const Dependencies *d, int u)
{
    return &d->units->units.at[u];
}

/* The last node of a unit, but for accumulations of a product: these stand where the other terms of
 * their sum are added (codegen/legal/legalize_onto.c). */
static int last_node(const Dependencies *d, int u)
{
    const MwUnit *unit = unit_at(d, u);
    int i = unit->nodes.count - 1;
    while (i > 0 && !unit->is_kernel &&
           mw_legal_at(d->legal, unit->nodes.at[i])->op == MW_OP_ACCUMULATE)
        i--;
    return unit->nodes.at[i];
}

static int maker_of(const Dependencies *d, MwValueId root)
{
    return d->units->unit_of[mw_value(d->legal->graph, root)->node.index];
}

/* Bytes of the device that a root takes besides those of weights and states. */
static int64_t stored_bytes(const Dependencies *d, int root)
{
    const MwValue *value = &d->legal->graph->values.at[root];
    const bool takes =
        d->units->is_stored[root] && !d->is_assigned[root] && !d->legal->on_host[root];
    return takes ? mw_tensor_bytes(&value->tensor) : 0;
}

static int64_t made_bytes(const Dependencies *d, int u)
{
    int64_t bytes = 0;
    for (int i = 0; i < unit_at(d, u)->nodes.count; i++) {
        const MwNode *node = mw_legal_at(d->legal, unit_at(d, u)->nodes.at[i]);
        for (int k = 0; k < node->result_count; k++)
            bytes += stored_bytes(d, node->first_result + k);
    }
    return bytes;
}

/* Lists the roots that unit u reads and another unit makes, each once, in order of first use.
 * `listed_by` [values] holds the last unit that listed the root. */
static void list_reads(Dependencies *d, int u, int *count, int *listed_by)
{
    for (int i = 0; i < unit_at(d, u)->nodes.count; i++) {
        const MwNode *node = mw_legal_at(d->legal, unit_at(d, u)->nodes.at[i]);
        for (int k = 0; k < node->operand_count; k++) {
            MwValueId root = mw_legal_root(d->legal, node->operands[k]);
            int maker = maker_of(d, root);
            if (maker < 0 || maker == u || listed_by[root.index] == u)
                continue;
            listed_by[root.index] = u;
            d->reads.at[(*count)++] = root.index;
        }
    }
}

static int operand_total(const Dependencies *d)
{
    int total = 0;
    for (int n = 0; n < d->legal->graph->nodes.count; n++)
        total += mw_legal_at(d->legal, n)->operand_count;
    return total;
}

static void find_reads(Dependencies *d)
{
    int units = d->units->units.count, values = d->legal->graph->values.count, count = 0;
    int *listed_by = MW_NEW(d->arena, int, values);
    memset(listed_by, -1, sizeof(int) * (size_t)values);
    d->reads.at = MW_NEW(d->arena, int32_t, operand_total(d));
    d->reads.begin = MW_NEW(d->arena, int32_t, units + 1);
    for (int u = 0; u < units; u++) {
        d->reads.begin[u] = count;
        list_reads(d, u, &count, listed_by);
    }
    d->reads.begin[units] = count;
}

/* Inverts `reads` by counting sort. While the lists are filled, begin[v + 1] is the end of the list
 * of value v so far. */
static void find_readers(Dependencies *d)
{
    int units = d->units->units.count, values = d->legal->graph->values.count;
    int reads = d->reads.begin[units];
    int32_t *begin = d->readers.begin = MW_NEW(d->arena, int32_t, values + 2);
    d->readers.at = MW_NEW(d->arena, int32_t, reads);
    for (int i = 0; i < reads; i++)
        begin[d->reads.at[i] + 2]++;
    for (int v = 0; v < values; v++)
        begin[v + 2] += begin[v + 1];
    for (int u = 0; u < units; u++)
        for (int i = d->reads.begin[u]; i < d->reads.begin[u + 1]; i++)
            d->readers.at[begin[d->reads.at[i] + 1]++] = u;
}

static bool *find_assigned(const MwLegal *legal)
{
    const MwGraph *graph = legal->graph;
    bool *is_assigned = MW_NEW(graph->arena, bool, graph->values.count);
    for (int i = 0; i < graph->assigns.count; i++)
        is_assigned[mw_legal_root(legal, graph->assigns.at[i].value).index] = true;
    return is_assigned;
}

static Dependencies find_dependencies(const MwLegal *legal, const MwUnits *units)
{
    Dependencies d = {.arena = legal->graph->arena,
                      .legal = legal,
                      .units = units,
                      .is_assigned = find_assigned(legal)};
    find_reads(&d);
    find_readers(&d);
    d.made_bytes = MW_NEW(d.arena, int64_t, units->units.count);
    for (int u = 0; u < units->units.count; u++)
        d.made_bytes[u] = made_bytes(&d, u);
    return d;
}

/* ---- One attempt ---- */

typedef struct {
    int64_t key; /* smaller runs first */
    int last;    /* node of the unit: smaller first among equal keys */
    int unit;
} Entry;

typedef MW_VEC(Entry) Heap;

typedef struct {
    const Dependencies *d;
    Rule rule;
    int32_t *waits;      /* [units] roots that the unit reads and that are not made yet */
    bool *has_begun;     /* [loops] */
    int32_t *loop_waits; /* [loops] the same for what the loop takes from outside */
    int32_t *uses; /* [values] units that have yet to read a root; one more if it leaves the step */
    int64_t *key;  /* [units] */
    bool *done;    /* [units] */
    Heap ready[MW_PHASE_COUNT];
    MwOrder order;
} Attempt;

/* What the key of a unit is less where its loop can begin, and where it has begun. */
static const int64_t loop_bonus[2] = {INT64_C(1) << 60, INT64_C(1) << 61};

static bool before(const Entry *a, const Entry *b)
{
    return a->key < b->key || (a->key == b->key && a->last < b->last);
}

static void push(MwArena *arena, Heap *heap, Entry entry)
{
    (void)mw_vec_add(arena, heap);
    int at = heap->count - 1;
    for (; at > 0 && before(&entry, &heap->at[(at - 1) / 2]); at = (at - 1) / 2)
        heap->at[at] = heap->at[(at - 1) / 2];
    heap->at[at] = entry;
}

static Entry pop(Heap *heap)
{
    Entry least = heap->at[0], moved = heap->at[--heap->count];
    int at = 0;
    for (int child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && before(&heap->at[child + 1], &heap->at[child]))
            child++;
        if (!before(&heap->at[child], &moved))
            break;
        heap->at[at] = heap->at[child];
        at = child;
    }
    heap->at[at] = moved;
    return least;
}

/* Returns the key of a unit by the rule of the attempt. */
static int64_t key_of(const Attempt *a, int u)
{
    const Dependencies *d = a->d;
    if (a->rule == BY_FIRST_NODE)
        return unit_at(d, u)->nodes.at[0];
    if (a->rule == BY_LAST_NODE)
        return last_node(d, u);
    int64_t change = d->made_bytes[u]; /* of the bytes live */
    for (int i = d->reads.begin[u]; i < d->reads.begin[u + 1]; i++)
        if (a->uses[d->reads.at[i]] == 1)
            change -= stored_bytes(d, d->reads.at[i]);
    return change;
}

static int loop_of(const Attempt *a, int u)
{
    return unit_at(a->d, u)->loop;
}

/* A loop begins when all that it takes is there. */
static bool is_ready(const Attempt *a, int u)
{
    return !a->done[u] && a->waits[u] == 0 &&
           (loop_of(a, u) < 0 || a->loop_waits[loop_of(a, u)] == 0);
}

static void make_ready(Attempt *a, int u)
{
    const int loop = loop_of(a, u);
    a->key[u] = key_of(a, u) - (loop >= 0 ? loop_bonus[a->has_begun[loop]] : 0);
    push(a->d->arena, &a->ready[unit_at(a->d, u)->phase],
         (Entry){a->key[u], last_node(a->d, u), u});
}

/* Only one unit has yet to read `root`, and its run frees `root`, so its key falls. Pushes the unit
 * again if it is ready. */
static void push_last_reader(Attempt *a, int root)
{
    const Dependencies *d = a->d;
    for (int i = d->readers.begin[root]; i < d->readers.begin[root + 1]; i++) {
        int reader = d->readers.at[i];
        if (is_ready(a, reader))
            make_ready(a, reader);
    }
}

/* Counts the reads of unit u as done. Returns the bytes of the roots that are no longer needed. */
static int64_t finish_reads(Attempt *a, int u)
{
    const Dependencies *d = a->d;
    int64_t bytes = 0;
    for (int i = d->reads.begin[u]; i < d->reads.begin[u + 1]; i++) {
        int root = d->reads.at[i];
        a->uses[root]--;
        if (a->uses[root] == 0)
            bytes += stored_bytes(d, root);
        if (a->uses[root] == 1 && a->rule == BY_MEMORY)
            push_last_reader(a, root);
    }
    return bytes;
}

static void make_loop_ready(Attempt *a, int loop)
{
    for (int u = 0; u < a->d->units->units.count; u++)
        if (loop_of(a, u) == loop && is_ready(a, u))
            make_ready(a, u);
}

/* Once the first unit of a loop runs, the others come before all else, so that it is one piece. */
static void begin_loop_of(Attempt *a, int u)
{
    const int loop = loop_of(a, u);
    if (loop < 0 || a->has_begun[loop])
        return;
    a->has_begun[loop] = true;
    make_loop_ready(a, loop);
}

/* Unit `reader` waits for one root less, which is made by unit u. */
static void wait_for_less(Attempt *a, int reader, int u)
{
    const int loop = loop_of(a, reader);
    a->waits[reader]--;
    if (loop >= 0 && loop != loop_of(a, u) && --a->loop_waits[loop] == 0)
        make_loop_ready(a, loop);
    else if (is_ready(a, reader))
        make_ready(a, reader);
}

/* Makes those units ready that waited only for results of unit u. */
static void make_readers_ready(Attempt *a, int u)
{
    const Dependencies *d = a->d;
    for (int n = 0; n < unit_at(d, u)->nodes.count; n++) {
        const MwNode *node = mw_legal_at(d->legal, unit_at(d, u)->nodes.at[n]);
        for (int v = node->first_result; v < node->first_result + node->result_count; v++)
            for (int i = d->readers.begin[v]; i < d->readers.begin[v + 1]; i++)
                wait_for_less(a, d->readers.at[i], u);
    }
}

static Attempt begin_attempt(const Dependencies *d, Rule rule)
{
    const MwGraph *graph = d->legal->graph;
    int units = d->units->units.count;
    Attempt a = {.d = d,
                 .rule = rule,
                 .waits = MW_NEW(d->arena, int32_t, units),
                 .has_begun = MW_NEW(d->arena, bool, d->legal->loops.count),
                 .loop_waits = MW_NEW(d->arena, int32_t, d->legal->loops.count),
                 .uses = MW_NEW(d->arena, int32_t, graph->values.count),
                 .key = MW_NEW(d->arena, int64_t, units),
                 .done = MW_NEW(d->arena, bool, units)};
    a.order.unit = MW_NEW(d->arena, int32_t, units);
    for (int v = 0; v < graph->values.count; v++)
        a.uses[v] = d->readers.begin[v + 1] - d->readers.begin[v];
    for (int i = 0; i < graph->outputs.count; i++)
        a.uses[mw_legal_root(d->legal, graph->outputs.at[i].value).index]++;
    for (int i = 0; i < graph->metrics.count; i++)
        a.uses[mw_legal_root(d->legal, graph->metrics.at[i].value).index]++;
    for (int u = 0; u < units; u++) {
        a.waits[u] = d->reads.begin[u + 1] - d->reads.begin[u];
        for (int i = d->reads.begin[u]; i < d->reads.begin[u + 1] && loop_of(&a, u) >= 0; i++)
            a.loop_waits[loop_of(&a, u)] +=
                loop_of(&a, maker_of(d, (MwValueId){d->reads.at[i]})) != loop_of(&a, u);
    }
    for (int u = 0; u < units; u++)
        if (is_ready(&a, u))
            make_ready(&a, u);
    return a;
}

/* Fills the order, and `peak` with the greatest number of bytes that are live at once in each
 * phase, not counting weights. */
static void run_attempt(Attempt *a, int64_t peak[MW_PHASE_COUNT])
{
    int64_t live = 0;
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++) {
        peak[phase] = live;
        a->order.begin[phase] = a->order.count;
        while (a->ready[phase].count) {
            Entry next = pop(&a->ready[phase]);
            if (a->done[next.unit] || next.key != a->key[next.unit])
                continue;
            a->done[next.unit] = true;
            begin_loop_of(a, next.unit);
            a->order.unit[a->order.count++] = next.unit;
            live += a->d->made_bytes[next.unit];
            peak[phase] = mw_max(peak[phase], live);
            live -= finish_reads(a, next.unit);
            make_readers_ready(a, next.unit);
        }
    }
    a->order.begin[MW_PHASE_COUNT] = a->order.count;
    MW_ASSERT(a->order.count == a->d->units->units.count);
}

/* ---- Casts of weights ---- */

/* Says whether a unit only casts values that no unit makes, such as weights. What a loop casts at
 * each step stays in it. */
static bool casts_only_sources(const Dependencies *d, int u)
{
    const MwUnit *unit = unit_at(d, u);
    if (!unit->is_kernel || unit->loop >= 0 || d->reads.begin[u] < d->reads.begin[u + 1])
        return false;
    for (int i = 0; i < unit->nodes.count; i++)
        if (mw_legal_at(d->legal, unit->nodes.at[i])->op != MW_OP_CAST)
            return false;
    return true;
}

/* Moves casts of weights next to each other, so that they become one call (codegen/plan/group.h).
 * Casts that together make at most `budget` bytes move to the place of the first of them. */
static void gather_casts(const Dependencies *d, MwOrder *order, int phase, int64_t budget)
{
    int64_t bytes =
        INT64_MAX / 2; /* that the group of casts before `at` makes; at first no group */
    for (int p = order->begin[phase], at = p; p < order->begin[phase + 1]; p++) {
        const int32_t unit = order->unit[p];
        if (!casts_only_sources(d, unit))
            continue;
        if (bytes + d->made_bytes[unit] > budget) {
            at = p;
            bytes = 0;
        }
        bytes += d->made_bytes[unit];
        memmove(&order->unit[at + 1], &order->unit[at], sizeof unit * (size_t)(p - at));
        order->unit[at++] = unit;
    }
}

/* ---- Copies to the host and back ---- */

static MwOp op_of(const Dependencies *d, int u)
{
    return mw_legal_at(d->legal, unit_at(d, u)->nodes.at[0])->op;
}

static bool is_in_loop(const Dependencies *d, const MwOrder *order, int at)
{
    const int loop = unit_at(d, order->unit[at])->loop;
    return loop >= 0 && loop == unit_at(d, order->unit[at + 1])->loop;
}

/* Moves a to_host of the forward behind all units that precede it in the graph. */
static void move_behind(const Dependencies *d, MwOrder *order, int at)
{
    const int32_t unit = order->unit[at];
    const int end = order->begin[MW_PHASE_FORWARD + 1];
    int to = at;
    for (int p = at + 1; p < end; p++)
        if (last_node(d, order->unit[p]) < unit_at(d, unit)->nodes.at[0])
            to = p;
    while (to + 1 < end && is_in_loop(d, order, to))
        to++;
    memmove(&order->unit[at], &order->unit[at + 1], sizeof unit * (size_t)(to - at));
    order->unit[to] = unit;
}

/* Moves a to_device of the backward before all units that follow it in the graph. */
static void move_before(const Dependencies *d, MwOrder *order, int at)
{
    const int32_t unit = order->unit[at];
    const int begin = order->begin[MW_PHASE_BACKWARD];
    int to = at;
    for (int p = at - 1; p >= begin; p--)
        if (unit_at(d, order->unit[p])->nodes.at[0] > unit_at(d, unit)->nodes.at[0])
            to = p;
    while (to > begin && is_in_loop(d, order, to - 1))
        to--;
    memmove(&order->unit[to + 1], &order->unit[to], sizeof unit * (size_t)(at - to));
    order->unit[to] = unit;
}

/* Has copies of what the backward needs run beside as much as the graph has between them and its
 * maker or its users, though that takes memory. */
static void spread_host_copies(const Dependencies *d, MwOrder *order)
{
    for (int p = order->begin[MW_PHASE_FORWARD + 1] - 1; p >= order->begin[MW_PHASE_FORWARD]; p--)
        if (op_of(d, order->unit[p]) == MW_OP_TO_HOST)
            move_behind(d, order, p);
    for (int p = order->begin[MW_PHASE_BACKWARD]; p < order->begin[MW_PHASE_BACKWARD + 1]; p++)
        if (op_of(d, order->unit[p]) == MW_OP_TO_DEVICE)
            move_before(d, order, p);
}

/* Returns the bytes by which the peak must differ to matter: a later rule must save more, and casts
 * that move together may cost as many. */
static int64_t significant_bytes(int64_t peak_bytes)
{
    return (int64_t)((double)peak_bytes * MW_TUNED_ORDER_SAVING_PERCENT / 100);
}

void mw_order_find_loops(const MwLegal *legal, const MwUnits *units, MwOrder *order)
{
    order->loop_count = legal->loops.count;
    order->loops =
        mw_arena_alloc(legal->graph->arena, sizeof *order->loops * (size_t)order->loop_count);
    for (int l = 0; l < order->loop_count; l++)
        order->loops[l].first = order->loops[l].last = -1;
    for (int p = 0; p < order->count; p++) {
        const int loop = units->units.at[order->unit[p]].loop;
        if (loop < 0)
            continue;
        if (order->loops[loop].first < 0)
            order->loops[loop].first = p;
        MW_ASSERT(order->loops[loop].first == p || order->loops[loop].last == p - 1);
        order->loops[loop].last = p;
    }
}

/* The order of each phase by the rule that needs the least memory. `peak`: of all phases. */
static MwOrder best_order(const Dependencies *d, int64_t *peak)
{
    Attempt first = begin_attempt(d, (Rule)0);
    int64_t best[MW_PHASE_COUNT];
    run_attempt(&first, best);
    for (int rule = 1; rule < RULE_COUNT; rule++) {
        Attempt attempt = begin_attempt(d, (Rule)rule);
        int64_t peaks[MW_PHASE_COUNT];
        run_attempt(&attempt, peaks);
        for (int phase = 0; phase < MW_PHASE_COUNT; phase++) {
            const int begin = first.order.begin[phase], end = first.order.begin[phase + 1];
            if (peaks[phase] >= best[phase] - significant_bytes(best[phase]))
                continue;
            best[phase] = peaks[phase];
            memcpy(&first.order.unit[begin], &attempt.order.unit[begin],
                   sizeof *first.order.unit * (size_t)(end - begin));
        }
    }
    *peak = 0;
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++)
        *peak = mw_max(*peak, best[phase]);
    return first.order;
}

MwOrder mw_order_units(const MwLegal *legal, const MwUnits *units)
{
    Dependencies d = find_dependencies(legal, units);
    int64_t peak;
    MwOrder best = best_order(&d, &peak);
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++)
        gather_casts(&d, &best, phase, significant_bytes(peak));
    spread_host_copies(&d, &best);
    best.position = MW_NEW(d.arena, int32_t, units->units.count);
    for (int i = 0; i < best.count; i++)
        best.position[best.unit[i]] = i;
    mw_order_find_loops(legal, units, &best);
    return best;
}
