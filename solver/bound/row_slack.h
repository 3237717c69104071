/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The room that is left in memory rows while nodes are given strategies one by one: a node counts
 * in many rows, so both questions and changes are about ranges of rows. See row_slack.c. */
#ifndef MW_SOLVER_BOUND_ROW_SLACK_H
#define MW_SOLVER_BOUND_ROW_SLACK_H

#include "solver/core/core.h"

typedef struct MwRowSlack MwRowSlack;

/* All of the core's limits. */
MwRowSlack *mw_row_slack_new(MwArena *arena, const MwCore *core);
/* The least room in a row of [first, last]. */
__int128 mw_row_slack_least(const MwRowSlack *room, int first, int last);
/* Takes `usage`, which may be negative, from each of them. */
void mw_row_slack_take(MwRowSlack *room, int first, int last, int64_t usage);

#endif
