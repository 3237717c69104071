/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MW_BENCH_SOLVER_LAYERS_H
#define MW_BENCH_SOLVER_LAYERS_H

#include "solver/solver.h"

/* `layer_count` identical layers of about 84 nodes; the same every time. In `arena`. */
MwProblem *layered_problem(MwArena *arena, int layer_count, int64_t usage_limit);

#endif
