/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of functions: those of functions.def, and the operators of ir/ops.def by their names. */
#ifndef MW_FRONTEND_FUNCTIONS_FUNCTIONS_H
#define MW_FRONTEND_FUNCTIONS_FUNCTIONS_H

#include "frontend/terms/call.h"

bool mw_function_exists(const char *name);
/* Whether it draws random numbers: its calls have streams in the order in which they are expanded
 * (random.c). */
bool mw_function_draws(const char *name);

/* The interned name of parameter k of a function of functions.def; NULL: it is another function,
 * has no such parameter, or takes any number of arguments by position. */
const char *mw_function_parameter(MwInterner *interner, const char *name, int k);

/* The call of a function while its arguments are evaluated. */
typedef struct {
    MwCall call;
    MwFormal formals[MW_MAX_FORMALS];
    int own;                                              /* formals from here on are attributes */
    MwTerm (*expand)(MwExpander *ex, const MwCall *call); /* NULL: the operator `op` itself */
    MwOp op;
} MwFunctionCall;

/* Looks the function or operator up and lists its formals, in `function->call`. False, after an
 * error, if there is none of that name. `function` must stay where it is. */
bool mw_function_begin(MwExpander *ex, MwSite site, const MwName *callee, MwFunctionCall *function);

/* What the call means, once its arguments are bound. */
MwTerm mw_function_expand(MwExpander *ex, MwFunctionCall *function);

#endif
