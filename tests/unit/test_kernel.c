/* SPDX-License-Identifier: GPL-3.0-or-later */
/* codegen/kernel/kernel.h: the work of a kernel, counted by hand. */
#include "codegen/kernel/kernel.h"
#include "tests/unit/support.h"

enum { IN, OUT };

typedef struct {
    MwKernelDef def;
    int in, out;
} Kernel;

static Kernel kernel_new(MwArena *arena, int64_t rows, int64_t columns)
{
    const MwTensor tensor = mw_tensor(MW_F32, 2, (int64_t[]){rows, columns});
    Kernel kernel = {.def = {.arena = arena}};
    kernel.in = mw_kernel_operand(&kernel.def, IN, &tensor);
    kernel.out = mw_kernel_operand(&kernel.def, OUT, &tensor);
    kernel.def.operands.at[kernel.in].reads = kernel.def.operands.at[kernel.out].writes = true;
    return kernel;
}

static void add_nest(Kernel *kernel, int64_t rows, int64_t columns)
{
    const MwNest nest = {.space = {.dim_count = 2, .row_dims = 1, .size = {rows, columns}}};
    mw_vec_push(kernel->def.arena, &kernel->def.nests, nest);
}

static MwRef add_load(Kernel *kernel, int64_t columns)
{
    return mw_kernel_add(&kernel->def, &(MwKernelInstr){.op = MW_KERNEL_LOAD,
                                                        .level = MW_LEVEL_POINT,
                                                        .type = MW_SCALAR_F32,
                                                        .operand = kernel->in,
                                                        .at = {.stride = {columns, 1}}});
}

static MwRef add_unary(Kernel *kernel, MwKernelOp op, MwLevel level, MwRef input)
{
    return mw_kernel_add(&kernel->def, &(MwKernelInstr){.op = op,
                                                        .level = level,
                                                        .type = MW_SCALAR_F32,
                                                        .inputs = {input},
                                                        .input_count = 1,
                                                        .text = "-$0",
                                                        .flops = 1});
}

START_TEST(sums_of_rows_are_told_from_other_work)
{
    MwArena *arena = mw_arena_new();
    Kernel kernel = kernel_new(arena, 6, 10);
    add_nest(&kernel, 6, 10);
    MwRef x = add_load(&kernel, 10);
    MwRef max = add_unary(&kernel, MW_KERNEL_ROW_MAX, MW_LEVEL_ROW, x);
    add_unary(&kernel, MW_KERNEL_ROW_SUM, MW_LEVEL_ROW,
              add_unary(&kernel, MW_KERNEL_EXPR, MW_LEVEL_POINT, x));
    add_unary(&kernel, MW_KERNEL_EXPR, MW_LEVEL_ROW, max);
    ck_assert_double_eq(mw_kernel_flops(&kernel.def), 60 + 60 + 60 + 6);
    MwKernelRows rows = mw_kernel_rows(&kernel.def);
    ck_assert_double_eq(rows.flops, 120);
    ck_assert_double_eq(rows.columns, 10);
    /* a nest with fewer of them, and one with sums of columns */
    add_nest(&kernel, 20, 3);
    add_unary(&kernel, MW_KERNEL_ROW_SUM, MW_LEVEL_ROW, add_load(&kernel, 3));
    add_nest(&kernel, 6, 10);
    add_unary(&kernel, MW_KERNEL_COLUMN_SUM, MW_LEVEL_COLUMN, add_load(&kernel, 10));
    rows = mw_kernel_rows(&kernel.def);
    ck_assert_double_eq(mw_kernel_flops(&kernel.def), 186 + 120);
    ck_assert_double_eq(rows.flops, 180);
    ck_assert_double_eq(rows.columns, 10);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel");
    TCase *tcase = tcase_create("kernel");
    tcase_add_test(tcase, sums_of_rows_are_told_from_other_work);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
