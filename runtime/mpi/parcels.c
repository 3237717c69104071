/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/parcels.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>

/* Above that of messages between hosts. */
enum { FIRST_TAG = 16 };

/* On the host, of a buffer that is not. Elements between those of the messages are not the messages'
 * to change. */
typedef struct {
    MwDevice *device;
    char *at;     /* the part of the buffer, on the device */
    char *memory; /* [bytes]; NULL where the buffer is the host's */
    char *
        whole; /* [bytes] to put what came among what is there; NULL where there is nothing between */
    int64_t bytes;
    const MwBlock *boxes; /* of the messages */
    int64_t offset;       /* of the part in the buffer: bytes */
} Image;

struct MwParcels {
    MPI_Request *requests;
    int count;
    bool sends;
    bool is_expected; /* what is received is not on the device yet */
    Image image;
};

bool mw_mpi_check(int status, const char *call, MwFault *fault)
{
    if (status == MPI_SUCCESS)
        return true;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(status, text, &length);
    return mw_fault_set(fault, "%s: %s", call, text);
}

#define CALL(name, ...) mw_mpi_check(name(__VA_ARGS__), #name, fault)

static MPI_Datatype element_type(MwType type)
{
    static const MPI_Datatype by_bytes[] = {
        [1] = MPI_UINT8_T, [2] = MPI_UINT16_T, [4] = MPI_UINT32_T};
    return by_bytes[mw_type_bytes(type)];
}

/* MPI counts in int. */
static bool fits(const MwBlock *box, MwFault *fault)
{
    bool good = mw_block_elements(box) <= INT_MAX;
    for (int d = 0; d < box->global.rank; d++)
        good &= box->global.dim[d] <= INT_MAX;
    return good || mw_fault_set(fault, "a message of %lld elements is too long for MPI",
                                (long long)mw_block_elements(box));
}

/* The type of a box whose elements do not follow each other. */
static bool box_type(const MwBlock *box, MPI_Datatype *type, MwFault *fault)
{
    int whole[MW_MAX_RANK], part[MW_MAX_RANK], start[MW_MAX_RANK];
    for (int d = 0; d < box->global.rank; d++) {
        whole[d] = (int)box->global.dim[d];
        part[d] = (int)box->size[d];
        start[d] = (int)box->start[d];
    }
    return CALL(MPI_Type_create_subarray, box->global.rank, whole, part, start, MPI_ORDER_C,
                element_type(box->global.type), type) &&
           CALL(MPI_Type_commit, type);
}

/* ---- Images ---- */

/* The bytes of the buffer that a box takes, from the first to the last; adds those it uses. */
static void add_span(const MwBlock *box, int64_t *begin, int64_t *end, int64_t *used)
{
    const int64_t bytes = mw_type_bytes(box->global.type);
    for (MwRun run = {0}; mw_block_next_run(box, &run);) {
        *begin = mw_min(*begin, run.global * bytes);
        *end = mw_max(*end, (run.global + run.count) * bytes);
        *used += run.count * bytes;
    }
}

static Image make_image(MwArena *arena, MwDevice *device, char *buffer, const MwParcel *parcels,
                        int count, bool sends)
{
    int64_t begin = INT64_MAX, end = 0, used = 0;
    MwBlock *boxes = MW_NEW(arena, MwBlock, count);
    for (int i = 0; i < count; i++) {
        boxes[i] = parcels[i].box;
        add_span(&boxes[i], &begin, &end, &used);
    }
    const size_t bytes = (size_t)(end - begin);
    return (Image){.device = device,
                   .at = buffer + begin,
                   .memory = mw_arena_alloc(arena, bytes),
                   .whole = sends || used == end - begin ? NULL : mw_arena_alloc(arena, bytes),
                   .bytes = end - begin,
                   .boxes = boxes,
                   .offset = begin};
}

static void add_boxes(const Image *image, int count)
{
    for (int i = 0; i < count; i++) {
        const int64_t bytes = mw_type_bytes(image->boxes[i].global.type);
        for (MwRun run = {0}; mw_block_next_run(&image->boxes[i], &run);) {
            const int64_t at = run.global * bytes - image->offset;
            memcpy(image->whole + at, image->memory + at, (size_t)(run.count * bytes));
        }
    }
}

/* Brings what came to the device. */
static bool land(MwParcels *parcels, MwFault *fault)
{
    const Image *image = &parcels->image;
    const MwDeviceTable *table = image->device->table;
    parcels->is_expected = false;
    if (image->whole) {
        if (!table->copy_out(image->device, image->whole, image->at, image->bytes, fault))
            return false;
        add_boxes(image, parcels->count);
    }
    return table->copy_in(image->device, image->at, image->whole ? image->whole : image->memory,
                          image->bytes, fault);
}

/* ---- Requests ---- */

static bool make_request(void *at, int count, MPI_Datatype type, int peer, bool sends, int tag,
                         MPI_Request *request, MwFault *fault)
{
    return sends ? CALL(MPI_Send_init, at, count, type, peer, tag, MPI_COMM_WORLD, request)
                 : CALL(MPI_Recv_init, at, count, type, peer, tag, MPI_COMM_WORLD, request);
}

static bool pack_parcel(void *buffer, const MwParcel *parcel, bool sends, int tag,
                        MPI_Request *request, MwFault *fault)
{
    const MwBlock *box = &parcel->box;
    MwRun run = {0};
    MPI_Datatype type;
    if (!fits(box, fault))
        return false;
    mw_block_next_run(box, &run);
    if (run.count == mw_block_elements(box))
        return make_request((char *)buffer + run.global * mw_type_bytes(box->global.type),
                            (int)run.count, element_type(box->global.type), parcel->peer, sends,
                            tag, request, fault);
    return box_type(box, &type, fault) &&
           make_request(buffer, 1, type, parcel->peer, sends, tag, request, fault) &&
           CALL(MPI_Type_free, &type);
}

static bool check_tag(int tag, MwFault *fault)
{
    int *most, found = 0;
    if (!CALL(MPI_Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &most, &found))
        return false;
    return (found && tag <= *most - FIRST_TAG) ||
           mw_fault_set(fault, "MPI has no tag for transfer %d", tag);
}

MwParcels *mw_mpi_parcels_new(MwArena *arena, MwDevice *device, void *buffer,
                              const MwParcel *parcels, int count, bool sends, int tag,
                              MwFault *fault)
{
    MwParcels *packed = MW_NEW(arena, MwParcels, 1);
    packed->requests = MW_NEW(arena, MPI_Request, count);
    packed->sends = sends;
    if (!check_tag(tag, fault))
        return NULL;
    if (!device->is_host) {
        packed->image = make_image(arena, device, buffer, parcels, count, sends);
        buffer = packed->image.memory - packed->image.offset;
    }
    for (; packed->count < count; packed->count++)
        if (!pack_parcel(buffer, &parcels[packed->count], sends, FIRST_TAG + tag,
                         &packed->requests[packed->count], fault))
            return NULL;
    return packed;
}

/* One by one: messages between two ranks keep this order. */
bool mw_mpi_parcels_begin(MwParcels *parcels, MwFault *fault)
{
    const Image *image = &parcels->image;
    if (image->memory && parcels->sends &&
        !image->device->table->copy_out(image->device, image->memory, image->at, image->bytes,
                                        fault))
        return false;
    parcels->is_expected = image->memory && !parcels->sends;
    for (int i = 0; i < parcels->count; i++)
        if (!CALL(MPI_Start, &parcels->requests[i]))
            return false;
    return true;
}

bool mw_mpi_parcels_test(MwParcels *parcels, bool *done, MwFault *fault)
{
    int flag = 1;
    bool good = CALL(MPI_Testall, parcels->count, parcels->requests, &flag, MPI_STATUSES_IGNORE);
    *done = flag;
    return good && (!flag || !parcels->is_expected || land(parcels, fault));
}

bool mw_mpi_parcels_wait(MwParcels *parcels, MwFault *fault)
{
    return CALL(MPI_Waitall, parcels->count, parcels->requests, MPI_STATUSES_IGNORE) &&
           (!parcels->is_expected || land(parcels, fault));
}

void mw_mpi_parcels_free(MwParcels *parcels)
{
    for (int i = 0; i < parcels->count; i++)
        MPI_Request_free(&parcels->requests[i]);
}

void mw_mpi_parcels_progress(void)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}
