/* SPDX-License-Identifier: MIT */
/* The one clock that time is measured with. */
#ifndef MW_BASE_CLOCK_H
#define MW_BASE_CLOCK_H

/* Monotonic seconds since an arbitrary moment. */
double mw_clock_s(void);

#endif
