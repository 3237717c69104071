/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/attention.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a };

float call_sample(int64_t element, int operand)
{
    uint32_t hash = (uint32_t)element * 2654435761u + (uint32_t)operand * 40503u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    return (float)(hash >> 8) / (float)(1 << 23) - 1;
}

void call_allocate(Call *call)
{
    ck_assert(mw_routine_extents(call->routine, call->args, call->bytes));
    for (int i = 0; i < mw_routine_info(call->routine)->operand_count; i++) {
        float *values = malloc((size_t)call->bytes[i] + CALL_GUARD_BYTES);
        for (int64_t k = 0; k < call->bytes[i] / 4; k++)
            values[k] = call_sample(k, i);
        memset((char *)values + call->bytes[i], GUARD, CALL_GUARD_BYTES);
        call->operands[i] = values;
    }
}

void call_release(Call *call)
{
    for (int i = 0; i < mw_routine_info(call->routine)->operand_count; i++) {
        const char *end = (const char *)call->operands[i] + call->bytes[i];
        for (int k = 0; k < CALL_GUARD_BYTES; k++)
            ck_assert_msg(end[k] == GUARD, "operand %d was written behind its end", i);
        free(call->operands[i]);
    }
}

static void check_close(double found, double expected, double error, const char *what,
                        int64_t index)
{
    ck_assert_msg(fabs(found - expected) <= error, "%s[%lld] is %g, not %g", what, (long long)index,
                  found, expected);
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
    {1, 5, 100, 2, 1, 64, true, 0, 0},
};

Call attention_call(MwRoutine routine, const Attention *z)
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
    a[MW_SDPA_SCALE].f = 2.5 / sqrt((double)z->d);
    call_allocate(&call);
    return call;
}

/* One query of one head: where its rows are, and its probabilities over the keys. */
typedef struct {
    const float *q, *k, *v;      /* of the head */
    int64_t k_row, v_row, query; /* index of the query among all dense queries */
    int64_t keys_at;             /* of the first key among all dense keys */
    double *p;                   /* [t] */
    double lse;
} Query;

static Query query_at(const Call *call, const Attention *z, int64_t b, int64_t s, int64_t h,
                      double *p)
{
    const MwKernelArg *a = call->args;
    const int64_t g = h / (z->h / z->g);
    Query query = {
        .q = (float *)call->operands[0] + a[MW_SDPA_Q_OFFSET].i +
             (b * z->s + s) * a[MW_SDPA_Q_ROW].i + h * z->d,
        .k = (float *)call->operands[1] + a[MW_SDPA_K_OFFSET].i + b * z->t * a[MW_SDPA_K_ROW].i +
             g * z->d,
        .v = (float *)call->operands[2] + a[MW_SDPA_V_OFFSET].i + b * z->t * a[MW_SDPA_V_ROW].i +
             g * z->d,
        .k_row = a[MW_SDPA_K_ROW].i,
        .v_row = a[MW_SDPA_V_ROW].i,
        .query = (b * z->s + s) * z->h + h,
        .keys_at = b * z->t * z->g + g,
        .p = p,
    };
    double largest = -INFINITY, sum = 0;
    for (int64_t t = 0; t < z->t; t++) {
        p[t] = 0;
        for (int64_t i = 0; i < z->d; i++)
            p[t] += (double)query.q[i] * query.k[t * query.k_row + i];
        p[t] *= (double)(float)a[MW_SDPA_SCALE].f;
        if (z->causal && t > z->position + s)
            p[t] = -INFINITY;
        largest = fmax(largest, p[t]);
    }
    for (int64_t t = 0; t < z->t; t++)
        sum += exp(p[t] - largest);
    query.lse = largest + log(sum);
    for (int64_t t = 0; t < z->t; t++)
        p[t] = exp(p[t] - query.lse);
    return query;
}

static double out_reference(const Attention *z, const Query *query, int64_t i)
{
    double sum = 0;
    for (int64_t t = 0; t < z->t; t++)
        sum += query->p[t] * query->v[t * query->v_row + i];
    return sum;
}

#define EACH_QUERY(z)                                                                              \
    for (int64_t b = 0; b < (z)->b; b++)                                                           \
        for (int64_t s = 0; s < (z)->s; s++)                                                       \
            for (int64_t h = 0; h < (z)->h; h++)

void attention_check(int index, RunCall *run, double tolerance)
{
    const Attention *z = &attentions[index];
    Call call = attention_call(MW_ROUTINE_SDPA, z);
    const float *out = call.operands[3], *lse = call.operands[4];
    double *p = malloc(sizeof *p * (size_t)z->t);
    run(&call);
    EACH_QUERY(z)
    {
        const Query query = query_at(&call, z, b, s, h, p);
        check_close(lse[query.query], query.lse, 4 * tolerance, "lse", query.query);
        for (int64_t i = 0; i < z->d; i++)
            check_close(out[query.query * z->d + i], out_reference(z, &query, i), tolerance, "out",
                        query.query * z->d + i);
    }
    free(p);
    call_release(&call);
}

/* Adds what one query contributes to the gradients, in double. */
static void add_gradients(const Call *call, const Attention *z, const Query *query, double *dq,
                          double *dk, double *dv)
{
    const float *dout = (float *)call->operands[5] + query->query * z->d;
    const double scale = (double)(float)call->args[MW_SDPA_SCALE].f;
    double delta = 0;
    for (int64_t i = 0; i < z->d; i++)
        delta += dout[i] * out_reference(z, query, i);
    for (int64_t t = 0; t < z->t; t++) {
        const int64_t key = (query->keys_at + t * z->g) * z->d;
        double dp = 0;
        for (int64_t i = 0; i < z->d; i++)
            dp += (double)dout[i] * query->v[t * query->v_row + i];
        const double ds = query->p[t] * (dp - delta) * scale;
        for (int64_t i = 0; i < z->d; i++) {
            dq[query->query * z->d + i] += ds * query->k[t * query->k_row + i];
            dk[key + i] += ds * query->q[i];
            dv[key + i] += query->p[t] * dout[i];
        }
    }
}

static void check_all(const float *found, const double *expected, int64_t count, double tolerance,
                      const char *what)
{
    double size = 1;
    for (int64_t i = 0; i < count; i++)
        size = fmax(size, fabs(expected[i]));
    for (int64_t i = 0; i < count; i++)
        check_close(found[i], expected[i], size * tolerance, what, i);
}

/* out and lse are of the forward pass on the same q, k and v. */
static void run_forward_first(Call *grad, const Attention *z, RunCall *run)
{
    Call forward = attention_call(MW_ROUTINE_SDPA, z);
    for (int i = 0; i < 3; i++)
        memcpy(forward.operands[i], grad->operands[i], (size_t)grad->bytes[i]);
    run(&forward);
    for (int i = 3; i < 5; i++)
        memcpy(grad->operands[i], forward.operands[i], (size_t)grad->bytes[i]);
    call_release(&forward);
}

void attention_grad_check(int index, RunCall *run, double tolerance)
{
    const Attention *z = &attentions[index];
    Call call = attention_call(MW_ROUTINE_SDPA_GRAD, z);
    const int64_t queries = z->b * z->s * z->h * z->d, keys = z->b * z->t * z->g * z->d;
    double *dq = calloc((size_t)queries, sizeof *dq), *dk = calloc((size_t)keys, sizeof *dk);
    double *dv = calloc((size_t)keys, sizeof *dv), *p = malloc(sizeof *p * (size_t)z->t);
    run_forward_first(&call, z, run);
    EACH_QUERY(z)
    {
        const Query query = query_at(&call, z, b, s, h, p);
        add_gradients(&call, z, &query, dq, dk, dv);
    }
    run(&call);
    check_all(call.operands[6], dq, queries, tolerance, "dq");
    check_all(call.operands[7], dk, keys, tolerance, "dk");
    check_all(call.operands[8], dv, keys, tolerance, "dv");
    free(dq);
    free(dk);
    free(dv);
    free(p);
    call_release(&call);
}
