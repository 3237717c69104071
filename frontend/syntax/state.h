/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of one parse, which the lexer and the grammar share. */
#ifndef MW_FRONTEND_SYNTAX_STATE_H
#define MW_FRONTEND_SYNTAX_STATE_H

#include "frontend/syntax/ast.h"

enum {
    MW_MAX_NESTING = 200,           /* depth of brackets inside one another, of any kind */
    MW_MAX_ERRORS = 20,             /* errors after which the rest of the file is not read */
    MW_MAX_SOURCE_BYTES = 64 << 20, /* of one file */
};

typedef struct {
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    const MwSource *source;
    MwItems items;    /* what was parsed so far */
    int first_errors; /* error count when the parse began */
    bool failed;      /* the grammar refused the last token; the driver clears it */
    bool abandoned;   /* too many errors, or too deep: the rest is not read */
} MwParse;

#endif
