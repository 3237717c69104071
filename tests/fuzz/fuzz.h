/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fuzz target is one function, as libFuzzer wants it; fuzz_main.c is a driver for it that needs
 * no libFuzzer. */
#ifndef MW_TESTS_FUZZ_FUZZ_H
#define MW_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Reads `bytes` bytes of anything. Aborts the process where what it tests does not hold; returns
 * 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
