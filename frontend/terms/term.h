/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Terms: what expressions mean. A term is a constant (a number, text, type or list) or a tensor,
 * which is a value of the graph. After an error it is NONE, and everything computed from a NONE is
 * NONE without a further message, so that one mistake gives one message. */
#ifndef MW_FRONTEND_TERMS_TERM_H
#define MW_FRONTEND_TERMS_TERM_H

#include "ir/ir.h"

typedef enum {
    MW_TERM_NONE, /* after an error; or an argument that was not given */
    MW_TERM_INT,
    MW_TERM_FLOAT,
    MW_TERM_BOOL,
    MW_TERM_TEXT,
    MW_TERM_TYPE,
    MW_TERM_LIST, /* also the results of an operator, function or block that has several */
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
/* A list of `at`, which it does not copy. */
static inline MwTerm mw_term_list(MwTerm *at, int count)
{
    return (MwTerm){.kind = MW_TERM_LIST, .list = {at, count}};
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
/* An INT or FLOAT as a double. */
static inline double mw_term_number(MwTerm term)
{
    return term.kind == MW_TERM_INT ? (double)term.i : term.f;
}

#endif
