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

typedef struct {
    const MwHazardOps *ops;
    MW_VEC(int32_t) issued[2]; /* operations of each queue, in order */
    int waited[2];             /* number of them that the other queue has waited for */
    MW_VEC(int32_t) free_events;
    int event_count;
} Finder;

/* The last operation of the other queue that `op` conflicts with, unless a wait before `op` on its
 * queue covers it already; -1: none. */
static int find_wait(Finder *f, int op)
{
    const int other = !f->ops->ops.at[op].queue;
    for (int i = f->issued[other].count - 1; i >= f->waited[other]; i--)
        if (conflict(f->ops, f->issued[other].at[i], op)) {
            f->waited[other] = i + 1;
            return f->issued[other].at[i];
        }
    return -1;
}

static int32_t take_event(Finder *f)
{
    return f->free_events.count ? f->free_events.at[--f->free_events.count] : f->event_count++;
}

MwHazardSync *mw_hazards_find(MwArena *arena, const MwHazardOps *ops, int *event_count)
{
    const int count = ops->ops.count;
    Finder f = {.ops = ops};
    int32_t *waits_for = MW_NEW(arena, int32_t, count);
    bool *is_awaited = MW_NEW(arena, bool, count);
    MwHazardSync *syncs = MW_NEW(arena, MwHazardSync, count);
    for (int op = 0; op < count; op++) {
        waits_for[op] = find_wait(&f, op);
        if (waits_for[op] >= 0)
            is_awaited[waits_for[op]] = true;
        mw_vec_push(arena, &f.issued[ops->ops.at[op].queue], op);
    }
    for (int op = 0; op < count; op++) {
        syncs[op] = (MwHazardSync){-1, -1};
        if (waits_for[op] >= 0) {
            syncs[op].wait = syncs[waits_for[op]].record;
            mw_vec_push(arena, &f.free_events, syncs[op].wait); /* an event has one wait */
        }
        if (is_awaited[op])
            syncs[op].record = take_event(&f);
    }
    *event_count = f.event_count;
    return syncs;
}
