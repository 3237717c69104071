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

int64_t mw_box_elements(const MwBox *box)
{
    int64_t elements = 1;
    for (int d = 0; d < box->global.rank; d++)
        elements *= box->size[d];
    return elements;
}

bool mw_shard_is_first(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                       const int coordinate[MW_MAX_AXES])
{
    return mw_mesh_is_first(mesh, mw_spec_axes(spec, global->rank), coordinate);
}

/* The box covers all of the dimensions from the result on, so that a segment spans them. */
static int first_whole_dim(const MwBox *box)
{
    int dim = box->global.rank;
    while (dim > 0 && box->size[dim - 1] == box->global.dim[dim - 1])
        dim--;
    return dim;
}

bool mw_box_next_segment(const MwBox *box, MwSegment *segment)
{
    const MwTensor *global = &box->global;
    int64_t next = segment->local + segment->count;
    if (next == mw_box_elements(box))
        return false;
    int last = first_whole_dim(box) - 1; /* the segment is a range of this dimension */
    int64_t stride = 1;
    *segment = (MwSegment){.local = next, .count = 1};
    for (int d = global->rank - 1; d >= 0; d--) {
        if (d >= last)
            segment->count *= box->size[d];
        segment->global += (box->start[d] + next % box->size[d]) * stride;
        next /= box->size[d];
        stride *= global->dim[d];
    }
    return true;
}
