/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The legal graph in the making, and what the rules of legalization (codegen/legal/legalize_rules.h) add
 * to it: nodes with the views of their results, copies and casts. */
#ifndef MW_CODEGEN_LEGAL_LEGALIZER_H
#define MW_CODEGEN_LEGAL_LEGALIZER_H

#include "codegen/legal/legal.h"
#include "ir/build.h"
#include "ir/rewrite.h"

typedef struct {
    MwValueId value[MW_TYPE_COUNT];
    MwPhase phase[MW_TYPE_COUNT];
} MwLegalForms;

typedef struct {
    MwRewrite rewrite; /* from the local graph to legal->graph */
    MwLegal *legal;
    int32_t source;   /* of nodes being added: a local node, */
    const char *name; /* and what their results are called after */
    /* Per legal value and type: its dense form of that type, made in phase `phase`, if one was
     * needed. */
    MW_VEC(MwLegalForms) forms;
    /* By phase: the last receive and the sends after it. A later receive waits for them, so that no
     * mesh waits for what another will send only after what it has not sent yet. */
    MW_VEC(MwValueId) transfers[MW_PHASE_COUNT];
} MwLegalizer;

/* Adds a node and the views of its results. A view that strides cannot express is one of a copy. */
MwNodeId mw_legal_node(MwLegalizer *l, MwNodeSpec spec);
/* The same where there is one result. */
MwValueId mw_legal_add(MwLegalizer *l, MwOp op, const MwValueId *operands, int count,
                       const MwAttr *attrs, int attr_count);
MwValueId mw_legal_reshape(MwLegalizer *l, MwValueId x, int rank, const int64_t *dim);
MwValueId mw_legal_transpose(MwLegalizer *l, MwValueId x, const int64_t *perm);
/* Of that type, and stored dense: `x` itself where it is so, else a copy. */
MwValueId mw_legal_dense(MwLegalizer *l, MwValueId x, MwType type);
/* Of that type, stored in any way. */
MwValueId mw_legal_cast(MwLegalizer *l, MwValueId x, MwType type);

const MwTensor *mw_legal_tensor(const MwLegalizer *l, MwValueId x);
const MwView *mw_legal_view(const MwLegalizer *l, MwValueId x);
/* Adds a node of the local graph whose operands are `taken` instead, in types that may be others; gives
 * its results, cast to the types they have in the local graph. */
void mw_legal_call(MwLegalizer *l, const MwNode *node, const MwValueId *taken, MwValueId *results);
/* Adds a node of the local graph as it stands, with `operands` of the legal graph; gives its results. */
void mw_legal_copy(MwLegalizer *l, const MwNode *node, const MwValueId *operands,
                   MwValueId *results);

#endif
