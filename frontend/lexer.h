/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lexer's state, between the scanner by Flex and the grammar. */
#ifndef MW_FRONTEND_LEXER_H
#define MW_FRONTEND_LEXER_H

#include "frontend/parse.h"
#include "frontend/parser.h"

/* What is no token: the lexer has reported it, and the grammar recovers without a word. */
enum { MW_TOKEN_BAD = TOKEN_MW_PARSER_error };

typedef struct {
    int kind;
    MwSpan span;
    MW_PARSER_STYPE value;
    bool line_start; /* first on its line */
} MwToken;

typedef struct {
    int kind; /* TOKEN_PAREN, TOKEN_SQUARE or TOKEN_CURLY */
    MwSpan span;
} MwOpen;

typedef struct {
    MwParse *parse;
    void *scanner;
    uint32_t offset; /* bytes read */
    bool at_line_start;
    MwToken pending; /* read, not yet given */
    bool has_pending;
    int last; /* kind of the token given last */
    uint32_t last_end;
    MwOpen open[MW_MAX_NESTING];
    int depth;
} MwLexer;

MwLexer *mw_lexer_new(MwParse *parse);
void mw_lexer_free(MwLexer *lexer);

/* Forgets the parentheses and square brackets that are open, after an error among them: the line
 * ends where it would without them. */
void mw_lexer_recover(MwLexer *lexer);

/* What the grammar calls for the next token. */
int mw_parser_lex(MW_PARSER_STYPE *value, MwSpan *span, MwParse *parse);

#endif
