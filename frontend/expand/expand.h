/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Syntax tree to graph. */
#ifndef MW_FRONTEND_EXPAND_EXPAND_H
#define MW_FRONTEND_EXPAND_EXPAND_H

#include "frontend/define.h"
#include "frontend/syntax/ast.h"
#include "ir/ir.h"

/* What is expanded. */
typedef struct {
    const char *name;     /* of the file */
    const MwItems *items; /* those of the file and of all it imports */
    const MwDefine *defines;
    int define_count;
} MwExpandQuery;

/* The graph of the one model among the items; NULL after errors. */
MwGraph *mw_expand(MwArena *arena, MwInterner *interner, const MwExpandQuery *query,
                   MwDiags *diags);

#endif
