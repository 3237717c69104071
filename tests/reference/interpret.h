/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plain interpreter of graphs on global shapes, in double precision: whole training steps, as a
 * reference that shares no code with the compiler's passes and kernels.
 *
 * Weights begin as base/philox.h says, rounded once to their type; nothing else is rounded. */
#ifndef MW_TESTS_REFERENCE_INTERPRET_H
#define MW_TESTS_REFERENCE_INTERPRET_H

#include "tests/reference/evaluate.h"

typedef struct {
    const MwGraph *graph;
    MwArena *arena;
    Place place;
    int micro_batches;
    double **at;     /* [values] the elements of each value, after the last step */
    double **inputs; /* [values] of an input: the whole batch, micro-batch after micro-batch */
    double *losses; /* [micro_batches] the first loss as it stood after each one of the last step */
} Interpreter;

/* A run of `graph` from its first step. A graph on micro-batches runs its forward and backward
 * phases `micro_batches` times a step, each with its block of every input. */
Interpreter *interpreter_new(MwArena *arena, const MwGraph *graph, uint64_t seed,
                             int micro_batches);

/* The data of an input, of all micro-batches, copied. Until it is set an input is zero. */
void interpreter_set(Interpreter *interpreter, MwValueId input, const double *elements);

/* One step: every micro-batch, then the update, then the assigns. */
void interpreter_step(Interpreter *interpreter);

/* The elements of a value by its name, which must exist. */
double *interpreter_value(const Interpreter *interpreter, const char *name);

#endif
