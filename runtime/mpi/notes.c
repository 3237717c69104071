/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/notes.h"

#include "runtime/mpi/parcels.h"

#include <mpi.h>

/* Between those of messages between hosts and of messages between devices. */
enum { NOTE_TAG = 2 };

/* Notes that are on their way from this rank; a further one waits for the oldest. */
enum { MOST_SENT = 64 };

typedef struct {
    int kind, tag;
} Words;

struct MwNotes {
    MPI_Request receive;
    Words received;
    MPI_Request sends[MOST_SENT];
    Words sent[MOST_SENT];
    int next;
};

#define CALL(name, ...) mw_mpi_check(name(__VA_ARGS__), #name, fault)

enum { WORDS = sizeof(Words) / sizeof(int) };

static bool post(MwNotes *notes, MwFault *fault)
{
    return CALL(MPI_Irecv, &notes->received, WORDS, MPI_INT, MPI_ANY_SOURCE, NOTE_TAG,
                MPI_COMM_WORLD, &notes->receive);
}

MwNotes *mw_notes_new(MwArena *arena, MwFault *fault)
{
    MwNotes *notes = MW_NEW(arena, MwNotes, 1);
    for (int i = 0; i < MOST_SENT; i++)
        notes->sends[i] = MPI_REQUEST_NULL;
    return post(notes, fault) ? notes : NULL;
}

bool mw_note_send(MwNotes *notes, MwNote note, MwFault *fault)
{
    const int i = notes->next;
    notes->next = (i + 1) % MOST_SENT;
    if (!CALL(MPI_Wait, &notes->sends[i], MPI_STATUS_IGNORE))
        return false;
    notes->sent[i] = (Words){note.kind, note.tag};
    return CALL(MPI_Isend, &notes->sent[i], WORDS, MPI_INT, note.peer, NOTE_TAG, MPI_COMM_WORLD,
                &notes->sends[i]);
}

bool mw_note_take(MwNotes *notes, MwNote *note, bool *found, MwFault *fault)
{
    MPI_Status status;
    int flag = 0;
    if (!CALL(MPI_Test, &notes->receive, &flag, &status))
        return false;
    *found = flag;
    if (!flag)
        return true;
    *note = (MwNote){status.MPI_SOURCE, notes->received.kind, notes->received.tag};
    return post(notes, fault);
}

void mw_notes_free(MwNotes **notes)
{
    MwNotes *old = *notes;
    *notes = NULL;
    if (!old || old->receive == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(&old->receive);
    MPI_Wait(&old->receive, MPI_STATUS_IGNORE);
    MPI_Waitall(MOST_SENT, old->sends, MPI_STATUSES_IGNORE);
}
