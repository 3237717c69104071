/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of fusion share: units on their way. */
#ifndef MW_CODEGEN_FUSE_FUSION_RULES_H
#define MW_CODEGEN_FUSE_FUSION_RULES_H

#include "codegen/fuse/fusion.h"

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    MwUnits *out;
    int32_t *reach;   /* [units] the last node of the unit and of all units that it depends on */
    int32_t *visited; /* [units] stamp of the last search */
    int32_t stamp;
} MwFusion;

static inline MwUnit *mw_fusion_unit(const MwFusion *f, int unit)
{
    return &f->out->units.at[unit];
}

/* The node that computes what operand k of `node` shows. */
static inline int mw_fusion_producer(const MwLegal *legal, const MwNode *node, int k)
{
    MwValueId root = mw_legal_root(legal, node->operands[k]);
    return mw_value(legal->graph, root)->node.index;
}

/* Whether units a and b, made one, would wait for each other through others. */
bool mw_fusion_would_cycle(MwFusion *f, int a, int b);
/* The nodes of b become nodes of a; what else a is stays. */
void mw_fusion_join(MwFusion *f, int a, int b);

/* The units of contractions take in what one call of a routine makes besides (gemm_unit.h). No kernels
 * are merged yet. */
void mw_gemm_units_absorb(MwFusion *f);

#endif
