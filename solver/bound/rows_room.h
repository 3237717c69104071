/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The room that is left in memory rows while nodes are given strategies one by one: a node counts
 * in many rows, so both questions and changes are about ranges of rows. See rows_room.c. */
#ifndef MW_SOLVER_BOUND_ROWS_ROOM_H
#define MW_SOLVER_BOUND_ROWS_ROOM_H

#include "solver/core/core.h"

typedef struct MwRowsRoom MwRowsRoom;

/* All of the core's limits. */
MwRowsRoom *mw_rows_room_new(MwArena *arena, const MwCore *core);
/* The least room in a row of [first, last]. */
__int128 mw_rows_room_least(const MwRowsRoom *room, int first, int last);
/* Takes `usage`, which may be negative, from each of them. */
void mw_rows_room_take(MwRowsRoom *room, int first, int last, int64_t usage);

#endif
