/* SPDX-License-Identifier: MIT */
/* Small messages between hosts that come at any time and are taken when somebody looks: how ranks
 * agree that a message between their devices may go. Those from one rank to another come in the order
 * in which they were sent. */
#ifndef MW_RUNTIME_MPI_NOTES_H
#define MW_RUNTIME_MPI_NOTES_H

#include "base/arena.h"
#include "runtime/exec/fault.h"

typedef struct MwNotes MwNotes;

typedef struct {
    int peer; /* rank that it goes to or is from */
    int kind, tag;
} MwNote;

/* MPI has been started. NULL after a fault. */
MwNotes *mw_notes_new(MwArena *arena, MwFault *fault);
bool mw_note_send(MwNotes *notes, MwNote note, MwFault *fault);
/* The next that came; `*found` is false if there is none. */
bool mw_note_take(MwNotes *notes, MwNote *note, bool *found, MwFault *fault);
/* Before MPI ends. */
void mw_notes_free(MwNotes **notes);

#endif
