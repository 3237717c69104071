/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every unit test shares: a main that runs one Check suite and prints TAP on stdout. */
#ifndef MW_TESTS_UNIT_SUPPORT_H
#define MW_TESTS_UNIT_SUPPORT_H

#include <check.h>

/* Runs `suite`, prints TAP, returns the exit status for main. Takes ownership of `suite`. */
int run_suite(Suite *suite);

#endif
