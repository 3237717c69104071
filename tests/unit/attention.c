/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/attention.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Against the norm of all; of f32, which is not rounded once more, also every element. */
static void check_all(const Call *call, int operand, const double *expected, double tolerance,
                      const char *what)
{
    float *found = call_floats(call, operand);
    const MwType type = call_type(call, operand);
    const int64_t count = call->bytes[operand] / mw_type_bytes(type);
    double norm = 0, error = 0, most = 1;
    for (int64_t i = 0; i < count; i++) {
        norm += expected[i] * expected[i];
        error += (found[i] - expected[i]) * (found[i] - expected[i]);
        most = fmax(most, fabs(expected[i]));
    }
    for (int64_t i = 0; i < count && type == MW_F32; i++)
        ck_assert_msg(fabs(found[i] - expected[i]) <= most * tolerance, "%s[%lld] is %g, not %g",
                      what, (long long)i, found[i], expected[i]);
    ck_assert_msg(sqrt(error) <= tolerance * sqrt(norm) + 1e-30, "%s: its error is %g of its norm",
                  what, sqrt(error / norm));
    free(found);
}

/* ---- Shapes ---- */

const Attention attentions[ATTENTIONS] = {
    {1, 1, 1, 1, 1, 1, false, 0, 0},      {2, 5, 5, 2, 2, 4, true, 0, 0},
    {2, 5, 9, 2, 2, 4, false, 0, 3},      {1, 70, 70, 4, 2, 8, true, 0, 0},
    {1, 64, 64, 2, 1, 16, true, 0, 1},    {1, 65, 130, 3, 3, 5, true, 65, 0},
    {2, 33, 99, 4, 1, 8, true, 33, 2},    {1, 130, 20, 2, 2, 3, true, 0, 0},
    {1, 129, 129, 6, 2, 32, false, 0, 0}, {1, 3, 300, 1, 1, 64, true, 297, 0},
    {1, 4, 4, 2, 2, 2, true, 100, 0},     {1, 140, 140, 4, 2, 64, true, 0, 0},
    {1, 70, 100, 2, 2, 128, false, 0, 4}, {1, 65, 65, 2, 1, 96, true, 0, 0},
    {1, 66, 67, 1, 1, 130, true, 1, 0},   {1, 20, 70, 2, 1, 260, true, 50, 8},
    {2, 64, 128, 2, 1, 64, true, 64, 0},  {1, 67, 3, 2, 2, 65, false, 0, 1},
    {1, 5, 140, 2, 1, 64, true, 0, 0},    {1, 130, 201, 2, 1, 64, true, 70, 8},
    {1, 70, 70, 2, 1, 128, true, 0, 8},   {2, 33, 65, 2, 2, 24, false, 0, 16},
    {1, 97, 140, 1, 1, 80, true, 40, 8},  {1, 129, 257, 1, 1, 128, true, 128, 0},
    {1, 9, 9, 1, 1, 8, true, 0, 0, true},
};

Call attention_call(MwRoutine routine, const Attention *z, MwType type)
{
    Call call = {.routine = routine};
    MwKernelArg *a = call.args;
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
    a[MW_SDPA_POSITION].i = z->position;
    a[MW_SDPA_TYPE].i = type;
    a[MW_SDPA_SCALE].f = (z->is_turned ? -2.5 : 2.5) / sqrt((double)z->d);
    call_allocate(&call);
    return call;
}

/* What is read, as floats, and what is expected, in double. */
typedef struct {
    const Call *call;
    const Attention *z;
    float *q, *k, *v, *dout;              /* of the whole operands of sdpa_grad */
    double *out, *lse, *dq, *dk, *dv, *p; /* dense; p: [t] */
} Reference;

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
        .out = calloc(queries * d, sizeof(double)),
        .lse = calloc(queries, sizeof(double)),
        .dq = calloc(queries * d, sizeof(double)),
        .dk = calloc(keys * d, sizeof(double)),
        .dv = calloc(keys * d, sizeof(double)),
        .p = calloc((size_t)z->t, sizeof(double)),
    };
}

static void reference_free(Reference *r)
{
    void *const all[] = {r->q, r->k, r->v, r->dout, r->out, r->lse, r->dq, r->dk, r->dv, r->p};
    for (int i = 0; i < MW_COUNT(all); i++)
        free(all[i]);
}

/* One query of one head: where its rows are. */
typedef struct {
    const float *q, *k, *v;      /* of the head */
    int64_t k_row, v_row, query; /* index of the query among all dense queries */
    int64_t keys_at;             /* of the first key among all dense keys */
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
    };
}

/* Its probabilities over the keys, its log-sum-exp and its output. */
static void attend(Reference *r, const Query *query, int64_t s)
{
    const Attention *z = r->z;
    double *const p = r->p, largest = -INFINITY, sum = 0;
    for (int64_t t = 0; t < z->t; t++) {
        p[t] = 0;
        for (int64_t i = 0; i < z->d; i++)
            p[t] += (double)query->q[i] * query->k[t * query->k_row + i];
        p[t] *= (double)(float)r->call->args[MW_SDPA_SCALE].f;
        if (z->causal && t > z->position + s)
            p[t] = -INFINITY;
        largest = fmax(largest, p[t]);
    }
    for (int64_t t = 0; t < z->t; t++)
        sum += exp(p[t] - largest);
    r->lse[query->query] = largest + log(sum);
    for (int64_t t = 0; t < z->t; t++) {
        p[t] = exp(p[t] - r->lse[query->query]);
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
        const double ds = r->p[t] * (dp - delta) * scale;
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
                attend(&r, &query, s);
                add_gradients(&r, &query);
            }
    return r;
}

/* ---- Checks ---- */

/* The forward pass on the same q, k and v, of which the gradient takes out and lse. */
static void run_forward_first(Call *grad, const Attention *z, MwType type, RunCall *run)
{
    Call forward = attention_call(MW_ROUTINE_SDPA, z, type);
    for (int i = 0; i < 3; i++)
        memcpy(forward.operands[i], grad->operands[i], (size_t)grad->bytes[i]);
    run(&forward);
    for (int i = 3; i < 5; i++)
        memcpy(grad->operands[i], forward.operands[i], (size_t)grad->bytes[i]);
    call_release(&forward);
}

void attention_check(const Attention *z, MwType type, RunCall *run, double tolerance)
{
    Call call = attention_call(MW_ROUTINE_SDPA_GRAD, z, type);
    Reference expected = expect(&call, z);
    run_forward_first(&call, z, type, run);
    check_all(&call, 3, expected.out, tolerance, "out");
    check_all(&call, 4, expected.lse, tolerance, "lse");
    run(&call);
    check_all(&call, 6, expected.dq, tolerance, "dq");
    check_all(&call, 7, expected.dk, tolerance, "dk");
    check_all(&call, 8, expected.dv, tolerance, "dv");
    reference_free(&expected);
    call_release(&call);
}
