/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points some of whose loads have their neighbours along another dimension than the innermost, as
 * where a transpose is fused with the operators that take it. (Stores always go along the innermost
 * dimension.) A block takes a square tile of the two dimensions: x counts along the innermost, y
 * along the other. Each turned load goes through an array b of shared memory: lanes
 * first go along y and fill the arrays, then along x for everything else. So every access of a warp
 * to memory is of neighbours; and since the rows of b begin one bank further on than those before,
 * lanes meet in no bank either way. */
#include "codegen/print/cuda_tiles.h"

#include "codegen/print/cuda_columns.h"
#include "codegen/tuning.h"

/* Elements along a dimension below which more than half of a warp would be idle in a tile. */
enum { LEAST_SIDE = MW_WARP / 2 };

/* ---- Which accesses, and which dimension ---- */

/* Returns the dimension along which a load reads neighbouring elements, if that is not the
 * innermost one; -1: there is none, or a tile does not pay. */
static int turned_dim(const MwNest *nest, const MwKernelInstr *instr)
{
    int inner = nest->space.dim_count - 1;
    if (instr->op != MW_KERNEL_LOAD || instr->input_count || instr->level != MW_LEVEL_POINT ||
        !instr->at.stride[inner] || instr->at.stride[inner] == 1)
        return -1;
    for (int d = 0; d < inner; d++)
        if (instr->at.stride[d] == 1 && nest->space.size[d] >= LEAST_SIDE)
            return d;
    return -1;
}

/* Returns the side of the tiles for dimension d: a row of the widest elements fills each bank once.
 * Elements of one byte have the same tiles as elements of two. */
static int choose_side(const MwCudaNest *n, int d)
{
    int64_t widest = MW_CUDA_BANK_BYTES / 2;
    for (int i = 0; i < n->p.nest->instrs.count; i++) {
        const MwKernelInstr *instr = &n->p.nest->instrs.at[i];
        if (turned_dim(n->p.nest, instr) == d)
            widest = mw_max(widest, mw_cuda_element_bytes(n, instr));
    }
    return (int)(MW_WARP * MW_CUDA_BANK_BYTES / widest);
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
    if (other < 0 || space->size[inner] < LEAST_SIDE)
        return false;
    int side = choose_side(n, other);
    int64_t shared = 0;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        if (turned_dim(nest, instr) != other)
            continue;
        pitch[i] = side + (int)(MW_CUDA_BANK_BYTES / mw_cuda_element_bytes(n, instr));
        shared += pitch[i] * side * mw_cuda_element_bytes(n, instr);
    }
    if (shared > MW_CUDA_SHARED_BYTES)
        return false;
    n->p.tile_pitch = pitch;
    n->tile = side;
    n->tile_dim = other;
    n->width = 1;
    n->threads = MW_TUNED_CUDA_POINT_THREADS;
    n->blocks = tiles_along(n, inner) * tiles_along(n, other);
    for (int d = 0; d < inner; d++)
        n->blocks *= d == other ? 1 : space->size[d];
    return true;
}

/* ---- The text ---- */

static void print_arrays(MwCudaNest *n)
{
    const MwPrinter *p = &n->p;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (p->tile_pitch[i])
            mw_print_line(&n->p, "__shared__ %s b%d[%d];",
                          mw_print_storage_type(p->kernel->operands.at[instr->operand].type), i,
                          n->tile * p->tile_pitch[i]);
    }
}

/* Prints where the tile of the block begins, and the indices of the other dimensions. */
static void print_tile(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int inner = mw_print_inner_dim(p);
    const int64_t across = tiles_along(n, inner), along = tiles_along(n, n->tile_dim);
    mw_cuda_print(n,
                  "const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;\n"
                  "const $index first_x = ($index)(blockIdx.x % $across) * $tile;\n"
                  "const $index first_y = ($index)(blockIdx.x / $across % $along) * $tile;\n",
                  MW_HOLES({"across", mw_print_number(p, across)},
                           {"along", mw_print_number(p, along)},
                           {"tile", mw_print_number(p, n->tile)}));
    int64_t below = across * along;
    for (int d = inner - 1; d >= 0; d--) {
        if (d == n->tile_dim)
            continue;
        mw_print_line(p, "const %s i%d = (%s)(blockIdx.x / %lld %% %lld);", n->index, d, n->index,
                      (long long)below, (long long)p->nest->space.size[d]);
        below *= p->nest->space.size[d];
    }
}

/* Opens the loops over the points of the tile: three blocks. */
static void print_open_points(MwCudaNest *n, bool along_x)
{
    MwPrinter *p = &n->p;
    const int inner = mw_print_inner_dim(p);
    const int64_t width = p->nest->space.size[inner], height = p->nest->space.size[n->tile_dim];
    const bool is_whole = width % n->tile == 0 && height % n->tile == 0;
    mw_cuda_print(n,
                  "#pragma unroll\n"
                  "for (int $far = warp; $far < $tile; $far += $warps) {\n"
                  "    #pragma unroll\n"
                  "    for (int $near = lane; $near < $tile; $near += 32) {\n"
                  "        const $index i$inner = first_x + x, i$other = first_y + y;\n",
                  MW_HOLES({"far", along_x ? "y" : "x"}, {"near", along_x ? "x" : "y"},
                           {"tile", mw_print_number(p, n->tile)},
                           {"warps", mw_print_number(p, n->threads / MW_WARP)},
                           {"inner", mw_print_number(p, inner)},
                           {"other", mw_print_number(p, n->tile_dim)}));
    if (is_whole)
        mw_print_open_scope(p);
    else
        mw_print_open(p, "if (i%d < %lld && i%d < %lld)", inner, (long long)width, n->tile_dim,
                      (long long)height);
}

/* Fills the arrays b from the operands. */
static void print_fill(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int *pitch = p->tile_pitch;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        if (!pitch[i])
            continue;
        const char *own = mw_print_place(p, &p->nest->instrs.at[i]);
        p->tile_pitch = NULL;
        mw_print_line(p, "%s = %s;", own, mw_print_place(p, &p->nest->instrs.at[i]));
        p->tile_pitch = pitch;
    }
}

void mw_cuda_print_tiles(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int indent = p->indent;
    print_arrays(n);
    print_tile(n);
    print_open_points(n, false);
    print_fill(n);
    mw_print_close_to(p, indent);
    mw_print_line(p, "__syncthreads();");
    print_open_points(n, true);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
    mw_cuda_print_point(n, -1);
    mw_print_close_to(p, indent);
}
