/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core laid out flat for searching on it: the nodes left are numbered from 0 without gaps, tables
 * are plain arrays, and for each node its cost functions stand in a row.
 *
 * It is made once and never changed, so that threads may share it. The core must live as long and
 * must not change. */
#ifndef MW_SOLVER_IMPROVE_FLAT_CORE_H
#define MW_SOLVER_IMPROVE_FLAT_CORE_H

#include "solver/core/core.h"

typedef struct {
    int arity;
    const int *node;           /* [arity] */
    const int *dims;           /* [arity] classes of each */
    const int *const *classes; /* [arity][strategy] */
    const int64_t *cost;       /* row-major */
} MwFlatFunction;

/* A node's place in one of its cost functions. */
typedef struct {
    int function, dim;
    int64_t stride; /* of the dimension, in entries */
} MwFlatLink;

typedef struct {
    int origin; /* node of the core */
    int strategies;
    const int64_t *cost; /* [strategies] */
    int link_count, term_count;
    const MwFlatLink *links;
    const MwCoreTerm *terms;
} MwFlatNode;

typedef struct {
    const MwCore *core;
    int node_count, function_count, row_count;
    MwFlatNode *nodes;
    MwFlatFunction *functions;
    int most_strategies;
} MwFlatCore;

MwFlatCore *mw_flat_core_new(MwArena *arena, const MwCore *core);

/* From a choice of the core to one of the flat core, and back: entries of eliminated nodes are 0. */
void mw_flat_core_enter(const MwFlatCore *flat, const int *core_choice, int *choice);
void mw_flat_core_leave(const MwFlatCore *flat, const int *choice, int *core_choice);

#endif
