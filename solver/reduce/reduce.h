/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All exact reductions of a core, until none applies. */
#ifndef MW_SOLVER_REDUCE_REDUCE_H
#define MW_SOLVER_REDUCE_REDUCE_H

#include "solver/core/core.h"
#include "solver/stop.h"
#include "solver/tuning.h"

typedef struct {
    int arity; /* greatest number of neighbours of a node to eliminate; at most MW_TABLE_ARITY */
    int64_t entries; /* greatest number of entries of the table that an elimination makes */
    bool shrinking;  /* a table of more than two dimensions must not be larger than the tables it
                       replaces */
    int64_t total;   /* stop once this many entries have been computed */
    bool quick;      /* leave out the expensive reductions: comparison of distant rows, and joint
                   dominance */
    MwStop stop;
} MwReduceLimits;

/* Limit of memory: entries of a table that elimination makes, 32 MiB of them. */
#define MW_TABLE_ENTRIES ((int64_t)1 << 22)

/* Limit of time: entries that the elimination of a whole core may compute where it may fail. */
#define MW_MANY_ENTRIES (4 * MW_TABLE_ENTRIES)

/* Limit of time: entries of a core that is searched by branch and bound, because each node of the
 * tree visits all of them many times. */
#define MW_SEARCH_ENTRIES (MW_TABLE_ENTRIES / 16)

/* Says whether a core that a round shrank from `before` to `left` is worth another round. */
static inline bool mw_reduce_goes_on(int64_t before, int64_t left)
{
    return (double)left < (1 - MW_TUNED_ROUND_SHARE) * (double)before;
}

/* Returns the limits of eliminations that do not make the core larger. */
static inline MwReduceLimits mw_reduce_shrinking(MwStop stop)
{
    return (MwReduceLimits){.arity = MW_TUNED_SHRINK_ARITY,
                            .entries = MW_TABLE_ENTRIES,
                            .total = INT64_MAX,
                            .shrinking = true,
                            .stop = stop};
}

/* Applies all reductions until none applies. Sets core->infeasible if no choice is left. */
void mw_reduce(MwCore *core, const MwReduceLimits *limits);

#endif
