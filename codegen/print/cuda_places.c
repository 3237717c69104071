/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that are added to places, in an order that depends on the rows alone.
 *
 * Places are shared out to blocks, by their remainders. A block goes through the places of all rows and
 * lists its own, in order; when the list is full or there are no more rows, its warps take what is listed
 * for one place and some columns each: they find it by the first of its rows, load what is there, add
 * some rows at a time, in their order, and store the sum. So no two threads of a
 * launch write to one element, a place that many rows are added to is spread over as many warps as it
 * has columns for, and nothing depends on which block or warp is first. */
#include "codegen/print/cuda_places.h"

#include "codegen/print/cuda_columns.h"

enum {
    ROW_TURNS = 4,    /* of rows whose places a thread has at once */
    LIST_ROUNDS = 2,  /* such rounds that a list is long enough for */
    ELEMENTS = 32,    /* of rows that a thread has on their way */
    BLOCK_ROWS = 16,  /* that make a block worth it, */
    MOST_BLOCKS = 528 /* as all go through all rows */
};

static int round_rows(const MwCudaNest *n)
{
    return n->threads * ROW_TURNS;
}

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
              mw_nest_instr(nest, only->inputs[1])->level == MW_LEVEL_ROW);
    return only;
}

static int tiles(const MwCudaNest *n)
{
    return (int)mw_ceil_div(n->columns / n->width, MW_WARP);
}

void mw_cuda_spread_places(MwCudaNest *n)
{
    MW_ASSERT(n->rows < INT32_MAX - round_rows(n));
    n->threads = MW_POINT_THREADS;
    n->turns = ELEMENTS / mw_max(n->width, 4);
    n->blocks = mw_min(mw_ceil_div(n->rows, BLOCK_ROWS), MOST_BLOCKS);
    n->kept = "q";
}

/* ---- The list ---- */

static void print_own_places(MwCudaNest *n, int place)
{
    MwPrinter *p = &n->p;
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int turn = 0; turn < %d; turn++)", ROW_TURNS);
    mw_print_line(p, "const int row = base + turn * %d + (int)threadIdx.x;", n->threads);
    mw_print_line(p, "own[turn] = -1;");
    mw_print_open(p, "if (row < %lld)", (long long)n->rows);
    mw_cuda_print_indices(n, "row", 0, p->nest->space.row_dims, 1);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
    mw_print_line(p, "own[turn] = v%d >= 0 && v%d %% %lld == blockIdx.x ? (int)v%d : -1;", place,
                  place, (long long)n->blocks, place);
    mw_print_close(p);
    mw_print_line(p, "votes[turn] = __ballot_sync(0xffffffffu, own[turn] >= 0);");
    mw_print_line(p, "if (lane == 0)");
    mw_print_line(p, "    counts[turn * %d + warp] = __popc(votes[turn]);", n->threads / MW_WARP);
    mw_print_close(p);
    mw_print_line(p, "__syncthreads();");
}

static void print_list(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int warps = n->threads / MW_WARP;
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int turn = 0; turn < %d; turn++)", ROW_TURNS);
    mw_print_line(p, "int at = count + __popc(votes[turn] & ((1u << lane) - 1));");
    mw_print_line(p, "for (int other = 0; other < turn * %d + warp; other++)", warps);
    mw_print_line(p, "    at += counts[other];");
    mw_print_open(p, "if (own[turn] >= 0)");
    mw_print_line(p, "rows[at] = base + turn * %d + (int)threadIdx.x;", n->threads);
    mw_print_line(p, "places[at] = own[turn];");
    mw_print_close(p);
    mw_print_close(p);
    mw_print_line(p, "for (int other = 0; other < %d; other++)", ROW_TURNS * warps);
    mw_print_line(p, "    count += counts[other];");
    mw_print_line(p, "__syncthreads();");
}

/* ---- What is listed ---- */

/* An entry of the list, as a row; all that are not there are left out. */
static void begin_entry(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_open(p, "if (at[turn] >= 0)");
    mw_print_line(p, "const int row = rows[at[turn]];");
    mw_cuda_print_indices(n, "row", 0, p->nest->space.row_dims, 1);
    mw_cuda_print_values(n, MW_LEVEL_ROW);
}

static void print_addend(MwCudaNest *n, int phase)
{
    (void)phase;
    MwPrinter *p = &n->p;
    mw_cuda_print_values(n, MW_LEVEL_POINT);
    mw_print_line(p, "part[q] += v%d;", addition(p->nest)->inputs[0].index);
}

/* The elements of a place, to or from `sum`. */
static void print_move(MwCudaNest *n, bool stores)
{
    MwPrinter *p = &n->p;
    const MwKernelInstr *add = addition(p->nest);
    MwType type = p->kernel->operands.at[add->operand].type;
    const char *place = mw_print_place(p, add);
    const char *element = mw_cuda_element_name(n, add);
    mw_print_open(p, "if (column < %lld)", (long long)(n->columns / n->width));
    mw_print_line(p, "const int64_t v%d = place;", add->inputs[1].index);
    if (n->width > 1)
        mw_print_line(p, "const %s i%d = j;", n->index, mw_print_inner_dim(p));
    if (n->width > 1 && stores)
        mw_print_line(p, "mw_store%d_%s(&%s, sum);", n->width, element, place);
    else if (n->width > 1)
        mw_print_line(p, "mw_load%d_%s(sum, &%s);", n->width, element, place);
    else if (stores)
        mw_print_line(p, type == MW_BF16 ? "%s = mw_to_bf16(sum[0]);" : "%s = sum[0];", place);
    else
        mw_print_line(p, type == MW_BF16 ? "sum[0] = mw_from_bf16(%s);" : "sum[0] = %s;", place);
    mw_print_close(p);
}

/* Up to `turns` entries among 32 of the list, as bits of `votes`; they are added up before they go to the
 * sum, which so rounds less often. */
static void print_add_some(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    mw_print_line(p, "int at[%d];", n->turns);
    mw_print_line(p, "#pragma unroll");
    mw_print_open(p, "for (int turn = 0; turn < %d; turn++)", n->turns);
    mw_print_line(p, "at[turn] = votes && column < %lld ? first + __ffs((int)votes) - 1 : -1;",
                  (long long)(n->columns / n->width));
    mw_print_line(p, "votes &= votes - 1;");
    mw_print_close(p);
    mw_print_line(p, "float part[%d] = {0};", n->width);
    if (n->width > 1) {
        mw_cuda_print_turns(n, -1, begin_entry, print_addend);
    } else {
        mw_print_line(p, "#pragma unroll");
        mw_print_open(p, "for (int turn = 0; turn < %d; turn++)", n->turns);
        begin_entry(n);
        mw_print_line(p, "const int q = 0;");
        print_addend(n, -1);
        mw_print_close(p);
        mw_print_close(p);
    }
    mw_print_line(p, "#pragma unroll");
    mw_print_line(p, "for (int q = 0; q < %d; q++)", n->width);
    mw_print_line(p, "    sum[q] += part[q];");
}

static void print_add_list(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    const MwSpace *space = &p->nest->space;
    int across = tiles(n);
    mw_print_open(p, "for (int item = warp; item < count * %d; item += %d)", across,
                  n->threads / MW_WARP);
    mw_print_line(p, "const int entry = item / %d, place = places[entry];", across);
    mw_print_line(p, "const %s column = item %% %d * 32 + lane;", n->index, across);
    mw_print_line(p, "if (!mw_warp_is_first(places, entry))");
    mw_print_line(p, "    continue;");
    mw_cuda_print_indices(n, "column", space->row_dims, space->dim_count, n->width);
    mw_print_line(p, "float sum[%d];", n->width);
    print_move(n, false);
    mw_print_open(p, "for (int first = entry; first < count; first += 32)");
    mw_print_line(p, "unsigned votes = __ballot_sync(0xffffffffu, first + lane < count && "
                     "places[first + lane] == place);");
    mw_print_open(p, "while (votes)");
    print_add_some(n);
    mw_print_close(p);
    mw_print_close(p);
    print_move(n, true);
    mw_print_close(p);
}

void mw_cuda_print_places(MwCudaNest *n)
{
    MwPrinter *p = &n->p;
    int warps = n->threads / MW_WARP, round = round_rows(n), list = round * LIST_ROUNDS;
    mw_print_line(p, "__shared__ int rows[%d], places[%d], counts[%d];", list, list,
                  ROW_TURNS * warps);
    mw_print_line(p, "const int lane = (int)threadIdx.x %% 32, warp = (int)threadIdx.x / 32;");
    mw_print_line(p, "int count = 0;");
    mw_print_open(p, "for (int base = 0; base < %lld; base += %d)", (long long)n->rows, round);
    mw_print_line(p, "int own[%d];", ROW_TURNS);
    mw_print_line(p, "unsigned votes[%d];", ROW_TURNS);
    print_own_places(n, addition(p->nest)->inputs[1].index);
    print_list(n);
    mw_print_line(p, "if (count <= %d && base + %d < %lld)", list - round, round,
                  (long long)n->rows);
    mw_print_line(p, "    continue;");
    print_add_list(n);
    mw_print_line(p, "count = 0;");
    mw_print_line(p, "__syncthreads();");
    mw_print_close(p);
}
