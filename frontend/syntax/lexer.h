/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of a source, as the grammar wants them.
 *
 * The grammar ends statements with a NEWLINE token. The lexer gives one only where a statement can
 * end (after a name, a literal or a closing bracket, outside of brackets), so that a line may be
 * broken after an operator, a comma, or inside brackets. */
#ifndef MW_FRONTEND_SYNTAX_LEXER_H
#define MW_FRONTEND_SYNTAX_LEXER_H

#include "frontend/syntax/parser.h"
#include "frontend/syntax/state.h"

/* The kind of what is no token. The lexer has reported it; the grammar recovers without a
 * message. */
enum { MW_TOKEN_BAD = TOKEN_MW_PARSER_error };

typedef struct {
    int kind; /* TOKEN_... of the grammar */
    MwSpan span;
    MW_PARSER_STYPE value;
    bool line_start; /* first on its line */
} MwToken;

/* A bracket that is open. */
typedef struct {
    int kind; /* TOKEN_PAREN, TOKEN_SQUARE or TOKEN_CURLY */
    MwSpan span;
} MwOpen;

typedef struct {
    MwParse *parse;
    void *scanner;   /* yyscan_t of Flex */
    uint32_t offset; /* bytes read */
    bool at_line_start;
    MwToken pending; /* read, not yet given */
    bool has_pending;
    int last;          /* kind of the token given last */
    bool is_value;     /* it stands directly after '=' */
    uint32_t last_end; /* offset of its end, bytes */
    MwOpen open[MW_MAX_NESTING];
    int depth; /* brackets open */
} MwLexer;

/* Makes a lexer in the arena of the parse. mw_lexer_free frees the memory of Flex. */
MwLexer *mw_lexer_new(MwParse *parse);
void mw_lexer_free(MwLexer *lexer);

/* The next token; kind TOKEN_END at the end, and when the parse was abandoned. */
MwToken mw_lexer_next(MwLexer *lexer);

/* Forgets the parentheses and square brackets that are open, after an error among them: the line
 * ends where it would without them. */
void mw_lexer_recover(MwLexer *lexer);

#endif
