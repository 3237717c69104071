/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions by which the rules of lowering (codegen/lower/lower_rules.h) read the node being
 * lowered, get its operands as scalars of the kernel, and add instructions to the kernel. */
#ifndef MW_CODEGEN_LOWER_LOWER_NODE_H
#define MW_CODEGEN_LOWER_LOWER_NODE_H

#include "codegen/fuse/units.h"

typedef struct {
    const MwLegal *legal;
    const MwUnits *units;
    const int32_t *buffer; /* [values] buffer of each stored root */
    const MwMeshShape *mesh;
    /* The unit being lowered. */
    const MwUnit *unit;
    MwKernelDef *kernel;
    MwRef *ref; /* [values] the scalar of each value that the kernel has computed; -1: none */
    int node;   /* index of the node being lowered */
    MwLevel level;
} MwLower;

static inline const MwNode *mw_lower_node(const MwLower *l)
{
    return &l->legal->graph->nodes.at[l->node];
}

const MwTensor *mw_lower_operand_tensor(const MwLower *l, int k);
const MwTensor *mw_lower_result_tensor(const MwLower *l, int k);

/* The scalar of operand k of the node. */
MwRef mw_lower_operand(MwLower *l, int k);
/* Makes `value` result k of the node, and stores it if another unit needs it. */
void mw_lower_result(MwLower *l, int k, MwRef value);

/* An instruction that evaluates `text`, an expression of the inputs. */
MwRef mw_lower_expr(MwLower *l, MwScalar type, int flops, const char *text, int count, ...);
/* `text`, an expression of the scalar of `type`, brought to the range of that type, as it is when
 * it is stored: of integers of 8 bits the low bits. */
const char *mw_lower_in_range(MwLower *l, MwType type, const char *text);
MwRef mw_lower_constant(MwLower *l, MwScalar type, double value);
/* A reduction: from a POINT to a ROW or a COLUMN, or from a ROW to a TOTAL. */
MwRef mw_lower_fold(MwLower *l, MwKernelOp op, MwRef value);
/* A scalar argument of the kernel. */
MwRef mw_lower_arg(MwLower *l, MwPlanArgKind kind);
/* The offset that `layout` gives at the point, as a number, plus the arguments `args`. */
MwRef mw_lower_index(MwLower *l, const MwLayout *layout, const int *args, int arg_count);
/* The argument that is `stride` times the position, along dimension d, of the first of the `dim`
 * elements that this device holds there of the tensor that the node's origin and split describe.
 * -1: always 0. */
int mw_lower_position_arg(MwLower *l, const MwNode *node, int d, int64_t dim, int64_t stride);
/* Turns an index into the global dimension `axis` into one into the `entries` that this device
 * holds. */
MwRef mw_lower_local_index(MwLower *l, MwRef index, int axis, int64_t entries);

/* A literal of C that has exactly this value in its type. */
const char *mw_lower_literal(MwArena *arena, MwScalar type, double value);

/* Adds a nest, for operators with loops of their own. */
MwNest *mw_lower_nest(MwLower *l, const int64_t *size, int dim_count, int row_dims);
/* The address of an element in `layout`, whose dimensions must be those of the nest's space
 * after cutting. */
MwAffine mw_lower_affine(MwLower *l, const MwLayout *layout);
MwRef mw_lower_load_at(MwLower *l, MwValueId root, const MwAffine *at);
void mw_lower_store_at(MwLower *l, MwValueId root, const MwAffine *at, MwRef value);
/* Adds an effect at the element `row` * `stride` after `at`, unless `row` is negative: an
 * instruction MW_KERNEL_ADD adds `value` there, an instruction MW_KERNEL_STORE writes it. */
void mw_lower_effect_at(MwLower *l, MwKernelOp op, MwValueId root, const MwAffine *at,
                        int64_t stride, MwRef row, MwRef value);
/* Whether the result of the node is written over operand k. */
bool mw_lower_is_over(const MwLower *l, int k);
/* Notes that the kernel needs operand k, over which the result is written, as it was. */
void mw_lower_keep_rest(MwLower *l, int k);

#endif
