/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/attention.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Against the norm of all; of f32, which is not rounded once more, also every element. */
static void check_elements(const float *found, int64_t count, MwType type, const double *expected,
                           double tolerance, const char *what)
{
    double norm = 0, error = 0, most = 1;
    for (int64_t i = 0; i < count; i++) {
        if (isinf(expected[i])) {
            ck_assert_msg(found[i] == expected[i], "%s[%lld] is %g, not %g", what, (long long)i,
                          found[i], expected[i]);
            continue;
        }
        norm += expected[i] * expected[i];
        error += (found[i] - expected[i]) * (found[i] - expected[i]);
        most = fmax(most, fabs(expected[i]));
    }
    for (int64_t i = 0; i < count && type == MW_F32; i++)
        ck_assert_msg(isinf(expected[i]) || fabs(found[i] - expected[i]) <= most * tolerance,
                      "%s[%lld] is %g, not %g", what, (long long)i, found[i], expected[i]);
    ck_assert_msg(sqrt(error) <= tolerance * sqrt(norm) + 1e-30, "%s: its error is %g of its norm",
                  what, sqrt(error / norm));
}

static void check_all(const Call *call, int operand, const double *expected, double tolerance,
                      const char *what)
{
    float *found = call_floats(call, operand);
    const MwType type = call_type(call, operand);
    check_elements(found, call->bytes[operand] / mw_type_bytes(type), type, expected, tolerance,
                   what);
    free(found);
}

/* Rows of `width` elements: where they begin in an operand, and their stride. */
typedef struct {
    int64_t width, offset, row;
} Rows;

/* The call has left what lies between the rows as it was. */
static void check_gaps(const Call *call, int operand, const Rows *rows, const char *what)
{
    const int64_t bytes = mw_type_bytes(call_type(call, operand));
    const uint8_t *at = call->operands[operand];
    for (int64_t i = 0; i < call->bytes[operand]; i++) {
        const int64_t from = i / bytes - rows->offset;
        if ((from < 0 || from % rows->row >= rows->width) && at[i] != 0xff)
            ck_abort_msg("%s: byte %lld, between rows, was written", what, (long long)i);
    }
}

/* An operand in rows against `expected`, which is dense. */
static void check_rows(const Call *call, int operand, Rows rows, const double *expected,
                       double tolerance, const char *what)
{
    float *found = call_floats(call, operand);
    const MwType type = call_type(call, operand);
    const int64_t all = call->bytes[operand] / mw_type_bytes(type);
    int64_t count = 0;
    for (int64_t at = rows.offset; at < all; at += rows.row, count += rows.width)
        memmove(found + count, found + at, sizeof *found * (size_t)rows.width);
    check_gaps(call, operand, &rows, what);
    check_elements(found, count, type, expected, tolerance, what);
    free(found);
}

/* ---- Shapes ---- */

const Attention attentions[ATTENTIONS] = {
    {1, 1, 1, 1, 1, 1, false, 0, 0},
    {2, 5, 5, 2, 2, 4, true, 0, 0},
    {2, 5, 9, 2, 2, 4, false, 0, 3},
    {1, 70, 70, 4, 2, 8, true, 0, 0},
    {1, 64, 64, 2, 1, 16, true, 0, 1},
    {1, 65, 130, 3, 3, 5, true, 65, 0},
    {2, 33, 99, 4, 1, 8, true, 33, 2},
    {1, 130, 20, 2, 2, 3, true, 0, 0},
    {1, 129, 129, 6, 2, 32, false, 0, 0},
    {1, 3, 300, 1, 1, 64, true, 297, 0},
    {1, 4, 4, 2, 2, 2, true, 100, 0},
    {1, 140, 140, 4, 2, 64, true, 0, 0},
    {1, 70, 100, 2, 2, 128, false, 0, 4},
    {1, 65, 65, 2, 1, 96, true, 0, 0},
    {1, 66, 67, 1, 1, 130, true, 1, 0},
    {1, 20, 70, 2, 1, 260, true, 50, 8},
    {2, 64, 128, 2, 1, 64, true, 64, 0},
    {1, 67, 3, 2, 2, 65, false, 0, 1},
    {1, 5, 140, 2, 1, 64, true, 0, 0},
    {1, 130, 201, 2, 1, 64, true, 70, 8},
    {1, 70, 70, 2, 1, 128, true, 0, 8},
    {2, 33, 65, 2, 2, 24, false, 0, 16},
    {1, 97, 140, 1, 1, 80, true, 40, 8},
    {1, 129, 257, 1, 1, 128, true, 128, 0},
    {1, 9, 9, 1, 1, 8, true, 0, 0, true},
    {1, 140, 140, 1, 1, 64, true, 0, 0, .window = 5},
    {1, 70, 210, 1, 1, 16, false, 70, 8, .window = 40},
    {1, 100, 64, 1, 1, 8, true, 70, 0, .window = 90}, /* some queries are beyond all keys */
    {1, 33, 70, 2, 1, 8, true, 37, 0, .soft_cap = 1.5},
    {1, 20, 70, 1, 1, 96, true, 50, 0, .window = 9, .soft_cap = 2},
    {2, 33, 70, 2, 1, 8, false, 0, 0, .mask = "hst"},
    {1, 70, 66, 2, 1, 64, true, 0, 8, .soft_cap = 3, .mask = "bt"},
    {2, 20, 70, 2, 2, 5, false, 40, 0, .window = 30, .mask = "bhs"},
    {2, 20, 20, 2, 1, 72, true, 0, 0, .mask = "bst", .is_bool = true},
    {3, 40, 9, 2, 2, 16, false, 0, 0, .mask = "bst", .is_bool = true},
    /* the keys are part of a sequence: some queries come before all of them, or all do */
    {1, 140, 70, 2, 1, 64, true, 0, 0, .key_position = 70},
    {2, 70, 20, 2, 2, 8, true, 70, 0, .key_position = 300, .window = 50},
    {1, 70, 70, 2, 1, 72, false, 0, 8, .key_position = 90, .window = 40},
    {1, 130, 65, 1, 1, 128, true, 130, 0, .key_position = 195, .soft_cap = 3, .mask = "st"},
    {1, 70, 60, 2, 1, 64, false, 0, 0, .key_position = 90},
    {2, 33, 20, 2, 2, 8, false, 10, 0, .key_position = 300, .mask = "bt", .is_bool = true},
    {2, 20, 70, 2, 1, 64, true, 20, 0, .offset = 30},
    {1, 70, 33, 2, 1, 8, true, 0, 0, .key_position = 33, .offset = -20, .window = 12},
};

Call attention_call(MwRoutine routine, const Attention *z, MwType type)
{
    static const int masked[MW_ROUTINE_COUNT] = {
        [MW_ROUTINE_SDPA] = MW_ROUTINE_SDPA_MASKED,
        [MW_ROUTINE_SDPA_GRAD] = MW_ROUTINE_SDPA_MASKED_GRAD,
        [MW_ROUTINE_SDPA_MASK_GRAD] = MW_ROUTINE_SDPA_MASK_GRAD,
    };
    Call call = {.routine = z->mask ? (MwRoutine)masked[routine] : routine};
    MwKernelArg *a = call.args;
    if (z->mask) {
        a[MW_SDPA_MASK_TYPE].i = z->is_bool ? MW_BOOL : type;
        a[MW_SDPA_MASK_B].i = strchr(z->mask, 'b') ? z->b : 1;
        a[MW_SDPA_MASK_H].i = strchr(z->mask, 'h') ? z->h : 1;
        a[MW_SDPA_MASK_S].i = strchr(z->mask, 's') ? z->s : 1;
        a[MW_SDPA_MASK_T].i = strchr(z->mask, 't') ? z->t : 1;
    }
    a[MW_SDPA_WINDOW].i = z->window;
    a[MW_SDPA_SOFT_CAP].f = z->soft_cap;
    a[MW_SDPA_B].i = z->b;
    a[MW_SDPA_S].i = z->s;
    a[MW_SDPA_T].i = z->t;
    a[MW_SDPA_H].i = z->h;
    a[MW_SDPA_G].i = z->g;
    a[MW_SDPA_D].i = z->d;
    a[MW_SDPA_CAUSAL].i = z->causal;
    a[MW_SDPA_Q_ROW].i = z->h * z->d + z->pad;
    a[MW_SDPA_K_ROW].i = z->g * z->d + 2 * z->pad;
    a[MW_SDPA_V_ROW].i = z->g * z->d;
    a[MW_SDPA_Q_OFFSET].i = z->pad;
    a[MW_SDPA_K_OFFSET].i = 0;
    a[MW_SDPA_V_OFFSET].i = 2 * z->pad;
    if (routine == MW_ROUTINE_SDPA_GRAD) {
        a[MW_SDPA_DQ_ROW].i = z->h * z->d + 2 * z->pad;
        a[MW_SDPA_DK_ROW].i = z->g * z->d + z->pad;
        a[MW_SDPA_DV_ROW].i = z->g * z->d + 3 * z->pad;
        a[MW_SDPA_DQ_OFFSET].i = 0;
        a[MW_SDPA_DK_OFFSET].i = z->pad;
        a[MW_SDPA_DV_OFFSET].i = 2 * z->pad;
    }
    a[MW_SDPA_POSITION].i = z->position;
    a[MW_SDPA_KEY_POSITION].i = z->key_position;
    a[MW_SDPA_OFFSET].i = z->offset;
    a[MW_SDPA_TYPE].i = type;
    a[MW_SDPA_SCALE].f = (z->is_turned ? -2.5 : 2.5) / sqrt((double)z->d);
    call_allocate(&call);
    return call;
}

/* What is read, as floats, and what is expected, in double. */
typedef struct {
    const Call *call;
    const Attention *z;
    float *q, *k, *v, *dout, *mask;               /* of the whole operands of the gradient */
    double *out, *lse, *dq, *dk, *dv, *dmask, *p; /* dense; p: [t] */
    double *slope;                                /* [t] of the cap */
} Reference;

enum { MASK = 6 /* operand of the gradients */ };

static Reference reference_of(const Call *call, const Attention *z)
{
    const size_t queries = (size_t)(z->b * z->s * z->h), keys = (size_t)(z->b * z->t * z->g);
    const size_t d = (size_t)z->d;
    return (Reference){
        .call = call,
        .z = z,
        .q = call_floats(call, 0),
        .k = call_floats(call, 1),
        .v = call_floats(call, 2),
        .dout = call_floats(call, 5),
        .mask = z->mask ? call_floats(call, MASK) : NULL,
        .out = calloc(queries * d, sizeof(double)),
        .lse = calloc(queries, sizeof(double)),
        .dq = calloc(queries * d, sizeof(double)),
        .dk = calloc(keys * d, sizeof(double)),
        .dv = calloc(keys * d, sizeof(double)),
        .dmask = z->mask ? calloc((size_t)call->bytes[MASK], sizeof(double)) : NULL,
        .p = calloc((size_t)z->t, sizeof(double)),
        .slope = calloc((size_t)z->t, sizeof(double)),
    };
}

static void reference_free(Reference *r)
{
    void *const all[] = {r->q,  r->k,  r->v,  r->dout,  r->mask, r->out,  r->lse,
                         r->dq, r->dk, r->dv, r->dmask, r->p,    r->slope};
    for (int i = 0; i < MW_COUNT(all); i++)
        free(all[i]);
}

/* One query of one head: where its rows are. */
typedef struct {
    const float *q, *k, *v;      /* of the head */
    int64_t k_row, v_row, query; /* index of the query among all dense queries */
    int64_t keys_at;             /* of the first key among all dense keys */
    int64_t b, s, h;
} Query;

static Query query_at(const Reference *r, int64_t b, int64_t s, int64_t h)
{
    const Attention *z = r->z;
    const MwKernelArg *a = r->call->args;
    const int64_t g = h / (z->h / z->g);
    return (Query){
        .q = r->q + a[MW_SDPA_Q_OFFSET].i + (b * z->s + s) * a[MW_SDPA_Q_ROW].i + h * z->d,
        .k = r->k + a[MW_SDPA_K_OFFSET].i + b * z->t * a[MW_SDPA_K_ROW].i + g * z->d,
        .v = r->v + a[MW_SDPA_V_OFFSET].i + b * z->t * a[MW_SDPA_V_ROW].i + g * z->d,
        .k_row = a[MW_SDPA_K_ROW].i,
        .v_row = a[MW_SDPA_V_ROW].i,
        .query = (b * z->s + s) * z->h + h,
        .keys_at = b * z->t * z->g + g,
        .b = b,
        .s = s,
        .h = h,
    };
}

/* The index of the mask's element for a query and a key. */
static int64_t mask_at(const Reference *r, const Query *query, int64_t t)
{
    const MwKernelArg *a = r->call->args;
    const int64_t index[] = {query->b, query->h, query->s, t};
    static const int sizes[] = {MW_SDPA_MASK_B, MW_SDPA_MASK_H, MW_SDPA_MASK_S, MW_SDPA_MASK_T};
    int64_t at = 0;
    for (int d = 0; d < MW_COUNT(sizes); d++)
        at = at * a[sizes[d]].i + (a[sizes[d]].i > 1 ? index[d] : 0);
    return at;
}

/* The score that a product becomes, and the derivative of the cap. */
static double score(const Reference *r, const Query *query, int64_t t, double product,
                    double *slope)
{
    const Attention *z = r->z;
    const int64_t position = z->position + z->offset - z->key_position + query->s;
    const double bent = z->soft_cap > 0 ? tanh(product / z->soft_cap) : 0;
    *slope = 1 - bent * bent;
    if ((z->causal && t > position) || (z->window && llabs(t - position) >= z->window))
        return -INFINITY;
    if (z->soft_cap > 0)
        product = z->soft_cap * bent;
    if (z->mask && !z->is_bool)
        product += r->mask[mask_at(r, query, t)];
    return z->mask && z->is_bool && r->mask[mask_at(r, query, t)] == 0 ? -INFINITY : product;
}

/* Its probabilities over the keys, its log-sum-exp and its output. */
static void attend(Reference *r, const Query *query)
{
    const Attention *z = r->z;
    double *const p = r->p, largest = -INFINITY, sum = 0;
    for (int64_t t = 0; t < z->t; t++) {
        p[t] = 0;
        for (int64_t i = 0; i < z->d; i++)
            p[t] += (double)query->q[i] * query->k[t * query->k_row + i];
        p[t] =
            score(r, query, t, p[t] * (double)(float)r->call->args[MW_SDPA_SCALE].f, &r->slope[t]);
        largest = fmax(largest, p[t]);
    }
    for (int64_t t = 0; t < z->t; t++)
        sum += p[t] == -INFINITY ? 0 : exp(p[t] - largest);
    r->lse[query->query] = largest + log(sum);
    for (int64_t t = 0; t < z->t; t++) {
        p[t] = p[t] == -INFINITY ? 0 : exp(p[t] - r->lse[query->query]);
        for (int64_t i = 0; i < z->d; i++)
            r->out[query->query * z->d + i] += p[t] * query->v[t * query->v_row + i];
    }
}

/* Adds what one query contributes to the gradients. */
static void add_gradients(Reference *r, const Query *query)
{
    const Attention *z = r->z;
    const float *dout = r->dout + query->query * z->d;
    const double scale = (double)(float)r->call->args[MW_SDPA_SCALE].f;
    double delta = 0;
    for (int64_t i = 0; i < z->d; i++)
        delta += dout[i] * r->out[query->query * z->d + i];
    for (int64_t t = 0; t < z->t; t++) {
        const int64_t key = (query->keys_at + t * z->g) * z->d;
        double dp = 0;
        for (int64_t i = 0; i < z->d; i++)
            dp += (double)dout[i] * query->v[t * query->v_row + i];
        const double ds = r->p[t] * (dp - delta) * r->slope[t] * scale;
        if (z->mask)
            r->dmask[mask_at(r, query, t)] += r->p[t] * (dp - delta);
        for (int64_t i = 0; i < z->d; i++) {
            r->dq[query->query * z->d + i] += ds * query->k[t * query->k_row + i];
            r->dk[key + i] += ds * query->q[i];
            r->dv[key + i] += r->p[t] * dout[i];
        }
    }
}

static Reference expect(const Call *call, const Attention *z)
{
    Reference r = reference_of(call, z);
    for (int64_t b = 0; b < z->b; b++)
        for (int64_t s = 0; s < z->s; s++)
            for (int64_t h = 0; h < z->h; h++) {
                const Query query = query_at(&r, b, s, h);
                attend(&r, &query);
                add_gradients(&r, &query);
            }
    return r;
}

/* ---- Checks ---- */

/* The forward pass on the same q, k, v and mask, of which the gradient takes out and lse. */
static void run_forward_first(Call *grad, const Attention *z, MwType type, RunCall *run)
{
    Call forward = attention_call(MW_ROUTINE_SDPA, z, type);
    const int out = z->mask ? 4 : 3;
    for (int i = 0; i < 3; i++)
        memcpy(forward.operands[i], grad->operands[i], (size_t)grad->bytes[i]);
    if (z->mask)
        memcpy(forward.operands[3], grad->operands[MASK], (size_t)grad->bytes[MASK]);
    run(&forward);
    for (int i = 0; i < 2; i++)
        memcpy(grad->operands[3 + i], forward.operands[out + i], (size_t)grad->bytes[3 + i]);
    call_release(&forward);
}

/* The gradient of the mask, from the operands of that of q, k and v. */
static void check_mask_gradient(const Call *grad, const Reference *expected, MwType type,
                                RunCall *run, double tolerance)
{
    Call call = attention_call(MW_ROUTINE_SDPA_MASK_GRAD, expected->z, type);
    for (int i = 0; i <= MASK; i++)
        memcpy(call.operands[i], grad->operands[i], (size_t)grad->bytes[i]);
    run(&call);
    if (strchr(expected->z->mask, 't')) {
        check_all(&call, MASK + 1, expected->dmask, tolerance, "dmask");
    } else { /* it adds the same to all scores of a query: the sum of terms of about 1 is 0 */
        float *const found = call_floats(&call, MASK + 1);
        for (int64_t i = 0; i < call.bytes[MASK + 1] / mw_type_bytes(type); i++)
            ck_assert_msg(fabs(found[i]) <= tolerance, "dmask[%lld] is %g, not 0", (long long)i,
                          found[i]);
        free(found);
    }
    call_release(&call);
}

void attention_check(const Attention *z, MwType type, RunCall *run, double tolerance)
{
    Call call = attention_call(MW_ROUTINE_SDPA_GRAD, z, type);
    Reference expected = expect(&call, z);
    const int first = z->mask ? MASK + 1 : MASK;
    run_forward_first(&call, z, type, run);
    check_all(&call, 3, expected.out, tolerance, "out");
    check_all(&call, 4, expected.lse, tolerance, "lse");
    run(&call);
    const MwKernelArg *a = call.args;
    const int64_t queries = z->h * z->d, keys = z->g * z->d;
    check_rows(&call, first, (Rows){queries, a[MW_SDPA_DQ_OFFSET].i, a[MW_SDPA_DQ_ROW].i},
               expected.dq, tolerance, "dq");
    check_rows(&call, first + 1, (Rows){keys, a[MW_SDPA_DK_OFFSET].i, a[MW_SDPA_DK_ROW].i},
               expected.dk, tolerance, "dk");
    check_rows(&call, first + 2, (Rows){keys, a[MW_SDPA_DV_OFFSET].i, a[MW_SDPA_DV_ROW].i},
               expected.dv, tolerance, "dv");
    if (z->mask && !z->is_bool)
        check_mask_gradient(&call, &expected, type, run, tolerance);
    reference_free(&expected);
    call_release(&call);
}
