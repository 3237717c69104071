/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of `meshwright schedule`. docs/schedules.md explains what is shown. */
#ifndef MW_TOOLS_SCHEDULE_VIEW_H
#define MW_TOOLS_SCHEDULE_VIEW_H

#include "base/text.h"
#include "schedule/timeline.h"

enum { MW_SCHEDULE_LABEL_BYTES = 16 };

/* A schedule to be shown. */
typedef struct {
    const MwPipelineSchedule *schedule;
    const MwTimeline *timeline;
    const MwTimeline *clocks; /* the timeline if every task took time 1 */
    /* Times for one micro-batch of all chunks of a mesh together; only JSON shows them. */
    double forward, backward_input, weight;
    double transfer; /* time of one transfer; only JSON shows it */
    bool in_seconds; /* the unit of all times is a second; false: it is any */
} MwScheduleView;

/* The label of a task in drawings, "F12": its kind and its micro-batch, in lower case for odd
 * chunks. */
const char *mw_schedule_view_label(MwTask task, char buffer[MW_SCHEDULE_LABEL_BYTES]);
/* The legend of a kind of task, "F forward"; NULL if the schedule has no such task. */
const char *mw_schedule_view_meaning(const MwPipelineSchedule *schedule, MwTaskKind kind);
/* Adds the figures of the whole schedule, "clocks 22, total 33, ...", without an end of line. */
void mw_schedule_view_figures(MwText *text, const MwScheduleView *view);

/* Returns the text of a time, in `arena`. `digits` is the number of digits of a time without
 * unit. */
const char *mw_schedule_view_time(const MwScheduleView *view, MwArena *arena, double time,
                                  int digits);

/* Adds the table of the meshes. */
void mw_schedule_view_meshes(MwText *text, const MwScheduleView *view);
/* Adds the rows of tasks and their legend. `columns` is the width to fill, at least 40. */
void mw_schedule_view_rows(MwText *text, const MwScheduleView *view, int columns);
/* Adds the rows of tasks as mw_schedule_view_rows does, but only the first and the last tasks if
 * all would be too short for their labels. */
void mw_schedule_view_ends(MwText *text, const MwScheduleView *view, int columns);

void mw_schedule_view_text(MwText *text, const MwScheduleView *view, int columns);
void mw_schedule_view_json(MwText *text, const MwScheduleView *view);
void mw_schedule_view_svg(MwText *text, const MwScheduleView *view);

#endif
