/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of formatted text, with the places where it may be broken; and expressions on it. */
#ifndef MW_FRONTEND_SYNTAX_PRINT_LINE_H
#define MW_FRONTEND_SYNTAX_PRINT_LINE_H

#include "base/text.h"
#include "frontend/syntax/ast.h"

enum { MW_PRINT_COLUMNS = 100 };

/* A place behind a comma or an operator. */
typedef struct {
    size_t at;      /* offset in the text of what follows */
    int depth;      /* brackets open there */
    bool is_inside; /* it is behind an operator */
} MwLineBreak;

/* {.text.arena = a} is an empty line. */
typedef struct {
    MwText text; /* without indentation */
    MW_VEC(MwLineBreak) breaks;
    int depth;
} MwLine;

/* Marks that the line may be broken here: adds a space, which goes if it is. */
void mw_line_may_break(MwLine *line);
void mw_line_add_expr(MwLine *line, const MwExpr *expr);
void mw_line_add_exprs(MwLine *line, const MwExprs *exprs);
/* `key = value, ...` */
void mw_line_add_args(MwLine *line, const MwArgs *args);

/* Adds an expression, on one line. */
void mw_expr_print(MwText *text, const MwExpr *expr);

/* Adds the line to `out`, indented by `indent` columns and broken where it is too long, and
 * empties it. */
void mw_line_end(MwLine *line, MwText *out, int indent);

#endif
