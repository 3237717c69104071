/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events in the order of their times: a binary heap. Events of one time are in the order in which
 * they were added, so that a simulation is the same everywhere. */
#ifndef MW_CODEGEN_SIMULATE_EVENTS_H
#define MW_CODEGEN_SIMULATE_EVENTS_H

#include "base/vec.h"

typedef enum {
    MW_EVENT_MESH, /* mesh `index` goes on, unless `turn` is past */
    MW_EVENT_FLOW, /* flow `index` comes to the end of its phase, unless `turn` is past */
} MwEventKind;

typedef struct {
    double time_s;
    int64_t number; /* of the event, among all that were added */
    MwEventKind kind;
    int index;
    int turn; /* of the mesh or flow, when the event was added */
} MwEvent;

typedef struct {
    MwArena *arena;
    MW_VEC(MwEvent) heap; /* each is no earlier than the one at (i - 1) / 2 */
    int64_t added;
} MwEvents;

/* Numbers the event and adds it. */
void mw_events_add(MwEvents *events, MwEvent event);
/* Takes the earliest; there is one. */
MwEvent mw_events_take(MwEvents *events);

#endif
