/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a graph has no sharding on a mesh, and what would change that. Both add an error with notes. */
#ifndef MW_PASSES_REFUSE_H
#define MW_PASSES_REFUSE_H

#include "passes/intra_problem.h"

/* A device needs `needed_bytes`, or more, of `memory_bytes`. Says what takes the most, and advises
 * devices and micro-batches as far as they help. */
void mw_refuse_memory(const MwIntraProblem *problem, int64_t memory_bytes, int64_t needed_bytes,
                      MwDiags *diags);

/* The pins exclude one another. Names them, and one without which there is a sharding. */
void mw_refuse_pins(const MwIntraProblem *problem, const MwCluster *cluster, MwDiags *diags);

#endif
