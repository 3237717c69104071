/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels as C. In: the kernel IR. Out: one function a kernel, in C that vectorises: no aliasing,
 * constant trip counts, no branches in the loops over columns.
 *
 * A sum over a row runs in 32 independent partial sums (lanes), folded as a tree every 4096 columns
 * and added up in double; a sum over rows runs in float over FOLD_ROWS rows and then in double. So
 * sums are accurate to a few units in the last place, and their order depends on the shape alone.
 */
#include "codegen/print/c_columns.h"
#include "codegen/print/prelude_text.h"
#include "codegen/print/printer.h"
#include "runtime/plan/kernel.h"

enum { FOLD_ROWS = 64, TILE = 2048 };

/* ---- Rows ---- */

/* What a row does before the columns of a phase. */
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

static void print_row_sums(MwPrinter *p, int phase, bool declare)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_row(instr) || p->phases.phase[i] != phase)
            continue;
        const char *type = mw_print_scalar_type(instr->type);
        if (declare)
            mw_print_line(p, "%s w%d = %s;",
                          mw_instr_is_max(instr) ? type : mw_print_wide_type(instr->type), i,
                          mw_print_first_value(instr));
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

/* Arrays that keep values of a row from one phase to the next. */
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

/* For every sum over rows, a loop over its columns: c is the part of at most FOLD_ROWS rows, s the
 * whole. */
static void print_column_sums(MwPrinter *p, const char *format)
{
    const char *end = p->tile ? "tile_end - tile"
                              : mw_arena_printf(p->out->arena, "%lld", (long long)tile_columns(p));
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_rows(instr))
            continue;
        mw_print_line(p, "for (int64_t j = 0; j < %s; j++)", end);
        bool folds = format[0] == 'f';
        if (!folds)
            mw_print_line(p, "    %c%d[j] = %s;", format[0], i, mw_print_first_value(instr));
        else if (mw_instr_is_max(instr))
            mw_print_line(p, "    s%d[j] = mw_max(s%d[j], c%d[j]);", i, i, i);
        else
            mw_print_line(p, "    s%d[j] += c%d[j];", i, i);
    }
}

static void print_column_sum_arrays(MwPrinter *p)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_rows(instr))
            continue;
        const char *type = mw_print_scalar_type(instr->type);
        mw_print_line(p, "_Alignas(64) %s c%d[%lld];", type, i, (long long)tile_columns(p));
        mw_print_line(p, "_Alignas(64) %s s%d[%lld];",
                      mw_instr_is_max(instr) ? type : mw_print_wide_type(instr->type), i,
                      (long long)tile_columns(p));
    }
}

/* COLUMN code, after all rows. */
static void print_column_end(MwPrinter *p)
{
    const MwSpace *space = &p->nest->space;
    int first = p->tile ? mw_print_inner_dim(p) : space->row_dims;
    for (int d = first; d < space->dim_count; d++) {
        if (p->tile)
            mw_print_open(p, "for (int64_t i%d = tile; i%d < tile_end; i%d++)", d, d, d);
        else
            mw_print_open_dim(p, d);
    }
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

/* What must happen once per row, and so forbids walking the rows once per tile. */
static bool binds_to_rows(const MwKernelInstr *instr)
{
    return mw_instr_reduces_row(instr) ||
           (mw_instr_is_effect(instr) && instr->level == MW_LEVEL_ROW) ||
           mw_instr_reduces_all(instr);
}

/* All rows, once; sums over rows are folded every FOLD_ROWS of the innermost row dimension. */
static void print_rows(MwPrinter *p)
{
    int last = p->nest->space.row_dims - 1;
    for (int d = 0; d < last; d++)
        mw_print_open_dim(p, d);
    int64_t rows = last >= 0 ? p->nest->space.size[last] : 1;
    bool folds = p->has_column_sums && rows > FOLD_ROWS;
    if (folds) {
        mw_print_open(p, "for (int64_t fold = 0; fold < %lld; fold += %d)", (long long)rows,
                      FOLD_ROWS);
        mw_print_line(p, "const int64_t fold_end = mw_min(fold + %d, (int64_t)%lld);", FOLD_ROWS,
                      (long long)rows);
    }
    if (p->has_column_sums)
        print_column_sums(p, "c");
    if (folds)
        mw_print_open(p, "for (int64_t i%d = fold; i%d < fold_end; i%d++)", last, last, last);
    else if (last >= 0)
        mw_print_open_dim(p, last);
    print_row(p);
    if (last >= 0)
        mw_print_close(p);
    if (p->has_column_sums)
        print_column_sums(p, "fold");
    for (int d = folds ? -1 : 0; d < last; d++)
        mw_print_close(p);
}

static bool has_column_code(const MwPrinter *p)
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->nest->instrs.at[i].level == MW_LEVEL_COLUMN)
            return true;
    return false;
}

static void print_rows_and_columns(MwPrinter *p)
{
    const MwSpace *space = &p->nest->space;
    if (p->tile) {
        for (int d = space->row_dims; d < mw_print_inner_dim(p); d++)
            mw_print_open_dim(p, d);
        long long size = space->size[mw_print_inner_dim(p)];
        mw_print_open(p, "for (int64_t tile = 0; tile < %lld; tile += %lld)", size,
                      (long long)p->tile);
        mw_print_line(p, "const int64_t tile_end = mw_min(tile + %lld, (int64_t)%lld);",
                      (long long)p->tile, size);
    }
    if (p->has_column_sums) {
        print_column_sum_arrays(p);
        print_column_sums(p, "s");
    }
    print_rows(p);
    if (has_column_code(p))
        print_column_end(p);
    for (int d = space->row_dims; p->tile && d <= mw_print_inner_dim(p); d++)
        mw_print_close(p);
}

static void print_totals(MwPrinter *p, bool declare)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!mw_instr_reduces_all(instr))
            continue;
        const char *type = mw_print_scalar_type(instr->type);
        if (declare)
            mw_print_line(p, "%s t%d = %s;",
                          mw_instr_is_max(instr) ? type : mw_print_wide_type(instr->type), i,
                          mw_print_first_value(instr));
        else
            mw_print_line(p, "const %s v%d = (%s)t%d;", type, i, type, i);
    }
}

static void print_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest, int indent)
{
    MwPrinter p = {.out = out, .kernel = kernel, .nest = nest, .indent = indent};
    p.phases = mw_phases_plan(out->arena, kernel, nest, MW_KEPT_MAX_COLUMNS, false);
    p.has_column_sums = nest_has(&p, mw_instr_reduces_rows);
    if (p.has_column_sums && !nest_has(&p, binds_to_rows) && mw_space_columns(&nest->space) > TILE)
        p.tile = mw_min(TILE, nest->space.size[mw_print_inner_dim(&p)]);
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

static void print_signature_values(MwPrinter *p)
{
    const MwKernelDef *kernel = p->kernel;
    for (int i = 0; i < kernel->operands.count; i++) {
        const MwKernelOperand *operand = &kernel->operands.at[i];
        mw_print_line(p, "%s%s *restrict p%d = operands[%d];", operand->writes ? "" : "const ",
                      mw_print_storage_type(operand->type), i, i);
    }
    for (int i = 0; i < kernel->args.count; i++) {
        bool real = kernel->args.at[i].kind == MW_ARG_FLOAT;
        mw_print_line(p, "const %s a%d = args[%d].%s;", real ? "double" : "int64_t", i, i,
                      real ? "f" : "i");
    }
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

/* A flat kernel takes its sets in turn. */
static void print_body(MwText *text, const MwKernelDef *kernel)
{
    MwPrinter p = {.out = text, .kernel = kernel};
    mw_print_open_scope(&p);
    if (kernel->is_flat)
        mw_print_open(&p, "for (; sets > 0; sets--, operands += %d, args += %d)",
                      kernel->operands.count, kernel->args.count);
    print_signature_values(&p);
    for (int i = 0; i < kernel->nests.count; i++)
        print_nest(text, kernel, &kernel->nests.at[i], p.indent);
    if (kernel->is_flat)
        mw_print_close(&p);
    mw_print_close(&p);
}

static void print_function(MwText *text, const char *name, const char *comment, const char *body)
{
    mw_text_printf(text, "\n/* %s */\n", comment);
    mw_text_printf(
        text,
        "static void %s(void *const *operands, const MwKernelArg *args, int sets, void *stream)\n",
        name);
    mw_text_add(text, body);
}

static void print_table(MwText *text, const char *const *names, int count)
{
    mw_text_printf(text, "\nconst MwKernelEntry %s[] = {\n", MW_KERNEL_TABLE_SYMBOL);
    for (int i = 0; i < count; i++)
        mw_text_printf(text, "    {\"%s\", %s},\n", names[i], names[i]);
    mw_text_add(text, "    {0, 0},\n};\n");
}

const MwKernelPrinter mw_c_printer = {print_prelude, scratch_bytes, print_body, print_function,
                                      print_table};
