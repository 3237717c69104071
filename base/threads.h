/* SPDX-License-Identifier: MIT */
/* Independent work on several threads. */
#ifndef MW_BASE_THREADS_H
#define MW_BASE_THREADS_H

enum { MW_MOST_THREADS = 256 };

/* Calls work(context, i) for every i in [0, count), on at most `threads` threads (and at most
 * MW_MOST_THREADS), in any order; returns after all calls. The effect of a call may depend on
 * its `i` alone. */
void mw_parallel(int threads, int count, void (*work)(void *context, int i), void *context);

/* The number of threads that this process may run at once. */
int mw_parallel_threads(void);

#endif
