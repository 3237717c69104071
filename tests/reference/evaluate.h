/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every operator means: one node evaluated in double precision, with loops that follow its
 * definition. It shares no code with the kernels that it judges, and in particular does not use the
 * `expression` column of ir/ops.def.
 *
 * Values of every type are doubles here; nothing is rounded to f32 or bf16. */
#ifndef MW_TESTS_REFERENCE_EVALUATE_H
#define MW_TESTS_REFERENCE_EVALUATE_H

#include "ir/ir.h"

/* Where and when a node runs, for operators that count positions or draw random numbers. */
typedef struct {
    uint64_t seed;
    int64_t step;    /* 1 first */
    int micro_batch; /* 0 first */
    int64_t run;     /* of the loop that the node runs in; 0 first */
    MwMeshShape mesh;
    int coordinate[MW_MAX_AXES]; /* of the device; `origin` and `split` refer to it */
} Place;

/* The only device, before any step. */
Place place_alone(uint64_t seed);

/* Whether evaluate_node can do it: every operator but sources that are not computed (input, weight,
 * state) and collectives, which take more than one device. */
bool evaluate_can(MwOp op);

/* Fills the results, results[k] having room for result k, from the operands. */
void evaluate_node(const MwGraph *graph, const MwNode *node, const Place *place,
                   const double *const *operands, double *const *results);

#endif
