/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree over the rows: each node of it has the least room of its rows, and what was taken from all
 * of these at once and is not in the nodes below. So a range costs the logarithm of the number of
 * rows, where a long interval would cost its length (segment trees: de Berg et al., Computational
 * Geometry, 2008, section 10.3). */
#include "solver/bound/rows_room.h"

typedef struct {
    __int128 least; /* of its rows, as far as is known here */
    __int128 taken; /* from all of them; counted in `least`, and not below */
} Part;

struct MwRowsRoom {
    int leaves;  /* a power of two */
    Part *parts; /* [2 * leaves]; the root is 1, below i are 2i and 2i + 1, row r is leaves + r */
};

static __int128 least_below(const MwRowsRoom *room, int part)
{
    const Part *below = &room->parts[2 * part];
    return below[0].least < below[1].least ? below[0].least : below[1].least;
}

MwRowsRoom *mw_rows_room_new(MwArena *arena, const MwCore *core)
{
    MwRowsRoom *room = MW_NEW(arena, MwRowsRoom, 1);
    room->leaves = 1;
    while (room->leaves < core->row_count)
        room->leaves *= 2;
    room->parts = MW_NEW(arena, Part, 2 * room->leaves);
    for (int row = 0; row < core->row_count; row++)
        room->parts[room->leaves + row].least = core->limit[row];
    for (int part = room->leaves - 1; part > 0; part--)
        room->parts[part].least = least_below(room, part);
    return room;
}

/* `part` has the `size` rows from `begin`, some of them in [first, last]. */
static __int128 least_in(const MwRowsRoom *room, int part, int begin, int size, int first, int last)
{
    if (first <= begin && begin + size - 1 <= last)
        return room->parts[part].least;
    const int half = size / 2, middle = begin + half;
    __int128 least;
    if (last < middle) {
        least = least_in(room, 2 * part, begin, half, first, last);
    } else if (first >= middle) {
        least = least_in(room, 2 * part + 1, middle, half, first, last);
    } else {
        least = least_in(room, 2 * part, begin, half, first, last);
        const __int128 other = least_in(room, 2 * part + 1, middle, half, first, last);
        least = other < least ? other : least;
    }
    return least - room->parts[part].taken;
}

__int128 mw_rows_room_least(const MwRowsRoom *room, int first, int last)
{
    return least_in(room, 1, 0, room->leaves, first, last);
}

static void take_in(MwRowsRoom *room, int part, int begin, int size, int first, int last,
                    int64_t usage)
{
    Part *of = &room->parts[part];
    if (first <= begin && begin + size - 1 <= last) {
        of->least -= usage;
        of->taken += usage;
        return;
    }
    const int half = size / 2, middle = begin + half;
    if (first < middle)
        take_in(room, 2 * part, begin, half, first, last, usage);
    if (last >= middle)
        take_in(room, 2 * part + 1, middle, half, first, last, usage);
    of->least = least_below(room, part) - of->taken;
}

void mw_rows_room_take(MwRowsRoom *room, int first, int last, int64_t usage)
{
    if (usage != 0)
        take_in(room, 1, 0, room->leaves, first, last, usage);
}
