/* SPDX-License-Identifier: MIT */
/* The weights and states of a plan by name, each once: those that checkpoints hold. */
#ifndef MW_RUNTIME_WEIGHTS_NAMES_H
#define MW_RUNTIME_WEIGHTS_NAMES_H

#include "base/text.h"
#include "runtime/plan/plan.h"

typedef struct {
    const char *name;
    const MwPlanMesh *mesh; /* the first that has it */
    const MwPlanWeight *weight;
} MwNamedWeight;

/* Sorted by name. */
typedef struct {
    MwNamedWeight *at;
    int count;
} MwNamedWeights;

MwNamedWeights mw_named_weights(MwArena *arena, const MwPlan *plan);
/* NULL: there is none of that name. */
const MwNamedWeight *mw_named_weights_find(const MwNamedWeights *weights, const char *name);
/* The weight that a name with one part more belongs to, as a state of an optimizer does; NULL:
 * there is none. */
const MwNamedWeight *mw_named_weights_owner(const MwNamedWeights *weights, const char *name);
/* True for a state that belongs to a weight. */
bool mw_named_weights_is_optimizers(const MwNamedWeights *weights, const MwPlanWeight *weight);

/* The first few of several names, and their number, for messages. */
typedef struct {
    MwText text;
    int count;
} MwSomeNames;

void mw_some_names_add(MwSomeNames *some, const char *name);
/* "a, b, c and 4 more" */
const char *mw_some_names_text(MwSomeNames *some);

#endif
