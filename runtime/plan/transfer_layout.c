/* SPDX-License-Identifier: MIT */
/* Who sends which part across, and who gets it first.
 *
 * In: a side of a transfer (tensor, spec, mesh). Out: its layout, a finer split than the spec's, in
 * which every device has a part of its own. Devices with equal blocks are numbered by the prime
 * factors of the axes that they differ in; each prime cuts one dimension. All ways of giving primes
 * to dimensions are tried: the one with the least greatest part wins, of those the one whose cuts
 * meet the other side's in the fewest boxes, of those the one that cuts earlier dimensions, where
 * parts are contiguous.
 *
 * Invariant: the parts of a side cover the tensor once. A dimension of n elements cut p-fold has
 * its cuts at floor(k n / p), so that cutting q-fold where q divides p keeps every cut of q, and
 * the parts of all values of the lowest digits make up a box.
 *
 * Source: the local all-gather of Zhuang et al., On Optimizing the Communication of Model
 * Parallelism (MLSys 2023), section 3, with the parts of senders and receivers cut to match. */
#include "runtime/plan/transfer_layout.h"

#include <string.h>

static int stride_of_axis(const MwMeshShape *mesh, int axis)
{
    int stride = 1;
    for (int a = axis + 1; a < mesh->axis_count; a++)
        stride *= mesh->size[a];
    return stride;
}

static void add_digit(MwTransferLayout *layout, int ways, int stride, int dim)
{
    MW_ASSERT(layout->count < MW_MAX_TRANSFER_DIGITS);
    layout->digits[layout->count++] = (MwTransferDigit){ways, stride, dim};
}

/* The greatest strides first: those are the slowest links, to be taken by the smallest parts. The
 * greatest primes first, since nodes more often have a power of two of devices than come in one. */
static void add_replica_digits(MwTransferLayout *layout, const MwMeshShape *mesh, int axis)
{
    int stride = stride_of_axis(mesh, axis);
    for (int left = mesh->size[axis]; left > 1;) {
        int prime = mw_greatest_prime(left);
        left /= prime;
        add_digit(layout, prime, stride * left, -1);
    }
}

static int dim_of_axis(MwSpec spec, int rank, int axis)
{
    for (int d = 0; d < rank; d++)
        if (mw_spec_dim(spec, d) >> axis & 1)
            return d;
    return -1;
}

/* The layout by the spec alone: of equal blocks only the first device has one. */
static MwTransferLayout layout_of_spec(const MwTensor *global, const MwTransferSide *side)
{
    const MwMeshShape *mesh = &side->mesh;
    MwTransferLayout layout = {.global = *global};
    for (int axis = 0; axis < mesh->axis_count; axis++)
        if (dim_of_axis(side->spec, global->rank, axis) < 0)
            add_replica_digits(&layout, mesh, axis);
    layout.replica_count = layout.count;
    /* A dimension split over several axes is split over the lowest first: the most significant. */
    for (int axis = mesh->axis_count - 1; axis >= 0; axis--) {
        int dim = dim_of_axis(side->spec, global->rank, axis);
        if (dim >= 0)
            add_digit(&layout, mesh->size[axis], stride_of_axis(mesh, axis), dim);
    }
    for (int d = 0; d < global->rank; d++)
        layout.blocks[d] = layout.pieces[d] = mw_mesh_ways(mesh, mw_spec_dim(side->spec, d));
    return layout;
}

/* ---- Cutting among the devices of equal blocks ---- */

/* The search for the dimension that each replica digit cuts. */
typedef struct {
    MwTransferLayout *layout; /* the choice at hand */
    const MwTransferLayout *peer;
    MwTransferLayout best;
    int64_t best_load, best_boxes; /* best_load 0: none found yet */
} Choice;

static int64_t block_size(const MwTransferLayout *layout, int dim)
{
    return layout->global.dim[dim] / layout->blocks[dim];
}

/* Elements of the greatest part. */
static int64_t greatest_part(const MwTransferLayout *layout)
{
    int64_t elements = 1;
    for (int d = 0; d < layout->global.rank; d++)
        elements *= mw_ceil_div(block_size(layout, d), layout->pieces[d] / layout->blocks[d]);
    return elements;
}

/* Boxes in which the parts of both sides meet, where all sizes divide. */
static int64_t boxes_between(const MwTransferLayout *a, const MwTransferLayout *b)
{
    int64_t boxes = 1;
    for (int d = 0; d < a->global.rank; d++)
        boxes *= a->pieces[d] + b->pieces[d] - mw_common_divisor(a->pieces[d], b->pieces[d]);
    return boxes;
}

static void weigh(Choice *choice)
{
    int64_t load = greatest_part(choice->layout);
    int64_t boxes = boxes_between(choice->layout, choice->peer);
    bool is_better = choice->best_load == 0 || load < choice->best_load ||
                     (load == choice->best_load && boxes < choice->best_boxes);
    if (!is_better)
        return;
    choice->best = *choice->layout;
    choice->best_load = load;
    choice->best_boxes = boxes;
}

/* Equal primes are interchangeable: later ones cut the same dimension or a later one. */
static int first_dim(const MwTransferLayout *layout, int digit)
{
    for (int i = digit - 1; i >= 0; i--)
        if (layout->digits[i].ways == layout->digits[digit].ways)
            return layout->digits[i].dim;
    return 0;
}

/* Tries every dimension for every replica digit up to `digit`; a dimension of which blocks have one
 * element cannot be cut. */
static void choose_from(Choice *choice, int digit)
{
    MwTransferLayout *layout = choice->layout;
    if (digit == layout->replica_count) {
        weigh(choice);
        return;
    }
    MwTransferDigit *cut = &layout->digits[digit];
    for (int d = first_dim(layout, digit); d < layout->global.rank; d++) {
        if (block_size(layout, d) == 1)
            continue;
        cut->dim = d;
        layout->pieces[d] *= cut->ways;
        choose_from(choice, digit + 1);
        layout->pieces[d] /= cut->ways;
    }
}

static void cut_among_replicas(MwTransferLayout *layout, const MwTransferLayout *peer)
{
    Choice choice = {.layout = layout, .peer = peer};
    choose_from(&choice, 0);
    if (choice.best_load > 0)
        *layout = choice.best;
}

void mw_transfer_layouts(const MwTransfer *transfer, MwTransferLayout *from, MwTransferLayout *to)
{
    *from = layout_of_spec(&transfer->global, &transfer->from);
    *to = layout_of_spec(&transfer->global, &transfer->to);
    cut_among_replicas(from, to);
    if (!transfer->broadcast)
        cut_among_replicas(to, from);
}

/* ---- Parts ---- */

static int digit_value(const MwTransferDigit *digit, int device)
{
    return device / digit->stride % digit->ways;
}

int mw_transfer_neighbour(const MwTransferDigit *digit, int device, int value)
{
    int wrapped = (value % digit->ways + digit->ways) % digit->ways;
    return device + (wrapped - digit_value(digit, device)) * digit->stride;
}

bool mw_transfer_part(const MwTransferLayout *layout, int device, int gathered, MwBox *part)
{
    int64_t piece[MW_MAX_RANK] = {0}, pieces[MW_MAX_RANK];
    for (int d = 0; d < layout->global.rank; d++)
        pieces[d] = 1;
    for (int i = gathered; i < layout->count; i++) {
        const MwTransferDigit *digit = &layout->digits[i];
        int value = digit_value(digit, device);
        if (digit->dim < 0 && value > 0)
            return false;
        if (digit->dim < 0)
            continue;
        piece[digit->dim] += value * pieces[digit->dim];
        pieces[digit->dim] *= digit->ways;
    }
    *part = (MwBox){.global = layout->global};
    for (int d = 0; d < layout->global.rank; d++) {
        int64_t size = block_size(layout, d), cuts = pieces[d] / layout->blocks[d];
        int64_t block = piece[d] / cuts, k = piece[d] % cuts;
        part->start[d] = block * size + k * size / cuts;
        part->size[d] = block * size + (k + 1) * size / cuts - part->start[d];
    }
    return mw_box_elements(part) > 0;
}

int64_t mw_transfer_piece(const MwTransferLayout *layout, int dim, int64_t at)
{
    int64_t size = block_size(layout, dim), cuts = layout->pieces[dim] / layout->blocks[dim];
    /* The last k with floor(k size / cuts) <= at % size. */
    return at / size * cuts + mw_ceil_div((at % size + 1) * cuts, size) - 1;
}

int mw_transfer_holder(const MwTransferLayout *layout, const int64_t piece[MW_MAX_RANK])
{
    int64_t left[MW_MAX_RANK];
    memcpy(left, piece, sizeof left);
    int device = 0;
    for (int i = 0; i < layout->count; i++) {
        const MwTransferDigit *digit = &layout->digits[i];
        if (digit->dim < 0)
            continue;
        device += (int)(left[digit->dim] % digit->ways) * digit->stride;
        left[digit->dim] /= digit->ways;
    }
    return device;
}
