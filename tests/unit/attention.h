/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention and its gradient against plain loops in double precision, over a table of shapes. */
#ifndef MW_TESTS_UNIT_ATTENTION_H
#define MW_TESTS_UNIT_ATTENTION_H

#include "tests/unit/call.h"

/* Sizes as in runtime/plan/routines.def; `pad` elements between rows and before the first, of q, k,
 * v and their gradients. */
typedef struct {
    int64_t b, s, t, h, g, d;
    bool causal;
    int64_t position, pad;
    bool is_turned; /* a negative scale */
    int64_t window;
    double soft_cap;
    const char *mask; /* a letter of "bhst" for each dimension that it has; NULL: there is none */
    bool is_bool;     /* the mask */
    int64_t key_position, offset;
} Attention;

enum { ATTENTIONS = 43 };
extern const Attention attentions[ATTENTIONS];

/* The routine stands for that of the same kind with a mask, if the shape has one. */
Call attention_call(MwRoutine routine, const Attention *z, MwType type);

/* Runs attention and its gradients on a shape, and compares all they give: of every tensor the norm
 * of the error, relative to that of the tensor, and of f32 the error of every element, relative to
 * the largest, are at most `tolerance`. */
void attention_check(const Attention *z, MwType type, RunCall *run, double tolerance);

#endif
