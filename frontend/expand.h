/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Syntax tree to IR: what the files that expand a model share.
 *
 * Every expression means a term: a constant (number, text, type, list) or a tensor, which is a
 * value of the graph. Arithmetic on constants is done at once; on tensors it adds nodes. A block is
 * expanded at each call in a frame of its own; a repeat runs its body in the frame around it, once
 * an iteration. After an error the term is NONE, which silently makes everything NONE that is
 * computed from it, so that one mistake gives one message. */
#ifndef MW_FRONTEND_EXPAND_H
#define MW_FRONTEND_EXPAND_H

#include "frontend/ast.h"
#include "frontend/frontend.h"
#include "frontend/name_map.h"

enum {
    MW_MAX_DEPTH = 1000,       /* expressions, blocks and repeats inside one another */
    MW_MAX_STEPS = 1 << 21,    /* expressions and statements expanded */
    MW_MAX_NODES = 1 << 17,    /* operators of a model */
    MW_MAX_EXPAND_ERRORS = 20, /* then expansion gives up */
};

typedef enum {
    MW_TERM_NONE, /* after an error; or an argument that was not given */
    MW_TERM_INT,
    MW_TERM_FLOAT,
    MW_TERM_BOOL,
    MW_TERM_TEXT,
    MW_TERM_TYPE,
    MW_TERM_LIST, /* also the results of what has several */
    MW_TERM_TENSOR
} MwTermKind;

typedef struct MwTerm MwTerm;
struct MwTerm {
    MwTermKind kind;
    union {
        int64_t i;
        double f;
        bool b;
        const char *text; /* interned */
        MwType type;
        struct {
            MwTerm *at;
            int count;
        } list;
        MwValueId value;
    };
};

/* A block being expanded, or the model. */
typedef struct MwFrame MwFrame;
struct MwFrame {
    MwFrame *parent; /* who called; NULL for the model */
    const MwBlock *block;
    MwSpan call;
    const char *scope; /* interned path, with the iterations of repeats */
    MwNameMap names;   /* -> MwTerm */
    MwTerm result;
};

typedef struct {
    const MwBlock *block;
    MwSpan span;
    bool active; /* being expanded */
    bool broken; /* an expansion had errors: later calls are NONE */
} MwBlockState;

typedef struct {
    MwTerm term;
    MwSpan span;
} MwSize;

typedef struct {
    MwArena *arena;
    MwInterner *interner;
    MwDiags *diags;
    MwGraph *graph;
    MwNameMap sizes;  /* -> MwSize */
    MwNameMap blocks; /* -> MwBlockState */
    MwNameMap values; /* full names of values -> last suffix tried, as intptr_t */
    MwNameMap scopes; /* paths of scopes -> the same */
    MwNameMap outputs, assigned, pinned; /* full names that are, -> MwSpan */
    MwFrame *frame;                      /* NULL while sizes are computed */
    int depth;
    int64_t steps;
    int first_errors; /* error count when the expansion began */
    int64_t next_key; /* of dropout */
    MwSpan note_span; /* of `note` */
    const char *note; /* to explain the error that comes next; NULL: none */
    MwSpan precision; /* of the statement; no source: not yet */
    bool stopped;     /* a limit was hit: everything is NONE from here */
} MwExpander;

/* ---- errors and limits (limits.c) ---- */

/* An error in the source, with a note for each block call it happened in. */
void mw_expand_error(MwExpander *ex, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
/* Explains the error that is reported next. */
void mw_expand_note(MwExpander *ex, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
/* Adds those notes to an error that something else reported. */
void mw_expand_context(MwExpander *ex);
/* Ends the expansion: a limit was passed. */
void mw_expand_stop(MwExpander *ex, MwSpan span, const char *format, ...) MW_PRINTF(3, 4);
/* Names that a mistyped one may have meant. */
typedef MW_VEC(const char *) MwKnown;
/* "; did you mean 'x'?", or "" if none is near. */
const char *mw_expand_hint(MwExpander *ex, const char *typed, const MwKnown *known);
/* Enters `name` in a map of what may be said once; after an error if it is there. */
bool mw_expand_once(MwExpander *ex, MwNameMap *said, const char *name, MwSpan span,
                    const char *what);
/* Counts `steps` of work. False if the expansion has stopped. */
bool mw_expand_charge(MwExpander *ex, MwSpan span, int64_t steps);
/* Goes one level deeper; false (and nothing to leave) beyond the limit. */
bool mw_expand_enter(MwExpander *ex, MwSpan span);
void mw_expand_leave(MwExpander *ex);

/* ---- terms (term.c) ---- */

static inline MwTerm mw_term_none(void)
{
    return (MwTerm){MW_TERM_NONE};
}
static inline MwTerm mw_term_int(int64_t i)
{
    return (MwTerm){.kind = MW_TERM_INT, .i = i};
}
static inline MwTerm mw_term_float(double f)
{
    return (MwTerm){.kind = MW_TERM_FLOAT, .f = f};
}
static inline MwTerm mw_term_bool(bool b)
{
    return (MwTerm){.kind = MW_TERM_BOOL, .b = b};
}
static inline MwTerm mw_term_text(const char *interned)
{
    return (MwTerm){.kind = MW_TERM_TEXT, .text = interned};
}
/* A tensor; NONE for no value. */
static inline MwTerm mw_term_tensor(MwValueId value)
{
    return mw_has_value(value) ? (MwTerm){.kind = MW_TERM_TENSOR, .value = value} : mw_term_none();
}
static inline bool mw_term_is_number(MwTerm term)
{
    return term.kind == MW_TERM_INT || term.kind == MW_TERM_FLOAT;
}
/* INT or FLOAT as a double. */
static inline double mw_term_number(MwTerm term)
{
    return term.kind == MW_TERM_INT ? (double)term.i : term.f;
}
/* "the number 3", "f32[8, 128]", "a list of 2": for messages. */
const char *mw_term_describe(MwExpander *ex, MwTerm term);
/* Copies `count` terms. */
MwTerm mw_term_list(MwExpander *ex, const MwTerm *at, int count);

/* What a message calls the thing wanted, and where it stands. */
typedef struct {
    const char *what; /* "'axis' of softmax" */
    MwSpan span;
} MwWant;

/* Each gives false for NONE, silently, and after an error for a term of another kind. */
bool mw_want_int(MwExpander *ex, MwTerm term, MwWant want, int64_t *value);
bool mw_want_number(MwExpander *ex, MwTerm term, MwWant want, double *value);
bool mw_want_bool(MwExpander *ex, MwTerm term, MwWant want, bool *value);
bool mw_want_text(MwExpander *ex, MwTerm term, MwWant want, const char **value);
bool mw_want_type(MwExpander *ex, MwTerm term, MwWant want, MwType *value);
bool mw_want_tensor(MwExpander *ex, MwTerm term, MwWant want, MwValueId *value);
/* An int, or a list of ints. */
bool mw_want_ints(MwExpander *ex, MwTerm term, MwWant want, int64_t **at, int *count);
/* A value of the attribute's kind. */
bool mw_want_attr(MwExpander *ex, MwTerm term, MwWant want, MwAttrKey key, MwAttr *attr);

/* ---- expressions (eval.c, fold.c) ---- */

/* How many values the context of an expression takes, and the full names that the outermost
 * operator gives to them (NULL: made up). */
typedef struct {
    const char *const *names;
    int count;
} MwTargets;

static inline MwTargets mw_one_value(void)
{
    return (MwTargets){NULL, 1};
}

MwTerm mw_eval(MwExpander *ex, const MwExpr *expr, MwTargets targets);

/* Whether the language gives `name` a meaning that no statement may change. */
bool mw_name_is_predefined(const char *name);

/* Whether `op` can be computed of constants. */
bool mw_fold_applies(MwOp op);
/* `op` on constants; NONE after an error. */
MwTerm mw_fold(MwExpander *ex, MwSpan span, MwOp op, const MwTerm *terms, int count);
MwTerm mw_fold_remainder(MwExpander *ex, MwSpan span, MwTerm a, MwTerm b);

/* ---- nodes (emit.c) ---- */

/* Where a node comes from and what its values are called. */
typedef struct {
    MwSpan span;
    MwTargets targets;
} MwSite;

/* The site of a node that the one at `site` is made of. */
static inline MwSite mw_site_inner(MwSite site)
{
    return (MwSite){site.span, mw_one_value()};
}

/* The site of value k of the `count` that the one at `site` gives. */
static inline MwSite mw_site_part(MwSite site, int k, int count)
{
    bool named = site.targets.names && site.targets.count == count;
    return (MwSite){site.span, {named ? site.targets.names + k : NULL, 1}};
}

/* Adds a node. No value if an operand has none, or after an error. */
MwValueId mw_emit(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                  int operand_count, const MwAttr *attrs, int attr_count);
/* The same for an operator of any number of results: a tensor, or a list of them. */
MwTerm mw_emit_all(MwExpander *ex, MwSite site, MwOp op, const MwValueId *operands,
                   int operand_count, const MwAttr *attrs, int attr_count);
MwValueId mw_emit_unary(MwExpander *ex, MwSite site, MwOp op, MwValueId x);
MwValueId mw_emit_binary(MwExpander *ex, MwSite site, MwOp op, MwValueId a, MwValueId b);
MwValueId mw_emit_constant(MwExpander *ex, MwSite site, MwType type, double value);
MwValueId mw_emit_transpose(MwExpander *ex, MwSite site, MwValueId x, const int64_t *perm);
MwValueId mw_emit_reshape(MwExpander *ex, MwSite site, MwValueId x, const MwTensor *shape);
MwValueId mw_emit_einsum(MwExpander *ex, MwSite site, const char *equation, MwValueId a,
                         MwValueId b);
/* Adds a source node called exactly `name`, in full. */
MwValueId mw_emit_source(MwExpander *ex, MwSpan span, const char *name, MwOp op,
                         const MwTensor *type, const MwAttr *attrs, int attr_count);
/* `op` on terms: folds constants; else turns them into constant nodes of the tensors' type. */
MwTerm mw_apply(MwExpander *ex, MwSite site, MwOp op, const MwTerm *terms, int count);
/* Turns the constants among `terms`, of which at least one is a tensor, into nodes. */
bool mw_promote(MwExpander *ex, MwSpan span, const MwTerm *terms, int count, MwValueId *values);
/* matmul.c: the operator @. */
MwValueId mw_emit_matmul(MwExpander *ex, MwSite site, MwValueId a, MwValueId b);

/* "scope.name" of the current frame. */
const char *mw_name_in_scope(MwExpander *ex, const char *name);
/* The scope of a block or repeat called `name` in the current scope: unique, maybe with a suffix.
 */
const char *mw_scope_enter_block(MwExpander *ex, const char *name);
const char *mw_scope_enter_repeat(MwExpander *ex, const char *name);
/* Keeps a name of the current scope for a declaration. */
void mw_name_reserve(MwExpander *ex, const char *name);

/* ---- calls (call.c, functions.c) ---- */

enum { MW_MAX_FORMALS = 24 }; /* of a function; a block may have any number */

typedef struct {
    MwTerm term;
    MwSpan span;
} MwGiven;

typedef struct {
    const char *name;
    bool required;
    bool rest; /* takes all positional arguments; those after it are given by name only */
} MwFormal;

/* Arguments bound to parameters. */
typedef struct {
    MwSite site;
    const char *callee;
    const MwFormal *formals;
    int formal_count;
    MwGiven *given; /* per formal; NONE where it is not given */
    MwGiven *rest;  /* for the formal that is `rest` */
    int rest_count;
    MwAttr *extra; /* attributes of the operator that the function does not mention */
    int extra_count;
} MwCall;

/* Evaluates arguments and binds them. False after an error, or if an argument is NONE. */
bool mw_call_bind(MwExpander *ex, MwCall *call, const MwArgs *args);
/* Formals from a signature such as "x axis? keep?" or "operands* axis"; returns their count. */
int mw_signature_parse(MwExpander *ex, const char *signature, MwFormal *formals);
static inline bool mw_call_has(const MwCall *call, int k)
{
    return call->given[k].term.kind != MW_TERM_NONE;
}
/* Argument k as what a message calls it. */
MwWant mw_call_want(MwExpander *ex, const MwCall *call, int k);
bool mw_call_tensor(MwExpander *ex, const MwCall *call, int k, MwValueId *value);
/* `axis`, from -rank to rank - 1, made non-negative. The fallback is taken if it is not given. */
bool mw_call_axis(MwExpander *ex, const MwCall *call, int k, MwValueId x, int fallback, int *axis);
bool mw_axis_normalize(MwExpander *ex, MwSpan span, const char *callee, MwValueId x, int64_t given,
                       int *axis);
/* The call of a function or operator; NONE and an error if there is none of that name. */
MwTerm mw_function_call(MwExpander *ex, const MwExpr *expr, MwTargets targets);
bool mw_function_exists(const char *name);

/* ---- statements (expand.c, declare.c, train.c, annotate.c) ---- */

/* The call of a block: its body expanded in a scope of its own. */
MwTerm mw_block_call(MwExpander *ex, MwBlockState *state, const MwExpr *expr);
/* Gives `name` a meaning in the current frame. */
void mw_name_bind(MwExpander *ex, MwName name, MwTerm term);
void mw_statement_declare(MwExpander *ex, const MwStatement *statement);
void mw_statement_train(MwExpander *ex, const MwStatement *statement);
/* What a statement's annotations say of the nodes it adds: phase and origin. False after an
 * error. */
bool mw_annotate_nodes(MwExpander *ex, const MwArgs *annotations);
/* The same for a statement that adds no nodes: its annotations can only be pins. */
bool mw_annotate_check_pins(MwExpander *ex, const MwArgs *annotations);
/* `[R, I]`: iteration I of entry R of the graph's repeats. */
bool mw_annotate_repeat(MwExpander *ex, const MwExpr *expr, int *repeat, int *iteration);
/* Pins on the values it names. */
void mw_annotate_values(MwExpander *ex, const MwArgs *annotations, const MwTerm *terms, int count);

/* The sizes among `items`, computed and overridden. */
void mw_sizes_compute(MwExpander *ex, const MwItems *items, const MwDefine *defines, int count);

/* Whether every statement stands where it may, and blocks return; errors for those that do not. */
bool mw_placement_check(const MwItems *items, MwDiags *diags);

/* Items to graph; NULL after errors. `items` are those of file `name` and of all it imports. */
MwGraph *mw_expand(MwArena *arena, MwInterner *interner, const char *name, const MwItems *items,
                   const MwDefine *defines, int define_count, MwDiags *diags);

#endif
