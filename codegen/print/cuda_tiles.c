/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points some of whose loads have their neighbours along another dimension than the innermost, as where
 * a transpose is fused with what is done to it. (Stores always go along the innermost one.) A block takes
 * a square tile of the two dimensions, x the innermost and y the other. What the turned loads bring goes
 * through an array b of shared memory each: lanes first go along y and fill them, then along x for all
 * the rest. So every access of a warp to memory is of neighbours, and since the rows of b are an odd
 * number of banks apart, lanes meet in no bank either way. */
#include "codegen/print/cuda_tiles.h"

#include "codegen/print/cuda_columns.h"

enum {
    SIDE = 32,       /* of a tile of elements of four bytes */
    SHORT_SIDE = 64, /* of a tile of shorter ones */
    LEAST = 16,      /* elements along a dimension that a tile is worth it for */
    BANK_BYTES = 4,
    SHARED_BYTES = 48 << 10, /* of a block */
};

/* ---- Which accesses, and which dimension ---- */

/* The dimension that a load walks element by element, if that is not the innermost one, which it walks in
 * steps; -1. */
static int turned_dim(const MwNest *nest, const MwKernelInstr *instr)
{
    int inner = nest->space.dim_count - 1;
    if (instr->op != MW_KERNEL_LOAD || instr->input_count || instr->level != MW_LEVEL_POINT ||
        !instr->at.stride[inner] || instr->at.stride[inner] == 1)
        return -1;
    for (int d = 0; d < inner; d++)
        if (instr->at.stride[d] == 1 && nest->space.size[d] >= LEAST)
            return d;
    return -1;
}

/* The side of the tiles for dimension d. */
static int choose_side(const MwCudaNest *n, int d)
{
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (turned_dim(n->p.nest, instr) == d && mw_cuda_element_bytes(n, instr) == BANK_BYTES)
            return SIDE;
    }
    return SHORT_SIDE;
}

static int64_t tiles_along(const MwCudaNest *n, int d)
{
    return mw_ceil_div(n->p.nest->space.size[d], n->tile);
}

bool mw_cuda_choose_tiles(MwCudaNest *n)
{
    const MwNest *nest = n->p.nest;
    const MwSpace *space = &nest->space;
    int inner = space->dim_count - 1, other = -1,
        *pitch = MW_NEW(n->p.out->arena, int, nest->instrs.count);
    for (int i = 0; i < nest->instrs.count && other < 0; i++)
        other = turned_dim(nest, &nest->instrs.at[i]);
    if (other < 0 || space->size[inner] < LEAST)
        return false;
    int side = choose_side(n, other);
    int64_t shared = 0;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (turned_dim(nest, instr) != other)
            continue;
        pitch[i] = side + (int)(BANK_BYTES / mw_cuda_element_bytes(n, instr));
        shared += pitch[i] * side * mw_cuda_element_bytes(n, instr);
    }
    if (shared > SHARED_BYTES)
        return false;
    n->p.tile_pitch = pitch;
    n->tile = side;
    n->tile_dim = other;
    n->width = 1;
    n->threads = MW_POINT_THREADS;
    n->blocks = tiles_along(n, inner) * tiles_along(n, other);
    for (int d = 0; d < inner; d++)
        n->blocks *= d == other ? 1 : space->size[d];
    return true;
}

/* ---- The text ---- */

static void print_arrays(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->tile_pitch[i])
            mw_print_line(
                p, "__shared__ %s b%d[%d];",
                mw_print_storage_type(p->kernel->operands.at[p->nest->instrs.at[i].operand].type),
                i, n->tile * p->tile_pitch[i]);
}

/* Where the block's tile begins, and the indices of the other dimensions. */
static void print_tile(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int inner = mw_print_inner_dim(p);
    long long across = tiles_along(n, inner), along = tiles_along(n, n->tile_dim);
    mw_print_line(p, "const int lane = (int)threadIdx.x %% 32, warp = (int)threadIdx.x / 32;");
    mw_print_line(p, "const %s first_x = (%s)(blockIdx.x %% %lld) * %d;", n->index, n->index,
                  across, n->tile);
    mw_print_line(p, "const %s first_y = (%s)(blockIdx.x / %lld %% %lld) * %d;", n->index, n->index,
                  across, along, n->tile);
    int64_t below = across * along;
    for (int d = inner - 1; d >= 0; d--) {
        if (d == n->tile_dim)
            continue;
        mw_print_line(p, "const %s i%d = (%s)(blockIdx.x / %lld %% %lld);", n->index, d, n->index,
                      (long long)below, (long long)p->nest->space.size[d]);
        below *= p->nest->space.size[d];
    }
}

/* The points of the tile, lanes along x or along y. */
static void print_open_points(MwCudaNest *n, bool along_x)
{
    MwPrinter *p = &n->p;
    int inner = mw_print_inner_dim(p);
    long long width = p->nest->space.size[inner], height = p->nest->space.size[n->tile_dim];
    char near = along_x ? 'x' : 'y', far = along_x ? 'y' : 'x';
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int %c = warp; %c < %d; %c += %d)", far, far, n->tile, far,
                  n->threads / MW_WARP);
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int %c = lane; %c < %d; %c += %d)", near, near, n->tile, near, MW_WARP);
    mw_print_line(p, "const %s i%d = first_x + x, i%d = first_y + y;", n->index, inner,
                  n->tile_dim);
    if (width % n->tile || height % n->tile)
        mw_print_open(p, "if (i%d < %lld && i%d < %lld)", inner, width, n->tile_dim, height);
    else
        mw_print_open_scope(p);
}

static void print_close_points(MwCudaNest *n)
{
    for (int i = 0; i < 3; i++)
        mw_print_close(&n->p);
}

static void print_fill(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int *pitch = p->tile_pitch;
    print_open_points(n, false);
    for (int i = 0; i < p->nest->instrs.count; i++) {
        if (!pitch[i])
            continue;
        const char *own = mw_print_place(p, &p->nest->instrs.at[i]);
        p->tile_pitch = NULL;
        mw_print_line(p, "%s = %s;", own, mw_print_place(p, &p->nest->instrs.at[i]));
        p->tile_pitch = pitch;
    }
    print_close_points(n);
}

void mw_cuda_print_tiles(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    print_arrays(n);
    print_tile(n);
    print_fill(n);
    mw_print_line(p, "__syncthreads();");
    print_open_points(n, true);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
    mw_cuda_print_point(n, -1);
    print_close_points(n);
}
