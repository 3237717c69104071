/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of work: which nodes of a legal graph run together, as one instruction of the plan.
 *
 * A unit is a contraction with the nodes that its call computes too (codegen/fuse/gemm_unit.h), a
 * library operator, perhaps with a concatenation of its results (codegen/fuse/library_unit.h), a
 * collective, a transfer, or a group of nodes that become one kernel. A value that only its own
 * unit uses is never stored. */
#ifndef MW_CODEGEN_FUSE_UNITS_H
#define MW_CODEGEN_FUSE_UNITS_H

#include "codegen/fuse/access.h"

typedef struct {
    bool is_kernel;
    bool on_host;          /* the processors of the host run it, on values that lie there */
    MwPhase phase;         /* in which it runs; of its nodes, or a later one */
    int loop;              /* that it runs in; -1: none */
    MW_VEC(int32_t) nodes; /* ascending */
    MwNodeSpace space;     /* the points of a kernel */
    /* Boundaries between the dimensions of `space`: each is the number of points inside of it.
     * Ascending; each divides the next. */
    int64_t cuts[MW_SPACE_MAX_DIMS];
    int cut_count;
} MwUnit;

typedef struct {
    MW_VEC(MwUnit) units;  /* their order does not say when they run */
    int32_t *unit_of;      /* [nodes] -1: not in a unit (sources, views, generators) */
    MwLevel *level;        /* [nodes] level at which a node of a kernel runs */
    bool *is_stored;       /* [values] the value is a root that lies in memory */
    bool backward_follows; /* directly behind the forward of its micro-batch */
} MwUnits;

/* The phase in which a node runs: that of its unit, if it has one. */
static inline MwPhase mw_units_phase(const MwLegal *legal, const MwUnits *units, int node)
{
    const int unit = units->unit_of[node];
    return unit < 0 ? mw_legal_at(legal, node)->phase : units->units.at[unit].phase;
}

/* Returns the number of rows of the unit's space; 1 if the space is not divided into rows. */
int64_t mw_unit_rows(const MwUnit *unit);

/* Returns the level of the results of node `n`, which itself runs at units->level[n]. */
MwLevel mw_units_result_level(const MwLegal *legal, const MwUnits *units, int n);

/* Extends `layout`, an access over the points of a node, to the points of its unit: repeats it
 * along the dimensions in which the level at which the node runs, `level`, does not vary. */
MwLayout mw_units_spread(const MwUnit *unit, MwLevel level, const MwLayout *layout);

#endif
