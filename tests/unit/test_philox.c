/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/philox.h: known answers, and that its distributions are what they claim. */
#include "base/base.h"
#include "base/philox.h"
#include "tests/unit/support.h"

/* From the known-answer tests of Random123, by the authors of Philox: philox4x32 with 10 rounds. */
START_TEST(known_answers)
{
    static const struct {
        uint64_t seed, stream, counter;
        uint32_t words[4];
    } cases[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x0370734413198a2e,
         0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        uint32_t words[4];
        mw_philox(cases[i].seed, cases[i].stream, cases[i].counter, words);
        for (int k = 0; k < 4; k++)
            ck_assert_uint_eq(words[k], cases[i].words[k]);
    }
}
END_TEST

enum { SAMPLES = 100000 };

/* Mean 1/2 and variance 1/12; the bounds are five standard errors. */
START_TEST(uniforms_have_their_moments)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double u = mw_uniform_at(7, 11, (uint64_t)i);
        ck_assert(u > 0 && u < 1);
        sum += u - 0.5;
        squares += (u - 0.5) * (u - 0.5);
    }
    ck_assert_double_eq_tol(sum / SAMPLES, 0, 5 * sqrt(1.0 / 12 / SAMPLES));
    ck_assert_double_eq_tol(squares / SAMPLES, 1.0 / 12, 5 * sqrt(1.0 / 180 / SAMPLES));
}
END_TEST

/* Mean 0, variance 1, fourth moment 3, and no correlation between neighbours (which share words);
 * the bounds are five standard errors. */
START_TEST(normals_have_their_moments)
{
    double sum = 0, squares = 0, fourths = 0, neighbours = 0, last = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double z = mw_normal_at(7, 11, (uint64_t)i);
        sum += z;
        squares += z * z;
        fourths += z * z * z * z;
        neighbours += z * last;
        last = z;
    }
    ck_assert_double_eq_tol(sum / SAMPLES, 0, 5 * sqrt(1.0 / SAMPLES));
    ck_assert_double_eq_tol(squares / SAMPLES, 1, 5 * sqrt(2.0 / SAMPLES));
    ck_assert_double_eq_tol(fourths / SAMPLES, 3, 5 * sqrt(96.0 / SAMPLES));
    ck_assert_double_eq_tol(neighbours / SAMPLES, 0, 5 * sqrt(1.0 / SAMPLES));
}
END_TEST

START_TEST(dropout_keeps_its_share_and_differs_by_step)
{
    uint32_t threshold = mw_dropout_threshold(0.25);
    ck_assert_uint_eq(threshold, 0x40000000);
    ck_assert_uint_eq(mw_dropout_threshold(0), 0);
    int kept = 0, same = 0;
    for (int i = 0; i < SAMPLES; i++) {
        bool first = mw_dropout_keeps(1, mw_step_stream(3, 1), (uint64_t)i, threshold);
        bool second = mw_dropout_keeps(1, mw_step_stream(3, 2), (uint64_t)i, threshold);
        ck_assert(mw_dropout_keeps(1, mw_step_stream(3, mw_kernel_step(1, 2)), (uint64_t)i,
                                   threshold)); /* an evaluation */
        kept += first;
        same += first == second;
    }
    double share = 0.75, agree = 0.75 * 0.75 + 0.25 * 0.25;
    ck_assert_double_eq_tol((double)kept / SAMPLES, share, 5 * sqrt(share * (1 - share) / SAMPLES));
    ck_assert_double_eq_tol((double)same / SAMPLES, agree, 5 * sqrt(agree * (1 - agree) / SAMPLES));
}
END_TEST

/* Multiples of 2^-24, other ones in another stream and in another step. */
START_TEST(values_of_a_step_have_their_moments)
{
    double sum = 0, squares = 0, pairs = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const double x = mw_step_uniform(1, mw_step_stream(3, 1), (uint64_t)i);
        const double y =
            mw_step_uniform(1, mw_step_stream(i % 2 ? 4 : 3, 1 + !(i % 2)), (uint64_t)i);
        ck_assert(x >= 0 && x < 1 && x * 0x1p24 == floor(x * 0x1p24));
        sum += x;
        squares += x * x;
        pairs += (x - 0.5) * (y - 0.5);
    }
    ck_assert_double_eq_tol(sum / SAMPLES, 0.5, 5 * sqrt(1.0 / 12 / SAMPLES));
    ck_assert_double_eq_tol(squares / SAMPLES, 1.0 / 3, 5 * sqrt(4.0 / 45 / SAMPLES));
    ck_assert_double_eq_tol(pairs / SAMPLES, 0, 5 * sqrt(1.0 / 144 / SAMPLES));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("philox");
    TCase *tests = tcase_create("philox");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, known_answers);
    tcase_add_test(tests, uniforms_have_their_moments);
    tcase_add_test(tests, normals_have_their_moments);
    tcase_add_test(tests, dropout_keeps_its_share_and_differs_by_step);
    tcase_add_test(tests, values_of_a_step_have_their_moments);
    return run_suite(suite);
}
