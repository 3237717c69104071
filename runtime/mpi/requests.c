/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/requests.h"

#include "runtime/mpi/elements.h"
#include "runtime/mpi/error.h"
#include "runtime/mpi/tags.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>

/* The copy, on the host, of a part of a device's buffer. Elements between those of the messages do
 * not belong to the messages: a receive leaves them as they are. */
typedef struct {
    MwDevice *device;
    char *at;     /* the part, on the device */
    char *memory; /* [bytes] the copy; NULL: the buffer is in host memory */
    char *merged; /* [bytes] the part with the received boxes; NULL: the boxes fill the part */
    int64_t bytes;
    int64_t offset;     /* of the part in the buffer, in bytes */
    const MwBox *boxes; /* [MwRequest.count] of the messages */
} HostCopy;

struct MwRequest {
    MPI_Request *requests;
    int count;
    bool sends;
    bool is_expected; /* received elements are not on the device yet */
    HostCopy copy;
};

#define CALL(name, ...) MW_MPI_CALL(fault, name, __VA_ARGS__)

/* MPI counts elements in int. */
static bool fits(const MwBox *box, MwFault *fault)
{
    bool good = mw_box_elements(box) <= INT_MAX;
    for (int d = 0; d < box->global.rank; d++)
        good &= box->global.dim[d] <= INT_MAX;
    return good || mw_fault_set(fault, "a message of %lld elements is too long for MPI",
                                (long long)mw_box_elements(box));
}

/* The derived datatype of a box that is not contiguous. */
static bool box_type(const MwBox *box, MPI_Datatype *type, MwFault *fault)
{
    int whole[MW_MAX_RANK], part[MW_MAX_RANK], start[MW_MAX_RANK];
    for (int d = 0; d < box->global.rank; d++) {
        whole[d] = (int)box->global.dim[d];
        part[d] = (int)box->size[d];
        start[d] = (int)box->start[d];
    }
    return CALL(MPI_Type_create_subarray, box->global.rank, whole, part, start, MPI_ORDER_C,
                mw_mpi_element(box->global.type), type) &&
           CALL(MPI_Type_commit, type);
}

/* ---- Copies on the host ---- */

/* Extends the range [*begin, *end) of bytes of the buffer to the box, and adds the box's bytes to
 * `*used`. */
static void add_span(const MwBox *box, int64_t *begin, int64_t *end, int64_t *used)
{
    const int64_t bytes = mw_type_bytes(box->global.type);
    for (MwSegment segment = {0}; mw_box_next_segment(box, &segment);) {
        *begin = mw_min(*begin, segment.global * bytes);
        *end = mw_max(*end, (segment.global + segment.count) * bytes);
        *used += segment.count * bytes;
    }
}

static HostCopy make_copy(MwArena *arena, MwDevice *device, const MwMessageSet *set)
{
    int64_t begin = INT64_MAX, end = 0, used = 0;
    MwBox *boxes = MW_NEW(arena, MwBox, set->count);
    for (int i = 0; i < set->count; i++) {
        boxes[i] = set->boxes[i].box;
        add_span(&boxes[i], &begin, &end, &used);
    }
    const size_t bytes = (size_t)(end - begin);
    const bool has_gaps = used < end - begin;
    return (HostCopy){.device = device,
                      .at = (char *)set->buffer + begin,
                      .memory = mw_arena_alloc(arena, bytes),
                      .merged = set->sends || !has_gaps ? NULL : mw_arena_alloc(arena, bytes),
                      .bytes = end - begin,
                      .offset = begin,
                      .boxes = boxes};
}

/* Writes the received boxes over the present contents of the part. */
static void merge_boxes(const HostCopy *copy, int count)
{
    for (int i = 0; i < count; i++) {
        const int64_t bytes = mw_type_bytes(copy->boxes[i].global.type);
        for (MwSegment segment = {0}; mw_box_next_segment(&copy->boxes[i], &segment);) {
            const int64_t at = segment.global * bytes - copy->offset;
            memcpy(copy->merged + at, copy->memory + at, (size_t)(segment.count * bytes));
        }
    }
}

/* Copies the received elements to the device. */
static bool copy_received(MwRequest *request, MwFault *fault)
{
    const HostCopy *copy = &request->copy;
    const MwDeviceTable *table = copy->device->table;
    request->is_expected = false;
    if (!copy->merged)
        return table->copy_in(copy->device, copy->at, copy->memory, copy->bytes, fault);
    if (!table->copy_out(copy->device, copy->merged, copy->at, copy->bytes, fault))
        return false;
    merge_boxes(copy, request->count);
    return table->copy_in(copy->device, copy->at, copy->merged, copy->bytes, fault);
}

/* ---- Requests ---- */

/* What one request of MPI sends or receives. */
typedef struct {
    void *at;
    int count;
    MPI_Datatype type;
} Payload;

static bool init_mpi_request(const MwMessageSet *set, int peer, Payload payload,
                             MPI_Request *request, MwFault *fault)
{
    const int tag = MW_TAG_FIRST_TRANSFER + set->tag;
    return set->sends ? CALL(MPI_Send_init, payload.at, payload.count, payload.type, peer, tag,
                             MPI_COMM_WORLD, request)
                      : CALL(MPI_Recv_init, payload.at, payload.count, payload.type, peer, tag,
                             MPI_COMM_WORLD, request);
}

/* The request of message `index`, whose box is a part of a buffer at `buffer` in host memory. */
static bool init_message(const MwMessageSet *set, int index, char *buffer, MPI_Request *request,
                         MwFault *fault)
{
    const MwBox *box = &set->boxes[index].box;
    const int peer = set->boxes[index].peer;
    MwSegment first = {0};
    MPI_Datatype type;
    if (!fits(box, fault))
        return false;
    mw_box_next_segment(box, &first);
    if (first.count == mw_box_elements(box)) {
        const Payload elements = {buffer + first.global * mw_type_bytes(box->global.type),
                                  (int)first.count, mw_mpi_element(box->global.type)};
        return init_mpi_request(set, peer, elements, request, fault);
    }
    return box_type(box, &type, fault) &&
           init_mpi_request(set, peer, (Payload){buffer, 1, type}, request, fault) &&
           CALL(MPI_Type_free, &type);
}

static bool check_tag(int tag, MwFault *fault)
{
    int *most, found = 0;
    if (!CALL(MPI_Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &most, &found))
        return false;
    return (found && tag <= *most - MW_TAG_FIRST_TRANSFER) ||
           mw_fault_set(fault, "MPI has no tag for transfer %d", tag);
}

MwRequest *mw_mpi_request_new(MwArena *arena, MwDevice *device, const MwMessageSet *set,
                              MwFault *fault)
{
    MwRequest *request = MW_NEW(arena, MwRequest, 1);
    char *buffer = set->buffer;
    request->requests = MW_NEW(arena, MPI_Request, set->count);
    request->sends = set->sends;
    if (!check_tag(set->tag, fault))
        return NULL;
    if (!device->is_host) {
        request->copy = make_copy(arena, device, set);
        buffer = request->copy.memory - request->copy.offset;
    }
    for (; request->count < set->count; request->count++)
        if (!init_message(set, request->count, buffer, &request->requests[request->count], fault))
            return NULL;
    return request;
}

/* Started one by one, so that messages between two ranks keep the order of the set. */
bool mw_mpi_request_start(MwRequest *request, MwFault *fault)
{
    const HostCopy *copy = &request->copy;
    if (copy->memory && request->sends &&
        !copy->device->table->copy_out(copy->device, copy->memory, copy->at, copy->bytes, fault))
        return false;
    request->is_expected = copy->memory && !request->sends;
    for (int i = 0; i < request->count; i++)
        if (!CALL(MPI_Start, &request->requests[i]))
            return false;
    return true;
}

bool mw_mpi_request_test(MwRequest *request, bool *done, MwFault *fault)
{
    int flag = 1;
    bool good = CALL(MPI_Testall, request->count, request->requests, &flag, MPI_STATUSES_IGNORE);
    *done = flag;
    return good && (!flag || !request->is_expected || copy_received(request, fault));
}

bool mw_mpi_request_wait(MwRequest *request, MwFault *fault)
{
    return CALL(MPI_Waitall, request->count, request->requests, MPI_STATUSES_IGNORE) &&
           (!request->is_expected || copy_received(request, fault));
}

void mw_mpi_request_free(MwRequest *request)
{
    for (int i = 0; i < request->count; i++)
        MPI_Request_free(&request->requests[i]);
}

void mw_mpi_progress(void)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}
