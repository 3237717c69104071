/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the nodes of a legal graph to units.
 *
 * Every node begins as a unit of its own. Contractions take in what one call of a routine makes
 * besides (codegen/fuse/gemm_absorb.h). Then units that become kernels grow by merging
 * (codegen/fuse/kernel_merge.h), node by node in the order of the graph: a consumer with the
 * producer of an operand, and two that read the same large value not far from each other. Units
 * that merge belong to the same phase. */
#ifndef MW_CODEGEN_FUSE_FUSION_H
#define MW_CODEGEN_FUSE_FUSION_H

#include "codegen/fuse/units.h"

/* In the arena of the graph. */
MwUnits *mw_units_form(const MwLegal *legal);

#endif
