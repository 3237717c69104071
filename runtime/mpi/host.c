/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/host.h"

#include "base/clock.h"
#include "runtime/mpi/error.h"
#include "runtime/mpi/tags.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <unistd.h>

#define CALL(name, ...) MW_MPI_CALL(fault, name, __VA_ARGS__)

/* ---- Waiting ---- */

/* How long other hosts are waited for after a fault. Those whose devices met it too, or did not,
 * come at once with what the steps before gave; one that waits for this one never comes. Chosen,
 * not measured. */
static const double PATIENCE_S = 1;

void mw_mpi_host_expect_end(MwTransport *transport, const MwFault *fault)
{
    if (transport->end_s > 0)
        return;
    transport->end_s = mw_clock_s() + PATIENCE_S;
    transport->late = *fault;
    transport->idle = NULL;
}

void mw_mpi_host_rest(double begin_s)
{
    enum { SHARE = 8, MOST_US = 2000 };
    const double waited_us = 1e6 * (mw_clock_s() - begin_s);
    if (waited_us > SHARE * 10)
        usleep((useconds_t)fmin(waited_us / SHARE, MOST_US));
}

/* Lets what watches the device have its turn, and rests. */
static bool wait_more(MwTransport *transport, double begin_s, MwFault *fault)
{
    if (transport->idle && !transport->idle(transport->idle_context, fault))
        mw_mpi_host_expect_end(transport, fault);
    if (transport->end_s > 0 && mw_clock_s() > transport->end_s) {
        *fault = transport->late;
        return false;
    }
    mw_mpi_host_rest(begin_s);
    return true;
}

static bool wait_for(MwTransport *transport, MPI_Request *request, MwFault *fault)
{
    const double begin_s = mw_clock_s();
    for (int done = 0;;) {
        if (!CALL(MPI_Test, request, &done, MPI_STATUS_IGNORE))
            return false;
        if (done)
            return true;
        if (!wait_more(transport, begin_s, fault))
            return false;
    }
}

/* Waits until a message of the peer can be received. */
static bool wait_for_message(MwTransport *transport, int peer, MwFault *fault)
{
    const double begin_s = mw_clock_s();
    for (int is_there = 0;;) {
        if (!CALL(MPI_Iprobe, peer, MW_TAG_HOST, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE))
            return false;
        if (is_there)
            return true;
        if (!wait_more(transport, begin_s, fault))
            return false;
    }
}

/* ---- Messages ---- */

/* Sends or receives in pieces whose size an int holds, as MPI counts. */
typedef bool Move(MwTransport *transport, int peer, char *data, int bytes, MwFault *fault);

static bool each_piece(MwTransport *transport, Move *move, int peer, char *data, int64_t bytes,
                       MwFault *fault)
{
    for (int64_t at = 0; at < bytes; at += INT_MAX / 2)
        if (!move(transport, peer, data + at, (int)mw_min(INT_MAX / 2, bytes - at), fault))
            return false;
    return true;
}

static bool send_piece(MwTransport *transport, int peer, char *data, int bytes, MwFault *fault)
{
    (void)transport;
    return CALL(MPI_Send, data, bytes, MPI_BYTE, peer, MW_TAG_HOST, MPI_COMM_WORLD);
}

static bool receive_piece(MwTransport *transport, int peer, char *data, int bytes, MwFault *fault)
{
    return wait_for_message(transport, peer, fault) &&
           CALL(MPI_Recv, data, bytes, MPI_BYTE, peer, MW_TAG_HOST, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE);
}

bool mw_mpi_host_send(MwTransport *transport, int peer, const void *data, int64_t bytes,
                      MwFault *fault)
{
    return each_piece(transport, send_piece, peer, (char *)(uintptr_t)data, bytes, fault);
}

bool mw_mpi_host_receive(MwTransport *transport, int peer, void *data, int64_t bytes,
                         MwFault *fault)
{
    return each_piece(transport, receive_piece, peer, data, bytes, fault);
}

bool mw_mpi_host_allgather(MwTransport *transport, const void *mine, int64_t bytes, void *all,
                           MwFault *fault)
{
    MW_ASSERT(bytes <= INT_MAX);
    MPI_Request request;
    return CALL(MPI_Iallgather, mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                MPI_COMM_WORLD, &request) &&
           wait_for(transport, &request, fault);
}

bool mw_mpi_host_barrier(MwTransport *transport, MwFault *fault)
{
    MPI_Request request;
    return CALL(MPI_Ibarrier, MPI_COMM_WORLD, &request) && wait_for(transport, &request, fault);
}
