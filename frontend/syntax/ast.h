/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A .graph file as its grammar sees it: items, statements, expressions, each with its span.
 *
 * Names and strings are interned. Everything lives in the arena of the parse and does not change
 * after it. Expansion decides what names mean. */
#ifndef MW_FRONTEND_SYNTAX_AST_H
#define MW_FRONTEND_SYNTAX_AST_H

#include "base/diag.h"
#include "base/intern.h"
#include "base/vec.h"

typedef struct MwExpr MwExpr;
typedef struct MwStatement MwStatement;

/* A name, or the text of a string, where it stands in the source. */
typedef struct {
    const char *text; /* interned; NULL: none */
    MwSpan span;
} MwName;

/* An argument of a call, or an annotation; `key.text` is NULL for a positional argument. */
typedef struct {
    MwName key;
    MwExpr *value;
} MwArg;

typedef MW_VEC(MwName) MwNames;
typedef MW_VEC(MwExpr *) MwExprs;
typedef MW_VEC(MwArg) MwArgs;

/* What `[ ]` takes along a dimension: `at`, `begin:end:stride` or `...`. */
typedef struct {
    enum { MW_INDEX_ELEMENT, MW_INDEX_RANGE, MW_INDEX_REST } kind;
    MwSpan span;
    MwExpr *at;                   /* ELEMENT */
    MwExpr *begin, *end, *stride; /* RANGE; NULL: not given */
} MwIndexItem;

typedef MW_VEC(MwIndexItem) MwIndexItems;
typedef MW_VEC(MwStatement *) MwBody;

/* What a scan goes through: the elements of `value` along an axis, or a number of steps. */
typedef struct {
    MwExpr *value;
    MwName name; /* of the element of a step; text NULL: none */
} MwScanSource;

typedef MW_VEC(MwScanSource) MwScanSources;

typedef enum {
    MW_EXPR_INT,
    MW_EXPR_FLOAT,
    MW_EXPR_TEXT,
    MW_EXPR_BOOL,
    MW_EXPR_NAME,
    MW_EXPR_LIST,
    MW_EXPR_EACH,
    MW_EXPR_INDEX,
    MW_EXPR_UNARY,
    MW_EXPR_BINARY,
    MW_EXPR_CALL
} MwExprKind;

typedef enum {
    MW_UNARY_MINUS,
    MW_UNARY_NOT,
} MwUnary;

typedef enum {
    MW_BINARY_ADD,
    MW_BINARY_SUB,
    MW_BINARY_MUL,
    MW_BINARY_DIV,
    MW_BINARY_FLOOR_DIV,
    MW_BINARY_MOD,
    MW_BINARY_POW,
    MW_BINARY_MATMUL,
    MW_BINARY_LT,
    MW_BINARY_LE,
    MW_BINARY_GT,
    MW_BINARY_GE,
    MW_BINARY_EQ,
    MW_BINARY_NE,
    MW_BINARY_AND,
    MW_BINARY_OR,
} MwBinary;

struct MwExpr {
    MwExprKind kind;
    MwSpan span;
    union {
        int64_t i;
        double f;
        bool b;
        const char *text; /* TEXT, NAME: interned */
        MwExprs list;
        struct { /* EACH: [for name in over: value] */
            MwName name;
            MwExpr *over, *value;
        } each;
        struct { /* INDEX: of[items] */
            MwExpr *of;
            MwIndexItems items;
        } index;
        struct {
            MwUnary op;
            MwExpr *operand;
        } unary;
        struct {
            MwBinary op;
            MwExpr *left, *right;
        } binary;
        struct {
            MwName callee;
            MwArgs args;
        } call;
    };
};

/* `f32[batch, seq]` */
typedef struct {
    MwName name;
    MwExprs dims;
    MwSpan span;
} MwTypeExpr;

typedef enum {
    MW_STATEMENT_INPUT,
    MW_STATEMENT_WEIGHT,
    MW_STATEMENT_STATE,
    MW_STATEMENT_LET,
    MW_STATEMENT_REPEAT,
    MW_STATEMENT_REPEATED,
    MW_STATEMENT_SCAN,
    MW_STATEMENT_COLLECT,
    MW_STATEMENT_IF,
    MW_STATEMENT_RETURN,
    MW_STATEMENT_OUTPUT,
    MW_STATEMENT_SHOW,
    MW_STATEMENT_ASSIGN,
    MW_STATEMENT_PRECISION,
    MW_STATEMENT_TRAIN
} MwStatementKind;

struct MwStatement {
    MwStatementKind kind;
    MwSpan span;
    MwArgs annotations; /* after `with`; of TRAIN the options after the optimizer */
    union {
        struct { /* INPUT, WEIGHT, STATE */
            MwName name;
            MwTypeExpr type;
            MwExpr *init; /* NULL: none */
        } declare;
        struct
        { /* LET; OUTPUT, SHOW, where `value` is NULL if the statement only names its targets */
            MwNames targets;
            MwExpr *value;
        } let;
        struct {
            MwExpr *count;
            MwName index; /* text NULL: none */
            MwBody body;
        } repeat;
        struct { /* SCAN; its annotations are `axis` and `reverse` */
            MwScanSources sources;
            MwBody body;
        } scan;
        struct { /* COLLECT: the values of all steps become `target` */
            MwName target;
            MwExpr *value;
        } collect;
        struct { /* REPEATED: in a dump, a repetition that is unrolled already */
            MwName name;
            MwExpr *count;
            MwExpr *parent; /* [R, I], the iteration around it; NULL: none */
        } repeated;
        struct { /* IF */
            MwExpr *condition;
            MwBody yes, no; /* `else if` is an IF alone in `no` */
        } choice;
        MwExprs results; /* RETURN */
        struct {         /* ASSIGN: target becomes value at the end of a step */
            MwName target;
            MwExpr *value;
        } assign;
        MwExpr *precision; /* PRECISION: its name, or a call with options */
        struct {           /* TRAIN: loss WITH optimizer */
            MwExpr *loss;
            MwExpr *optimizer;
        } train;
    };
};

typedef struct {
    MwName name;
    MwExpr *fallback; /* NULL: the caller must give it */
} MwParam;

typedef MW_VEC(MwParam) MwParams;

/* A block, or the model (which has no parameters). */
typedef struct {
    MwName name;
    MwParams params;
    MwBody body;
} MwBlock;

typedef enum { MW_ITEM_SIZE, MW_ITEM_IMPORT, MW_ITEM_BLOCK, MW_ITEM_MODEL } MwItemKind;

typedef struct {
    MwItemKind kind;
    MwSpan span;
    MwName name;    /* its name; of IMPORT the path */
    MwExpr *value;  /* SIZE */
    MwBlock *block; /* BLOCK, MODEL */
} MwItem;

typedef MW_VEC(MwItem) MwItems;

#endif
