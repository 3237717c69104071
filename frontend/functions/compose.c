/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that are compositions of element-wise operators, from their texts in functions.def:
 *
 *     expression = number | parameter | operator "(" expression ("," expression)* ")"
 *
 * The texts are part of the compiler, so that a mistake in one is an assertion. */
#include "frontend/functions/expansions.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    MwExpander *ex;
    const MwCall *call;
    double fallback; /* of parameters that are not given */
    const char *at;  /* what is left of the text */
} Composition;

static void skip(Composition *c, char wanted)
{
    MW_ASSERT(*c->at == wanted);
    c->at += 1 + strspn(c->at + 1, " ");
}

static MwTerm number(Composition *c)
{
    char *end;
    const double value = strtod(c->at, &end);
    const bool is_whole = !memchr(c->at, '.', (size_t)(end - c->at));
    c->at = end;
    return is_whole ? mw_term_int((int64_t)value) : mw_term_float(value);
}

static MwTerm parameter(Composition *c, const char *name)
{
    for (int k = 0; k < c->call->formal_count; k++)
        if (strcmp(c->call->formals[k].name, name) == 0)
            return mw_call_has(c->call, k) ? c->call->given[k].term : mw_term_float(c->fallback);
    MW_UNREACHABLE();
}

enum { MOST_OPERANDS = 3 };

/* Adds the nodes of an expression, of which the last one stands at `site`. */
static MwTerm expression(Composition *c, MwSite site)
{
    if (strchr("-0123456789", *c->at))
        return number(c);
    const size_t length = strspn(c->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    const char *name = mw_arena_strndup(c->ex->arena, c->at, length);
    c->at += length;
    if (*c->at != '(')
        return parameter(c, name);
    MwTerm terms[MOST_OPERANDS];
    int count = 0;
    bool whole = true;
    do {
        MW_ASSERT(count < MOST_OPERANDS);
        skip(c, count ? ',' : '(');
        terms[count] = expression(c, mw_site_inner(site));
        whole &= terms[count++].kind != MW_TERM_NONE;
    } while (*c->at == ',');
    skip(c, ')');
    MwOp op;
    const bool known = mw_op_parse(name, &op);
    MW_ASSERT(known && mw_op_info(op)->operands == count);
    return whole ? mw_apply(c->ex, site, op, terms, count) : mw_term_none();
}

MwTerm mw_compose(MwExpander *ex, const MwCall *call, MwSite site, double fallback,
                  const char *text)
{
    Composition composition = {ex, call, fallback, text};
    const MwTerm term = expression(&composition, site);
    MW_ASSERT(!*composition.at);
    return term;
}
