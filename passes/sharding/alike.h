/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stages that are alike, as those in the middle of a pipeline: the choice for one is a choice for
 * the other, which has other micro-batches in flight. */
#ifndef MW_PASSES_SHARDING_ALIKE_H
#define MW_PASSES_SHARDING_ALIKE_H

#include "passes/sharding/result.h"

/* Whether two problems, on one mesh, have the same strategies and costs. Usages may differ. */
bool mw_intra_problems_alike(const MwIntraProblem *a, const MwIntraProblem *b);

/* The sharding of `problem` by a choice for the nodes of its graph, such as that of another problem
 * that is alike; NULL if it needs more than `memory_bytes`. The problem has no nodes for copies
 * afterwards, and this memory as its limit. The bound of the sharding is to be set. In `arena`. */
MwSharding *mw_sharding_of_choice(MwArena *arena, MwIntraProblem *problem, const int *choice,
                                  int64_t memory_bytes);

#endif
