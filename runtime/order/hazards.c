/* SPDX-License-Identifier: MIT */
#include "runtime/order/hazards.h"

#include <string.h>

void mw_hazard_ops_add(MwArena *arena, MwHazardOps *ops, int queue)
{
    mw_vec_push(arena, &ops->ops, ((MwHazardOp){.queue = queue, .first = ops->accesses.count}));
}

void mw_hazard_ops_access(MwArena *arena, MwHazardOps *ops, MwByteAccess access)
{
    mw_vec_push(arena, &ops->accesses, access);
    mw_vec_last(&ops->ops).count++;
}

static bool conflict(const MwHazardOps *ops, int first, int second)
{
    const MwHazardOp *a = &ops->ops.at[first], *b = &ops->ops.at[second];
    for (int i = a->first; i < a->first + a->count; i++) {
        const MwByteAccess *x = &ops->accesses.at[i];
        for (int k = b->first; k < b->first + b->count; k++) {
            const MwByteAccess *y = &ops->accesses.at[k];
            if ((x->writes || y->writes) && x->begin < y->end && y->begin < x->end)
                return true;
        }
    }
    return false;
}

/* ---- Order ---- */

/* The fixed operation that `op` is to follow: the last one that it conflicts with, or that a
 * hoisted operation which it conflicts with follows. `behind` holds the results of the operations
 * before it. */
static int32_t find_place(const MwHazardOps *ops, int op, const int32_t *behind)
{
    int32_t place = -1;
    for (int i = op - 1; i > place; i--)
        if (behind[i] > place && conflict(ops, i, op))
            place = behind[i];
    return place;
}

int32_t *mw_hazards_hoist(MwArena *arena, const MwHazardOps *ops, const bool *may_move)
{
    const int count = ops->ops.count;
    int32_t *behind = MW_NEW(arena, int32_t, count); /* the operation itself where it is fixed */
    int32_t *begin = MW_NEW(arena, int32_t, count + 2);
    int32_t *order = MW_NEW(arena, int32_t, count);
    for (int i = 0; i < count; i++) {
        behind[i] = may_move[i] ? find_place(ops, i, behind) : i;
        begin[behind[i] + 2]++;
    }
    for (int i = 0; i < count; i++)
        begin[i + 1] += begin[i];
    /* A counting sort by place. It is stable, so that the fixed operation comes first at its
     * place. */
    for (int i = 0; i < count; i++)
        order[begin[behind[i] + 1]++] = i;
    return order;
}

/* ---- Waits ---- */

/* [queues] how many operations of each are surely done. */
typedef struct {
    int32_t of[MW_HAZARD_QUEUES];
} Done;

typedef struct {
    const MwHazardOps *ops;
    MW_VEC(int32_t) issued[MW_HAZARD_QUEUES]; /* operations of each queue, in order */
    Done before[MW_HAZARD_QUEUES];            /* what the next operation of a queue waited for */
    Done *after;                              /* [ops] when the operation is done */
    MW_VEC(int32_t) free_events[MW_HAZARD_QUEUES]; /* that were recorded on each queue */
    int event_count;
} Finder;

static bool covers(const Done *all, const Done *some)
{
    for (int q = 0; q < MW_HAZARD_QUEUES; q++)
        if (all->of[q] < some->of[q])
            return false;
    return true;
}

static void add_done(Done *to, const Done *more)
{
    for (int q = 0; q < MW_HAZARD_QUEUES; q++)
        to->of[q] = to->of[q] > more->of[q] ? to->of[q] : more->of[q];
}

/* The last operation of another queue that `op` conflicts with, unless it is surely done before;
 * -1: none. */
static int find_wait(const Finder *f, int op, int other)
{
    const int done = f->before[f->ops->ops.at[op].queue].of[other];
    for (int i = f->issued[other].count - 1; i >= done; i--)
        if (conflict(f->ops, f->issued[other].at[i], op))
            return f->issued[other].at[i];
    return -1;
}

/* Fills `waits` with the operations that `op` waits for, none of which another of them implies. */
static void find_waits(Finder *f, int op, int32_t waits[MW_HAZARD_WAITS])
{
    const int queue = f->ops->ops.at[op].queue;
    for (int k = 0, other = 0; other < MW_HAZARD_QUEUES; other++)
        if (other != queue)
            waits[k++] = find_wait(f, op, other);
    for (int k = 0; k < MW_HAZARD_WAITS; k++)
        for (int i = 0; i < MW_HAZARD_WAITS && waits[k] >= 0; i++)
            if (i != k && waits[i] >= 0 && covers(&f->after[waits[i]], &f->after[waits[k]]))
                waits[k] = -1;
    for (int k = 0; k < MW_HAZARD_WAITS; k++)
        if (waits[k] >= 0)
            add_done(&f->before[queue], &f->after[waits[k]]);
}

static void issue(MwArena *arena, Finder *f, int op)
{
    const int queue = f->ops->ops.at[op].queue;
    mw_vec_push(arena, &f->issued[queue], op);
    f->before[queue].of[queue] = f->issued[queue].count;
    f->after[op] = f->before[queue];
}

/* An event to be recorded on a queue. */
static int32_t take_event(Finder *f, int queue)
{
    return f->free_events[queue].count ? f->free_events[queue].at[--f->free_events[queue].count]
                                       : f->event_count++;
}

MwHazardSync *mw_hazards_find(MwArena *arena, const MwHazardOps *ops, int *event_count)
{
    const int count = ops->ops.count;
    Finder f = {.ops = ops, .after = MW_NEW(arena, Done, count)};
    int32_t *waiting = MW_NEW(arena, int32_t, count); /* operations that are yet to wait for each */
    MwHazardSync *syncs = MW_NEW(arena, MwHazardSync, count);
    for (int op = 0; op < count; op++) {
        find_waits(&f, op, syncs[op].wait);
        for (int k = 0; k < MW_HAZARD_WAITS; k++)
            if (syncs[op].wait[k] >= 0)
                waiting[syncs[op].wait[k]]++;
        issue(arena, &f, op);
    }
    for (int op = 0; op < count; op++) {
        for (int k = 0; k < MW_HAZARD_WAITS; k++) {
            const int32_t awaited = syncs[op].wait[k];
            if (awaited < 0)
                continue;
            syncs[op].wait[k] = syncs[awaited].record;
            if (--waiting[awaited] == 0)
                mw_vec_push(arena, &f.free_events[ops->ops.at[awaited].queue],
                            syncs[awaited].record);
        }
        syncs[op].record = waiting[op] ? take_event(&f, ops->ops.at[op].queue) : -1;
    }
    *event_count = f.event_count;
    return syncs;
}
