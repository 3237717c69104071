/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which the elements of a row are added up in C: in lanes, element e in lane e mod
 * MW_SUM_LANES, of which the upper half is added to the lower until one is left; that for every
 * block of MW_SUM_BLOCK elements. The functions of codegen/print/prelude.h that add up lanes
 * (mw_fold_sum_f32 ...) are written for so many. */
#ifndef MW_CODEGEN_KERNEL_SUMS_H
#define MW_CODEGEN_KERNEL_SUMS_H

enum { MW_SUM_LANES = 32, MW_SUM_BLOCK = 4096 };

#endif
