/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Neighbourhoods: sets of related nodes, drawn at random, that an attempt frees together (the
 * destroy step of large-neighbourhood search). */
#ifndef MW_SOLVER_IMPROVE_NEIGHBOURHOOD_H
#define MW_SOLVER_IMPROVE_NEIGHBOURHOOD_H

#include "base/draws.h"
#include "solver/improve/flat_core.h"

typedef enum {
    MW_NEIGHBOURHOOD_BREADTH_FIRST, /* the nodes nearest to a node, by cost functions */
    MW_NEIGHBOURHOOD_RANDOM_GROWTH, /* a connected set, grown at random along cost functions */
    MW_NEIGHBOURHOOD_CONSECUTIVE,   /* nodes of consecutive indices */
    MW_NEIGHBOURHOOD_SCATTERED,     /* several small groups of near nodes */
    MW_NEIGHBOURHOOD_KINDS,
} MwNeighbourhoodKind;

/* Draws the size of a group of near nodes, for neighbourhoods that consist of several. */
int mw_neighbourhood_group_size(MwDraws *draws);

/* Draws at most `size` distinct nodes of the flat core and returns their number, at least 1. `seen`
 * ([flat->node_count]) is scratch: all false before and after. */
int mw_neighbourhood_draw(const MwFlatCore *flat, MwNeighbourhoodKind kind, int size,
                          MwDraws *draws, bool *seen, int *nodes);

/* Lists at most `size` nodes that use the memory row, those that use the fewest rows first. Returns
 * their number. */
int mw_neighbourhood_of_row(const MwFlatCore *flat, int row, int size, int *nodes);

#endif
