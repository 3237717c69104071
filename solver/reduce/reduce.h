/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All exact reductions of a core, until none applies. */
#ifndef MW_SOLVER_REDUCE_REDUCE_H
#define MW_SOLVER_REDUCE_REDUCE_H

#include "solver/core/core.h"
#include "solver/stop.h"
#include "solver/tuning.h"

typedef struct {
    int arity;       /* eliminate nodes of at most this many neighbours, at most MW_TABLE_ARITY */
    int64_t entries; /* whose table would have at most this many entries; */
    bool shrinking;  /* and, if of more than two dimensions, no more than what it replaces */
    int64_t total;   /* stop when that many entries have been computed */
    bool quick;      /* leave out what is dear: comparing rows that lie apart, and strategies with
                        several others together */
    MwStop stop;
} MwReduceLimits;

/* Limit of memory: the entries of a table that elimination makes, 32 MiB of them. */
#define MW_TABLE_ENTRIES ((int64_t)1 << 22)

/* Limit of time: the entries that the elimination of a whole core may compute where it may come to
 * nothing. */
#define MW_MANY_ENTRIES (4 * MW_TABLE_ENTRIES)

/* Limit of time: the entries of a core that is searched by branch and bound, of which each node of
 * the tree visits all many times. */
#define MW_SEARCH_ENTRIES (MW_TABLE_ENTRIES / 16)

/* Whether a core that has shrunk from `before` strategies to `left` may shrink visibly once
 * more. */
static inline bool mw_reduce_goes_on(int64_t before, int64_t left)
{
    return (double)left < (1 - MW_TUNED_ROUND_SHARE) * (double)before;
}

/* Eliminates as long as that makes the core no larger. */
static inline MwReduceLimits mw_reduce_shrinking(MwStop stop)
{
    return (MwReduceLimits){.arity = MW_TUNED_SHRINK_ARITY,
                            .entries = MW_TABLE_ENTRIES,
                            .total = INT64_MAX,
                            .shrinking = true,
                            .stop = stop};
}

/* All of them, until none applies. Sets core->infeasible if no choice is left. */
void mw_reduce(MwCore *core, const MwReduceLimits *limits);

#endif
