/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a unit of nodes to the kernel IR. */
#ifndef MW_CODEGEN_LOWER_LOWER_H
#define MW_CODEGEN_LOWER_LOWER_H

#include "codegen/lower/lower_node.h"

MwLower mw_lower_begin(const MwLegal *legal, const MwUnits *units, const int32_t *buffer,
                       const MwMeshShape *mesh);
/* The kernel of a unit, in `arena`; its operands are named by their buffers. */
MwKernelDef *mw_lower_unit(MwLower *l, int unit, MwArena *arena);

#endif
