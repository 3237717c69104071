/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connected components of a core. */
#ifndef MW_SOLVER_CORE_COMPONENTS_H
#define MW_SOLVER_CORE_COMPONENTS_H

#include "solver/core/core.h"

typedef struct {
    int count;
    const MwComponent *at; /* [count] ordered by lowest node; together they have all nodes left */
    const int *equal;      /* [count] the first component that states the same problem, as far as a
                         comparison in the order of nodes shows it; mostly the component itself */
} MwComponents;

/* Finds the components, in `arena`. Nodes of different components share neither a cost function nor
 * a memory row. */
MwComponents mw_components(MwArena *arena, const MwCore *core);

#endif
