/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Terms as values of a wanted kind, with an error where they are of another. */
#ifndef MW_FRONTEND_TERMS_WANT_H
#define MW_FRONTEND_TERMS_WANT_H

#include "frontend/terms/expander.h"

/* What messages call a term: "the number 3", "f32[8, 128]", "a list of 2". */
const char *mw_term_describe(MwExpander *ex, MwTerm term);

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
/* An int, or a list of ints, in the arena. */
bool mw_want_ints(MwExpander *ex, MwTerm term, MwWant want, int64_t **at, int *count);
/* A value of the attribute's kind. */
bool mw_want_attr(MwExpander *ex, MwTerm term, MwWant want, MwAttrKey key, MwAttr *attr);

#endif
