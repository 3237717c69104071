/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every unit test shares: a main that runs one Check suite and prints TAP on stdout. */
#ifndef MW_TESTS_UNIT_SUPPORT_H
#define MW_TESTS_UNIT_SUPPORT_H

#include <check.h>

/* The sanitizers, which watch every access and take ten times as long, see one case of so many. */
#ifdef __SANITIZE_ADDRESS__
enum { CASE_STRIDE = 5 };
#else
enum { CASE_STRIDE = 1 };
#endif

/* How many of `count` random cases to try. */
static inline int tried(int count)
{
    return (count + CASE_STRIDE - 1) / CASE_STRIDE;
}

/* Runs `suite`, prints TAP, returns the exit status for main. Takes ownership of `suite`. */
int run_suite(Suite *suite);

#endif
