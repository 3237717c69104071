/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contractions and look-ups. */
#include "ir/einsum.h"
#include "tests/reference/evaluate_rules.h"

#include <math.h>
#include <string.h>

/* The loops of an einsum: for each letter its size, and how far each operand and the result move
 * when it advances. */
typedef struct {
    int letters;
    int64_t size[16], step[3][16]; /* operand 0, operand 1, result */
} Loops;

static void add_term(Loops *loops, const MwTensor *tensor, const int8_t *letters, int term)
{
    int64_t stride[MW_MAX_RANK];
    eval_strides(tensor, stride);
    for (int d = 0; d < tensor->rank; d++) {
        loops->size[letters[d]] = tensor->dim[d];
        loops->step[term][letters[d]] = stride[d];
    }
}

static void run_loops(const Loops *loops, int letter, const double *a, const double *b, double *c)
{
    if (letter == loops->letters) {
        *c += b ? *a * *b : *a;
        return;
    }
    for (int64_t i = 0; i < loops->size[letter]; i++)
        run_loops(loops, letter + 1, a + i * loops->step[0][letter],
                  b ? b + i * loops->step[1][letter] : NULL, c + i * loops->step[2][letter]);
}

static void einsum(const Eval *e)
{
    MwEinsum parsed;
    const char *wrong = mw_einsum_parse(mw_node_text(e->node, MW_ATTR_EQUATION), &parsed);
    MW_ASSERT(!wrong);
    Loops loops = {.letters = parsed.letter_count};
    for (int k = 0; k < parsed.operand_count; k++)
        add_term(&loops, eval_in(e, k), parsed.operand[k], k);
    add_term(&loops, eval_out(e, 0), parsed.result, 2);
    memset(e->out[0], 0, sizeof(double) * (size_t)mw_tensor_elements(eval_out(e, 0)));
    run_loops(&loops, 0, e->in[0], parsed.operand_count > 1 ? e->in[1] : NULL, e->out[0]);
}

/* Row of the table for index `id`; -1 if it is not in the local part. */
static int64_t local_row(const Eval *e, const MwTensor *table, int d, double id)
{
    int64_t row = (int64_t)id - eval_origin(e, table, d);
    return row >= 0 && row < table->dim[d] ? row : -1;
}

static void embedding(const Eval *e)
{
    const MwTensor *table = eval_in(e, 1);
    int64_t width = table->dim[1];
    for (int64_t i = 0; i < mw_tensor_elements(eval_in(e, 0)); i++) {
        int64_t row = local_row(e, table, 0, e->in[0][i]);
        for (int64_t w = 0; w < width; w++)
            e->out[0][i * width + w] = row < 0 ? 0 : e->in[1][row * width + w];
    }
}

static void embedding_grad(const Eval *e)
{
    const MwTensor *table = eval_out(e, 0);
    int64_t width = table->dim[1];
    memset(e->out[0], 0, sizeof(double) * (size_t)mw_tensor_elements(table));
    for (int64_t i = 0; i < mw_tensor_elements(eval_in(e, 0)); i++) {
        int64_t row = local_row(e, table, 0, e->in[0][i]);
        for (int64_t w = 0; row >= 0 && w < width; w++)
            e->out[0][row * width + w] += e->in[1][i * width + w];
    }
}

/* The table, with rows in the place of those of the ids, or added to them. */
static void change_rows(const Eval *e, bool adds)
{
    const MwTensor *table = eval_out(e, 0);
    const int64_t width = table->dim[1];
    memcpy(e->out[0], e->in[0], sizeof(double) * (size_t)mw_tensor_elements(table));
    for (int64_t i = 0; i < mw_tensor_elements(eval_in(e, 1)); i++) {
        int64_t row = local_row(e, table, 0, e->in[1][i]);
        for (int64_t w = 0; row >= 0 && w < width; w++) {
            double *to = &e->out[0][row * width + w];
            *to = (adds ? *to : 0) + e->in[2][i * width + w];
        }
    }
}

static void put_rows(const Eval *e)
{
    change_rows(e, false);
}

static void add_rows(const Eval *e)
{
    change_rows(e, true);
}

/* An id, or the end of i32 that it lies beyond. */
static double in_i32(double id)
{
    return fmax(INT32_MIN, fmin(INT32_MAX, id));
}

static void first_equal(const Eval *e)
{
    for (int64_t i = 0; i < mw_tensor_elements(eval_in(e, 0)); i++) {
        int64_t first = 0;
        while (in_i32(e->in[0][first]) != in_i32(e->in[0][i]))
            first++;
        e->out[0][i] = (double)first;
    }
}

static void pick(const Eval *e)
{
    const MwTensor *x = eval_in(e, 0);
    for (int64_t r = 0; r < row_count(x); r++) {
        int64_t at = local_row(e, x, x->rank - 1, e->in[1][r]);
        e->out[0][r] = at < 0 ? 0 : e->in[0][r * row_length(x) + at];
    }
}

static void pick_grad(const Eval *e)
{
    const MwTensor *x = eval_out(e, 0);
    for (int64_t r = 0; r < row_count(x); r++) {
        int64_t at = local_row(e, x, x->rank - 1, e->in[0][r]);
        for (int64_t i = 0; i < row_length(x); i++)
            e->out[0][r * row_length(x) + i] = i == at ? e->in[1][r] : 0;
    }
}

static void take_along(const Eval *e)
{
    const MwTensor *x = eval_in(e, 0);
    const int64_t count = row_length(eval_in(e, 1));
    for (int64_t i = 0; i < row_count(x) * count; i++) {
        int64_t at = local_row(e, x, x->rank - 1, e->in[1][i]);
        e->out[0][i] = at < 0 ? 0 : e->in[0][i / count * row_length(x) + at];
    }
}

static void take_along_grad(const Eval *e)
{
    const MwTensor *x = eval_out(e, 0);
    const int64_t count = row_length(eval_in(e, 0));
    memset(e->out[0], 0, sizeof(double) * (size_t)mw_tensor_elements(x));
    for (int64_t i = 0; i < row_count(x) * count; i++)
        if (e->in[0][i] >= 0 && e->in[0][i] < (double)row_length(x))
            e->out[0][i / count * row_length(x) + (int64_t)e->in[0][i]] += e->in[1][i];
}

bool eval_contract(const Eval *e)
{
    switch (e->node->op) {
    case MW_OP_EINSUM:
        return einsum(e), true;
    case MW_OP_EMBEDDING:
        return embedding(e), true;
    case MW_OP_EMBEDDING_GRAD:
        return embedding_grad(e), true;
    case MW_OP_PUT_ROWS:
        return put_rows(e), true;
    case MW_OP_ADD_ROWS:
        return add_rows(e), true;
    case MW_OP_FIRST_EQUAL:
        return first_equal(e), true;
    case MW_OP_PICK:
        return pick(e), true;
    case MW_OP_PICK_GRAD:
        return pick_grad(e), true;
    case MW_OP_TAKE_ALONG:
        return take_along(e), true;
    case MW_OP_TAKE_ALONG_GRAD:
        return take_along_grad(e), true;
    default:
        return false;
    }
}
