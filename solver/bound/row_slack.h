/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slack of memory rows while nodes receive strategies one by one. A node counts in many rows,
 * so both queries and updates concern ranges of rows. See row_slack.c. */
#ifndef MW_SOLVER_BOUND_ROW_SLACK_H
#define MW_SOLVER_BOUND_ROW_SLACK_H

#include "solver/core/core.h"

typedef struct MwRowSlack MwRowSlack;

/* Returns the slack without any usage: the core's limits. */
MwRowSlack *mw_row_slack_new(MwArena *arena, const MwCore *core);
/* Returns the least slack in the rows first to last. */
__int128 mw_row_slack_least(const MwRowSlack *slack, int first, int last);
/* Subtracts `usage`, which may be negative, from the slack of these rows. */
void mw_row_slack_subtract(MwRowSlack *slack, int first, int last, int64_t usage);

#endif
