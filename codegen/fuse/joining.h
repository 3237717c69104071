/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units in the making: two are joined where neither would then wait for the other through a
 * third. The tables grow with the operands of the graph. */
#ifndef MW_CODEGEN_FUSE_JOINING_H
#define MW_CODEGEN_FUSE_JOINING_H

#include "codegen/fuse/units.h"

typedef struct {
    MwArena *arena;
    const MwLegal *legal;
    MwUnits *out;
    int32_t *reach;      /* [units] the last node of the unit and of all units that it depends on */
    int32_t *loop_reach; /* [loops] the greatest of their units */
    /* The nodes of units that read results of node n: at[begin[n]] to at[begin[n + 1] - 1]. */
    struct {
        int32_t *at, *begin;
    } readers;
    MW_VEC(int32_t) raised; /* units whose reach has grown, and whose readers are to follow */
    int32_t *visited;       /* [units] stamp of the last search */
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

/* The state of a fusion in which every node of a unit has one of its own, to which `out` has been
 * set. */
MwFusion mw_fusion_begin(const MwLegal *legal, MwUnits *out);

/* Whether units a and b, made one, would wait for each other through others. */
bool mw_fusion_would_cycle(MwFusion *f, int a, int b);
/* The nodes of b become nodes of `into`, in the order of the graph. */
void mw_fusion_take_nodes(const MwFusion *f, MwUnit *into, const MwUnit *b);
/* The nodes of unit b become nodes of a, whose other members stay as they are; b is left without
 * nodes. */
void mw_fusion_join(MwFusion *f, int a, int b);

#endif
