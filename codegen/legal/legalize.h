/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the local graph of a mesh (passes/sharding/partition.h) to the legal graph. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZE_H
#define MW_CODEGEN_LEGAL_LEGALIZE_H

#include "codegen/legal/legal.h"

/* The legal graph lies in the arena of `local`. Nodes that no result of the program depends on
 * are left out. */
MwLegal *mw_legalize(const MwGraph *local, const MwBackendInfo *backend);

#endif
