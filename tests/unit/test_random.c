/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/random.h: the published known answers of Philox, and the odds of dropout. */
#include "base/random.h"
#include "tests/unit/support.h"

#include <stdlib.h>

/* Random123's kat_vectors, philox4x32 10: counter words are position (low, high), step, stream. */
static const struct {
    uint64_t seed, position;
    uint32_t stream, step, word[4];
} known_answers[] = {
    {0, 0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {~UINT64_C(0), ~UINT64_C(0), ~0u, ~0u, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {UINT64_C(0x299f31d0a4093822),
     UINT64_C(0x85a308d3243f6a88),
     0x03707344,
     0x13198a2e,
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(philox_gives_the_published_answers)
{
    MwRandomBlock block = mw_random_block(known_answers[_i].seed, known_answers[_i].stream,
                                          known_answers[_i].step, known_answers[_i].position);
    for (int k = 0; k < 4; k++)
        ck_assert_uint_eq(block.word[k], known_answers[_i].word[k]);
}
END_TEST

START_TEST(units_stay_inside_the_open_interval)
{
    ck_assert(mw_random_unit(0) > 0.0f);
    ck_assert(mw_random_unit(~0u) < 1.0f);
}
END_TEST

START_TEST(dropout_keeps_its_share)
{
    int kept = 0, count = 100000;
    for (int i = 0; i < count; i++)
        kept += mw_random_keep(5, 1, 2, (uint64_t)i, 0.3f);
    ck_assert_int_lt(abs(kept - 70000), 700); /* five standard deviations are 725 */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random");
    TCase *tests = tcase_create("random");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, philox_gives_the_published_answers, 0,
                        (int)(sizeof known_answers / sizeof *known_answers));
    tcase_add_test(tests, units_stay_inside_the_open_interval);
    tcase_add_test(tests, dropout_keeps_its_share);
    return run_suite(suite);
}
