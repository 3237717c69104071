/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device's routines against plain loops in double precision, over a table of shapes; and that a
 * call touches what mw_routine_extents says and no more. */
#include "runtime/routine.h"
#include "tests/unit/support.h"
#include "tests/unit/tested_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Operands with exactly the bytes that a call reaches; the ends are checked by sanitizers and by
 * what stands behind them. */
typedef struct {
    MwRoutine routine;
    MwKernelArg args[32];
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    void *operands[MW_ROUTINE_MAX_OPERANDS];
} Call;

enum { GUARD_BYTES = 64, GUARD = 0x5a };

/* Small numbers that repeat nowhere near. */
static float sample(int64_t index, int salt)
{
    uint32_t hash = (uint32_t)index * 2654435761u + (uint32_t)salt * 40503u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    return (float)(hash >> 8) / (float)(1 << 23) - 1;
}

static void allocate(Call *call)
{
    ck_assert(mw_routine_extents(call->routine, call->args, call->bytes));
    for (int i = 0; i < mw_routine_info(call->routine)->operand_count; i++) {
        float *values = malloc((size_t)call->bytes[i] + GUARD_BYTES);
        for (int64_t k = 0; k < call->bytes[i] / 4; k++)
            values[k] = sample(k, i);
        memset((char *)values + call->bytes[i], GUARD, GUARD_BYTES);
        call->operands[i] = values;
    }
}

static void release(Call *call)
{
    for (int i = 0; i < mw_routine_info(call->routine)->operand_count; i++) {
        const char *end = (const char *)call->operands[i] + call->bytes[i];
        for (int k = 0; k < GUARD_BYTES; k++)
            ck_assert_msg(end[k] == GUARD, "operand %d was written behind its end", i);
        free(call->operands[i]);
    }
}

/* Runs the call on the device, on copies of the operands and of what stands behind them. */
static void run(Call *call)
{
    static const MwPlan no_kernels;
    const MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = (int)call->routine};
    void *operands[MW_ROUTINE_MAX_OPERANDS];
    const MwCall on_device = {&instr, operands, call->bytes, call->args};
    const int count = mw_routine_info(call->routine)->operand_count;
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    MwDevice *device = tested_device_new(arena, &no_kernels, NULL, &fault);
    bool good = device != NULL;
    for (int i = 0; i < count && good; i++) {
        const int64_t bytes = call->bytes[i] + GUARD_BYTES;
        operands[i] = device->table->alloc(device, bytes, &fault);
        good = operands[i] &&
               device->table->copy_in(device, operands[i], call->operands[i], bytes, &fault);
    }
    good = good && device->table->run(device, &on_device, &fault);
    for (int i = 0; i < count && good; i++) {
        const int64_t bytes = call->bytes[i] + GUARD_BYTES;
        good = device->table->copy_out(device, call->operands[i], operands[i], bytes, &fault);
        device->table->release(device, operands[i], bytes);
    }
    ck_assert_msg(good, "%s", fault.text);
    mw_device_free(&device);
    mw_arena_free(&arena);
}

static void check_close(double found, double expected, double scale, const char *what,
                        int64_t index)
{
    ck_assert_msg(fabs(found - expected) <= 2e-5 * scale, "%s[%lld] is %g, not %g", what,
                  (long long)index, found, expected);
}

/* ---- gemm ---- */

static const struct {
    int64_t m, n, k, batch0, batch1;
    bool trans_a, trans_b;
    double alpha, beta;
    int64_t pad; /* elements between rows, batches and before the first */
} gemms[] = {
    {1, 1, 1, 1, 1, false, false, 1, 0, 0},    {5, 7, 3, 1, 1, false, false, 1, 0, 0},
    {5, 7, 3, 1, 1, true, false, 2, 0, 3},     {5, 7, 3, 1, 1, false, true, 1, 1, 1},
    {5, 7, 3, 1, 1, true, true, -1, 0.5, 2},   {4, 6, 8, 3, 2, false, false, 1, 0, 0},
    {4, 6, 8, 2, 3, true, false, 1, 1, 5},     {64, 33, 65, 2, 1, false, true, 0.5, 0, 4},
    {1, 300, 17, 1, 4, false, false, 1, 0, 0}, {300, 1, 17, 4, 1, true, true, 1, 1, 1},
};

static Call gemm_call(int index)
{
    Call call = {.routine = MW_ROUTINE_GEMM};
    MwKernelArg *a = call.args;
    const int64_t m = gemms[index].m, n = gemms[index].n, k = gemms[index].k;
    const int64_t pad = gemms[index].pad, batch1 = gemms[index].batch1;
    a[MW_GEMM_TRANS_A].i = gemms[index].trans_a;
    a[MW_GEMM_TRANS_B].i = gemms[index].trans_b;
    a[MW_GEMM_M].i = m;
    a[MW_GEMM_N].i = n;
    a[MW_GEMM_K].i = k;
    a[MW_GEMM_LDA].i = (gemms[index].trans_a ? m : k) + pad;
    a[MW_GEMM_LDB].i = (gemms[index].trans_b ? k : n) + pad;
    a[MW_GEMM_LDC].i = n + pad;
    a[MW_GEMM_BATCH0].i = gemms[index].batch0;
    a[MW_GEMM_BATCH1].i = batch1;
    a[MW_GEMM_A_STRIDE1].i = (gemms[index].trans_a ? k : m) * a[MW_GEMM_LDA].i + pad;
    a[MW_GEMM_B_STRIDE1].i = (gemms[index].trans_b ? n : k) * a[MW_GEMM_LDB].i;
    a[MW_GEMM_C_STRIDE1].i = m * a[MW_GEMM_LDC].i + pad;
    a[MW_GEMM_A_STRIDE0].i = batch1 * a[MW_GEMM_A_STRIDE1].i;
    a[MW_GEMM_B_STRIDE0].i = batch1 * a[MW_GEMM_B_STRIDE1].i + pad;
    a[MW_GEMM_C_STRIDE0].i = batch1 * a[MW_GEMM_C_STRIDE1].i;
    a[MW_GEMM_A_OFFSET].i = a[MW_GEMM_B_OFFSET].i = a[MW_GEMM_C_OFFSET].i = pad;
    a[MW_GEMM_ALPHA].f = gemms[index].alpha;
    a[MW_GEMM_BETA].f = gemms[index].beta;
    allocate(&call);
    return call;
}

/* The product at (row, column) of one batch, and in `*size` the sum of its absolute terms. */
static double gemm_reference(const Call *call, int64_t a_at, int64_t b_at, int64_t row,
                             int64_t column, double *size)
{
    const MwKernelArg *args = call->args;
    const float *a = (float *)call->operands[0] + a_at, *b = (float *)call->operands[1] + b_at;
    double sum = 0;
    *size = 1;
    for (int64_t k = 0; k < args[MW_GEMM_K].i; k++) {
        double x = a[args[MW_GEMM_TRANS_A].i ? k * args[MW_GEMM_LDA].i + row
                                             : row * args[MW_GEMM_LDA].i + k];
        double y = b[args[MW_GEMM_TRANS_B].i ? column * args[MW_GEMM_LDB].i + k
                                             : k * args[MW_GEMM_LDB].i + column];
        sum += x * y;
        *size += fabs(x * y);
    }
    return sum;
}

static void check_gemm_batch(const Call *call, const float *c, const float *before, int64_t i,
                             int64_t j)
{
    const MwKernelArg *args = call->args;
    const int64_t a_at =
        args[MW_GEMM_A_OFFSET].i + i * args[MW_GEMM_A_STRIDE0].i + j * args[MW_GEMM_A_STRIDE1].i;
    const int64_t b_at =
        args[MW_GEMM_B_OFFSET].i + i * args[MW_GEMM_B_STRIDE0].i + j * args[MW_GEMM_B_STRIDE1].i;
    const int64_t c_at =
        args[MW_GEMM_C_OFFSET].i + i * args[MW_GEMM_C_STRIDE0].i + j * args[MW_GEMM_C_STRIDE1].i;
    for (int64_t row = 0; row < args[MW_GEMM_M].i; row++) {
        for (int64_t column = 0; column < args[MW_GEMM_N].i; column++) {
            int64_t at = c_at + row * args[MW_GEMM_LDC].i + column;
            double size;
            double product = gemm_reference(call, a_at, b_at, row, column, &size);
            check_close(c[at], args[MW_GEMM_ALPHA].f * product + args[MW_GEMM_BETA].f * before[at],
                        size, "c", at);
        }
    }
}

START_TEST(gemm_is_the_product)
{
    Call call = gemm_call(_i);
    float *before = malloc((size_t)call.bytes[2]);
    memcpy(before, call.operands[2], (size_t)call.bytes[2]);
    run(&call);
    for (int64_t i = 0; i < gemms[_i].batch0; i++)
        for (int64_t j = 0; j < gemms[_i].batch1; j++)
            check_gemm_batch(&call, call.operands[2], before, i, j);
    free(before);
    release(&call);
}
END_TEST

/* ---- sdpa and sdpa_grad ---- */

typedef struct {
    int64_t b, s, t, h, g, d;
    bool causal;
    int64_t position, pad;
} Attention;

static const Attention attentions[] = {
    {1, 1, 1, 1, 1, 1, false, 0, 0},      {2, 5, 5, 2, 2, 4, true, 0, 0},
    {2, 5, 9, 2, 2, 4, false, 0, 3},      {1, 70, 70, 4, 2, 8, true, 0, 0},
    {1, 64, 64, 2, 1, 16, true, 0, 1},    {1, 65, 130, 3, 3, 5, true, 65, 0},
    {2, 33, 99, 4, 1, 8, true, 33, 2},    {1, 130, 20, 2, 2, 3, true, 0, 0},
    {1, 129, 129, 6, 2, 32, false, 0, 0}, {1, 3, 300, 1, 1, 64, true, 297, 0},
    {1, 4, 4, 2, 2, 2, true, 100, 0},
};

static Call attention_call(MwRoutine routine, const Attention *z)
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
    allocate(&call);
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

START_TEST(sdpa_is_softmax_attention)
{
    const Attention *z = &attentions[_i];
    Call call = attention_call(MW_ROUTINE_SDPA, z);
    const float *out = call.operands[3], *lse = call.operands[4];
    double *p = malloc(sizeof *p * (size_t)z->t);
    run(&call);
    EACH_QUERY(z)
    {
        const Query query = query_at(&call, z, b, s, h, p);
        check_close(lse[query.query], query.lse, 4, "lse", query.query);
        for (int64_t i = 0; i < z->d; i++)
            check_close(out[query.query * z->d + i], out_reference(z, &query, i), 1, "out",
                        query.query * z->d + i);
    }
    free(p);
    release(&call);
}
END_TEST

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

static void check_all(const float *found, const double *expected, int64_t count, const char *what)
{
    double size = 1;
    for (int64_t i = 0; i < count; i++)
        size = fmax(size, fabs(expected[i]));
    for (int64_t i = 0; i < count; i++)
        check_close(found[i], expected[i], size, what, i);
}

/* out and lse are of the forward pass on the same q, k and v. */
static void run_forward_first(Call *grad, const Attention *z)
{
    Call forward = attention_call(MW_ROUTINE_SDPA, z);
    for (int i = 0; i < 3; i++)
        memcpy(forward.operands[i], grad->operands[i], (size_t)grad->bytes[i]);
    run(&forward);
    for (int i = 3; i < 5; i++)
        memcpy(grad->operands[i], forward.operands[i], (size_t)grad->bytes[i]);
    release(&forward);
}

START_TEST(sdpa_grad_is_its_gradient)
{
    const Attention *z = &attentions[_i];
    Call call = attention_call(MW_ROUTINE_SDPA_GRAD, z);
    const int64_t queries = z->b * z->s * z->h * z->d, keys = z->b * z->t * z->g * z->d;
    double *dq = calloc((size_t)queries, sizeof *dq), *dk = calloc((size_t)keys, sizeof *dk);
    double *dv = calloc((size_t)keys, sizeof *dv), *p = malloc(sizeof *p * (size_t)z->t);
    run_forward_first(&call, z);
    EACH_QUERY(z)
    {
        const Query query = query_at(&call, z, b, s, h, p);
        add_gradients(&call, z, &query, dq, dk, dv);
    }
    run(&call);
    check_all(call.operands[6], dq, queries, "dq");
    check_all(call.operands[7], dk, keys, "dk");
    check_all(call.operands[8], dv, keys, "dv");
    free(dq);
    free(dk);
    free(dv);
    free(p);
    release(&call);
}
END_TEST

START_TEST(sdpa_gives_the_same_bits_every_time)
{
    const Attention *z = &attentions[3];
    Call first = attention_call(MW_ROUTINE_SDPA, z), second = attention_call(MW_ROUTINE_SDPA, z);
    run(&first);
    run(&second);
    ck_assert_mem_eq(first.operands[3], second.operands[3], (size_t)first.bytes[3]);
    release(&first);
    release(&second);
}
END_TEST

/* Arguments that no call may have. */
static const struct {
    int arg;
    int64_t value;
} wrong_attentions[] = {{MW_SDPA_B, 0},         {MW_SDPA_S, -1},
                        {MW_SDPA_G, 3},         {MW_SDPA_Q_ROW, 1},
                        {MW_SDPA_K_OFFSET, -4}, {MW_SDPA_T, (int64_t)1 << 61},
                        {MW_SDPA_POSITION, -1}};

START_TEST(extents_refuse_nonsense)
{
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    Call call = attention_call(MW_ROUTINE_SDPA_GRAD, &attentions[1]);
    call.args[wrong_attentions[_i].arg].i = wrong_attentions[_i].value;
    ck_assert(!mw_routine_extents(MW_ROUTINE_SDPA_GRAD, call.args, bytes));
    release(&call);
}
END_TEST

START_TEST(zero_and_copy_move_bytes)
{
    Call copy = {.routine = MW_ROUTINE_COPY, .args = {{.i = 8}}};
    Call zero = {.routine = MW_ROUTINE_ZERO, .args = {{.i = 8}}};
    allocate(&copy);
    allocate(&zero);
    run(&copy);
    run(&zero);
    ck_assert_mem_eq(copy.operands[0], copy.operands[1], 8);
    ck_assert(*(float *)copy.operands[0] == sample(0, 0));
    ck_assert(*(int64_t *)zero.operands[0] == 0);
    release(&copy);
    release(&zero);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("routines");
    TCase *tests = tcase_create("routines"), *attention = tcase_create("attention");
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, attention);
    tcase_add_loop_test(tests, gemm_is_the_product, 0, MW_COUNT(gemms));
    tcase_add_loop_test(attention, sdpa_is_softmax_attention, 0, MW_COUNT(attentions));
    tcase_add_loop_test(attention, sdpa_grad_is_its_gradient, 0, MW_COUNT(attentions));
    tcase_add_test(attention, sdpa_gives_the_same_bits_every_time);
    tcase_add_loop_test(tests, extents_refuse_nonsense, 0, MW_COUNT(wrong_attentions));
    tcase_add_test(tests, zero_and_copy_move_bytes);
    return run_suite(suite);
}
