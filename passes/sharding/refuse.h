/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a graph has no sharding on a mesh, and what would change that. Both add an error with notes. */
#ifndef MW_PASSES_SHARDING_REFUSE_H
#define MW_PASSES_SHARDING_REFUSE_H

#include "passes/sharding/intra_problem.h"

/* A device needs `needed_bytes`, or more, of `memory_bytes`. Says what takes the most, by the proof
 * `why` (NULL: there is none), and advises devices and micro-batches as far as they help. */
void mw_refuse_memory(const MwIntraProblem *problem, int64_t memory_bytes, int64_t needed_bytes,
                      const MwInfeasibility *why, MwDiags *diags);

/* Pins exclude one another, as the nodes that `why` names do. Names the pins of these, the nodes, and
 * a pin without which there is a sharding. */
void mw_refuse_pins(const MwIntraProblem *problem, const MwCluster *cluster,
                    const MwInfeasibility *why, MwDiags *diags);

#endif
