/* SPDX-License-Identifier: MIT */
#include "runtime/plan/block.h"

MwBlock mw_block(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                 const int coordinate[MW_MAX_AXES])
{
    return mw_block_micro(global, spec, mesh, coordinate, 0, 1);
}

MwBlock mw_block_micro(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                       const int coordinate[MW_MAX_AXES], int micro, int micros)
{
    MwBlock block = {.global = *global};
    for (int d = 0; d < global->rank; d++) {
        MwAxes axes = mw_spec_dim(spec, d);
        int64_t whole = d == 0 ? global->dim[0] / micros : global->dim[d];
        block.size[d] = whole / mw_mesh_ways(mesh, axes);
        block.start[d] = block.size[d] * mw_mesh_block(mesh, axes, coordinate);
    }
    if (global->rank > 0)
        block.start[0] += micro * (global->dim[0] / micros);
    return block;
}

int64_t mw_block_elements(const MwBlock *block)
{
    int64_t elements = 1;
    for (int d = 0; d < block->global.rank; d++)
        elements *= block->size[d];
    return elements;
}

bool mw_block_is_first(const MwTensor *global, MwSpec spec, const MwMeshShape *mesh,
                       const int coordinate[MW_MAX_AXES])
{
    return mw_mesh_is_first(mesh, mw_spec_axes(spec, global->rank), coordinate);
}

/* Dimensions from the result on are whole in the block, so that one run spans them. */
static int first_whole_dim(const MwBlock *block)
{
    int dim = block->global.rank;
    while (dim > 0 && block->size[dim - 1] == block->global.dim[dim - 1])
        dim--;
    return dim;
}

bool mw_block_next_run(const MwBlock *block, MwRun *run)
{
    const MwTensor *global = &block->global;
    int64_t next = run->local + run->count;
    if (next == mw_block_elements(block))
        return false;
    int last = first_whole_dim(block) - 1; /* the run is a range of this dimension */
    int64_t stride = 1;
    *run = (MwRun){.local = next, .count = 1};
    for (int d = global->rank - 1; d >= 0; d--) {
        if (d >= last)
            run->count *= block->size[d];
        run->global += (block->start[d] + next % block->size[d]) * stride;
        next /= block->size[d];
        stride *= global->dim[d];
    }
    return true;
}
