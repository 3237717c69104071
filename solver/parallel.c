/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solver/parallel.h"

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST_THREADS = 32 };

typedef struct {
    void (*work)(void *context, int i);
    void *context;
    int count;
    atomic_int next;
} Queue;

static void *take_turns(void *argument)
{
    Queue *queue = argument;
    for (int i; (i = atomic_fetch_add(&queue->next, 1)) < queue->count;)
        queue->work(queue->context, i);
    return NULL;
}

/* The calling thread works too; threads that cannot be had are done without. */
void mw_parallel(int threads, int count, void (*work)(void *context, int i), void *context)
{
    Queue queue = {.work = work, .context = context, .count = count};
    pthread_t others[MOST_THREADS];
    int started = 0, wanted = (int)mw_min(mw_min(threads, count) - 1, MOST_THREADS);
    while (started < wanted && pthread_create(&others[started], NULL, take_turns, &queue) == 0)
        started++;
    take_turns(&queue);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}

int mw_parallel_threads(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : (int)mw_min(processors, MOST_THREADS);
}
