/* SPDX-License-Identifier: MIT */
#include "runtime/plan/collective.h"

#include "base/element.h"

#include <math.h>
#include <string.h>

bool mw_exchange_result(MwCollective kind, int ways, int64_t count, int64_t *result)
{
    const MwCollectiveInfo *info = mw_collective_info(kind);
    const int64_t block = info->splits ? count / ways : count;
    if (info->splits && count % ways != 0)
        return false;
    return !__builtin_mul_overflow(block, info->joins ? (int64_t)ways : 1, result);
}

bool mw_combine_is_valid(MwType type, MwCombine combine)
{
    return !mw_type_is_fp8(type) && (combine != MW_COMBINE_LOGSUMEXP || mw_type_is_float(type));
}

/* Elements combined at a time: they and their sum stay in the cache. */
enum { TILE = 2048 };

/* Loops over one type each run in vectors, 14 times as fast in bf16 as with a choice for each
 * element. */
static void load_floats(MwType type, const void *from, int64_t begin, int count, float *to)
{
    if (type == MW_F32) {
        memcpy(to, (const float *)from + begin, sizeof *to * (size_t)count);
        return;
    }
    const uint16_t *halves = (const uint16_t *)from + begin;
    MW_ASSERT(mw_type_is_half(type));
    if (type == MW_BF16)
        for (int i = 0; i < count; i++)
            to[i] = mw_bf16_to_f32(halves[i]);
    else
        for (int i = 0; i < count; i++)
            to[i] = mw_f16_to_f32(halves[i]);
}

static void store_floats(MwType type, const float *from, int64_t begin, int count, void *to)
{
    if (type == MW_F32) {
        memcpy((float *)to + begin, from, sizeof *from * (size_t)count);
        return;
    }
    uint16_t *halves = (uint16_t *)to + begin;
    MW_ASSERT(mw_type_is_half(type));
    if (type == MW_BF16)
        for (int i = 0; i < count; i++)
            halves[i] = mw_bf16_from_f32(from[i]);
    else
        for (int i = 0; i < count; i++)
            halves[i] = mw_f16_from_f32(from[i]);
}

static float log_sum_exp(float a, float b)
{
    float most = a > b ? a : b, least = a > b ? b : a;
    return isinf(most) && least == least ? most : most + log1pf(expf(least - most));
}

static void add_floats(MwCombine combine, const float *restrict more, int count,
                       float *restrict sum)
{
    switch (combine) {
    case MW_COMBINE_SUM:
        for (int i = 0; i < count; i++)
            sum[i] += more[i];
        break;
    case MW_COMBINE_MAX: /* NaN wins, so that it is seen */
        for (int i = 0; i < count; i++)
            sum[i] = more[i] > sum[i] || more[i] != more[i] ? more[i] : sum[i];
        break;
    case MW_COMBINE_LOGSUMEXP:
        for (int i = 0; i < count; i++)
            sum[i] = log_sum_exp(sum[i], more[i]);
        break;
    case MW_COMBINE_COUNT:
        MW_UNREACHABLE();
    }
}

static void combine_floats(MwType type, MwCombine combine, const void *const *from, int members,
                           int64_t begin, int count, void *to)
{
    float sum[TILE], more[TILE];
    load_floats(type, from[0], begin, count, sum);
    for (int m = 1; m < members; m++) {
        load_floats(type, from[m], begin, count, more);
        add_floats(combine, more, count, sum);
    }
    store_floats(type, sum, begin, count, to);
}

/* Combines one element of all members. Sums wrap when they are stored; one of bools says whether
 * any is true, as their maximum does. */
static int64_t combine_integers(MwType type, MwCombine combine, const void *const *from,
                                int members, int64_t at)
{
    int64_t sum = mw_element_integer(type, from[0], at);
    for (int m = 1; m < members; m++) {
        const int64_t more = mw_element_integer(type, from[m], at);
        switch (combine) {
        case MW_COMBINE_SUM:
            sum = (int64_t)((uint64_t)sum + (uint64_t)more);
            break;
        case MW_COMBINE_MAX:
            sum = mw_max(sum, more);
            break;
        case MW_COMBINE_LOGSUMEXP: /* of floats alone */
        case MW_COMBINE_COUNT:
            MW_UNREACHABLE();
        }
    }
    return sum;
}

void mw_combine(MwType type, MwCombine combine, const void *const *from, int members, int64_t count,
                void *to)
{
    if (mw_type_is_float(type)) {
        for (int64_t begin = 0; begin < count; begin += TILE)
            combine_floats(type, combine, from, members, begin, (int)mw_min(TILE, count - begin),
                           to);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        mw_element_put_integer(type, to, i, combine_integers(type, combine, from, members, i));
}
