/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tokens of cluster files. Ends of lines and commas separate items, but not within [ ]. */
#ifndef MW_FRONTEND_CLUSTER_LEXER_H
#define MW_FRONTEND_CLUSTER_LEXER_H

#include "base/diag.h"

typedef enum {
    MW_CLUSTER_END,
    MW_CLUSTER_NEWLINE, /* an end of line or a comma, outside of [ ] */
    MW_CLUSTER_WORD,    /* a letter, then letters, digits and _ . / - */
    MW_CLUSTER_NUMBER,  /* 12, -1.5, 2e9 */
    MW_CLUSTER_SIGN,    /* one of { } [ ] = : , or a character that is none of the above */
} MwClusterTokenKind;

typedef struct {
    MwClusterTokenKind kind;
    MwSpan span;
    const char *text; /* WORD: in the arena */
    double number;
    char sign;
} MwClusterToken;

typedef struct {
    MwArena *arena;
    const MwSource *source;
    uint32_t at;
    int brackets; /* [ open */
} MwClusterLexer;

MwClusterToken mw_cluster_lex(MwClusterLexer *lexer);

#endif
