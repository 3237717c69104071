/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/terms/call.h"

#include <string.h>

int mw_signature_parse(MwExpander *ex, const char *signature, MwFormal *formals)
{
    int count = 0;
    for (const char *at = signature; *at;) {
        size_t length = strcspn(at, " ?*!~");
        char mark = at[length];
        MW_ASSERT(count < MW_MAX_FORMALS);
        formals[count++] = (MwFormal){.name = mw_intern_n(ex->interner, at, length),
                                      .required = mark != '?' && mark != '~',
                                      .rest = mark == '*',
                                      .chooses = mark == '!',
                                      .quiet = mark == '~'};
        at += length + (mark && mark != ' ');
        at += strspn(at, " ");
    }
    return count;
}

/* "x, axis, keep" */
static const char *list_formals(MwExpander *ex, const MwCall *call)
{
    const char *text = "";
    for (int k = 0; k < call->formal_count; k++)
        if (!call->formals[k].quiet)
            text =
                mw_arena_printf(ex->arena, "%s%s%s%s", text, k ? ", " : "", call->formals[k].name,
                                call->formals[k].rest ? " by position" : "");
    return text;
}

static int find_formal(const MwCall *call, const char *name)
{
    for (int k = 0; k < call->formal_count; k++)
        if (strcmp(call->formals[k].name, name) == 0)
            return k;
    return -1;
}

static void unknown_key(MwExpander *ex, const MwCall *call, const MwArg *arg)
{
    MwKnown known = {0};
    for (int k = 0; k < call->formal_count; k++)
        if (!call->formals[k].quiet)
            mw_vec_push(ex->arena, &known, call->formals[k].name);
    const char *own = mw_foreign_parameter(arg->key.text, &known);
    const char *absent = mw_foreign_absent(call->callee, arg->key.text);
    const char *hint = own      ? mw_arena_printf(ex->arena, "; here it is '%s'", own)
                       : absent ? mw_arena_printf(ex->arena, ": %s", absent)
                                : mw_expand_hint(ex, arg->key.text, &known);
    if (known.count && !ex->note)
        mw_expand_note(ex, mw_span_none(), "its parameters are %s", list_formals(ex, call));
    mw_expand_error(ex, arg->key.span, "%s has no parameter '%s'%s", call->callee, arg->key.text,
                    hint);
}

static void too_many(MwExpander *ex, const MwCall *call, const MwArg *arg)
{
    if (call->formal_count)
        mw_expand_error(ex, arg->value->span, "too many arguments: %s takes %s", call->callee,
                        list_formals(ex, call));
    else
        mw_expand_error(ex, arg->value->span, "%s takes no arguments", call->callee);
}

/* The formal that positional argument `position` is for; -1: none. */
static int formal_at(const MwCall *call, int position)
{
    for (int k = 0; k <= position && k < call->formal_count; k++)
        if (call->formals[k].rest)
            return k;
    return position < call->formal_count && !call->formals[position].quiet ? position : -1;
}

/* The formal that `arg` is for; -1 after an error. */
static int match_one(MwExpander *ex, const MwCall *call, const MwArg *arg, int position,
                     const bool *seen)
{
    int k = arg->key.text ? find_formal(call, arg->key.text) : formal_at(call, position);
    if (k < 0) {
        if (arg->key.text)
            unknown_key(ex, call, arg);
        else if (position == 0 || formal_at(call, position - 1) >= 0)
            too_many(ex, call, arg);
    } else if (seen[k] && (!call->formals[k].rest || arg->key.text)) {
        mw_expand_error(ex, arg->value->span, "'%s' of %s is given twice", call->formals[k].name,
                        call->callee);
        return -1;
    }
    return k;
}

static bool check_order(MwExpander *ex, const MwArgs *args)
{
    for (int i = 1; i < args->count; i++) {
        if (args->at[i].key.text || !args->at[i - 1].key.text)
            continue;
        mw_expand_error(ex, args->at[i].value->span,
                        "arguments by position come before those by name");
        return false;
    }
    return true;
}

static bool check_required(MwExpander *ex, const MwCall *call, const bool *seen)
{
    for (int k = 0; k < call->formal_count; k++) {
        if (!call->formals[k].required || seen[k])
            continue;
        mw_expand_error(ex, call->site.span, "%s needs '%s'", call->callee, call->formals[k].name);
        return false;
    }
    return true;
}

bool mw_call_match(MwExpander *ex, MwCall *call, const MwArgs *args, int *formal)
{
    bool *seen = MW_NEW(ex->arena, bool, call->formal_count);
    bool ok = check_order(ex, args), ordered = ok;
    call->given = MW_NEW(ex->arena, MwGiven, call->formal_count);
    call->rest = MW_NEW(ex->arena, MwGiven, args->count);
    for (int i = 0; i < args->count; i++) {
        formal[i] = ordered ? match_one(ex, call, &args->at[i], i, seen) : -1;
        ok &= formal[i] >= 0;
        if (formal[i] >= 0)
            seen[formal[i]] = true;
    }
    return ok && check_required(ex, call, seen);
}

void mw_call_give(MwCall *call, int k, const MwArg *arg, MwTerm term)
{
    MwGiven given = {term, arg->value->span};
    if (call->formals[k].rest && !arg->key.text)
        call->rest[call->rest_count++] = given;
    else
        call->given[k] = given;
}

MwWant mw_call_want(MwExpander *ex, const MwCall *call, int k)
{
    return (MwWant){mw_arena_printf(ex->arena, "'%s' of %s", call->formals[k].name, call->callee),
                    call->given[k].span};
}

bool mw_call_tensor(MwExpander *ex, const MwCall *call, int k, MwValueId *value)
{
    return mw_want_tensor(ex, call->given[k].term, mw_call_want(ex, call, k), value);
}

bool mw_axis_normalize(MwExpander *ex, MwSpan span, const char *callee, MwValueId x, int64_t given,
                       int *axis)
{
    const MwTensor *tensor = mw_value_tensor(ex->graph, x);
    if (given >= -tensor->rank && given < tensor->rank) {
        *axis = (int)(given < 0 ? given + tensor->rank : given);
        return true;
    }
    char text[MW_TENSOR_TEXT_BYTES];
    mw_expand_error(ex, span, "%s has axis %lld, but %s has %d dimension%s", callee,
                    (long long)given, mw_tensor_text(tensor, text), tensor->rank,
                    tensor->rank == 1 ? "" : "s");
    return false;
}

bool mw_call_axis(MwExpander *ex, const MwCall *call, int k, MwValueId x, int fallback, int *axis)
{
    int64_t given;
    const MwSpan span = mw_call_has(call, k) ? call->given[k].span : call->site.span;
    return mw_call_int(ex, call, k, fallback, &given) &&
           mw_axis_normalize(ex, span, call->callee, x, given, axis);
}

int mw_call_choice(MwExpander *ex, const MwCall *call, int k, const char *const *names, int count,
                   int fallback)
{
    const char *text;
    if (!mw_call_has(call, k))
        return fallback;
    if (!mw_want_text(ex, call->given[k].term, mw_call_want(ex, call, k), &text))
        return -1;
    const char *all = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0)
            return i;
        all = mw_arena_printf(ex->arena, "%s%s\"%s\"", all,
                              i == 0          ? ""
                              : i < count - 1 ? ", "
                                              : " or ",
                              names[i]);
    }
    mw_expand_error(ex, call->given[k].span, "'%s' of %s may be %s, not \"%s\"",
                    call->formals[k].name, call->callee, all, text);
    return -1;
}

bool mw_call_flag(MwExpander *ex, const MwCall *call, int k, bool fallback, bool *value)
{
    *value = fallback;
    return !mw_call_has(call, k) ||
           mw_want_bool(ex, call->given[k].term, mw_call_want(ex, call, k), value);
}

bool mw_call_int(MwExpander *ex, const MwCall *call, int k, int64_t fallback, int64_t *value)
{
    *value = fallback;
    return !mw_call_has(call, k) ||
           mw_want_int(ex, call->given[k].term, mw_call_want(ex, call, k), value);
}

bool mw_call_type(MwExpander *ex, const MwCall *call, int k, MwType fallback, MwType *value)
{
    *value = fallback;
    return !mw_call_has(call, k) ||
           mw_want_type(ex, call->given[k].term, mw_call_want(ex, call, k), value);
}

bool mw_call_ints(MwExpander *ex, const MwCall *call, int k, int64_t **at, int *count)
{
    *count = 0;
    *at = NULL;
    return !mw_call_has(call, k) ||
           mw_want_ints(ex, call->given[k].term, mw_call_want(ex, call, k), at, count);
}

bool mw_call_number(MwExpander *ex, const MwCall *call, int k, double fallback, double *value)
{
    *value = fallback;
    return !mw_call_has(call, k) ||
           mw_want_number(ex, call->given[k].term, mw_call_want(ex, call, k), value);
}

MwTerm mw_call_emit(MwExpander *ex, const MwCall *call, MwOp op, const MwValueId *operands,
                    int operand_count, const MwAttr *attrs, int attr_count)
{
    int count = attr_count + call->extra_count;
    MwAttr *all = MW_NEW(ex->arena, MwAttr, count);
    for (int i = 0; i < count; i++)
        all[i] = i < attr_count ? attrs[i] : call->extra[i - attr_count];
    return mw_emit_all(ex, call->site, op, operands, operand_count, all, count);
}
