/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reductions over whole dimensions, for the functions that are made of them. */
#ifndef MW_FRONTEND_FUNCTIONS_REDUCTION_H
#define MW_FRONTEND_FUNCTIONS_REDUCTION_H

#include "frontend/terms/emit.h"

typedef struct {
    MwValueId x;
    int64_t axes[MW_MAX_RANK]; /* ascending */
    int axis_count;
    bool keep; /* reduced dimensions stay, with size 1 */
} MwReduced;

/* Adds a reduction; over no dimension it is its operand. */
MwValueId mw_reduction_emit(MwExpander *ex, MwSite site, MwOp op, const MwReduced *r);
/* The number of elements that become one. */
double mw_reduction_count(MwExpander *ex, const MwReduced *r);
/* Adds the sum over `divisor`. */
MwValueId mw_reduction_mean(MwExpander *ex, MwSite site, const MwReduced *r, double divisor);

#endif
