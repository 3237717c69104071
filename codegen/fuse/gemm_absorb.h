/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of contractions take in the nodes that their call computes besides the product
 * (codegen/fuse/gemm_unit.h). */
#ifndef MW_CODEGEN_FUSE_GEMM_ABSORB_H
#define MW_CODEGEN_FUSE_GEMM_ABSORB_H

#include "codegen/fuse/joining.h"

/* Lets every contraction take in such nodes. Is called before kernels are merged. */
void mw_gemm_units_absorb(MwFusion *f);

#endif
