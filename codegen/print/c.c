/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels as C. In: the kernel IR. Out: a function for each kernel, in C that vectorises: no
 * aliasing, constant trip counts, no branches in the loops over columns.
 *
 * A sum along a row runs in MW_SUM_LANES independent partial sums, which are added up as a tree
 * every MW_SUM_BLOCK columns and then in double. A sum over rows runs in float over
 * MW_TUNED_FLOAT_ROWS rows and is added up in double. So sums are accurate to a few units in the
 * last place, and their order depends on the shape alone. */
#include "codegen/print/c_columns.h"
#include "codegen/print/prelude_text.h"
#include "codegen/print/printer.h"
#include "codegen/tuning.h"
#include "runtime/plan/kernel.h"

/* Returns the type of the variable in which a reduction gathers. */
static const char *gathered_type(const MwKernelInstr *instr)
{
    return mw_instr_is_max(instr) ? mw_print_scalar_type(instr->type)
                                  : mw_print_wide_type(instr->type);
}

/* ---- Rows ---- */

/* Prints the values, or the effects, of a row that a phase computes before it walks the columns. */
static void print_row_values(MwPrinter *p, int phase, bool effects)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (p->phases.phase[i] != phase || mw_instr_reduces_row(instr))
            continue;
        if (mw_instr_reduces_all(instr)) {
            if (effects)
                mw_print_into(p, instr, mw_arena_printf(p->out->arena, "t%d", i));
        } else if (instr->level == MW_LEVEL_ROW) {
            mw_print_simple(p, i, effects);
        }
    }
}

/* Prints the row reductions of a phase: declares their variables before the columns (`declare`),
 * and turns them into values after. */
static void print_row_sums(MwPrinter *p, int phase, bool declare)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_row(instr) || p->phases.phase[i] != phase)
            continue;
        const char *type = mw_print_scalar_type(instr->type);
        if (declare)
            mw_print_line(p, "%s w%d = %s;", gathered_type(instr), i, mw_print_first_value(instr));
        else
            mw_print_line(p, "const %s v%d = (%s)w%d;", type, i, type, i);
    }
}

static void print_row(MwPrinter *p)
{
    for (int phase = 0; phase < p->phases.count; phase++) {
        print_row_values(p, phase, false);
        print_row_values(p, phase, true);
        print_row_sums(p, phase, true);
        if (!p->phases.is_empty[phase])
            mw_c_print_columns(p, phase);
        print_row_sums(p, phase, false);
    }
}

/* Declares the arrays that keep values of a row from one phase to the next. */
static void print_kept(MwPrinter *p)
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->phases.kept[i])
            mw_print_line(p, "_Alignas(64) %s k%d[%lld];",
                          mw_print_scalar_type(p->nest->instrs.at[i].type), i,
                          (long long)mw_space_columns(&p->nest->space));
}

/* ---- Sums over rows ---- */

static int64_t tile_columns(const MwPrinter *p)
{
    return p->tile ? p->tile : mw_space_columns(&p->nest->space);
}

/* Steps on the arrays of sums over rows. Array c holds the sums of at most MW_TUNED_FLOAT_ROWS
 * rows, array s those of all rows. */
typedef enum {
    CLEAR_SOME, /* clears c */
    CLEAR_ALL,  /* clears s */
    FOLD        /* adds c to s */
} SumStep;

static void print_column_sums(MwPrinter *p, SumStep step)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_rows(instr))
            continue;
        const char *folded =
            mw_instr_is_max(instr) ? "s$i[j] = mw_max(s$i[j], c$i[j]);" : "s$i[j] += c$i[j];";
        const char *body[] = {
            [CLEAR_SOME] = "c$i[j] = $first;", [CLEAR_ALL] = "s$i[j] = $first;", [FOLD] = folded};
        const char *loop = mw_arena_printf(
            p->out->arena, "for (int64_t j = 0; j < $end; j++)\n    %s\n", body[step]);
        mw_print_text(
            p, loop,
            MW_HOLES({"end", p->tile ? "tile_end - tile" : mw_print_number(p, tile_columns(p))},
                     {"i", mw_print_number(p, i)}, {"first", mw_print_first_value(instr)}));
    }
}

static void print_column_sum_arrays(MwPrinter *p)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (mw_instr_reduces_rows(instr))
            mw_print_text(p,
                          "_Alignas(64) $type c$i[$columns];\n"
                          "_Alignas(64) $gathered s$i[$columns];\n",
                          MW_HOLES({"type", mw_print_scalar_type(instr->type)},
                                   {"gathered", gathered_type(instr)}, {"i", mw_print_number(p, i)},
                                   {"columns", mw_print_number(p, tile_columns(p))}));
    }
}

/* Prints the COLUMN code, which runs after all rows. */
static void print_column_end(MwPrinter *p)
{
    const MwSpace *space = &p->nest->space;
    int first = p->tile ? mw_print_inner_dim(p) : space->row_dims;
    for (int d = first; d < space->dim_count; d++)
        mw_c_open_column_dim(p, d);
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        const char *type = mw_print_scalar_type(instr->type);
        if (mw_instr_reduces_rows(instr))
            mw_print_line(p, "const %s v%d = (%s)s%d[%s];", type, i, type, i, mw_c_column_index(p));
    }
    mw_print_level(p, MW_LEVEL_COLUMN);
    for (int d = first; d < space->dim_count; d++)
        mw_print_close(p);
}

/* ---- The nest ---- */

static bool nest_has(const MwPrinter *p, bool (*is)(const MwKernelInstr *))
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (is(&p->nest->instrs.at[i]))
            return true;
    return false;
}

/* Says whether the instruction must run once per row, so that the rows cannot be walked once per
 * tile of columns. */
static bool runs_once_per_row(const MwKernelInstr *instr)
{
    return mw_instr_reduces_row(instr) ||
           (mw_instr_is_effect(instr) && instr->level == MW_LEVEL_ROW) ||
           mw_instr_reduces_all(instr);
}

static bool is_column_code(const MwKernelInstr *instr)
{
    return instr->level == MW_LEVEL_COLUMN;
}

/* Prints a loop over all rows. Sums over rows are folded every MW_TUNED_FLOAT_ROWS rows of the
 * innermost row dimension. */
static void print_rows(MwPrinter *p)
{
    const int last = p->nest->space.row_dims - 1, indent = p->indent;
    for (int d = 0; d < last; d++)
        mw_print_open_dim(p, d);
    const int64_t rows = last >= 0 ? p->nest->space.size[last] : 1;
    const bool folds = p->has_column_sums && rows > MW_TUNED_FLOAT_ROWS;
    const int outside = p->indent + folds;
    if (folds)
        mw_print_text(p,
                      "for (int64_t fold = 0; fold < $rows; fold += $fold_rows) {\n"
                      "    const int64_t fold_end = mw_min(fold + $fold_rows, (int64_t)$rows);\n",
                      MW_HOLES({"rows", mw_print_number(p, rows)},
                               {"fold_rows", mw_print_number(p, MW_TUNED_FLOAT_ROWS)}));
    if (p->has_column_sums)
        print_column_sums(p, CLEAR_SOME);
    if (folds)
        mw_print_open(p, "for (int64_t i%d = fold; i%d < fold_end; i%d++)", last, last, last);
    else if (last >= 0)
        mw_print_open_dim(p, last);
    print_row(p);
    mw_print_close_to(p, outside);
    if (p->has_column_sums)
        print_column_sums(p, FOLD);
    mw_print_close_to(p, indent);
}

/* Prints the loops over rows and columns. If the rows are needed for sums over rows only, the loop
 * over tiles of columns is the outer one, with all rows in each tile. */
static void print_rows_and_columns(MwPrinter *p)
{
    const MwSpace *space = &p->nest->space;
    const int indent = p->indent;
    for (int d = space->row_dims; p->tile && d < mw_print_inner_dim(p); d++)
        mw_print_open_dim(p, d);
    if (p->tile)
        mw_print_text(p,
                      "for (int64_t tile = 0; tile < $size; tile += $tile) {\n"
                      "    const int64_t tile_end = mw_min(tile + $tile, (int64_t)$size);\n",
                      MW_HOLES({"size", mw_print_number(p, space->size[mw_print_inner_dim(p)])},
                               {"tile", mw_print_number(p, p->tile)}));
    if (p->has_column_sums) {
        print_column_sum_arrays(p);
        print_column_sums(p, CLEAR_ALL);
    }
    print_rows(p);
    if (nest_has(p, is_column_code))
        print_column_end(p);
    mw_print_close_to(p, indent);
}

/* Prints the reductions over all points: declares their variables before the rows (`declare`), and
 * turns them into values after. */
static void print_totals(MwPrinter *p, bool declare)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_all(instr))
            continue;
        const char *type = mw_print_scalar_type(instr->type);
        if (declare)
            mw_print_line(p, "%s t%d = %s;", gathered_type(instr), i, mw_print_first_value(instr));
        else
            mw_print_line(p, "const %s v%d = (%s)t%d;", type, i, type, i);
    }
}

static void print_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int indent)
{
    MwPrinter p = {.out = out, .kernel = kernel, .nest = nest, .indent = indent};
    p.phases = mw_phases_plan(out->arena, kernel, nest, MW_TUNED_KEPT_COLUMNS, MW_LOADS_REPEATED);
    p.has_column_sums = nest_has(&p, mw_instr_reduces_rows);
    if (p.has_column_sums && !nest_has(&p, runs_once_per_row) &&
        mw_space_columns(&nest->space) > MW_TUNED_TILE_COLUMNS)
        p.tile = mw_min(MW_TUNED_TILE_COLUMNS, nest->space.size[mw_print_inner_dim(&p)]);
    mw_print_open_scope(&p);
    print_kept(&p);
    mw_print_level(&p, MW_LEVEL_UNIFORM);
    print_totals(&p, true);
    print_rows_and_columns(&p);
    print_totals(&p, false);
    mw_print_level(&p, MW_LEVEL_TOTAL);
    mw_print_close(&p);
}

/* ---- The function ---- */

/* The operands are parameters because GCC believes `restrict` of parameters alone. Of other
 * pointers it compares the places in the loop itself, at most ten pairs, and leaves a loop with
 * more pairs as scalar code. */
static void print_parameters(MwText *text, const MwKernelDef *kernel)
{
    const char *comma = "";
    mw_text_add(text, "static void @_on(");
    for (int i = 0; i < kernel->operands.count; i++, comma = ", ") {
        const MwKernelOperand *operand = &kernel->operands.at[i];
        mw_text_printf(text, "%s%s%s *restrict p%d", comma, operand->writes ? "" : "const ",
                       mw_print_storage_type(operand->type), i);
    }
    for (int i = 0; i < kernel->args.count; i++, comma = ", ")
        mw_text_printf(text, "%s%s a%d", comma,
                       kernel->args.at[i].kind == MW_ARG_FLOAT ? "double" : "int64_t", i);
    mw_text_add(text, ")\n");
}

static void print_call(MwText *text, const MwKernelDef *kernel)
{
    const char *comma = "";
    mw_text_add(text, "@_on(");
    for (int i = 0; i < kernel->operands.count; i++, comma = ", ")
        mw_text_printf(text, "%soperands[%d]", comma, i);
    for (int i = 0; i < kernel->args.count; i++, comma = ", ")
        mw_text_printf(text, "%sargs[%d].%s", comma, i,
                       kernel->args.at[i].kind == MW_ARG_FLOAT ? "f" : "i");
    mw_text_add(text, ");\n");
}

static void print_prelude(MwText *text)
{
    mw_text_add(text, MW_C_PRELUDE_TEXT);
}

static int64_t scratch_bytes(MwArena *arena, const MwKernelDef *kernel)
{
    (void)arena, (void)kernel;
    return 0;
}

/* A flat kernel takes its sets of operands in turn. */
static void print_body(MwText *text, const MwKernelDef *kernel)
{
    print_parameters(text, kernel);
    mw_text_add(text, "{\n");
    for (int i = 0; i < kernel->nests.count; i++)
        print_nest(text, kernel, &kernel->nests.at[i], 1);
    mw_text_add(text, "}\n\n" MW_KERNEL_HEAD "{\n    ");
    if (kernel->is_flat)
        mw_text_printf(text, "for (; sets > 0; sets--, operands += %d, args += %d)\n        ",
                       kernel->operands.count, kernel->args.count);
    print_call(text, kernel);
    mw_text_add(text, "}\n");
}

static void print_table(MwText *text, const MwKernelName *names, int count)
{
    mw_text_printf(text, "\nconst MwKernelEntry %s[] = {\n", MW_KERNEL_TABLE_SYMBOL);
    for (int i = 0; i < count; i++)
        mw_text_printf(text, "    {\"%s\", %s},\n", names[i].name, names[i].function);
    mw_text_add(text, "    {0, 0},\n};\n");
}

const MwKernelPrinter mw_c_printer = {.prelude = print_prelude,
                                      .scratch_bytes = scratch_bytes,
                                      .body = print_body,
                                      .table = print_table};
