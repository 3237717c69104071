/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats of `meshwright schedule`. docs/schedules.md explains what is shown. */
#ifndef MW_TOOLS_SCHEDULE_VIEW_H
#define MW_TOOLS_SCHEDULE_VIEW_H

#include "base/text.h"
#include "schedule/timeline.h"

enum { MW_SCHEDULE_LABEL_BYTES = 16 };

typedef struct {
    const MwPipelineSchedule *schedule;
    const MwTimeline *timeline;
    const MwTimeline *clocks; /* the same with tasks that take 1 */
    /* Of all chunks of a mesh together, for one micro-batch; of one transfer. For JSON alone. */
    double forward, backward_input, weight, transfer;
    bool in_seconds; /* all times; else they are of any unit */
} MwScheduleView;

/* The name of a task in drawings, "F12": its kind and its micro-batch; in lower case for chunks 1,
 * 3 and so on. */
const char *mw_schedule_view_label(MwTask task, char buffer[MW_SCHEDULE_LABEL_BYTES]);
/* What tasks of a kind are called in legends, "F forward"; NULL if the schedule has none. */
const char *mw_schedule_view_meaning(const MwPipelineSchedule *schedule, MwTaskKind kind);
/* "clocks 22, total 33, ...": one line on the whole, without its end. */
void mw_schedule_view_figures(MwText *text, const MwScheduleView *view);

/* A time as it is shown, in `arena`; `digits` of it where it has no unit. */
const char *mw_schedule_view_time(const MwScheduleView *view, MwArena *arena, double time,
                                  int digits);

/* Parts of the text: the table of the meshes; the rows of tasks and their legend. `columns` is the
 * width to fill, at least 40. */
void mw_schedule_view_meshes(MwText *text, const MwScheduleView *view);
void mw_schedule_view_rows(MwText *text, const MwScheduleView *view, int columns);
/* The same, or where tasks would be too short to have their names, the first and the last of
 * them. */
void mw_schedule_view_ends(MwText *text, const MwScheduleView *view, int columns);

void mw_schedule_view_text(MwText *text, const MwScheduleView *view, int columns);
void mw_schedule_view_json(MwText *text, const MwScheduleView *view);
void mw_schedule_view_svg(MwText *text, const MwScheduleView *view);

#endif
