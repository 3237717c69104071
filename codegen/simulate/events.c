/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/events.h"

static bool is_before(const MwEvent *a, const MwEvent *b)
{
    return a->time_s != b->time_s ? a->time_s < b->time_s : a->number < b->number;
}

void mw_events_add(MwEvents *events, MwEvent event)
{
    event.number = events->added++;
    (void)mw_vec_add(events->arena, &events->heap);
    MwEvent *heap = events->heap.at;
    int at = events->heap.count - 1;
    for (; at > 0 && is_before(&event, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = event;
}

MwEvent mw_events_take(MwEvents *events)
{
    MW_ASSERT(events->heap.count > 0);
    MwEvent *heap = events->heap.at;
    const MwEvent first = heap[0], last = heap[--events->heap.count];
    const int count = events->heap.count;
    int at = 0;
    for (int child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}
