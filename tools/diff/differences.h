/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What two plans differ in, as a list that every format prints. */
#ifndef MW_TOOLS_DIFF_DIFFERENCES_H
#define MW_TOOLS_DIFF_DIFFERENCES_H

#include "base/text.h"
#include "base/vec.h"
#include "runtime/plan/plan.h"

typedef enum {
    MW_DIFF_PLAN,
    MW_DIFF_PREDICTION,
    MW_DIFF_STAGES,
    MW_DIFF_MESHES,
    MW_DIFF_COMMUNICATION,
    MW_DIFF_OPERATORS,
    MW_DIFF_WEIGHTS,
    MW_DIFF_PROGRAMS,
    MW_DIFF_SECTION_COUNT,
} MwDiffSection;

const char *mw_diff_section_name(MwDiffSection section);

/* One thing that differs. Where a plan lacks what the other has, its text is NULL. */
typedef struct {
    MwDiffSection section;
    const char *name; /* of the operator, weight, stage ...; "" where the section has one */
    const char *what; /* "spec" */
    const char *a, *b;
    bool has_numbers; /* a_number and b_number are what the texts say: counts, bytes or seconds */
    double a_number, b_number;
} MwDifference;

typedef struct {
    MwArena *arena;
    MwDiffSection section; /* of what is added */
    const char *name;
    MW_VEC(MwDifference) all;
} MwDifferences;

/* Each adds a difference unless both are equal. Texts, which may be NULL; numbers by their kind. */
void mw_diff_text(MwDifferences *to, const char *what, const char *a, const char *b);
void mw_diff_count(MwDifferences *to, const char *what, int64_t a, int64_t b);
void mw_diff_bytes(MwDifferences *to, const char *what, int64_t a, int64_t b);
void mw_diff_seconds(MwDifferences *to, const char *what, double a, double b);

/* Names of things of a plan. Those of one name and kind are told apart by their order. */
typedef struct {
    const char *name, *kind;
} MwDiffKey;

/* [a_count], in `arena`: the index among b of what has the same key; -1: none has. */
int *mw_diff_match(MwArena *arena, const MwDiffKey *a, int a_count, const MwDiffKey *b,
                   int b_count);

/* Compares two plans section by section (compare.c), and what they say of operators, weights and
 * communication (compare_operators.c). Both have passed mw_plan_check. */
void mw_diff_plans(MwDifferences *to, const MwPlan *a, const MwPlan *b);
void mw_diff_operators(MwDifferences *to, const MwPlan *a, const MwPlan *b);
void mw_diff_weights(MwDifferences *to, const MwPlan *a, const MwPlan *b);
void mw_diff_communication(MwDifferences *to, const MwPlan *a, const MwPlan *b);

/* The formats. */
void mw_diff_print_text(MwText *text, const MwDifferences *differences, bool all);
void mw_diff_print_json(MwText *text, const MwDifferences *differences, const char *const paths[2]);

#endif
