/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts of ir/optimizers.def and ir/hyperparameters.def as tables, and what a train statement
 * says of a weight by its name. */
#ifndef MW_IR_OPTIMIZER_H
#define MW_IR_OPTIMIZER_H

#include "ir/ir.h"

typedef struct {
    MwAttrKey key;
    double fallback; /* default, if the train statement does not give it */
} MwOptimizerOption;

typedef struct {
    MwOp op;                 /* MW_OP_COUNT: the step is composed of others, and sets no more here
                              * than its name and options */
    const char *source;      /* its name in a train statement; several optimizers may share it */
    int needs;               /* the attribute that must not be zero; -1: none */
    int state_count;         /* tensors in the shape of the weight, f32, zeros at first */
    const char *state_names; /* separated by spaces: "m v" */
    bool takes_step;         /* the last operand of `op` is the number of the step */
    bool gives_change;       /* first result: a change that the update scales, not the new weight */
    bool rests_without_decay; /* a gradient of 0 and no weight decay: nothing changes */
    int option_count;
    const MwOptimizerOption *options;
    const char *program; /* code of the step of one element (ir/optimizers.def) */
} MwOptimizerInfo;

const MwOptimizerInfo *mw_optimizer_info(MwOptimizer optimizer);

/* The first optimizer with that name in a train statement; false if there is none. */
bool mw_optimizer_parse(const char *source, MwOptimizer *optimizer);
/* The optimizer with operator `op`; NULL if there is none. */
const MwOptimizerInfo *mw_optimizer_of(MwOp op);
/* The optimizer that train->option selects among those with the name of train->optimizer. */
MwOptimizer mw_optimizer_choose(const MwTrain *train);

/* Name of state k < state_count, in `arena`. */
const char *mw_optimizer_state(MwArena *arena, const MwOptimizerInfo *info, int k);

typedef enum {
    MW_HYPERPARAMETER_NUMBER,
    MW_HYPERPARAMETER_FLAG,
    MW_HYPERPARAMETER_FIRST, /* the first of a list of two; the next row is SECOND */
    MW_HYPERPARAMETER_SECOND
} MwHyperparameterKind;

typedef struct {
    MwAttrKey key;
    const char *name; /* in a train statement */
    MwHyperparameterKind kind;
    double least, below; /* a number lies in [least, below) */
} MwHyperparameter;

enum {
    MW_HYPERPARAMETER_COUNT = 0
#define HYPERPARAMETER(id, name, kind, least, below) +1
#include "ir/hyperparameters.def"
#undef HYPERPARAMETER
};

/* [MW_HYPERPARAMETER_COUNT] in the order in which they print */
extern const MwHyperparameter mw_hyperparameters[];

/* The option of the optimizer for a hyperparameter; NULL if it does not take it. */
const MwOptimizerOption *mw_optimizer_option(const MwOptimizerInfo *info,
                                             const MwHyperparameter *hyperparameter);

/* Whether the pattern, or one of the patterns, matches the name. */
bool mw_pattern_matches(const char *pattern, const char *name);
bool mw_patterns_match(const MwPatterns *patterns, const char *name);
/* Whether the train statement moves the weight of that name. */
bool mw_train_moves(const MwTrain *train, const char *weight);
/* The train statement that moves the weight of that name; NULL: none does. */
const MwTrain *mw_train_of(const MwGraph *graph, const char *weight);
/* The place of the first override whose pattern matches the name; -1: there is none. */
int mw_override_find(const MwOverrides *overrides, const char *name);
/* The weight decay of the weight of that name. */
double mw_train_decay(const MwTrain *train, const char *weight);

#endif
