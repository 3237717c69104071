/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms units from the nodes of a legal graph.
 *
 * Every node begins as a unit of its own. Contractions take in the nodes that their call computes
 * too (codegen/fuse/gemm_absorb.h). Then units that become kernels grow by merging
 * (codegen/fuse/kernel_merge.h), node by node in the order of the graph: a consumer with the
 * producer of an operand, and two that read the same large value not far from each other. Units
 * that merge belong to the same phase; some kernels of the forward then join the backward
 * (codegen/fuse/phase_join.h). */
#ifndef MW_CODEGEN_FUSE_FUSION_H
#define MW_CODEGEN_FUSE_FUSION_H

#include "codegen/fuse/units.h"

/* Returns the units of the graph, in its arena. `backward_follows`: the backward of a micro-batch
 * runs directly behind its forward, which may leave work to it. */
MwUnits *mw_units_form(const MwLegal *legal, bool backward_follows);

#endif
