/* SPDX-License-Identifier: MIT */
#include "runtime/plan/box.h"

MwBox mw_shard_box(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                   const int coordinate[MW_MAX_AXES])
{
    return mw_shard_box_of_micro_batch(global, spec, mesh, coordinate, 0, 1);
}

MwBox mw_shard_box_of_micro_batch(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                                  const int coordinate[MW_MAX_AXES], int micro, int micros)
{
    MwBox box = {.global = *global};
    for (int d = 0; d < global->rank; d++) {
        MwAxes axes = mw_spec_dim(spec, d);
        int64_t whole = d == 0 ? global->dim[0] / micros : global->dim[d];
        box.size[d] = whole / mw_mesh_ways(mesh, axes);
        box.start[d] = box.size[d] * mw_mesh_block(mesh, axes, coordinate);
    }
    if (global->rank > 0)
        box.start[0] += micro * (global->dim[0] / micros);
    return box;
}

MwBox mw_box_clip(const MwBox *box, const MwTensor *global)
{
    MwBox clipped = *box;
    clipped.global = *global;
    for (int d = 0; d < global->rank; d++) {
        const int64_t left = mw_max(global->dim[d] - box->start[d], 0);
        clipped.size[d] = mw_min(box->size[d], left);
        clipped.padding[d] = box->padding[d] + box->size[d] - clipped.size[d];
    }
    return clipped;
}

int64_t mw_box_elements(const MwBox *box)
{
    int64_t elements = 1;
    for (int d = 0; d < box->global.rank; d++)
        elements *= box->size[d];
    return elements;
}

int64_t mw_box_held_elements(const MwBox *box)
{
    int64_t elements = 1;
    for (int d = 0; d < box->global.rank; d++)
        elements *= box->size[d] + box->padding[d];
    return elements;
}

int64_t mw_box_held_bytes(const MwBox *box)
{
    return mw_box_held_elements(box) * mw_type_bytes(box->global.type);
}

bool mw_shard_is_first(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                       const int coordinate[MW_MAX_AXES])
{
    return mw_mesh_is_first(mesh, mw_spec_axes(spec, global->rank), coordinate);
}

/* The dimension that a segment is a range of: the box has all of the later ones, without
 * padding. */
static int range_dim(const MwBox *box)
{
    int dim = box->global.rank - 1;
    while (dim > 0 && box->size[dim] == box->global.dim[dim] && box->padding[dim] == 0)
        dim--;
    return dim;
}

/* Sets the index of the element at `local` of the memory of the box, or of the next one that is no
 * padding; false: there is none. */
static bool find_index(const MwBox *box, int64_t local, int64_t index[MW_MAX_RANK])
{
    const int rank = box->global.rank;
    MW_ASSERT(rank <= MW_MAX_RANK);
    for (int d = rank - 1; d > 0; d--) {
        index[d] = local % (box->size[d] + box->padding[d]);
        local /= box->size[d] + box->padding[d];
    }
    index[0] = local;
    for (int d = rank - 1; d > 0; d--) {
        if (index[d] < box->size[d])
            continue;
        index[d - 1]++;
        for (int inner = d; inner < rank; inner++)
            index[inner] = 0;
    }
    return index[0] < (rank ? box->size[0] : 1);
}

bool mw_box_next_segment(const MwBox *box, MwSegment *segment)
{
    const MwTensor *global = &box->global;
    const int range = range_dim(box);
    int64_t index[MW_MAX_RANK], stride = 1, held = 1;
    if (mw_box_elements(box) == 0 || !find_index(box, segment->local + segment->count, index))
        return false;
    *segment = (MwSegment){.count = 1};
    for (int d = global->rank - 1; d >= 0; d--) {
        if (d >= range)
            segment->count *= box->size[d];
        segment->global += (box->start[d] + index[d]) * stride;
        segment->local += index[d] * held;
        stride *= global->dim[d];
        held *= box->size[d] + box->padding[d];
    }
    return true;
}
