/* SPDX-License-Identifier: MIT */
#include "base/threads.h"

#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct {
    void (*work)(void *context, int i);
    void *context;
    int count;
    atomic_int next;
} Queue;

/* Takes the next index until none is left. */
static void *take_turns(void *argument)
{
    Queue *queue = argument;
    for (int i; (i = atomic_fetch_add(&queue->next, 1)) < queue->count;)
        queue->work(queue->context, i);
    return NULL;
}

/* The calling thread works too. If a thread cannot be created, the others do its work. */
void mw_parallel(int threads, int count, void (*work)(void *context, int i), void *context)
{
    Queue queue = {.work = work, .context = context, .count = count};
    pthread_t others[MW_MOST_THREADS];
    int started = 0, wanted = (int)mw_min(mw_min(threads, count) - 1, MW_MOST_THREADS);
    while (started < wanted && pthread_create(&others[started], NULL, take_turns, &queue) == 0)
        started++;
    take_turns(&queue);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}

int mw_parallel_threads(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    return (int)mw_max(1, mw_min(count, MW_MOST_THREADS));
}
