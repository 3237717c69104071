/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/functions/functions.h"

#include "frontend/functions/expansions.h"

#include <string.h>

typedef struct {
    const char *name, *signature;
    MwTerm (*expand)(MwExpander *ex, const MwCall *call);
} Function;

#define COMPOSITION(name, signature, fallback, text)                                               \
    static MwTerm compose_##name(MwExpander *ex, const MwCall *call)                               \
    {                                                                                              \
        return mw_compose(ex, call, call->site, fallback, text);                                   \
    }
#define LOSS(name, signature, of_rows, text)                                                       \
    static MwTerm compose_##name(MwExpander *ex, const MwCall *call)                               \
    {                                                                                              \
        return mw_compose_loss(ex, call, of_rows, text);                                           \
    }
#include "frontend/functions/functions.def"

static const Function functions[] = {
#define FUNCTION(name, signature) {#name, signature, mw_function_##name},
#define COMPOSITION(name, signature, ...) {#name, signature, compose_##name},
#define LOSS(name, signature, ...) {#name, signature " reduction?", compose_##name},
#include "frontend/functions/functions.def"
};

static const Function *find_function(const char *name)
{
    for (int i = 0; i < MW_COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

/* Whether the operator is a function: inputs, weights and states have statements of their own. */
static bool is_callable(MwOp op)
{
    return op != MW_OP_INPUT && op != MW_OP_WEIGHT && op != MW_OP_STATE;
}

static bool find_operator(const char *name, MwOp *op)
{
    return mw_op_parse(name, op) && is_callable(*op);
}

bool mw_function_exists(const char *name)
{
    MwOp op;
    return find_function(name) || find_operator(name, &op);
}

const char *mw_function_parameter(MwInterner *interner, const char *name, int k)
{
    const Function *function = find_function(name);
    const char *word = function ? function->signature : "";
    if (strchr(word, '*'))
        return NULL;
    for (; *word && k > 0; k--)
        word += strcspn(word, " ") + (word[strcspn(word, " ")] == ' ');
    return *word ? mw_intern_n(interner, word, strcspn(word, " ?~!")) : NULL;
}

static void add_names(MwExpander *ex, MwKnown *known)
{
    for (int i = 0; i < MW_COUNT(functions); i++)
        mw_vec_push(ex->arena, known, functions[i].name);
    for (int op = 0; op < MW_OP_COUNT; op++)
        if (is_callable((MwOp)op) && !mw_op_is_distributed((MwOp)op))
            mw_vec_push(ex->arena, known, mw_op_info((MwOp)op)->name);
}

static bool has_formal(const MwFormal *formals, int count, const char *name)
{
    for (int k = 0; k < count; k++)
        if (strcmp(formals[k].name, name) == 0)
            return true;
    return false;
}

/* Appends the attributes of `op` that are not among the formals. */
static int add_attr_formals(MwExpander *ex, MwOp op, MwFormal *formals, int count)
{
    uint64_t attrs = mw_op_info(op)->attrs;
    for (int key = 0; key < MW_ATTR_COUNT; key++) {
        const char *name = mw_attr_name((MwAttrKey)key);
        if ((attrs >> key & 1) && !has_formal(formals, count, name))
            formals[count++] = (MwFormal){.name = mw_intern(ex->interner, name),
                                          .quiet = mw_attr_is_position((MwAttrKey)key) ||
                                                   mw_op_is_distributed(op)};
    }
    return count;
}

/* Reads the arguments of formals `from` on, which are attributes, into call->extra. */
static bool read_extra(MwExpander *ex, MwCall *call, int from)
{
    call->extra = MW_NEW(ex->arena, MwAttr, call->formal_count);
    for (int k = from; k < call->formal_count; k++) {
        MwAttrKey key;
        if (!mw_call_has(call, k))
            continue;
        bool known = mw_attr_parse(call->formals[k].name, &key);
        MW_ASSERT(known);
        if (!mw_want_attr(ex, call->given[k].term, mw_call_want(ex, call, k), key,
                          &call->extra[call->extra_count++]))
            return false;
    }
    return true;
}

/* An operator by its name: operands by position, attributes by name. */
static MwTerm call_operator(MwExpander *ex, const MwCall *call, MwOp op)
{
    MwTerm *terms = MW_NEW(ex->arena, MwTerm, call->rest_count);
    bool any_tensor = false;
    for (int i = 0; i < call->rest_count; i++) {
        terms[i] = call->rest[i].term;
        any_tensor |= terms[i].kind == MW_TERM_TENSOR;
    }
    int wanted = mw_op_info(op)->operands;
    if (wanted >= 0 && call->rest_count != wanted) {
        mw_expand_error(ex, call->site.span, "%s takes %d operand%s, not %d", call->callee, wanted,
                        wanted == 1 ? "" : "s", call->rest_count);
        return mw_term_none();
    }
    if (call->rest_count && !any_tensor)
        return mw_apply(ex, call->site, op, terms, call->rest_count);
    MwValueId *values = MW_NEW(ex->arena, MwValueId, call->rest_count);
    if (call->rest_count && !mw_promote(ex, call->site.span, terms, call->rest_count, values))
        return mw_term_none();
    return mw_call_emit(ex, call, op, values, call->rest_count, NULL, 0);
}

static void unknown_function(MwExpander *ex, const MwName *callee)
{
    MwKnown known = {0};
    for (int i = 0; i < ex->blocks.entries.count; i++)
        mw_vec_push(ex->arena, &known, ex->blocks.entries.at[i].name);
    add_names(ex, &known);
    const char *text = mw_foreign_text(MW_FOREIGN_CALL, callee->text);
    if (text)
        mw_expand_note(ex, mw_span_none(), "%s", text);
    mw_expand_error(ex, callee->span, "unknown function or block '%s'%s", callee->text,
                    text ? "" : mw_expand_hint(ex, callee->text, &known));
}

bool mw_function_begin(MwExpander *ex, MwSite site, const MwName *callee, MwFunctionCall *function)
{
    const Function *listed = find_function(callee->text);
    bool is_operator = find_operator(callee->text, &function->op);
    if (!listed && !is_operator) {
        unknown_function(ex, callee);
        return false;
    }
    function->expand = listed ? listed->expand : NULL;
    function->own = listed ? mw_signature_parse(ex, listed->signature, function->formals) : 1;
    if (!listed)
        function->formals[0] =
            (MwFormal){.name = mw_intern(ex->interner, "operands"), .rest = true};
    int count = is_operator ? add_attr_formals(ex, function->op, function->formals, function->own)
                            : function->own;
    function->call = (MwCall){
        .site = site, .callee = callee->text, .formals = function->formals, .formal_count = count};
    return true;
}

MwTerm mw_function_expand(MwExpander *ex, MwFunctionCall *function)
{
    MwCall *call = &function->call;
    if (!read_extra(ex, call, function->own))
        return mw_term_none();
    return function->expand ? function->expand(ex, call) : call_operator(ex, call, function->op);
}
