/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/schedule.h"

#include <string.h>

/* The order of the graph keeps producers and consumers close; another must save this much. */
#define CLEARLY_LESS 0.98

/* Which of several ready units runs first. */
typedef enum {
    BY_LAST_NODE,  /* the one whose last node is first in the graph */
    BY_FIRST_NODE, /* the one whose first node is */
    BY_MEMORY,     /* the one that frees most and allocates least; BY_LAST_NODE among equals */
    RULE_COUNT
} Rule;

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    const MwUnits *units;
    /* Which units wait for which, as lists of successors in one array. */
    int32_t *successor, *successor_begin;
    int32_t *waits; /* [units] predecessors, each as often as it gives an operand */
    int32_t *uses;  /* [values] reads of a root by units */
} Scheduler;

static const MwUnit *unit_at(const Scheduler *s, int u)
{
    return &s->units->units.at[u];
}

static int producer_unit(const Scheduler *s, MwValueId root)
{
    return s->units->unit_of[mw_value(s->legal->graph, root)->node.index];
}

/* Calls for every operand of every node of unit u that another unit gives. */
static void each_dependency(Scheduler *s, int u, void (*call)(Scheduler *s, int u, int from))
{
    const MwUnit *unit = unit_at(s, u);
    for (int i = 0; i < unit->nodes.count; i++) {
        const MwNode *node = &s->legal->graph->nodes.at[unit->nodes.at[i]];
        for (int k = 0; k < node->operand_count; k++) {
            int from = producer_unit(s, mw_legal_root(s->legal, node->operands[k]));
            if (from >= 0 && from != u)
                call(s, u, from);
        }
    }
}

static void count_dependency(Scheduler *s, int u, int from)
{
    s->waits[u]++;
    s->successor_begin[from + 1]++;
}

static void list_dependency(Scheduler *s, int u, int from)
{
    s->successor[s->successor_begin[from]++] = u;
}

static void build_dependencies(Scheduler *s)
{
    int count = s->units->units.count;
    s->waits = MW_NEW(s->arena, int32_t, count);
    s->successor_begin = MW_NEW(s->arena, int32_t, count + 1);
    for (int u = 0; u < count; u++)
        each_dependency(s, u, count_dependency);
    for (int u = 0; u < count; u++)
        s->successor_begin[u + 1] += s->successor_begin[u];
    s->successor = MW_NEW(s->arena, int32_t, s->successor_begin[count]);
    for (int u = 0; u < count; u++)
        each_dependency(s, u, list_dependency);
    memmove(&s->successor_begin[1], s->successor_begin, sizeof(int32_t) * (size_t)count);
    s->successor_begin[0] = 0;
}

static int64_t stored_bytes(const Scheduler *s, MwValueId root)
{
    return s->units->is_stored[root.index] ? mw_tensor_bytes(mw_value_tensor(s->legal->graph, root))
                                           : 0;
}

static int64_t made_bytes(const Scheduler *s, int u)
{
    int64_t bytes = 0;
    for (int i = 0; i < unit_at(s, u)->nodes.count; i++) {
        const MwNode *node = &s->legal->graph->nodes.at[unit_at(s, u)->nodes.at[i]];
        for (int k = 0; k < node->result_count; k++)
            bytes += stored_bytes(s, (MwValueId){node->first_result + k});
    }
    return bytes;
}

static bool is_kept(const Scheduler *s, MwValueId root)
{
    return producer_unit(s, root) < 0;
}

/* Bytes that nobody needs after unit u, given the reads that remain. Calls twice undo each other:
 * `step` -1 takes the unit's reads away, +1 gives them back. */
static int64_t freed_bytes(Scheduler *s, int u, int step)
{
    int64_t bytes = 0;
    for (int i = 0; i < unit_at(s, u)->nodes.count; i++) {
        const MwNode *node = &s->legal->graph->nodes.at[unit_at(s, u)->nodes.at[i]];
        for (int k = 0; k < node->operand_count; k++) {
            MwValueId root = mw_legal_root(s->legal, node->operands[k]);
            if (producer_unit(s, root) == u || is_kept(s, root))
                continue;
            s->uses[root.index] += step;
            if (step < 0 && s->uses[root.index] == 0)
                bytes += stored_bytes(s, root);
        }
    }
    return bytes;
}

static void count_uses(Scheduler *s)
{
    memset(s->uses, 0, sizeof(int32_t) * (size_t)s->legal->graph->values.count);
    for (int u = 0; u < s->units->units.count; u++)
        freed_bytes(s, u, 1);
    const MwGraph *graph = s->legal->graph;
    for (int i = 0; i < graph->outputs.count; i++)
        s->uses[mw_legal_root(s->legal, graph->outputs.at[i].value).index]++;
    if (mw_has_value(graph->train.loss))
        s->uses[mw_legal_root(s->legal, graph->train.loss).index]++;
}

/* Smaller runs first. */
static int64_t key_of(Scheduler *s, int u, Rule rule)
{
    const MwUnit *unit = unit_at(s, u);
    if (rule == BY_FIRST_NODE)
        return unit->nodes.at[0];
    if (rule == BY_LAST_NODE)
        return mw_vec_last(&unit->nodes);
    int64_t change = made_bytes(s, u) - freed_bytes(s, u, -1);
    freed_bytes(s, u, 1);
    return change;
}

static int take_next(Scheduler *s, int32_t *ready, int *ready_count, Rule rule)
{
    int best = 0;
    int64_t best_key = 0;
    for (int i = 0; i < *ready_count; i++) {
        int64_t key = key_of(s, ready[i], rule);
        bool earlier = mw_vec_last(&unit_at(s, ready[i])->nodes) <
                       mw_vec_last(&unit_at(s, ready[best])->nodes);
        if (i == 0 || key < best_key || (key == best_key && earlier)) {
            best = i;
            best_key = key;
        }
    }
    int unit = ready[best];
    ready[best] = ready[--*ready_count];
    return unit;
}

/* Units of one phase that wait for nothing. */
static int ready_units(const Scheduler *s, MwPhase phase, const int32_t *waits, int32_t *ready)
{
    int count = 0;
    for (int u = 0; u < s->units->units.count; u++)
        if (unit_at(s, u)->phase == phase && waits[u] == 0)
            ready[count++] = u;
    return count;
}

/* Fills `order`; gives the greatest number of bytes live at once, weights apart. */
static int64_t try_rule(Scheduler *s, Rule rule, MwSchedule *schedule)
{
    int count = s->units->units.count, done = 0;
    int32_t *waits = mw_arena_dup(s->arena, s->waits, sizeof(int32_t) * (size_t)count);
    int32_t *ready = MW_NEW(s->arena, int32_t, count);
    int64_t live = 0, peak = 0;
    schedule->order = MW_NEW(s->arena, int32_t, count);
    count_uses(s);
    for (int phase = 0; phase < MW_PHASE_COUNT; phase++) {
        schedule->begin[phase] = done;
        int ready_count = ready_units(s, (MwPhase)phase, waits, ready);
        while (ready_count) {
            int unit = take_next(s, ready, &ready_count, rule);
            schedule->order[done++] = unit;
            live += made_bytes(s, unit);
            peak = mw_max(peak, live);
            live -= freed_bytes(s, unit, -1);
            for (int i = s->successor_begin[unit]; i < s->successor_begin[unit + 1]; i++) {
                int next = s->successor[i];
                if (--waits[next] == 0 && unit_at(s, next)->phase == (MwPhase)phase)
                    ready[ready_count++] = next;
            }
        }
    }
    schedule->begin[MW_PHASE_COUNT] = schedule->count = done;
    MW_ASSERT(done == count);
    return peak;
}

MwSchedule mw_schedule_units(const MwLegal *legal, const MwUnits *units)
{
    Scheduler s = {.arena = legal->graph->arena, .legal = legal, .units = units};
    s.uses = MW_NEW(s.arena, int32_t, legal->graph->values.count);
    build_dependencies(&s);
    MwSchedule best = {0};
    int64_t best_peak = INT64_MAX;
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        MwSchedule schedule = {0};
        int64_t peak = try_rule(&s, (Rule)rule, &schedule);
        if ((double)peak < CLEARLY_LESS * (double)best_peak) {
            best_peak = peak;
            best = schedule;
        }
    }
    best.position = MW_NEW(s.arena, int32_t, units->units.count);
    for (int i = 0; i < best.count; i++)
        best.position[best.order[i]] = i;
    return best;
}
