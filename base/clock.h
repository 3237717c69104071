/* SPDX-License-Identifier: MIT */
/* The clock of all time measurements. */
#ifndef MW_BASE_CLOCK_H
#define MW_BASE_CLOCK_H

/* Monotonic seconds since an arbitrary moment. */
double mw_clock_s(void);

#endif
