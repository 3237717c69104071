/* SPDX-License-Identifier: MIT */
#include "runtime/feed/feed_bounds.h"

#include "base/element.h"

#include <stdio.h>

/* The place among the elements of the whole input of a local element, which is no padding. */
static int64_t global_of(const MwBox *box, int64_t local)
{
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);)
        if (local >= segment.local && local < segment.local + segment.count)
            return segment.global + local - segment.local;
    MW_UNREACHABLE();
}

static bool refuse(const MwFeed *feed, int64_t step, const MwBox *box, int64_t local, int64_t value,
                   int64_t below, MwFault *fault)
{
    char place[MW_FEED_PLACE_BYTES] = "";
    if (feed->place)
        feed->place(feed, step, global_of(box, local), place);
    return mw_fault_set(fault, "the data holds %lld%s%s%s; the model takes 0 to %lld",
                        (long long)value, *place ? " (" : "", place, *place ? ")" : "",
                        (long long)below - 1);
}

static bool check_bound(const MwFeed *feed, const MwPlanBound *bound, int64_t step,
                        const MwBox *box, const void *values, MwFault *fault)
{
    const int axis = bound->axis, rank = box->global.rank;
    int64_t before = 1, after = 1; /* elements of the dimensions before and after the axis */
    for (int d = 0; d < axis; d++)
        before *= box->size[d] + box->padding[d];
    for (int d = axis + 1; d < rank; d++)
        after *= box->size[d] + box->padding[d];
    const int64_t size = rank ? box->size[axis] + box->padding[axis] : 1,
                  start = rank ? box->start[axis] : 0;
    const int64_t first = mw_max(bound->begin - start, 0) * after;
    const int64_t end = mw_min(bound->end - start, size) * after;
    for (int64_t row = 0; row < before; row++) {
        for (int64_t i = first; i < end; i++) {
            const int64_t local = row * size * after + i;
            const int64_t value = mw_element_integer(box->global.type, values, local);
            if (value < 0 || value >= bound->below)
                return refuse(feed, step, box, local, value, bound->below, fault);
        }
    }
    return true;
}

bool mw_feed_check_bounds(const MwFeed *feed, int64_t step, const MwBox *box, const void *values,
                          MwFault *fault)
{
    for (int i = 0; i < feed->input->bound_count; i++)
        if (!check_bound(feed, &feed->input->bounds[i], step, box, values, fault))
            return false;
    return true;
}
