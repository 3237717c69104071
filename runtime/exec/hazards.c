/* SPDX-License-Identifier: MIT */
#include "runtime/exec/hazards.h"

#include <string.h>

void mw_ops_add(MwArena *arena, MwOps *ops, int queue)
{
    mw_vec_push(arena, &ops->ops, ((MwOp){.queue = queue, .first = ops->reaches.count}));
}

void mw_ops_reach(MwArena *arena, MwOps *ops, MwReach reach)
{
    mw_vec_push(arena, &ops->reaches, reach);
    mw_vec_last(&ops->ops).count++;
}

static bool conflict(const MwOps *ops, int first, int second)
{
    const MwOp *a = &ops->ops.at[first], *b = &ops->ops.at[second];
    for (int i = a->first; i < a->first + a->count; i++) {
        const MwReach *x = &ops->reaches.at[i];
        for (int k = b->first; k < b->first + b->count; k++) {
            const MwReach *y = &ops->reaches.at[k];
            if ((x->writes || y->writes) && x->begin < y->end && y->begin < x->end)
                return true;
        }
    }
    return false;
}

/* ---- Order ---- */

/* The operation that stays and that the operation comes behind: what it conflicts with may itself
 * have moved. `behind` is known of those before it. */
static int32_t find_place(const MwOps *ops, int op, const int32_t *behind)
{
    int32_t place = -1;
    for (int i = op - 1; i > place; i--)
        if (behind[i] > place && conflict(ops, i, op))
            place = behind[i];
    return place;
}

int32_t *mw_hazards_advance(MwArena *arena, const MwOps *ops, const bool *may_move)
{
    const int count = ops->ops.count;
    int32_t *behind = MW_NEW(arena, int32_t, count); /* where it stays, itself */
    int32_t *begin = MW_NEW(arena, int32_t, count + 2);
    int32_t *order = MW_NEW(arena, int32_t, count);
    for (int i = 0; i < count; i++) {
        behind[i] = may_move[i] ? find_place(ops, i, behind) : i;
        begin[behind[i] + 2]++;
    }
    for (int i = 0; i < count; i++)
        begin[i + 1] += begin[i];
    for (int i = 0; i < count;
         i++) /* by place, then in order: the one that stays is the first there */
        order[begin[behind[i] + 1]++] = i;
    return order;
}

/* ---- Waits ---- */

typedef struct {
    const MwOps *ops;
    MW_VEC(int32_t) issued[2]; /* operations of each queue */
    int waited[2];             /* how many of them the other queue has waited for */
    MW_VEC(int32_t) free_marks;
    int mark_count;
} Finder;

/* The last operation of the other queue that `op` conflicts with and that nothing before it on its
 * queue waits for; -1: none. */
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

static int32_t take_mark(Finder *f)
{
    return f->free_marks.count ? f->free_marks.at[--f->free_marks.count] : f->mark_count++;
}

MwOrdering *mw_hazards_find(MwArena *arena, const MwOps *ops, const int32_t *order, int *mark_count)
{
    const int count = ops->ops.count;
    Finder f = {.ops = ops};
    int32_t *waits_for = MW_NEW(arena, int32_t, count);
    bool *is_awaited = MW_NEW(arena, bool, count);
    MwOrdering *orderings = MW_NEW(arena, MwOrdering, count);
    for (int i = 0; i < count; i++) {
        const int op = order ? order[i] : i;
        waits_for[op] = find_wait(&f, op);
        if (waits_for[op] >= 0)
            is_awaited[waits_for[op]] = true;
        mw_vec_push(arena, &f.issued[ops->ops.at[op].queue], op);
    }
    for (int i = 0; i < count; i++) {
        const int op = order ? order[i] : i;
        orderings[op] = (MwOrdering){-1, -1};
        if (waits_for[op] >= 0) {
            orderings[op].wait = orderings[waits_for[op]].mark;
            mw_vec_push(arena, &f.free_marks, orderings[op].wait); /* nobody else waits for it */
        }
        if (is_awaited[op])
            orderings[op].mark = take_mark(&f);
    }
    *mark_count = f.mark_count;
    return orderings;
}
