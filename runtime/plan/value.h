/* SPDX-License-Identifier: MIT */
/* The kinds of values that the fields of a plan hold, each as one pair of functions: how it is
 * written and how it is read. A value is one word of a line: spaces stand only inside quotes and
 * brackets.
 *
 * Invariant: reading what was written gives the same value. */
#ifndef MW_RUNTIME_PLAN_VALUE_H
#define MW_RUNTIME_PLAN_VALUE_H

#include "runtime/plan/plan.h"

/* What values refer to by name. */
typedef struct {
    const MwPlan *plan;
    const MwPlanMesh *mesh; /* the one being written or read; NULL outside */
    MwArena *arena;         /* of what is read */
} MwPlanScope;

/* `more` is the second place that some kinds need, in the same record: the count of a list, the
 * tensor that a spec is of. */
typedef struct {
    void (*print)(MwText *text, const MwPlanScope *scope, const void *at, const void *more);
    /* NULL, or what was expected instead of `word`. */
    const char *(*parse)(const MwPlanScope *scope, const char *word, void *at, void *more);
    bool is_flag; /* the name alone, where the value is true */
} MwPlanKind;

extern const MwPlanKind mw_plan_count;             /* int from 0 */
extern const MwPlanKind mw_plan_index;             /* int from -1 */
extern const MwPlanKind mw_plan_size;              /* int64_t from 0 */
extern const MwPlanKind mw_plan_number;            /* double */
extern const MwPlanKind mw_plan_flag;              /* bool */
extern const MwPlanKind mw_plan_string;            /* const char * */
extern const MwPlanKind mw_plan_type;              /* MwType */
extern const MwPlanKind mw_plan_tensor;            /* MwTensor */
extern const MwPlanKind mw_plan_spec;              /* MwSpec; more: MwTensor it is of */
extern const MwPlanKind mw_plan_own_spec;          /* MwSpec; more: int, its rank, read from it */
extern const MwPlanKind mw_plan_same_spec;         /* MwSpec; more: int, its rank, known already */
extern const MwPlanKind mw_plan_shape;             /* MwMeshShape */
extern const MwPlanKind mw_plan_combine;           /* MwCombine */
extern const MwPlanKind mw_plan_init;              /* MwInit */
extern const MwPlanKind mw_plan_kernel;            /* int, index into MwPlan.kernels, by name */
extern const MwPlanKind mw_plan_routine;           /* int, MwRoutine */
extern const MwPlanKind mw_plan_collective;        /* int, MwCollective */
extern const MwPlanKind mw_plan_program;           /* int, index into MwPlanMesh.programs */
extern const MwPlanKind mw_plan_operands;          /* MwPlanOperand *; more: int, their count */
extern const MwPlanKind mw_plan_args;              /* MwPlanArg *; more: int, their count */
extern const MwPlanKind mw_plan_counts;            /* int *, each from 0; more: int, their count */
extern const MwPlanKind mw_plan_operator_operands; /* MwPlanOperatorOperand *; more: int */

#endif
