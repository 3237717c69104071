/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/control.h"

#include "runtime/mpi/error.h"
#include "runtime/mpi/tags.h"

#include <mpi.h>

/* Control messages of this rank that may be in flight; a further one waits for the oldest. A
 * message has 8 bytes, which MPI sends without a handshake, so that the wait is short. Chosen, not
 * measured. */
enum { MOST_IN_FLIGHT = 64 };

/* What is sent. */
typedef struct {
    int kind, tag;
} Payload;

struct MwControl {
    MPI_Request receive;
    Payload received;
    MPI_Request sends[MOST_IN_FLIGHT]; /* a ring, with their payloads */
    Payload sent[MOST_IN_FLIGHT];
    int next;
};

#define CALL(name, ...) MW_MPI_CALL(fault, name, __VA_ARGS__)

enum { PAYLOAD_INTS = sizeof(Payload) / sizeof(int) };

static bool post_receive(MwControl *control, MwFault *fault)
{
    return CALL(MPI_Irecv, &control->received, PAYLOAD_INTS, MPI_INT, MPI_ANY_SOURCE,
                MW_TAG_CONTROL, MPI_COMM_WORLD, &control->receive);
}

MwControl *mw_control_new(MwArena *arena, MwFault *fault)
{
    MwControl *control = MW_NEW(arena, MwControl, 1);
    for (int i = 0; i < MOST_IN_FLIGHT; i++)
        control->sends[i] = MPI_REQUEST_NULL;
    return post_receive(control, fault) ? control : NULL;
}

bool mw_control_send(MwControl *control, MwControlMessage message, MwFault *fault)
{
    const int i = control->next;
    control->next = (i + 1) % MOST_IN_FLIGHT;
    if (!CALL(MPI_Wait, &control->sends[i], MPI_STATUS_IGNORE))
        return false;
    control->sent[i] = (Payload){message.kind, message.tag};
    return CALL(MPI_Isend, &control->sent[i], PAYLOAD_INTS, MPI_INT, message.peer, MW_TAG_CONTROL,
                MPI_COMM_WORLD, &control->sends[i]);
}

bool mw_control_poll(MwControl *control, MwControlMessage *message, bool *found, MwFault *fault)
{
    MPI_Status status;
    int flag = 0;
    if (!CALL(MPI_Test, &control->receive, &flag, &status))
        return false;
    *found = flag;
    if (!flag)
        return true;
    *message = (MwControlMessage){status.MPI_SOURCE, control->received.kind, control->received.tag};
    return post_receive(control, fault);
}

void mw_control_free(MwControl **control)
{
    MwControl *old = *control;
    *control = NULL;
    if (!old || old->receive == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(&old->receive);
    MPI_Wait(&old->receive, MPI_STATUS_IGNORE);
    MPI_Waitall(MOST_IN_FLIGHT, old->sends, MPI_STATUSES_IGNORE);
}
