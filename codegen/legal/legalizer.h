/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of legalization, and the functions by which its rules
 * (codegen/legal/legalize_rules.h) add to the legal graph: nodes with the views of their
 * results, copies and casts. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZER_H
#define MW_CODEGEN_LEGAL_LEGALIZER_H

#include "codegen/legal/legal.h"
#include "cost/cost.h"
#include "ir/build.h"
#include "ir/rewrite.h"

typedef struct {
    MwValueId value[MW_TYPE_COUNT];
    MwPhase phase[MW_TYPE_COUNT];
} MwLegalForms;

/* The terms of sums that are not stored by themselves (codegen/legal/legalize_onto.h). */
typedef struct {
    const MwGraph *local;
    MwLoops loops;      /* of the local graph */
    int32_t *uses;      /* [values] operands that are a value; one more if it leaves the graph */
    bool *is_read_soon; /* [values] a node of the phase in which a value is made reads it */
    bool *is_taken; /* [nodes] the node has no form of its own: the sum that reads it makes it */
} MwOnto;

typedef struct {
    MwRewrite rewrite; /* from the local graph to legal->graph */
    MwLegal *legal;
    const MwCostModel *model;
    bool spends_memory; /* on copies that only save time */
    MwArena *scratch;   /* for what is not needed when the legal graph is there */
    const MwOnto *onto;
    const int32_t *kept_assign; /* mw_find_kept_casts; NULL: no copies are kept */
    int32_t source;             /* the local node that nodes are being added for */
    const char *name;           /* the name that their results are named after */
    /* For each legal value and type that was needed dense: the dense value, and the phase that
     * it was made in. */
    MW_VEC(MwLegalForms) forms;
    /* For each phase, the last receive and the sends after it. A later receive depends on them:
     * the other mesh may need what they send before it sends what is received. */
    MW_VEC(MwValueId) transfers[MW_PHASE_COUNT];
} MwLegalizer;

/* Adds a node and the views of its results. A view that strides cannot express is one of a copy. */
MwNodeId mw_legal_node(MwLegalizer *l, MwNodeSpec spec);
/* Adds a node with one result, as mw_legal_node does, and returns the result. */
MwValueId mw_legal_add(MwLegalizer *l, MwOp op, const MwValueId *operands, int count,
                       const MwAttr *attrs, int attr_count);
MwValueId mw_legal_reshape(MwLegalizer *l, MwValueId x, int rank, const int64_t *dim);
MwValueId mw_legal_transpose(MwLegalizer *l, MwValueId x, const int64_t *perm);
/* The value `x` as `type`, stored dense: `x` itself if it is that already, otherwise a copy. */
MwValueId mw_legal_dense(MwLegalizer *l, MwValueId x, MwType type);
/* The value `x` as `type`, in any layout. */
MwValueId mw_legal_cast(MwLegalizer *l, MwValueId x, MwType type);

const MwTensor *mw_legal_tensor(const MwLegalizer *l, MwValueId x);
const MwView *mw_legal_view(const MwLegalizer *l, MwValueId x);
/* Adds a node of the local graph with the operands `taken`, whose types may differ from the
 * local ones, and after them what it waits for (the operator `run_after`); stores its results, cast
 * to the types that they have in the local graph. */
void mw_legal_call(MwLegalizer *l, const MwNode *node, const MwValueId *taken, MwValueId *results);
/* Adds a copy of a node of the local graph, with `operands` of the legal graph; stores its
 * results. */
void mw_legal_copy(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                   MwValueId *results);

#endif
