/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core in a flat layout for local search: the nodes left are numbered from 0 without gaps, tables
 * are plain arrays, and each node lists its cost functions.
 *
 * The flat core is never changed, so threads may share it. The core must live as long and must not
 * change. */
#ifndef MW_SOLVER_IMPROVE_FLAT_CORE_H
#define MW_SOLVER_IMPROVE_FLAT_CORE_H

#include "solver/core/core.h"

typedef struct {
    int arity;
    const int *node;           /* [arity] nodes in scope */
    const int *dims;           /* [arity] number of classes of each */
    const int *const *classes; /* [arity][strategy] class */
    const int64_t *cost;       /* row-major */
} MwFlatFunction;

/* The incidence of a node and one of its cost functions. */
typedef struct {
    int function, dim;
    int64_t stride; /* stride of the dimension, in entries */
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

/* Convert a choice of the core to one of the flat core, and back. Entries of eliminated nodes
 * become 0. */
void mw_flat_choice_from_core(const MwFlatCore *flat, const int *core_choice, int *choice);
void mw_flat_choice_to_core(const MwFlatCore *flat, const int *choice, int *core_choice);

#endif
