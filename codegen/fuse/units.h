/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of work: which nodes of a legal graph run together, as one instruction of the plan.
 *
 * A unit is a contraction with what one call makes besides (codegen/fuse/gemm_unit.h), a library
 * operator, a collective, a transfer, or a group of nodes that become one kernel. A value that only
 * its own unit uses is never stored. */
#ifndef MW_CODEGEN_FUSE_UNITS_H
#define MW_CODEGEN_FUSE_UNITS_H

#include "codegen/fuse/access.h"

typedef struct {
    bool is_kernel;
    MwPhase phase;
    MW_VEC(int32_t) nodes; /* ascending */
    /* Of a kernel: its points, as sizes inside which boundaries between dimensions lie. */
    MwNodeSpace space;
    int64_t cuts[MW_SPACE_MAX_DIMS]; /* ascending */
    int cut_count;
} MwUnit;

typedef struct {
    MW_VEC(MwUnit) units; /* in no order that says when they run */
    int32_t *unit_of;     /* [nodes] -1: not in a unit (sources, views, generators) */
    MwLevel *level;       /* [nodes] of kernels: at which the node runs */
    bool *is_stored;      /* [values] a root that lies in memory */
} MwUnits;

/* Rows of its space; 1 where rows mean nothing to it. */
int64_t mw_unit_rows(const MwUnit *unit);

/* The level of the results of node `n`, which runs at units->level[n]. */
MwLevel mw_units_result_level(const MwLegal *legal, const MwUnits *units, int n);

/* The access `layout`, over the points of a node that runs at `level`, over the space of its unit.
 */
MwLayout mw_units_spread(const MwUnit *unit, MwLevel level, const MwLayout *layout);

#endif
