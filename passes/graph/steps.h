/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step of one weight by the optimizer that trains it, as nodes of the update phase, and parts
 * that the rest of the update shares. Nodes get graph->origin and graph->phase; the caller names
 * those that have no name of their own. */
#ifndef MW_PASSES_GRAPH_STEPS_H
#define MW_PASSES_GRAPH_STEPS_H

#include "ir/optimizer.h"

typedef struct {
    MwGraph *graph;
    const MwTrain *train;
    MwValueId weight, gradient;
    MwValueId rate;    /* f32[] the learning rate of this step */
    MwValueId step;    /* i32[] the number of the step, from 1 */
    int64_t *next_key; /* name of the next random stream of the graph */
    MwDiags *diags;
} MwWeightStep;

/* Adds the step of train->optimizer, with its states and an assignment of the weight and of each of
 * them. Returns the new weight; the old one after an error, where the optimizer cannot step it. */
MwValueId mw_step_weight(const MwWeightStep *s);

/* Those that are composed of operators (steps_composed.c). */
MwValueId mw_step_factored(const MwWeightStep *s);
MwValueId mw_step_orthogonal(const MwWeightStep *s);

/* A state of the optimizer, in the type that the train statement keeps it in (steps_states.c). A
 * step computes with it in f32, and rounds what it keeps. */
typedef struct {
    MwValueId state; /* of the type that is kept */
    MwValueId scale; /* bf16: of its blocks along the last dimension; no value: it is not scaled */
    MwValueId value; /* f32: what it was at the end of the step before */
    bool is_square;  /* it is never negative */
} MwKeptState;

/* Adds a state WEIGHT.SUFFIX of zeros in the shape of `like`. */
MwKeptState mw_kept_state(const MwWeightStep *s, const char *suffix, const MwTensor *like);
/* From the next step on the state is `value`, f32, rounded to its type. */
void mw_kept_state_assign(const MwWeightStep *s, const MwKeptState *kept, MwValueId value);

/* The weight decay of the weight. */
double mw_step_decay(const MwWeightStep *s);

/* `a` and the number `b` by a binary operator. */
MwValueId mw_step_scalar(MwGraph *graph, MwOp op, MwValueId a, double b);
/* f32[] the sum of the squares of all elements. */
MwValueId mw_step_squares(MwGraph *graph, MwValueId tensor);
/* A state WEIGHT.SUFFIX in the type and shape of `like`; init: its initialiser. */
MwValueId mw_step_state(MwGraph *graph, MwValueId weight, const char *suffix, const char *init,
                        const MwTensor *like);
/* From the next step on `target` is `value`, which gets the name TARGET.new and the type of the
 * target. Returns that. */
MwValueId mw_step_assign(MwGraph *graph, MwValueId target, MwValueId value);

#endif
