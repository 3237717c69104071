/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the evaluator share; included by tests/reference/evaluate*.c alone. */
#ifndef MW_TESTS_REFERENCE_EVALUATE_RULES_H
#define MW_TESTS_REFERENCE_EVALUATE_RULES_H

#include "tests/reference/evaluate.h"

/* One node with its data. */
typedef struct {
    const MwGraph *graph;
    const MwNode *node;
    const Place *place;
    const double *const *in;
    double *const *out;
} Eval;

static inline const MwTensor *eval_in(const Eval *e, int k)
{
    return mw_value_tensor(e->graph, e->node->operands[k]);
}

static inline const MwTensor *eval_out(const Eval *e, int k)
{
    return &e->graph->values.at[e->node->first_result + k].tensor;
}

/* The last dimension, and how many rows of it there are. */
static inline int64_t row_length(const MwTensor *tensor)
{
    return tensor->dim[tensor->rank - 1];
}

static inline int64_t row_count(const MwTensor *tensor)
{
    return mw_tensor_elements(tensor) / row_length(tensor);
}

/* Row-major strides, in elements. */
void eval_strides(const MwTensor *tensor, int64_t stride[MW_MAX_RANK]);
/* The index of element `i` in each dimension. */
void eval_index(const MwTensor *tensor, int64_t i, int64_t index[MW_MAX_RANK]);

/* The greater one; NaN where one is. */
static inline double eval_greater(double a, double b)
{
    return a > b || a != a ? a : b;
}

/* The position in the global tensor of local index 0 of dimension `d` of `local`, the tensor in
 * which the node counts. */
int64_t eval_origin(const Eval *e, const MwTensor *local, int d);
/* The same by the attribute `key`, which is that of an origin. */
int64_t eval_origin_by(const Eval *e, MwAttrKey key, const MwTensor *local, int d);

/* The families. Each handles those operators it returns true for. */
bool eval_map(const Eval *e);
bool eval_source(const Eval *e);
bool eval_rows(const Eval *e);
bool eval_contract(const Eval *e);
bool eval_attention(const Eval *e);
bool eval_windows(const Eval *e);
bool eval_move(const Eval *e);
bool eval_update(const Eval *e);

#endif
