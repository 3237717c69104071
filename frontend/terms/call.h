/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments to parameters, the same way for functions, operators, blocks and optimizers: first
 * those by position, then those by name. */
#ifndef MW_FRONTEND_TERMS_CALL_H
#define MW_FRONTEND_TERMS_CALL_H

#include "frontend/terms/emit.h"
#include "frontend/terms/want.h"

enum { MW_MAX_FORMALS = 24 }; /* of a function; a block may have any number */

typedef struct {
    const char *name; /* interned */
    bool required;
    bool rest;    /* takes all positional arguments; those after it are given by name only */
    bool chooses; /* the first: if it is true only the second is evaluated, if false the third */
    bool quiet;   /* only dumps give it, by name: messages do not list it */
} MwFormal;

/* An argument, evaluated. */
typedef struct {
    MwTerm term;
    MwSpan span;
} MwGiven;

/* Arguments bound to parameters. The maker fills the fields up to `formal_count`. */
typedef struct {
    MwSite site;
    const char *callee;
    const MwFormal *formals;
    int formal_count;
    MwGiven *given; /* [formal_count] NONE where it is not given */
    MwGiven *rest;  /* [rest_count] for the formal that is `rest` */
    int rest_count;
    MwAttr *extra; /* [extra_count] attributes of the operator that the function does not mention */
    int extra_count;
} MwCall;

/* Formals from a signature such as "x axis? keep?" or "operands* axis"; returns their count. */
int mw_signature_parse(MwExpander *ex, const char *signature, MwFormal *formals);

/* Finds the formal of each argument, before any is evaluated: fills formal[i], with -1 after an
 * error. False after errors, of which a missing argument is one. */
bool mw_call_match(MwExpander *ex, MwCall *call, const MwArgs *args, int *formal);
/* Gives `arg`, which means `term`, to formal k. */
void mw_call_give(MwCall *call, int k, const MwArg *arg, MwTerm term);

static inline bool mw_call_has(const MwCall *call, int k)
{
    return call->given[k].term.kind != MW_TERM_NONE;
}
/* Argument k as what a message calls it. */
MwWant mw_call_want(MwExpander *ex, const MwCall *call, int k);
bool mw_call_tensor(MwExpander *ex, const MwCall *call, int k, MwValueId *value);
/* Argument k as an axis of `x`, made non-negative; `fallback` if it is not given. */
bool mw_call_axis(MwExpander *ex, const MwCall *call, int k, MwValueId x, int fallback, int *axis);
/* `given`, from -rank of `x` to rank - 1, made non-negative. */
bool mw_axis_normalize(MwExpander *ex, MwSpan span, const char *callee, MwValueId x, int64_t given,
                       int *axis);

/* Argument k, a text that must be one of `names`: its index, `fallback` if it is not given, -1
 * after an error. */
int mw_call_choice(MwExpander *ex, const MwCall *call, int k, const char *const *names, int count,
                   int fallback);
/* Argument k; `fallback` if it is not given. */
bool mw_call_flag(MwExpander *ex, const MwCall *call, int k, bool fallback, bool *value);
bool mw_call_int(MwExpander *ex, const MwCall *call, int k, int64_t fallback, int64_t *value);
bool mw_call_type(MwExpander *ex, const MwCall *call, int k, MwType fallback, MwType *value);
/* Argument k as a list of ints in the arena; empty if it is not given. */
bool mw_call_ints(MwExpander *ex, const MwCall *call, int k, int64_t **at, int *count);
bool mw_call_number(MwExpander *ex, const MwCall *call, int k, double fallback, double *value);

/* mw_emit_all with the call's extra attributes. */
MwTerm mw_call_emit(MwExpander *ex, const MwCall *call, MwOp op, const MwValueId *operands,
                    int operand_count, const MwAttr *attrs, int attr_count);

#endif
