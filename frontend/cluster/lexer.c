/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/cluster/lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int peek(const MwClusterLexer *lexer, uint32_t ahead)
{
    size_t at = (size_t)lexer->at + ahead;
    return at < lexer->source->bytes ? (unsigned char)lexer->source->text[at] : 0;
}

static bool at_end(const MwClusterLexer *lexer)
{
    return lexer->at >= lexer->source->bytes;
}

static bool is_word_char(int c)
{
    return c && (isalnum(c) || strchr("_./-", c));
}

/* A name begins with a letter; a path may also begin with '/', './' or '../'. */
static bool at_word(const MwClusterLexer *lexer)
{
    uint32_t dots = 0;
    while (dots < 2 && peek(lexer, dots) == '.')
        dots++;
    return isalpha(peek(lexer, 0)) || peek(lexer, dots) == '/';
}

/* Skips spaces and comments, and within brackets ends of lines. */
static void skip_blank(MwClusterLexer *lexer)
{
    while (!at_end(lexer)) {
        int c = peek(lexer, 0);
        if (c == '#')
            while (!at_end(lexer) && peek(lexer, 0) != '\n')
                lexer->at++;
        else if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && lexer->brackets > 0))
            lexer->at++;
        else
            return;
    }
}

static uint32_t digits(const MwClusterLexer *lexer, uint32_t ahead)
{
    uint32_t count = 0;
    while (isdigit(peek(lexer, ahead + count)))
        count++;
    return count;
}

/* The length of the number that begins here, in bytes; 0 if none does. */
static uint32_t number_bytes(const MwClusterLexer *lexer)
{
    uint32_t n = peek(lexer, 0) == '-' || peek(lexer, 0) == '+';
    uint32_t whole = digits(lexer, n), part = 0;
    n += whole;
    if (peek(lexer, n) == '.') {
        part = digits(lexer, n + 1);
        n += 1 + part;
    }
    if (whole + part == 0)
        return 0;
    if (peek(lexer, n) == 'e' || peek(lexer, n) == 'E') {
        uint32_t sign = peek(lexer, n + 1) == '-' || peek(lexer, n + 1) == '+';
        uint32_t exponent = digits(lexer, n + 1 + sign);
        n += exponent ? 1 + sign + exponent : 0;
    }
    return n;
}

MwClusterToken mw_cluster_lex(MwClusterLexer *lexer)
{
    skip_blank(lexer);
    MwClusterToken token = {.span = {lexer->source, lexer->at, lexer->at}};
    if (at_end(lexer))
        return token;
    const char *begin = lexer->source->text + lexer->at;
    uint32_t bytes = number_bytes(lexer);
    if (bytes) {
        token.kind = MW_CLUSTER_NUMBER;
        token.number = strtod(mw_arena_strndup(lexer->arena, begin, bytes), NULL);
    } else if (at_word(lexer)) {
        token.kind = MW_CLUSTER_WORD;
        while (is_word_char(peek(lexer, bytes)))
            bytes++;
        token.text = mw_arena_strndup(lexer->arena, begin, bytes);
    } else {
        bytes = 1;
        token.sign = *begin;
        bool ends_item = *begin == '\n' || (*begin == ',' && lexer->brackets == 0);
        token.kind = ends_item ? MW_CLUSTER_NEWLINE : MW_CLUSTER_SIGN;
        if (*begin == '[')
            lexer->brackets++;
        else if (strchr("={}", *begin)) /* no list contains these, so one was left open */
            lexer->brackets = 0;
        else if (*begin == ']' && lexer->brackets > 0)
            lexer->brackets--;
    }
    lexer->at += bytes;
    token.span.end = lexer->at;
    return token;
}
