/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that are added to places, in an order that depends on the rows alone.
 *
 * Places are shared out to blocks by their remainders. A block goes through the places of all rows
 * and lists the rows whose places it owns, in order. When the list is full, or there are no more
 * rows, its warps take what is listed for one place, and some columns, each: a warp finds the place
 * by the first of its rows in the list, loads what is there, adds some rows at a time, in their
 * order, and stores the sum. So no two threads of a launch write to one element, a place that many
 * rows are added to is spread over as many warps as it has columns for, and nothing depends on
 * which block or warp runs first. */
#include "codegen/print/cuda_places.h"

#include "codegen/print/cuda_columns.h"
#include "codegen/tuning.h"

/* Rows that a block looks at between two barriers. */
static int round_rows(const MwCudaNest *n)
{
    return n->threads * MW_TUNED_CUDA_UNROLL;
}

/* The addition of the nest, its one effect. */
static const MwKernelInstr *addition(const MwNest *nest)
{
    const MwKernelInstr *only = NULL;
    for (int i = 0; i < nest->instrs.count; i++) {
        const MwKernelInstr *instr = &nest->instrs.at[i];
        MW_ASSERT(!mw_instr_is_reduction(instr) && (!only || !mw_instr_is_effect(instr)));
        if (mw_instr_is_effect(instr))
            only = instr;
    }
    MW_ASSERT(only && only->op == MW_KERNEL_ADD &&
              mw_nest_instr(nest, only->inputs[1])->level <= MW_LEVEL_ROW);
    return only;
}

/* Warps that the columns of a place are shared out to. */
static int tiles(const MwCudaNest *n)
{
    return (int)mw_ceil_div(mw_cuda_units(n), MW_WARP);
}

void mw_cuda_spread_places(MwCudaNest *n)
{
    MW_ASSERT(n->rows < INT32_MAX - round_rows(n));
    n->threads = MW_TUNED_CUDA_POINT_THREADS;
    n->turns = MW_TUNED_CUDA_PLACE_ELEMENTS / mw_max(n->width, 4);
    n->blocks =
        mw_min(mw_ceil_div(n->rows, MW_TUNED_CUDA_PLACE_BLOCK_ROWS), MW_TUNED_CUDA_PLACE_BLOCKS);
    n->kept = "q";
}

/* ---- The list ---- */

/* Finds which rows of the round go to places of the block: each thread has the places of its rows
 * in `own`, -1 for those of other blocks, and each warp counts its rows of every turn. */
static void print_own_places(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwHole holes[] = {{"place", mw_print_number(p, addition(p->nest)->inputs[1].index)},
                            {"blocks", mw_print_number(p, n->blocks)},
                            {"warps", mw_print_number(p, n->threads / MW_WARP)},
                            {"row_turns", mw_print_number(p, MW_TUNED_CUDA_UNROLL)}};
    mw_cuda_print(n,
                  "#pragma unroll\n"
                  "for (int turn = 0; turn < $row_turns; turn++) {\n"
                  "    const int row = base + turn * $threads + (int)threadIdx.x;\n"
                  "    own[turn] = -1;\n"
                  "    if (row < $rows) {\n",
                  holes, MW_COUNT(holes));
    mw_cuda_print_indices(n, "row", 0, p->nest->space.row_dims, 1);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
    mw_cuda_print(
        n, "own[turn] = v$place >= 0 && v$place % $blocks == blockIdx.x ? (int)v$place : -1;\n",
        holes, MW_COUNT(holes));
    mw_print_close(p);
    mw_cuda_print(n,
                  "votes[turn] = __ballot_sync(0xffffffffu, own[turn] >= 0);\n"
                  "if (lane == 0)\n"
                  "    counts[turn * $warps + warp] = __popc(votes[turn]);\n",
                  holes, MW_COUNT(holes));
    mw_print_close(p);
    mw_print_line(p, "__syncthreads();");
}

/* Appends these rows and their places to the list, in order. */
static void print_list(MwCudaNest *n)
{
    const int warps = n->threads / MW_WARP, turns = MW_TUNED_CUDA_UNROLL;
    mw_cuda_print(n,
                  "#pragma unroll\n"
                  "for (int turn = 0; turn < $row_turns; turn++) {\n"
                  "    int at = count + __popc(votes[turn] & ((1u << lane) - 1));\n"
                  "    for (int other = 0; other < turn * $warps + warp; other++)\n"
                  "        at += counts[other];\n"
                  "    if (own[turn] >= 0) {\n"
                  "        rows[at] = base + turn * $threads + (int)threadIdx.x;\n"
                  "        places[at] = own[turn];\n"
                  "    }\n"
                  "}\n"
                  "for (int other = 0; other < $counts; other++)\n"
                  "    count += counts[other];\n"
                  "__syncthreads();\n",
                  MW_HOLES({"warps", mw_print_number(&n->p, warps)},
                           {"row_turns", mw_print_number(&n->p, turns)},
                           {"counts", mw_print_number(&n->p, turns * warps)}));
}

/* ---- What is listed ---- */

/* An entry of the list, as a row; entry -1 is none. */
static void begin_entry(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_cuda_print(n,
                  "if (at[turn] >= 0) {\n"
                  "    const int row = rows[at[turn]];\n",
                  NULL, 0);
    mw_cuda_print_indices(n, "row", 0, p->nest->space.row_dims, 1);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
}

static void print_addend(MwCudaNest *n, int phase)
{
    (void)phase;
    mw_cuda_print_values(n, MW_LEVEL_POINT);
    mw_print_line(&n->p, "part[q] += v%d;", addition(n->p.nest)->inputs[0].index);
}

/* The type in which the rows of a place are added up. */
static const char *sum_type(const MwCudaNest *n)
{
    const MwKernelInstr *add = addition(n->p.nest);
    return mw_print_scalar_type(mw_scalar_of(n->p.kernel->operands.at[add->operand].type));
}

/* Moves the elements of a place to or from `sum`. */
static void print_move(MwCudaNest *n, bool stores)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *add = addition(p->nest);
    const bool is_half = mw_type_is_half(p->kernel->operands.at[add->operand].type);
    const char *place = mw_print_place(p, add);
    const char *element = mw_cuda_element_name(n, add);
    mw_print_open(p, "if (column < %lld)", (long long)mw_cuda_units(n));
    mw_print_line(p, "const int64_t v%d = place;", add->inputs[1].index);
    if (n->width > 1)
        mw_print_line(p, "const %s i%d = j;", n->index, mw_print_inner_dim(p));
    if (n->width > 1 && stores)
        mw_print_line(p, "mw_store%d_%s(&%s, sum);", n->width, element, place);
    else if (n->width > 1)
        mw_print_line(p, "mw_load%d_%s(sum, &%s);", n->width, element, place);
    else if (!is_half)
        mw_print_line(p, stores ? "%s = sum[0];" : "sum[0] = %s;", place);
    else if (stores)
        mw_print_line(p, "%s = mw_to_%s(sum[0]);", place, element);
    else
        mw_print_line(p, "sum[0] = mw_from_%s(%s);", element, place);
    mw_print_close(p);
}

/* Adds up to `turns` rows among 32 entries of the list, those whose bits are set in `votes`. They
 * are added to each other before they go to the sum, which so rounds less often. */
static void print_add_some(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int indent = p->indent;
    mw_cuda_print(n,
                  "int at[$turns];\n"
                  "#pragma unroll\n"
                  "for (int turn = 0; turn < $turns; turn++) {\n"
                  "    at[turn] = votes && column < $units ? first + __ffs((int)votes) - 1 : -1;\n"
                  "    votes &= votes - 1;\n"
                  "}\n"
                  "$sum part[$width] = {0};\n",
                  MW_HOLES({"units", mw_print_number(p, mw_cuda_units(n))}, {"sum", sum_type(n)}));
    if (n->width > 1) {
        mw_cuda_print_turns(n, -1, begin_entry, print_addend);
    } else {
        mw_cuda_print(n,
                      "#pragma unroll\n"
                      "for (int turn = 0; turn < $turns; turn++) {\n",
                      NULL, 0);
        begin_entry(n);
        mw_print_line(p, "const int q = 0;");
        print_addend(n, -1);
        mw_print_close_to(p, indent);
    }
    mw_cuda_print(n,
                  "#pragma unroll\n"
                  "for (int q = 0; q < $width; q++)\n"
                  "    sum[q] += part[q];\n",
                  NULL, 0);
}

/* The warps take places and groups of 32 columns in turn. */
static void print_add_list(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    const int indent = p->indent;
    mw_cuda_print(n,
                  "for (int item = warp; item < count * $tiles; item += $warps) {\n"
                  "    const int entry = item / $tiles, place = places[entry];\n"
                  "    const $index column = item % $tiles * 32 + lane;\n"
                  "    if (!mw_warp_is_first(places, entry))\n"
                  "        continue;\n",
                  MW_HOLES({"tiles", mw_print_number(p, tiles(n))},
                           {"warps", mw_print_number(p, n->threads / MW_WARP)}));
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, n->width);
    mw_print_line(p, "%s sum[%d];", sum_type(n), n->width);
    print_move(n, false);
    mw_cuda_print(n,
                  "for (int first = entry; first < count; first += 32) {\n"
                  "    unsigned votes = __ballot_sync(0xffffffffu, first + lane < count && "
                  "places[first + lane] == place);\n"
                  "    while (votes) {\n",
                  NULL, 0);
    print_add_some(n);
    mw_print_close(p);
    mw_print_close(p);
    print_move(n, true);
    mw_print_close_to(p, indent);
}

void mw_cuda_print_places(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const int indent = p->indent;
    const int turns = MW_TUNED_CUDA_UNROLL, round = round_rows(n);
    const int list = round * MW_TUNED_CUDA_PLACE_ROUNDS;
    const MwHole holes[] = {{"list", mw_print_number(p, list)},
                            {"counts", mw_print_number(p, turns * n->threads / MW_WARP)},
                            {"round", mw_print_number(p, round)},
                            {"row_turns", mw_print_number(p, turns)},
                            {"room", mw_print_number(p, list - round)}};
    mw_cuda_print(n,
                  "__shared__ int rows[$list], places[$list], counts[$counts];\n"
                  "const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;\n"
                  "int count = 0;\n"
                  "for (int base = 0; base < $rows; base += $round) {\n"
                  "    int own[$row_turns];\n"
                  "    unsigned votes[$row_turns];\n",
                  holes, MW_COUNT(holes));
    print_own_places(n);
    print_list(n);
    mw_cuda_print(n,
                  "if (count <= $room && base + $round < $rows)\n"
                  "    continue;\n",
                  holes, MW_COUNT(holes));
    print_add_list(n);
    mw_cuda_print(n,
                  "count = 0;\n"
                  "__syncthreads();\n",
                  NULL, 0);
    mw_print_close_to(p, indent);
}
