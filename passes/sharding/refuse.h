/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error messages for a graph without a sharding on a mesh, with notes on what would help. */
#ifndef MW_PASSES_SHARDING_REFUSE_H
#define MW_PASSES_SHARDING_REFUSE_H

#include "passes/sharding/intra_problem.h"

/* Reports that a device needs at least `needed_bytes` but has `memory_bytes`. The notes name the
 * largest values, by the proof `why` (NULL: there is none), and more devices or micro-batches if
 * they help. */
void mw_refuse_memory(const MwIntraProblem *problem, int64_t memory_bytes, int64_t needed_bytes,
                      const MwInfeasibility *why, MwDiags *diags);

/* Reports that pins exclude one another. The notes name the nodes in `why`, which have no common
 * sharding, their pins, and one pin without which there is a sharding. */
void mw_refuse_pins(const MwIntraProblem *problem, const MwCluster *cluster,
                    const MwInfeasibility *why, MwDiags *diags);

#endif
