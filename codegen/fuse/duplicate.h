/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Duplication: kernels that compute a cheap value for themselves instead of loading it.
 *
 * A value that kernels of one phase take from another unit is stored by the one and loaded by the
 * others. Where it is a short chain of element-wise operators on few other values that lie in
 * memory anyway, its *bases*, each of those kernels may load the bases instead. A cast of a
 * convolution from 16 bits to 32 is then never stored, and neither is its distance from the mean:
 * the kernels that sum, square and normalize load the 16 bits. (XLA calls it fusion with
 * duplication.)
 *
 * Time and memory grow with the operands of the graph and with its copies: each kernel has at most
 * one of a value, with one result, and codegen/tuning.def bounds the operands of a kernel. */
#ifndef MW_CODEGEN_FUSE_DUPLICATE_H
#define MW_CODEGEN_FUSE_DUPLICATE_H

#include "codegen/fuse/units.h"

/* Given `units` of *legal, returns units with less to load and store and sets *legal to their
 * graph, which has a copy of a value for each kernel that computes it for itself. Without such
 * values both stay as they are. */
MwUnits *mw_units_duplicate(const MwLegal **legal, MwUnits *units);

#endif
