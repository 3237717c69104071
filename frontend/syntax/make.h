/* SPDX-License-Identifier: GPL-3.0-or-later */
/* New expressions and statements of a syntax tree, in the arena of the tree. */
#ifndef MW_FRONTEND_SYNTAX_MAKE_H
#define MW_FRONTEND_SYNTAX_MAKE_H

#include "frontend/syntax/ast.h"

MwExpr *mw_new_expr(MwArena *arena, MwExprKind kind, MwSpan span);
MwExpr *mw_new_unary(MwArena *arena, MwUnary op, MwExpr *operand, MwSpan span);
MwExpr *mw_new_binary(MwArena *arena, MwBinary op, MwExpr *left, MwExpr *right);
MwExpr *mw_new_name(MwArena *arena, MwExprKind kind, MwName name);
MwExpr *mw_new_each(MwArena *arena, MwName name, MwExpr *over, MwExpr *value, MwSpan span);
MwExpr *mw_new_index(MwArena *arena, MwExpr *of, const MwIndexItems *items, MwSpan span);
MwExpr *mw_new_call(MwArena *arena, MwName callee, const MwArgs *args, MwSpan span);
MwStatement *mw_new_statement(MwArena *arena, MwStatementKind kind, MwSpan span);
MwStatement *mw_new_declare(MwArena *arena, MwStatementKind kind, MwName name, MwTypeExpr type,
                            MwExpr *init);
MwStatement *mw_new_choice(MwArena *arena, MwExpr *condition, const MwBody *yes, const MwBody *no);

#endif
