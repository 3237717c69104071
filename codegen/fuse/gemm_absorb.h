/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of contractions take in what one call makes besides the product
 * (codegen/fuse/gemm_unit.h). */
#ifndef MW_CODEGEN_FUSE_GEMM_ABSORB_H
#define MW_CODEGEN_FUSE_GEMM_ABSORB_H

#include "codegen/fuse/joining.h"

/* To be called before any kernels are merged. */
void mw_gemm_units_absorb(MwFusion *f);

#endif
