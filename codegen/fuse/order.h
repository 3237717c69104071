/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which units run: the programs forward, backward and update, one after another. */
#ifndef MW_CODEGEN_FUSE_ORDER_H
#define MW_CODEGEN_FUSE_ORDER_H

#include "codegen/fuse/units.h"

typedef struct {
    int32_t *unit;     /* by position */
    int32_t *position; /* [units] of a bucket: that of the first of them (codegen/plan/buckets.h) */
    /* [units] position until which what the unit reads stays (codegen/plan/overlap.h), -1: only
     * until it has run; NULL: of all */
    int32_t *held;
    int count;                     /* of units */
    int begin[MW_PHASE_COUNT + 1]; /* position of the first unit of each phase */
    /* [loops] of the legal graph, positions of the first and the last unit; -1: it has none */
    struct {
        int first, last;
    } * loops;
    int loop_count;
} MwOrder;

/* Tries several topological orders and takes of each phase the one with the least peak of live
 * bytes besides weights and states; the order of the graph wins ties. Casts of weights are then
 * moved next to each other, as far as that costs next to no memory; and copies of what the backward
 * needs, to the host and back, to where the graph has them. */
MwOrder mw_order_units(const MwLegal *legal, const MwUnits *units);
/* Notes where the units of each loop stand. */
void mw_order_find_loops(const MwLegal *legal, const MwUnits *units, MwOrder *order);

#endif
