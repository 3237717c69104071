/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels as C. In: the kernel IR. Out: one function a kernel, in C that vectorises: no aliasing,
 * constant trip counts, no branches in the loops over columns.
 *
 * A sum over a row runs in LANES independent partial sums, folded as a tree every BLOCK columns and
 * added up in double; a sum over rows runs in float over FOLD_ROWS rows and then in double. So sums
 * are accurate to a few units in the last place, and their order depends on the shape alone. */
#include "codegen/print_c.h"

#include "codegen/phases.h"
#include "codegen/prelude_text.h"
#include "runtime/kernel.h"

enum { LANES = 32, BLOCK = 4096, FOLD_ROWS = 64, TILE = 2048 };

typedef struct {
    MwText *out;
    const MwKernelDef *kernel;
    const MwNest *nest;
    MwPhases phases;
    bool has_column_sums; /* COLUMN_SUM or COLUMN_MAX */
    int64_t tile;         /* columns at a time of the innermost dimension; all, if not tiled */
    int indent;
} Printer;

/* ---- Lines ---- */

static void begin_line(Printer *p)
{
    for (int i = 0; i < p->indent; i++)
        mw_text_add(p->out, "    ");
}

static void line(Printer *p, const char *format, ...) MW_PRINTF(2, 3);
static void line(Printer *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    begin_line(p);
    mw_text_add(p->out, mw_arena_vprintf(p->out->arena, format, args));
    mw_text_add(p->out, "\n");
    va_end(args);
}

static void open_block(Printer *p, const char *format, ...) MW_PRINTF(2, 3);
static void open_block(Printer *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    begin_line(p);
    mw_text_add(p->out, mw_arena_vprintf(p->out->arena, format, args));
    mw_text_add(p->out, " {\n");
    va_end(args);
    p->indent++;
}

static void open_scope(Printer *p)
{
    line(p, "{");
    p->indent++;
}

static void close_block(Printer *p)
{
    p->indent--;
    line(p, "}");
}

/* ---- Types, places, values ---- */

static const char *storage_type(MwType type)
{
    static const char *const names[MW_TYPE_COUNT] = {
        [MW_F32] = "float", [MW_BF16] = "uint16_t", [MW_I32] = "int32_t", [MW_BOOL] = "uint8_t"};
    return names[type];
}

static const char *scalar_type(MwScalar type)
{
    static const char *const names[] = {[MW_SCALAR_F32] = "float",
                                        [MW_SCALAR_F64] = "double",
                                        [MW_SCALAR_I32] = "int32_t",
                                        [MW_SCALAR_I64] = "int64_t",
                                        [MW_SCALAR_BOOL] = "bool"};
    return names[type];
}

/* Sums run in the type itself and add up in a wider one. */
static const char *wide_type(MwScalar type)
{
    return type == MW_SCALAR_F32 || type == MW_SCALAR_F64 ? "double" : "int64_t";
}

static bool is_max(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_ROW_MAX || instr->op == MW_KERNEL_COLUMN_MAX ||
           instr->op == MW_KERNEL_TOTAL_MAX;
}

static const char *first_value(const MwKernelInstr *instr)
{
    if (!is_max(instr))
        return "0";
    return instr->type == MW_SCALAR_F32 ? "-INFINITY" : "INT32_MIN";
}

static const char *term(const Printer *p, int64_t factor, const char *name)
{
    if (factor == 1)
        return name;
    return mw_arena_printf(p->out->arena, "%s * %lld", name, (long long)factor);
}

/* "128 + a0 + i0 * 384 + i1" */
static const char *affine_text(const Printer *p, const MwAffine *at)
{
    MwText text = {.arena = p->out->arena};
    const char *plus = "";
    if (at->offset) {
        mw_text_printf(&text, "%lld", (long long)at->offset);
        plus = " + ";
    }
    for (int i = 0; i < at->arg_count; i++, plus = " + ")
        mw_text_printf(&text, "%sa%d", plus, at->args[i]);
    for (int d = 0; d < p->nest->space.dim_count; d++) {
        if (!at->stride[d])
            continue;
        const char *name = mw_arena_printf(text.arena, "i%d", d);
        mw_text_printf(&text, "%s%s", plus, term(p, at->stride[d], name));
        plus = " + ";
    }
    if (!text.bytes)
        mw_text_add(&text, "0");
    return text.at;
}

/* The element that a load, store or add is about; `gather` is the input that moves it, or none. */
static const char *place_text(const Printer *p, const MwKernelInstr *instr, int gather)
{
    MwArena *arena = p->out->arena;
    const char *at = affine_text(p, &instr->at);
    if (gather >= instr->input_count)
        return mw_arena_printf(arena, "p%d[%s]", instr->operand, at);
    const char *index = mw_arena_printf(arena, "(int64_t)v%d", instr->inputs[gather].index);
    return mw_arena_printf(arena, "p%d[%s + %s]", instr->operand, at,
                           term(p, instr->gather_stride, index));
}

static const char *load_text(const Printer *p, const MwKernelInstr *instr)
{
    const char *place = place_text(p, instr, 0);
    MwType type = p->kernel->operands.at[instr->operand].type;
    if (type == MW_BF16)
        return mw_arena_printf(p->out->arena, "mw_from_bf16(%s)", place);
    if (type == MW_BOOL)
        return mw_arena_printf(p->out->arena, "%s != 0", place);
    return place;
}

/* The text of an EXPR with its inputs named. */
static const char *expr_text(const Printer *p, const MwKernelInstr *instr)
{
    MwText text = {.arena = p->out->arena};
    for (const char *c = instr->text; *c; c++) {
        if (*c == '$')
            mw_text_printf(&text, "v%d", instr->inputs[*++c - '0'].index);
        else
            mw_text_add_n(&text, c, 1);
    }
    return text.at;
}

static const char *value_text(const Printer *p, const MwKernelInstr *instr)
{
    switch (instr->op) {
    case MW_KERNEL_LOAD:
        return load_text(p, instr);
    case MW_KERNEL_INDEX:
        return affine_text(p, &instr->at);
    case MW_KERNEL_ARG:
        return mw_arena_printf(p->out->arena, "a%d", instr->arg);
    case MW_KERNEL_EXPR:
        return expr_text(p, instr);
    default:
        MW_UNREACHABLE();
    }
}

static void print_value(Printer *p, int i)
{
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    line(p, "const %s v%d = %s;", scalar_type(instr->type), i, value_text(p, instr));
}

static void print_effect(Printer *p, const MwKernelInstr *instr)
{
    const char *place = place_text(p, instr, 1);
    const char *assign = instr->op == MW_KERNEL_ADD ? "+=" : "=";
    MwType type = p->kernel->operands.at[instr->operand].type;
    if (type == MW_BF16)
        line(p, "%s = mw_to_bf16(v%d);", place, instr->inputs[0].index);
    else
        line(p, "%s %s v%d;", place, assign, instr->inputs[0].index);
}

static bool is_effect(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_STORE || instr->op == MW_KERNEL_ADD;
}

static bool is_reduction(const MwKernelInstr *instr)
{
    return instr->op >= MW_KERNEL_ROW_SUM;
}

static bool is_row_reduction(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_ROW_SUM || instr->op == MW_KERNEL_ROW_MAX;
}

static bool is_column_reduction(const MwKernelInstr *instr)
{
    return instr->op == MW_KERNEL_COLUMN_SUM || instr->op == MW_KERNEL_COLUMN_MAX;
}

/* "l7[l] += v6;" or the same for a maximum. */
static void print_gather_into(Printer *p, const MwKernelInstr *instr, const char *place)
{
    int value = instr->inputs[0].index;
    if (is_max(instr))
        line(p, "%s = mw_max(%s, v%d);", place, place, value);
    else
        line(p, "%s += v%d;", place, value);
}

/* A value, or an effect where it is the turn of effects: they come after all values of their level,
 * because one may write where a value is loaded from. */
static void print_simple(Printer *p, int i, bool effects)
{
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    if (is_effect(instr) && effects)
        print_effect(p, instr);
    else if (!is_effect(instr) && !effects)
        print_value(p, i);
}

/* Values and effects of a level that has no phases. */
static void print_level(Printer *p, MwLevel level)
{
    for (int effects = 0; effects < 2; effects++)
        for (int i = 0; i < p->nest->instrs.count; i++)
            if (p->nest->instrs.at[i].level == level && !is_reduction(&p->nest->instrs.at[i]))
                print_simple(p, i, effects);
}

/* ---- Columns of a row ---- */

static int inner_dim(const Printer *p)
{
    return p->nest->space.dim_count - 1;
}

static bool has_column_dims(const Printer *p)
{
    return p->nest->space.dim_count > p->nest->space.row_dims;
}

/* The column's index within the row, or within the tile. */
static const char *column_index(const Printer *p)
{
    const MwSpace *space = &p->nest->space;
    MwArena *arena = p->out->arena;
    if (!has_column_dims(p))
        return "0";
    if (p->tile)
        return mw_arena_printf(arena, "i%d - tile", inner_dim(p));
    const char *text = mw_arena_printf(arena, "i%d", space->row_dims);
    for (int d = space->row_dims + 1; d < space->dim_count; d++)
        text = mw_arena_printf(arena, "(%s) * %lld + i%d", text, (long long)space->size[d], d);
    return text;
}

static bool kept_before(const Printer *p, int phase, int i)
{
    for (int earlier = 0; earlier < phase; earlier++)
        if (p->phases.runs[earlier][i])
            return p->phases.kept[i];
    return false;
}

static void print_point(Printer *p, int phase, int i)
{
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    if (is_effect(instr)) {
        print_effect(p, instr);
    } else if (is_row_reduction(instr)) {
        const char *sum = has_column_dims(p) ? "l%d[l]" : "w%d";
        print_gather_into(p, instr, mw_arena_printf(p->out->arena, sum, i));
    } else if (is_column_reduction(instr)) {
        print_gather_into(p, instr, mw_arena_printf(p->out->arena, "c%d[%s]", i, column_index(p)));
    } else if (kept_before(p, phase, i)) {
        line(p, "const %s v%d = k%d[%s];", scalar_type(instr->type), i, i, column_index(p));
    } else {
        print_value(p, i);
        if (p->phases.kept[i])
            line(p, "k%d[%s] = v%d;", i, column_index(p), i);
    }
}

/* Effects last, as everywhere. */
static void print_points(Printer *p, int phase)
{
    for (int effects = 0; effects < 2; effects++)
        for (int i = 0; i < p->nest->instrs.count; i++)
            if (p->phases.runs[phase][i] && is_effect(&p->nest->instrs.at[i]) == effects)
                print_point(p, phase, i);
}

static bool phase_reduces_rows(const Printer *p, int phase)
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->phases.runs[phase][i] && is_row_reduction(&p->nest->instrs.at[i]))
            return true;
    return false;
}

/* Columns base .. base + size of the innermost dimension, in lanes; the sums are folded after. */
static void print_lanes(Printer *p, int phase, const char *base, int64_t size)
{
    int64_t whole = size / LANES * LANES;
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!p->phases.runs[phase][i] || !is_row_reduction(instr))
            continue;
        line(p, "%s l%d[%d];", scalar_type(instr->type), i, LANES);
        line(p, "for (int l = 0; l < %d; l++)", LANES);
        line(p, "    l%d[l] = %s;", i, first_value(instr));
    }
    if (whole) {
        open_block(p, "for (int64_t j = 0; j < %lld; j += %d)", (long long)whole, LANES);
        open_block(p, "for (int l = 0; l < %d; l++)", LANES);
        line(p, "const int64_t i%d = %sj + l;", inner_dim(p), base);
        print_points(p, phase);
        close_block(p);
        close_block(p);
    }
    if (size > whole) {
        open_block(p, "for (int l = 0; l < %lld; l++)", (long long)(size - whole));
        line(p, "const int64_t i%d = %s%lld + l;", inner_dim(p), base, (long long)whole);
        print_points(p, phase);
        close_block(p);
    }
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!p->phases.runs[phase][i] || !is_row_reduction(instr))
            continue;
        const char *suffix = instr->type == MW_SCALAR_F32 ? "f32" : "i32";
        if (is_max(instr))
            line(p, "w%d = mw_max(w%d, mw_fold_max_%s(l%d));", i, i, suffix, i);
        else
            line(p, "w%d += mw_fold_sum_%s(l%d);", i, suffix, i);
    }
}

/* The innermost column dimension where a row is reduced: in blocks, the rest as a block of its own.
 */
static void print_reduced_columns(Printer *p, int phase)
{
    int64_t size = p->nest->space.size[inner_dim(p)];
    int64_t blocks = size > BLOCK ? size / BLOCK * BLOCK : 0;
    if (blocks) {
        open_block(p, "for (int64_t b = 0; b < %lld; b += %d)", (long long)blocks, BLOCK);
        print_lanes(p, phase, "b + ", BLOCK);
        close_block(p);
    }
    if (size > blocks) {
        const char *base =
            blocks ? mw_arena_printf(p->out->arena, "%lld + ", (long long)blocks) : "";
        open_scope(p);
        print_lanes(p, phase, base, size - blocks);
        close_block(p);
    }
}

static void open_dim_loop(Printer *p, int d)
{
    open_block(p, "for (int64_t i%d = 0; i%d < %lld; i%d++)", d, d,
               (long long)p->nest->space.size[d], d);
}

static void print_inner_columns(Printer *p, int phase)
{
    int d = inner_dim(p);
    if (phase_reduces_rows(p, phase)) {
        print_reduced_columns(p, phase);
        return;
    }
    if (p->tile)
        open_block(p, "for (int64_t i%d = tile; i%d < tile_end; i%d++)", d, d, d);
    else
        open_dim_loop(p, d);
    print_points(p, phase);
    close_block(p);
}

static void print_columns(Printer *p, int phase)
{
    if (!has_column_dims(p)) {
        open_scope(p);
        print_points(p, phase);
        close_block(p);
        return;
    }
    int outer = p->tile ? inner_dim(p) : p->nest->space.row_dims;
    for (int d = outer; d < inner_dim(p); d++)
        open_dim_loop(p, d);
    print_inner_columns(p, phase);
    for (int d = outer; d < inner_dim(p); d++)
        close_block(p);
}

/* ---- Rows ---- */

/* What a row does before the columns of a phase. */
static void print_row_values(Printer *p, int phase, bool effects)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (p->phases.phase[i] != phase || is_row_reduction(instr))
            continue;
        if (instr->op == MW_KERNEL_TOTAL_SUM || instr->op == MW_KERNEL_TOTAL_MAX) {
            if (effects)
                print_gather_into(p, instr, mw_arena_printf(p->out->arena, "t%d", i));
        } else if (instr->level == MW_LEVEL_ROW) {
            print_simple(p, i, effects);
        }
    }
}

static void print_row_sums(Printer *p, int phase, bool declare)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!is_row_reduction(instr) || p->phases.phase[i] != phase)
            continue;
        const char *type = scalar_type(instr->type);
        if (declare)
            line(p, "%s w%d = %s;", is_max(instr) ? type : wide_type(instr->type), i,
                 first_value(instr));
        else
            line(p, "const %s v%d = (%s)w%d;", type, i, type, i);
    }
}

static void print_row(Printer *p)
{
    for (int phase = 0; phase < p->phases.count; phase++) {
        print_row_values(p, phase, false);
        print_row_values(p, phase, true);
        print_row_sums(p, phase, true);
        if (!p->phases.is_empty[phase])
            print_columns(p, phase);
        print_row_sums(p, phase, false);
    }
}

/* Arrays that keep values of a row from one phase to the next. */
static void print_kept(Printer *p)
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->phases.kept[i])
            line(p, "_Alignas(64) %s k%d[%lld];", scalar_type(p->nest->instrs.at[i].type), i,
                 (long long)mw_space_columns(&p->nest->space));
}

/* ---- Sums over rows ---- */

static int64_t tile_columns(const Printer *p)
{
    return p->tile ? p->tile : mw_space_columns(&p->nest->space);
}

/* For every sum over rows, a loop over its columns: c is the part of at most FOLD_ROWS rows, s the
 * whole. */
static void print_column_sums(Printer *p, const char *format)
{
    const char *end = p->tile ? "tile_end - tile"
                              : mw_arena_printf(p->out->arena, "%lld", (long long)tile_columns(p));
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!is_column_reduction(instr))
            continue;
        line(p, "for (int64_t j = 0; j < %s; j++)", end);
        bool folds = format[0] == 'f';
        if (!folds)
            line(p, "    %c%d[j] = %s;", format[0], i, first_value(instr));
        else if (is_max(instr))
            line(p, "    s%d[j] = mw_max(s%d[j], c%d[j]);", i, i, i);
        else
            line(p, "    s%d[j] += c%d[j];", i, i);
    }
}

static void print_column_sum_arrays(Printer *p)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (!is_column_reduction(instr))
            continue;
        const char *type = scalar_type(instr->type);
        line(p, "_Alignas(64) %s c%d[%lld];", type, i, (long long)tile_columns(p));
        line(p, "_Alignas(64) %s s%d[%lld];", is_max(instr) ? type : wide_type(instr->type), i,
             (long long)tile_columns(p));
    }
}

/* COLUMN code, after all rows. */
static void print_column_end(Printer *p)
{
    const MwSpace *space = &p->nest->space;
    int first = p->tile ? inner_dim(p) : space->row_dims;
    for (int d = first; d < space->dim_count; d++) {
        if (p->tile)
            open_block(p, "for (int64_t i%d = tile; i%d < tile_end; i%d++)", d, d, d);
        else
            open_dim_loop(p, d);
    }
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        const char *type = scalar_type(instr->type);
        if (is_column_reduction(instr))
            line(p, "const %s v%d = (%s)s%d[%s];", type, i, type, i, column_index(p));
    }
    print_level(p, MW_LEVEL_COLUMN);
    for (int d = first; d < space->dim_count; d++)
        close_block(p);
}

/* ---- The nest ---- */

static bool nest_has(const Printer *p, bool (*is)(const MwKernelInstr *))
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (is(&p->nest->instrs.at[i]))
            return true;
    return false;
}

/* What must happen once per row, and so forbids walking the rows once per tile. */
static bool binds_to_rows(const MwKernelInstr *instr)
{
    return is_row_reduction(instr) || (is_effect(instr) && instr->level == MW_LEVEL_ROW) ||
           instr->op == MW_KERNEL_TOTAL_SUM || instr->op == MW_KERNEL_TOTAL_MAX;
}

/* All rows, once; sums over rows are folded every FOLD_ROWS of the innermost row dimension. */
static void print_rows(Printer *p)
{
    int last = p->nest->space.row_dims - 1;
    for (int d = 0; d < last; d++)
        open_dim_loop(p, d);
    int64_t rows = last >= 0 ? p->nest->space.size[last] : 1;
    bool folds = p->has_column_sums && rows > FOLD_ROWS;
    if (folds) {
        open_block(p, "for (int64_t fold = 0; fold < %lld; fold += %d)", (long long)rows,
                   FOLD_ROWS);
        line(p, "const int64_t fold_end = mw_min(fold + %d, (int64_t)%lld);", FOLD_ROWS,
             (long long)rows);
    }
    if (p->has_column_sums)
        print_column_sums(p, "c");
    if (folds)
        open_block(p, "for (int64_t i%d = fold; i%d < fold_end; i%d++)", last, last, last);
    else if (last >= 0)
        open_dim_loop(p, last);
    print_row(p);
    if (last >= 0)
        close_block(p);
    if (p->has_column_sums)
        print_column_sums(p, "fold");
    for (int d = folds ? -1 : 0; d < last; d++)
        close_block(p);
}

static bool has_column_code(const Printer *p)
{
    for (int i = 0; i < p->nest->instrs.count; i++)
        if (p->nest->instrs.at[i].level == MW_LEVEL_COLUMN)
            return true;
    return false;
}

static void print_rows_and_columns(Printer *p)
{
    const MwSpace *space = &p->nest->space;
    if (p->tile) {
        for (int d = space->row_dims; d < inner_dim(p); d++)
            open_dim_loop(p, d);
        long long size = space->size[inner_dim(p)];
        open_block(p, "for (int64_t tile = 0; tile < %lld; tile += %lld)", size,
                   (long long)p->tile);
        line(p, "const int64_t tile_end = mw_min(tile + %lld, (int64_t)%lld);", (long long)p->tile,
             size);
    }
    if (p->has_column_sums) {
        print_column_sum_arrays(p);
        print_column_sums(p, "s");
    }
    print_rows(p);
    if (has_column_code(p))
        print_column_end(p);
    for (int d = space->row_dims; p->tile && d <= inner_dim(p); d++)
        close_block(p);
}

static void print_totals(Printer *p, bool declare)
{
    for (int i = 0; i < p->nest->instrs.count; i++) {
        const MwKernelInstr *instr = &p->nest->instrs.at[i];
        if (instr->op != MW_KERNEL_TOTAL_SUM && instr->op != MW_KERNEL_TOTAL_MAX)
            continue;
        const char *type = scalar_type(instr->type);
        if (declare)
            line(p, "%s t%d = %s;", is_max(instr) ? type : wide_type(instr->type), i,
                 first_value(instr));
        else
            line(p, "const %s v%d = (%s)t%d;", type, i, type, i);
    }
}

static void print_nest(MwText *out, const MwKernelDef *kernel, const MwNest *nest)
{
    Printer p = {.out = out, .kernel = kernel, .nest = nest, .indent = 1};
    p.phases = mw_phases_plan(out->arena, kernel, nest);
    p.has_column_sums = nest_has(&p, is_column_reduction);
    if (p.has_column_sums && !nest_has(&p, binds_to_rows) && mw_space_columns(&nest->space) > TILE)
        p.tile = mw_min(TILE, nest->space.size[inner_dim(&p)]);
    open_scope(&p);
    print_kept(&p);
    print_level(&p, MW_LEVEL_UNIFORM);
    print_totals(&p, true);
    print_rows_and_columns(&p);
    print_totals(&p, false);
    print_level(&p, MW_LEVEL_TOTAL);
    close_block(&p);
}

/* ---- The function ---- */

static void print_signature_values(MwText *text, const MwKernelDef *kernel)
{
    for (int i = 0; i < kernel->operands.count; i++) {
        const MwKernelOperand *operand = &kernel->operands.at[i];
        mw_text_printf(text, "    %s%s *restrict p%d = operands[%d];\n",
                       operand->writes ? "" : "const ", storage_type(operand->type), i, i);
    }
    for (int i = 0; i < kernel->args.count; i++) {
        bool real = kernel->args.at[i].kind == MW_ARG_FLOAT;
        mw_text_printf(text, "    const %s a%d = args[%d].%s;\n", real ? "double" : "int64_t", i, i,
                       real ? "f" : "i");
    }
}

void mw_c_print_prelude(MwText *text)
{
    mw_text_add(text, MW_C_PRELUDE_TEXT);
}

void mw_c_print_body(MwText *text, const MwKernelDef *kernel)
{
    mw_text_add(text, "{\n");
    print_signature_values(text, kernel);
    for (int i = 0; i < kernel->nests.count; i++)
        print_nest(text, kernel, &kernel->nests.at[i]);
    mw_text_add(text, "}\n");
}

void mw_c_print_function(MwText *text, const char *name, const char *comment, const char *body)
{
    mw_text_printf(text, "\n/* %s */\n", comment);
    mw_text_printf(text,
                   "static void %s(void *const *operands, const MwKernelArg *args, void *stream)\n",
                   name);
    mw_text_add(text, body);
}

void mw_c_print_table(MwText *text, const char *const *names, int count)
{
    mw_text_printf(text, "\nconst MwKernelEntry %s[] = {\n", MW_KERNEL_TABLE_SYMBOL);
    for (int i = 0; i < count; i++)
        mw_text_printf(text, "    {\"%s\", %s},\n", names[i], names[i]);
    mw_text_add(text, "    {0, 0},\n};\n");
}
