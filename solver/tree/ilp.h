/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core as an integer linear program on GLPK. */
#ifndef MW_SOLVER_TREE_ILP_H
#define MW_SOLVER_TREE_ILP_H

#include "solver/core/core.h"
#include "solver/stop.h"

#include <glpk.h>

/* x[v][s] is 1 where node v takes strategy s; y[f][e] is 1 where the nodes of cost function f take
 * the strategies of its entry e. Column of x[v][s]: column[v] + s. */
typedef struct {
    glp_prob *program;
    int *column; /* [node_count] */
} MwIlp;

/* Costs are multiplied by `scale`. The caller frees `program`. */
MwIlp mw_ilp_build(MwArena *arena, const MwCore *core, double scale);

typedef struct {
    bool proven;  /* `choice` is a best one, but for tolerances; or, if NULL, there is none */
    int *choice;  /* [node_count], for the nodes left; NULL: none found */
    MwCost bound; /* no choice costs less, core->constant included */
} MwIlpAnswer;

/* Whether GLPK has a chance with a program of this size. */
bool mw_ilp_manageable(const MwCore *core);

/* Solves what is left of the core. */
MwIlpAnswer mw_ilp_solve(MwArena *arena, const MwCore *core, const MwStop *stop);

#endif
