/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree over the rows: each node of it has the least room of its rows, and what was taken from all
 * of these at once and is not in the nodes below. So a range costs the logarithm of the number of
 * rows, where a long interval would cost its length (segment trees: de Berg et al., Computational
 * Geometry, 2008, section 10.3). */
#include "solver/bound/row_slack.h"

typedef struct {
    __int128 least; /* of its rows, as far as is known here */
    __int128 taken; /* from all of them; counted in `least`, and not below */
} Segment;

struct MwRowSlack {
    int leaves; /* a power of two */
    Segment
        *segments; /* [2 * leaves]; the root is 1, below i are 2i and 2i + 1, row r is leaves + r */
};

static __int128 least_below(const MwRowSlack *room, int segment)
{
    const Segment *below = &room->segments[2 * segment];
    return below[0].least < below[1].least ? below[0].least : below[1].least;
}

MwRowSlack *mw_row_slack_new(MwArena *arena, const MwCore *core)
{
    MwRowSlack *room = MW_NEW(arena, MwRowSlack, 1);
    room->leaves = 1;
    while (room->leaves < core->row_count)
        room->leaves *= 2;
    room->segments = MW_NEW(arena, Segment, 2 * room->leaves);
    for (int row = 0; row < core->row_count; row++)
        room->segments[room->leaves + row].least = core->limit[row];
    for (int segment = room->leaves - 1; segment > 0; segment--)
        room->segments[segment].least = least_below(room, segment);
    return room;
}

/* `part` has the `size` rows from `begin`, some of them in [first, last]. */
static __int128 least_in(const MwRowSlack *room, int segment, int begin, int size, int first,
                         int last)
{
    if (first <= begin && begin + size - 1 <= last)
        return room->segments[segment].least;
    const int half = size / 2, middle = begin + half;
    __int128 least;
    if (last < middle) {
        least = least_in(room, 2 * segment, begin, half, first, last);
    } else if (first >= middle) {
        least = least_in(room, 2 * segment + 1, middle, half, first, last);
    } else {
        least = least_in(room, 2 * segment, begin, half, first, last);
        const __int128 other = least_in(room, 2 * segment + 1, middle, half, first, last);
        least = other < least ? other : least;
    }
    return least - room->segments[segment].taken;
}

__int128 mw_row_slack_least(const MwRowSlack *room, int first, int last)
{
    return least_in(room, 1, 0, room->leaves, first, last);
}

static void take_in(MwRowSlack *room, int segment, int begin, int size, int first, int last,
                    int64_t usage)
{
    Segment *of = &room->segments[segment];
    if (first <= begin && begin + size - 1 <= last) {
        of->least -= usage;
        of->taken += usage;
        return;
    }
    const int half = size / 2, middle = begin + half;
    if (first < middle)
        take_in(room, 2 * segment, begin, half, first, last, usage);
    if (last >= middle)
        take_in(room, 2 * segment + 1, middle, half, first, last, usage);
    of->least = least_below(room, segment) - of->taken;
}

void mw_row_slack_take(MwRowSlack *room, int first, int last, int64_t usage)
{
    if (usage != 0)
        take_in(room, 1, 0, room->leaves, first, last, usage);
}
