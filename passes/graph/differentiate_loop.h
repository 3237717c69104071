/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The differentiation of loops (ir/loops.h), and the state that it shares with that of nodes. For
 * passes/graph/backpropagate.c, what uses that, and differentiate_loop.c only. */
#ifndef MW_PASSES_GRAPH_DIFFERENTIATE_LOOP_H
#define MW_PASSES_GRAPH_DIFFERENTIATE_LOOP_H

#include "ir/loops.h"

typedef struct {
    MwGraph *graph;
    int nodes, values;            /* numbers of nodes and values of the model; gradients follow */
    MwValueId y;                  /* what is differentiated, f32[] */
    const bool *by;               /* [values] by what */
    bool stops;                   /* what stop_gradient gives depends on nothing; else, on its
                                   * operand, by a gradient of 0: weights there are trained */
    const MwOrigin *origin;       /* of all added nodes; NULL: that of what is differentiated */
    const bool *varies;           /* [values] depends on the batch; for factors of losses */
    MwValueId loss_scale;         /* f32[] the scale of losses; no value: they have none */
    bool *active;                 /* [values] depends on a value of `by` and affects y */
    const bool *has_f32_gradient; /* [values] bf16 values with a gradient in f32 */
    MwValueId *gradient;          /* [values] partial sum of contributions; no value: zero */
    MwDiags *diags;
    MwLoops loops;        /* of the model */
    const int32_t *order; /* [nodes] of the model, in which those of a loop follow each other */
    int next_loop;        /* the number of the next loop of gradients */
    int *back;            /* [loops] number of the loop of its gradients, or MW_BACK_NONE, .. */
    MwValueId *image;   /* [values] of a value of a loop, what the gradients take of it; none yet */
    MwValueId *adjoint; /* [values] of a scan_carry, the gradient that a step takes over */
    int carries;        /* scan_carry nodes added so far */
    int *value_counts;  /* [nodes + 1] values after the node of that place in `order` was
                         * differentiated; the last: before the first was */
    int first_added;    /* the first node of the gradients */
    MW_VEC(int) added_loop; /* [nodes from first_added on] loop of its results; -1: none */
} MwDifferentiator;

/* The origin of what is added for a node. */
static inline MwOrigin mw_differentiator_origin(const MwDifferentiator *d, const MwNode *node)
{
    return d->origin ? *d->origin : node->origin;
}
/* The element type of the gradient by `value`. */
MwType mw_differentiator_type(const MwDifferentiator *d, MwValueId value);
/* Adds a term to the gradient by `value`. */
void mw_differentiator_add(MwDifferentiator *d, MwValueId value, MwValueId term);

enum { MW_BACK_NONE = -1 /* yet */, MW_BACK_UNUSED = -2 /* its results have no gradients */ };

/* Prepares the differentiation, when `loops` and `values` are set. */
void mw_loop_begin(MwDifferentiator *d);
/* Differentiates a node that marks the border of a loop, and begins that of the loop with its last
 * node. False: the node has a rule of its own. */
bool mw_loop_differentiate(MwDifferentiator *d, MwNodeId node);
/* `values`, and the results of `node`, as the gradient of the node takes them: where the node runs
 * in a loop, those of the same step. */
const MwValueId *mw_loop_images(MwDifferentiator *d, MwNodeId node, const MwValueId *values,
                                int count);
const MwValueId *mw_loop_result_images(MwDifferentiator *d, MwNodeId node);
/* What `term`, found for `node`, adds to the gradient by `value`: its sum over all steps, if the
 * node runs in a loop and the value is outside of it. */
MwValueId mw_loop_sum(MwDifferentiator *d, MwNodeId node, MwValueId value, MwValueId term);

#endif
