/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/print/values.h"

#include <string.h>

/* ---- Lines ---- */

static void begin_line(MwPrinter *p)
{
    for (int i = 0; i < p->indent; i++)
        mw_text_add(p->out, "    ");
}

void mw_print_line(MwPrinter *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    begin_line(p);
    mw_text_add(p->out, mw_arena_vprintf(p->out->arena, format, args));
    mw_text_add(p->out, "\n");
    va_end(args);
}

void mw_print_open(MwPrinter *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    begin_line(p);
    mw_text_add(p->out, mw_arena_vprintf(p->out->arena, format, args));
    mw_text_add(p->out, " {\n");
    va_end(args);
    p->indent++;
}

void mw_print_open_scope(MwPrinter *p)
{
    mw_print_line(p, "{");
    p->indent++;
}

void mw_print_close(MwPrinter *p)
{
    p->indent--;
    mw_print_line(p, "}");
}

void mw_print_close_to(MwPrinter *p, int indent)
{
    while (p->indent > indent)
        mw_print_close(p);
}

/* ---- Templates ---- */

static const char *find_hole(const MwHole *holes, int count, const char *name, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(holes[i].name) == length && strncmp(holes[i].name, name, length) == 0)
            return holes[i].text;
    MW_UNREACHABLE();
}

static const char *fill_line(MwArena *arena, const char *line, size_t bytes, const MwHole *holes,
                             int count)
{
    MwText filled = {.arena = arena};
    for (const char *at = line, *end = line + bytes; at < end;) {
        if (*at != '$') {
            mw_text_add_n(&filled, at++, 1);
            continue;
        }
        const bool has_braces = *++at == '{';
        at += has_braces;
        const size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        mw_text_add(&filled, find_hole(holes, count, at, length));
        at += length + has_braces;
    }
    return filled.at;
}

void mw_print_text(MwPrinter *p, const char *text, const MwHole *holes, int count)
{
    int depth = 0; /* blocks that the template has opened so far */
    for (size_t bytes; *text; text += bytes + (text[bytes] == '\n')) {
        const bool closes = text[strspn(text, " ")] == '}';
        bytes = strcspn(text, "\n");
        p->indent -= closes && depth == 0;
        depth -= closes && depth > 0;
        mw_print_line(p, "%s", fill_line(p->out->arena, text, bytes, holes, count));
        depth += text[bytes - 1] == '{';
    }
    p->indent += depth;
}

const char *mw_print_number(const MwPrinter *p, int64_t number)
{
    return mw_arena_printf(p->out->arena, "%lld", (long long)number);
}

void mw_print_open_dim(MwPrinter *p, int d)
{
    mw_print_open(p, "for (int64_t i%d = 0; i%d < %s; i%d++)", d, d, mw_print_size(p, d), d);
}

/* ---- Types ---- */

const char *mw_print_storage_type(MwType type)
{
    static const char *const names[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, element, ...) [MW_##id] = #element,
#include "base/types.def"
    };
    return names[type];
}

const char *mw_print_scalar_type(MwScalar type)
{
    static const char *const names[] = {[MW_SCALAR_F32] = "float",
                                        [MW_SCALAR_F64] = "double",
                                        [MW_SCALAR_I32] = "int32_t",
                                        [MW_SCALAR_I64] = "int64_t",
                                        [MW_SCALAR_BOOL] = "bool"};
    return names[type];
}

const char *mw_print_wide_type(MwScalar type)
{
    return type == MW_SCALAR_F32 || type == MW_SCALAR_F64 ? "double" : "int64_t";
}

const char *mw_print_first_value(const MwKernelInstr *instr)
{
    if (!mw_instr_is_max(instr))
        return "0";
    return instr->type == MW_SCALAR_F32   ? "-INFINITY"
           : instr->type == MW_SCALAR_I64 ? "INT64_MIN"
                                          : "INT32_MIN";
}

/* ---- Indices and places ---- */

const char *mw_print_size(const MwPrinter *p, int d)
{
    MwArena *arena = p->out->arena;
    if (p->kernel->is_flat)
        return mw_arena_printf(arena, "a%d", p->kernel->args.count - 1);
    return mw_print_number(p, p->nest->space.size[d]);
}

int mw_print_inner_dim(const MwPrinter *p)
{
    return p->nest->space.dim_count - 1;
}

static const char *term(const MwPrinter *p, int64_t factor, const char *name)
{
    if (factor == 1)
        return name;
    return mw_arena_printf(p->out->arena, "%s * %lld", name, (long long)factor);
}

const char *mw_print_affine(const MwPrinter *p, const MwAffine *at)
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

const char *mw_print_place(const MwPrinter *p, const MwKernelInstr *instr)
{
    MwArena *arena = p->out->arena;
    int i = (int)(instr - p->nest->instrs.at);
    if (p->tile_pitch && p->tile_pitch[i])
        return mw_arena_printf(arena, "b%d[y * %d + x]", i, p->tile_pitch[i]);
    const char *at = mw_print_affine(p, &instr->at);
    int gather = mw_instr_is_effect(instr) ? 1 : 0; /* the input that moves it, if there is one */
    if (gather >= instr->input_count)
        return mw_arena_printf(arena, "p%d[%s]", instr->operand, at);
    const char *index = mw_arena_printf(arena, "(int64_t)v%d", instr->inputs[gather].index);
    return mw_arena_printf(arena, "p%d[%s + %s]", instr->operand, at,
                           term(p, instr->gather_stride, index));
}

/* ---- Instructions ---- */

static bool is_wide(const MwPrinter *p, const MwKernelInstr *instr)
{
    return p->is_wide && p->is_wide[instr - p->nest->instrs.at];
}

static const char *load_text(const MwPrinter *p, const MwKernelInstr *instr)
{
    if (is_wide(p, instr))
        return mw_arena_printf(p->out->arena, "x%d%s", (int)(instr - p->nest->instrs.at), p->lane);
    const char *place = mw_print_place(p, instr);
    MwType type = p->kernel->operands.at[instr->operand].type;
    if (mw_type_is_narrow(type))
        return mw_arena_printf(p->out->arena, "mw_from_%s(%s)", mw_type_name(type), place);
    if (type == MW_BOOL)
        return mw_arena_printf(p->out->arena, "%s != 0", place);
    return place;
}

/* The text of an EXPR with its inputs named. */
static const char *expr_text(const MwPrinter *p, const MwKernelInstr *instr)
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

static const char *value_text(const MwPrinter *p, const MwKernelInstr *instr)
{
    switch (instr->op) {
    case MW_KERNEL_LOAD:
        return load_text(p, instr);
    case MW_KERNEL_INDEX:
        return mw_print_affine(p, &instr->at);
    case MW_KERNEL_ARG:
        return mw_arena_printf(p->out->arena, "a%d", instr->arg);
    case MW_KERNEL_EXPR:
        return expr_text(p, instr);
    default:
        MW_UNREACHABLE();
    }
}

void mw_print_value(MwPrinter *p, int i)
{
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    mw_print_line(p, "const %s v%d = %s;", mw_print_scalar_type(instr->type), i,
                  value_text(p, instr));
}

bool mw_print_guard(MwPrinter *p, const MwKernelInstr *effect)
{
    if (effect->input_count < 2)
        return false;
    mw_print_line(p, "if (v%d >= 0)", effect->inputs[1].index);
    p->indent++;
    return true;
}

static void print_effect(MwPrinter *p, const MwKernelInstr *instr)
{
    if (is_wide(p, instr)) {
        mw_print_line(p, "y%d[q] = v%d;", (int)(instr - p->nest->instrs.at),
                      instr->inputs[0].index);
        return;
    }
    const char *place = mw_print_place(p, instr);
    const MwType type = p->kernel->operands.at[instr->operand].type;
    const char *name = mw_type_name(type);
    int value = instr->inputs[0].index;
    const bool is_guarded = mw_print_guard(p, instr);
    const bool adds = instr->op != MW_KERNEL_STORE;
    if (!mw_type_is_narrow(type))
        mw_print_line(p, adds ? "%s += v%d;" : "%s = v%d;", place, value);
    else if (adds)
        mw_print_line(p, "%s = mw_to_%s(mw_from_%s(%s) + v%d);", place, name, name, place, value);
    else
        mw_print_line(p, "%s = mw_to_%s(v%d);", place, name, value);
    p->indent -= is_guarded;
}

void mw_print_into(MwPrinter *p, const MwKernelInstr *instr, const char *place)
{
    int value = instr->inputs[0].index;
    if (mw_instr_is_max(instr))
        mw_print_line(p, "%s = mw_max%s(%s, v%d);", place,
                      instr->type == MW_SCALAR_F32 ? "_f32" : "", place, value);
    else
        mw_print_line(p, "%s += v%d;", place, value);
}

void mw_print_simple(MwPrinter *p, int i, bool effects)
{
    const MwKernelInstr *instr = &p->nest->instrs.at[i];
    if (mw_instr_is_effect(instr) && effects)
        print_effect(p, instr);
    else if (!mw_instr_is_effect(instr) && !effects)
        mw_print_value(p, i);
}

void mw_print_level(MwPrinter *p, MwLevel level)
{
    for (int effects = 0; effects < 2; effects++)
        for (int i = 0; i < p->nest->instrs.count; i++)
            if (p->nest->instrs.at[i].level == level &&
                !mw_instr_is_reduction(&p->nest->instrs.at[i]))
                mw_print_simple(p, i, effects);
}
