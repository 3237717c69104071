/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a unit of nodes to the kernel IR. Each operator is a small function that takes its operands
 * as scalars of the kernel and gives its results: codegen/lower_*.c. */
#ifndef MW_CODEGEN_LOWER_LOWER_H
#define MW_CODEGEN_LOWER_LOWER_H

#include "codegen/fuse/fusion.h"

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

MwLower mw_lower_begin(const MwLegal *legal, const MwUnits *units, const int32_t *buffer,
                       const MwMeshShape *mesh);
/* The kernel of a unit; its operands name buffers. */
MwKernelDef *mw_lower_unit(MwLower *l, int unit);

/* ---- For the operators ---- */

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
int mw_lower_position_arg(MwLower *l, int d, int64_t dim, int64_t stride);

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

#define LOWER(name) void mw_lower_##name(MwLower *l);
LOWER(dropout)
LOWER(cast)
LOWER(update)
LOWER(reduce)
LOWER(softmax)
LOWER(softmax_grad)
LOWER(log_softmax)
LOWER(log_softmax_grad)
LOWER(logsumexp)
LOWER(logsumexp_grad)
LOWER(layer_norm)
LOWER(layer_norm_grad)
LOWER(rms_norm)
LOWER(rms_norm_grad)
LOWER(embedding)
LOWER(pick)
LOWER(pick_grad)
LOWER(embedding_grad)
LOWER(rope)
LOWER(pad)
LOWER(concat)
#undef LOWER

#endif
