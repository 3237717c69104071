/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text to syntax tree: what lexer.l and parser.y share, and the one function the rest calls.
 *
 * The grammar ends statements with a NEWLINE token. The lexer gives one only where a statement can
 * end (after a name, a literal or a closing bracket, outside of brackets), so that a line may be
 * broken after an operator, a comma, or inside brackets. */
#ifndef MW_FRONTEND_PARSE_H
#define MW_FRONTEND_PARSE_H

#include "frontend/ast.h"

enum {
    MW_MAX_NESTING = 200, /* brackets of any kind inside one another */
    MW_MAX_ERRORS = 20,   /* then the parse gives up */
    MW_MAX_SOURCE_BYTES = 64 << 20,
};

/* The state of one parse. */
typedef struct {
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    const MwSource *source;
    MwItems items;
    int first_errors; /* error count when the parse began */
    bool abandoned;   /* too many errors, or too deep: the rest is not read */
    void *lexer;      /* MwLexer, of lexer.l */
} MwParse;

/* Adds the items of `source` to `items`, in order. False after errors; `items` then holds what
 * could be understood. `source` must outlive the tree. */
bool mw_source_parse(MwArena *arena, MwInterner *interner, const MwSource *source, MwDiags *diags,
                     MwItems *items);

#endif
