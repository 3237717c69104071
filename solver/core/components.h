/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a core hangs together. */
#ifndef MW_SOLVER_CORE_COMPONENTS_H
#define MW_SOLVER_CORE_COMPONENTS_H

#include "solver/core/core.h"

typedef struct {
    int count;
    const MwComponent *at; /* [count] by their lowest nodes: all nodes left, each in one */
    const int *equal;      /* [count] the first component that is the same problem, as far as its
                             nodes in their order show it; mostly itself */
} MwComponents;

/* In `arena`. Nodes of different components share neither a cost function nor a memory row. */
MwComponents mw_components(MwArena *arena, const MwCore *core);

#endif
