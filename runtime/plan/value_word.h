/* SPDX-License-Identifier: MIT */
/* What the kinds of values of value.h have in common: the heads of their functions, and numbers in
 * words. */
#ifndef MW_RUNTIME_PLAN_VALUE_WORD_H
#define MW_RUNTIME_PLAN_VALUE_WORD_H

#include "runtime/plan/plan.h"

/* The functions of a kind, which has no use for some of their arguments. */
#define PRINT(name)                                                                                \
    static void name(MwText *text, const MwPlanScope *scope, const void *at, const void *more)
#define PARSE(name)                                                                                \
    static const char *name(const MwPlanScope *scope, const char *word, void *at, void *more)

/* Each reads the whole word; false if it is no such number. */
bool mw_word_integer(const char *word, int64_t least, int64_t most, int64_t *value);
bool mw_word_int(const char *word, int least, int *value); /* least to INT_MAX */
bool mw_word_double(const char *word, double *value);

#endif
