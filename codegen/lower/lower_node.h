/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rules of lowering (codegen/lower/lower_rules.h) work with: the node being lowered, its operands
 * as scalars of the kernel, and the instructions that a rule adds to the kernel. */
#ifndef MW_CODEGEN_LOWER_LOWER_NODE_H
#define MW_CODEGEN_LOWER_LOWER_NODE_H

#include "codegen/fuse/units.h"

typedef struct {
    const MwLegal *legal;
    const MwUnits *units;
    const int32_t *buffer; /* [values] buffer of each stored root */
    const MwMeshShape *mesh;
    /* Of the unit at hand. */
    const MwUnit *unit;
    MwKernelDef *kernel;
    MwRef *ref; /* [values] the scalar of each value computed so far; -1: none */
    int node;   /* being lowered */
    MwLevel level;
} MwLower;

static inline const MwNode *mw_lower_node(const MwLower *l)
{
    return &l->legal->graph->nodes.at[l->node];
}

const MwTensor *mw_lower_operand_tensor(const MwLower *l, int k);
const MwTensor *mw_lower_result_tensor(const MwLower *l, int k);

/* Operand k of the node. */
MwRef mw_lower_operand(MwLower *l, int k);
/* Result k of the node; stored if it must be. */
void mw_lower_result(MwLower *l, int k, MwRef value);

/* `text` over the inputs. */
MwRef mw_lower_expr(MwLower *l, MwScalar type, int flops, const char *text, int count, ...);
MwRef mw_lower_constant(MwLower *l, MwScalar type, double value);
/* A reduction of a value: of a POINT to a ROW or COLUMN, of a ROW to a TOTAL. */
MwRef mw_lower_fold(MwLower *l, MwKernelOp op, MwRef value);
/* A scalar argument of the kernel. */
MwRef mw_lower_arg(MwLower *l, MwPlanArgKind kind);
/* The number that `layout`, over the points of the node, gives as a place. `args` are added. */
MwRef mw_lower_index(MwLower *l, const MwLayout *layout, const int *args, int arg_count);
/* The argument that is `stride` times the position, along dimension d, of the first of the `dim`
 * elements that this device holds there of the tensor that the node's origin and split describe.
 * -1: always 0. */
int mw_lower_position_arg(MwLower *l, const MwNode *node, int d, int64_t dim, int64_t stride);
/* An index into the whole of dimension `axis`, less the position of the first of the `entries` that this
 * device holds there. */
MwRef mw_lower_local_index(MwLower *l, MwRef index, int axis, int64_t entries);

/* A literal that reads back as the same number of that type. */
const char *mw_lower_literal(MwArena *arena, MwScalar type, double value);

/* Operators that are alone in their kernel make their own nests. */
MwNest *mw_lower_nest(MwLower *l, const int64_t *size, int dim_count, int row_dims);
/* Element of `layout`, whose dimensions must be those of the nest's space after cutting. */
MwAffine mw_lower_affine(MwLower *l, const MwLayout *layout);
MwRef mw_lower_load_at(MwLower *l, MwValueId root, const MwAffine *at);
void mw_lower_store_at(MwLower *l, MwValueId root, const MwAffine *at, MwRef value);
/* Adds to the element `row` * `stride` further. */
void mw_lower_add_at(MwLower *l, MwValueId root, const MwAffine *at, int64_t stride, MwRef row,
                     MwRef value);

#endif
