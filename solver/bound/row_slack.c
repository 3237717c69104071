/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A segment tree over the rows. Each segment has the least slack of its rows, and the amount that
 * was subtracted from all of them at once and is not included in its children. A query or update of
 * a range takes time logarithmic in the number of rows, whereas a loop would take time linear in
 * the length of the range (de Berg et al., Computational Geometry, 2008, section 10.3). */
#include "solver/bound/row_slack.h"

typedef struct {
    __int128 least; /* least slack of its rows, without what was subtracted from ancestors */
    /* subtracted from all its rows; included in `least`, not in the children */
    __int128 subtracted;
} Segment;

struct MwRowSlack {
    int leaves; /* a power of two */
    /* [2 * leaves] the root is 1, the children of i are 2i and 2i + 1, row r is leaves + r */
    Segment *segments;
};

static __int128 least_below(const MwRowSlack *slack, int segment)
{
    const Segment *below = &slack->segments[2 * segment];
    return below[0].least < below[1].least ? below[0].least : below[1].least;
}

MwRowSlack *mw_row_slack_new(MwArena *arena, const MwCore *core)
{
    MwRowSlack *slack = MW_NEW(arena, MwRowSlack, 1);
    slack->leaves = 1;
    while (slack->leaves < core->row_count)
        slack->leaves *= 2;
    slack->segments = MW_NEW(arena, Segment, 2 * slack->leaves);
    for (int row = 0; row < core->row_count; row++)
        slack->segments[slack->leaves + row].least = core->limit[row];
    for (int segment = slack->leaves - 1; segment > 0; segment--)
        slack->segments[segment].least = least_below(slack, segment);
    return slack;
}

/* Returns the least slack of the rows in [first, last] of a segment, which has the `size` rows from
 * `begin`, some of them in that range. */
static __int128 least_in(const MwRowSlack *slack, int segment, int begin, int size, int first,
                         int last)
{
    if (first <= begin && begin + size - 1 <= last)
        return slack->segments[segment].least;
    const int half = size / 2, middle = begin + half;
    __int128 least;
    if (last < middle) {
        least = least_in(slack, 2 * segment, begin, half, first, last);
    } else if (first >= middle) {
        least = least_in(slack, 2 * segment + 1, middle, half, first, last);
    } else {
        least = least_in(slack, 2 * segment, begin, half, first, last);
        const __int128 other = least_in(slack, 2 * segment + 1, middle, half, first, last);
        least = other < least ? other : least;
    }
    return least - slack->segments[segment].subtracted;
}

__int128 mw_row_slack_least(const MwRowSlack *slack, int first, int last)
{
    return least_in(slack, 1, 0, slack->leaves, first, last);
}

static void subtract_in(MwRowSlack *slack, int segment, int begin, int size, int first, int last,
                        int64_t usage)
{
    Segment *of = &slack->segments[segment];
    if (first <= begin && begin + size - 1 <= last) {
        of->least -= usage;
        of->subtracted += usage;
        return;
    }
    const int half = size / 2, middle = begin + half;
    if (first < middle)
        subtract_in(slack, 2 * segment, begin, half, first, last, usage);
    if (last >= middle)
        subtract_in(slack, 2 * segment + 1, middle, half, first, last, usage);
    of->least = least_below(slack, segment) - of->subtracted;
}

void mw_row_slack_subtract(MwRowSlack *slack, int first, int last, int64_t usage)
{
    if (usage != 0)
        subtract_in(slack, 1, 0, slack->leaves, first, last, usage);
}
