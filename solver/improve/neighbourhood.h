/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes to free together: sets of nodes that bear on one another, drawn at random. */
#ifndef MW_SOLVER_IMPROVE_NEIGHBOURHOOD_H
#define MW_SOLVER_IMPROVE_NEIGHBOURHOOD_H

#include "base/draws.h"
#include "solver/improve/flat_core.h"

typedef enum {
    MW_NEIGHBOURHOOD_NEAR,      /* those nearest to a node, by cost functions */
    MW_NEIGHBOURHOOD_STRAYED,   /* those met on straying from a node along cost functions */
    MW_NEIGHBOURHOOD_ROW,       /* those next to one another in order of index */
    MW_NEIGHBOURHOOD_SCATTERED, /* small groups of near ones here and there */
    MW_NEIGHBOURHOOD_KINDS,
} MwNeighbourhoodKind;

/* Draws a number of nodes that hang together, where a neighbourhood consists of several such
 * groups. */
int mw_neighbourhood_group(MwDraws *draws);

/* Writes at most `size` distinct nodes of the flat core and returns their number, at least 1.
 * `seen` ([flat->node_count]) is scratch, false throughout, before and after. */
int mw_neighbourhood_draw(const MwFlatCore *flat, MwNeighbourhoodKind kind, int size,
                          MwDraws *draws, bool *seen, int *nodes);

/* Likewise those that weigh on a memory row, the ones that do so for the fewest rows first. */
int mw_neighbourhood_of_row(const MwFlatCore *flat, int row, int size, int *nodes);

#endif
