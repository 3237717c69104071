/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a node that becomes kernel code sees its operands: the space of points it runs over, and a
 * layout over that space for each operand. The one place that knows the operators' loop structure;
 * fusion asks it what fits together, lowering asks it for addresses. */
#ifndef MW_CODEGEN_FUSE_ACCESS_H
#define MW_CODEGEN_FUSE_ACCESS_H

#include "codegen/kernel/kernel.h"
#include "codegen/legal/legal.h"

typedef struct {
    int64_t points;
    /* Points of a row, if the operator reduces along rows or down columns; 0: the points are not
     * divided into rows. */
    int64_t columns;
    /* The level of the results if the points run at POINT: POINT, ROW, COLUMN or TOTAL. */
    MwLevel result_level;
    /* The operator cannot share its space with others (rope, concat, ...), so it is a kernel by
     * itself. */
    bool is_alone;
} MwNodeSpace;

/* Whether the node becomes (part of) a kernel. */
bool mw_node_is_kernel(const MwNode *node);

MwNodeSpace mw_node_space(const MwLegal *legal, const MwNode *node);

/* Returns the layout of operand k over the points of the node; for a looked-up operand
 * (mw_node_gathers), the layout of entry 0. */
MwLayout mw_node_access(const MwLegal *legal, const MwNode *node, int k);

/* Returns the layout of result k, where it is stored, over the points of the node: dense; of what a
 * loop gives, the element of the step. */
MwLayout mw_node_store(const MwLegal *legal, const MwNode *node, int k);

/* Says whether the node needs the place of each of its points in the global tensor, as dropout and
 * uniform do. Sets `*places` to the layout of the places, which are row-major and relative to the
 * local part. */
bool mw_node_places(const MwLegal *legal, const MwNode *node, MwLayout *places);

/* Says whether operand k is looked up by an index. Sets `*stride` to the stride from one entry to
 * the next and `*entries` to the number of entries. */
bool mw_node_gathers(const MwLegal *legal, const MwNode *node, int k, int64_t *stride,
                     int64_t *entries);

/* The axes of a reduction as the kernel runs it: whether rows are reduced (the kept dimensions
 * first), or columns are. */
typedef struct {
    MwLevel level;             /* ROW, COLUMN or TOTAL */
    int64_t perm[MW_MAX_RANK]; /* of the operand's dimensions */
    int64_t columns;
} MwReduction;
MwReduction mw_node_reduction(const MwLegal *legal, const MwNode *node);

#endif
