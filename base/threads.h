/* SPDX-License-Identifier: MIT */
/* Independent pieces of work on several threads. */
#ifndef MW_BASE_THREADS_H
#define MW_BASE_THREADS_H

enum { MW_MOST_THREADS = 256 };

/* Calls work(context, i) for every i below `count`, on at most `threads` threads (and at most
 * MW_MOST_THREADS), in no certain order; all have returned when it does. What a call does may
 * depend on its `i` alone. */
void mw_parallel(int threads, int count, void (*work)(void *context, int i), void *context);

/* As many as this process may run at once. */
int mw_parallel_threads(void);

#endif
