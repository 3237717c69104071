/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core as an integer linear program, and its solution by GLPK. */
#ifndef MW_SOLVER_TREE_ILP_H
#define MW_SOLVER_TREE_ILP_H

#include "solver/core/core.h"
#include "solver/stop.h"

#include <glpk.h>

/* The program. x[v][s] is 1 if node v takes strategy s; y[f][e] is 1 if the nodes of cost function
 * f take the strategies of its entry e. The column of x[v][s] is column[v] + s. */
typedef struct {
    glp_prob *program;
    int *column; /* [node_count] */
} MwIlp;

/* Builds the program with costs multiplied by `scale`. The caller frees `program`. */
MwIlp mw_ilp_build(MwArena *arena, const MwCore *core, double scale);

typedef struct {
    bool proven;  /* `choice` is optimal within tolerances; or, if it is NULL, there is no choice */
    int *choice;  /* [node_count] for the nodes left; NULL: none was found */
    MwCost bound; /* no choice costs less, core->constant included */
} MwIlpAnswer;

/* Says whether the program is small enough for GLPK. */
bool mw_ilp_manageable(const MwCore *core);

/* Solves what is left of the core. */
MwIlpAnswer mw_ilp_solve(MwArena *arena, const MwCore *core, const MwStop *stop);

#endif
