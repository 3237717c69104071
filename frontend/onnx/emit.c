/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/emit.h"

#include "frontend/onnx/names.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool mw_onnx_refuse(MwOnnxImport *import, const MwOnnxNode *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *why = mw_arena_vprintf(import->arena, format, args);
    va_end(args);
    mw_vec_push(import->arena, &import->refusals, ((MwOnnxRefusal){node, why}));
    return false;
}

void mw_onnx_fix(MwOnnxImport *import, const MwOnnxDim *dim)
{
    for (int i = 0; i < dim->count; i++)
        for (int s = 0; s < MW_ONNX_MAX_SYMBOLS; s++)
            if (dim->term[i].power[s]) {
                import->graph->symbols.at[s].is_fixed = true;
                import->fixes_symbol = true;
            }
}

/* ---- Texts ---- */

const char *mw_onnx_text(MwOnnxImport *import, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = mw_arena_vprintf(import->arena, format, args);
    va_end(args);
    return text;
}

static void add_dim(MwOnnxImport *import, MwText *text, const MwOnnxDim *dim)
{
    const char *names[MW_ONNX_MAX_SYMBOLS] = {0};
    for (int s = 0; s < MW_ONNX_MAX_SYMBOLS && s < import->graph->symbols.count; s++)
        names[s] = import->graph->symbols.at[s].name;
    mw_onnx_dim_print(text, dim, names);
}

const char *mw_onnx_dim_text(MwOnnxImport *import, const MwOnnxDim *dim)
{
    return mw_onnx_dims_text(import, 1, dim);
}

const char *mw_onnx_dims_text(MwOnnxImport *import, int rank, const MwOnnxDim *dim)
{
    MwText text = {.arena = import->arena};
    mw_text_add(&text, "");
    for (int i = 0; i < rank; i++) {
        mw_text_add(&text, i ? ", " : "");
        add_dim(import, &text, &dim[i]);
    }
    return text.at;
}

const char *mw_onnx_number_text(MwOnnxImport *import, MwType type, double value)
{
    if (type == MW_BOOL)
        return value != 0 ? "true" : "false";
    if (!mw_type_is_float(type))
        return mw_onnx_text(import, "%lld", (long long)value);
    if (value != value)
        return "nan";
    if (isinf(value))
        return value < 0 ? "-inf" : "inf";
    char text[40] = "";
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if ((float)strtod(text, NULL) == (float)value)
            break;
    }
    const bool is_whole = strspn(text, "-0123456789") == strlen(text);
    return mw_onnx_text(import, is_whole ? "%s.0" : "%s", text);
}

/* ---- Terms ---- */

MwOnnxShape mw_onnx_shape_new(MwType type, int rank, const MwOnnxDim *dim)
{
    MwOnnxShape shape = {.type = type, .rank = rank};
    for (int i = 0; i < rank; i++)
        shape.dim[i] = dim[i];
    return shape;
}

static MwOnnxTerm *term_new(MwOnnxImport *import, int kind, const MwOnnxShape *shape)
{
    MwOnnxTerm *term = MW_NEW(import->arena, MwOnnxTerm, 1);
    term->kind = kind;
    term->shape = *shape;
    term->module = import->node ? import->node->module : "";
    term->local = import->local ? import->local : "value";
    mw_vec_push(import->arena, &import->terms, term);
    return term;
}

MwOnnxTerm *mw_onnx_emit(MwOnnxImport *import, const MwOnnxShape *shape, const char *text,
                         MwOnnxTerm *const *operands, int count)
{
    MwOnnxTerm *term = term_new(import, MW_ONNX_TERM_VALUE, shape);
    term->text = text;
    term->parts = 1;
    term->operand_count = count;
    term->operands = mw_arena_dup(import->arena, operands, sizeof(MwOnnxTerm *) * (size_t)count);
    return term;
}

MwOnnxTerm *mw_onnx_emit1(MwOnnxImport *import, const MwOnnxShape *shape, const char *text,
                          MwOnnxTerm *a)
{
    return mw_onnx_emit(import, shape, text, &a, 1);
}

MwOnnxTerm *mw_onnx_emit2(MwOnnxImport *import, const MwOnnxShape *shape, const char *text,
                          MwOnnxTerm *a, MwOnnxTerm *b)
{
    MwOnnxTerm *const operands[] = {a, b};
    return mw_onnx_emit(import, shape, text, operands, 2);
}

MwOnnxTerm *mw_onnx_emit_part(MwOnnxImport *import, const MwOnnxShape *shape, MwOnnxTerm *whole,
                              int part)
{
    MwOnnxTerm *term = term_new(import, MW_ONNX_TERM_PART, shape);
    term->operands = mw_arena_dup(import->arena, &whole, sizeof(MwOnnxTerm *));
    term->operand_count = 1;
    term->part = part;
    return term;
}

MwOnnxTerm *mw_onnx_emit_number(MwOnnxImport *import, MwType type, double value)
{
    const MwOnnxShape shape = {.type = type};
    MwOnnxTerm *term = term_new(import, MW_ONNX_TERM_NUMBER, &shape);
    term->text = mw_onnx_number_text(import, type, value);
    return term;
}

const char *mw_onnx_unique_among(MwOnnxImport *import, MwNameMap *names, const char *name)
{
    const char *unique = mw_intern(import->interner, name);
    for (int n = 1; mw_name_map_find(names, unique); n++)
        unique = mw_intern_printf(import->interner, "%s_%d", name, n);
    *mw_name_map_add(names, unique) = import;
    return unique;
}

const char *mw_onnx_unique_name(MwOnnxImport *import, const char *name)
{
    return mw_onnx_unique_among(import, &import->names, name);
}

static MwOnnxTerm *emit_tensor(MwOnnxImport *import, int kind, const MwOnnxTensor *tensor,
                               const char *name)
{
    MwOnnxShape shape = {.type = tensor->type, .rank = tensor->rank};
    for (int i = 0; i < tensor->rank; i++)
        shape.dim[i] = mw_onnx_dim(tensor->dim[i]);
    MwOnnxTerm *term = term_new(import, kind, &shape);
    term->name = mw_onnx_unique_name(import, name);
    term->tensor = tensor;
    return term;
}

/* "h.0.attn" and "mask": "h.0.attn.mask" */
static const char *joined(MwOnnxImport *import, const char *module, const char *local)
{
    return *module ? mw_onnx_text(import, "%s.%s", module, local) : local;
}

MwOnnxTerm *mw_onnx_emit_state(MwOnnxImport *import, const MwOnnxTensor *tensor, const char *local)
{
    const char *module = import->node ? import->node->module : "";
    const char *name = mw_onnx_clean_name(import->interner, joined(import, module, local));
    return emit_tensor(import, MW_ONNX_TERM_STATE, tensor, name);
}

MwOnnxTerm *mw_onnx_emit_weight(MwOnnxImport *import, const MwOnnxTensor *tensor, const char *local)
{
    const char *module = import->node ? import->node->module : "";
    const char *name = mw_onnx_clean_name(import->interner, joined(import, module, local));
    return emit_tensor(import, MW_ONNX_TERM_WEIGHT, tensor, name);
}

/* ---- Constants as terms ---- */

/* The name of an initializer: its own; or one of the module that uses it. */
static const char *tensor_name(MwOnnxImport *import, const MwOnnxValue *value)
{
    if (mw_onnx_is_given_name(value->name)) {
        const char *name = mw_onnx_clean_name(import->interner, value->name);
        static const char fused[] = ".weight_bias"; /* by a fused norm */
        const size_t length = strlen(name), tail = sizeof fused - 1;
        if (length > tail && strcmp(name + length - tail, fused) == 0)
            name = mw_intern_printf(import->interner, "%.*s.bias", (int)(length - tail), name);
        return name;
    }
    const MwOnnxNode *user = value->user ? value->user : import->node;
    const bool is_matrix = value->shape.rank >= 2;
    const bool has_bias = user && (strcmp(user->op, "Conv") == 0 || strcmp(user->op, "Gemm") == 0 ||
                                   strcmp(user->op, "MatMul") == 0);
    const char *local = !has_bias ? "constant" : is_matrix ? "weight" : "bias";
    const char *module = value->module ? value->module : user ? user->module : "";
    return mw_onnx_clean_name(import->interner, joined(import, module, local));
}

/* start + step * position along the axis, for whole numbers; false if it is none. */
static bool is_progression(const MwOnnxTensor *tensor, int *axis, int64_t *start, int64_t *step)
{
    if (!mw_type_is_index(tensor->type) || tensor->count < 2)
        return false;
    *axis = -1;
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->dim[i] > 1) {
            if (*axis >= 0)
                return false;
            *axis = i;
        }
    *start = mw_onnx_integer(tensor, 0);
    *step = mw_onnx_integer(tensor, 1) - *start;
    static const int64_t far = (int64_t)1 << 31;
    if (*start < -far || *start > far || *step < -far || *step > far)
        return false;
    for (int64_t i = 0; i < tensor->count; i++)
        if (mw_onnx_integer(tensor, i) != *start + *step * i)
            return false;
    return true;
}

/* Whether a constant is true where column - row <= offset, in the last two dimensions of it, which
 * has no other but of size 1. */
static bool is_triangle(const MwOnnxTensor *tensor, int64_t *offset)
{
    const int rank = tensor->rank;
    if (tensor->type != MW_BOOL || rank < 2 || tensor->dim[rank - 2] < 2)
        return false;
    const int64_t rows = tensor->dim[rank - 2], columns = tensor->dim[rank - 1];
    if (rows * columns != tensor->count)
        return false;
    *offset = -1;
    while (*offset + 1 < columns && mw_onnx_integer(tensor, *offset + 1))
        ++*offset;
    for (int64_t i = 0; i < tensor->count; i++)
        if ((mw_onnx_integer(tensor, i) != 0) != (i % columns - i / columns <= *offset))
            return false;
    return true;
}

/* The positions of keys, compared with those of queries. */
static MwOnnxTerm *emit_triangle(MwOnnxImport *import, const MwOnnxShape *shape, int64_t offset)
{
    MwOnnxShape row = *shape, column = *shape;
    const int rank = shape->rank;
    row.type = column.type = MW_I32;
    row.dim[rank - 2] = column.dim[rank - 1] = mw_onnx_dim(1);
    MwOnnxTerm *const positions[] = {
        mw_onnx_emit(import, &row,
                     mw_onnx_text(import, "iota([%s], axis = %d)",
                                  mw_onnx_dims_text(import, rank, row.dim), rank - 1),
                     NULL, 0),
        mw_onnx_emit(import, &column,
                     mw_onnx_text(import, "iota([%s], axis = %d)",
                                  mw_onnx_dims_text(import, rank, column.dim), rank - 2),
                     NULL, 0)};
    const char *text = offset == 0 ? "#0 <= #1"
                                   : mw_onnx_text(import, "#0 <= #1 %c %lld",
                                                  offset < 0 ? '-' : '+', (long long)llabs(offset));
    return mw_onnx_emit(import, shape, text, positions, 2);
}

bool mw_onnx_is_number(const MwOnnxTensor *tensor)
{
    if (!mw_onnx_is_uniform(tensor))
        return false;
    static const int64_t most = (int64_t)1 << 53; /* numbers of the language are doubles */
    return mw_type_is_float(tensor->type) ||
           (mw_onnx_integer(tensor, 0) < most && mw_onnx_integer(tensor, 0) > -most);
}

static MwOnnxTerm *emit_constant(MwOnnxImport *import, const MwOnnxValue *value)
{
    const MwOnnxTensor *tensor = value->constant;
    const MwOnnxShape *shape = &value->shape;
    const char *dims = mw_onnx_dims_text(import, shape->rank, shape->dim);
    const char *type = mw_type_name(shape->type);
    int axis;
    int64_t start, step;
    if (mw_onnx_is_number(tensor))
        return mw_onnx_emit(
            import, shape,
            mw_onnx_text(import, "constant(%s, [%s], type = %s)",
                         mw_onnx_number_text(import, shape->type, mw_onnx_number(tensor, 0)), dims,
                         type),
            NULL, 0);
    if (is_progression(tensor, &axis, &start, &step)) {
        MwText text = {.arena = import->arena};
        if (step != 1)
            mw_text_printf(&text, "%lld * ", (long long)step);
        mw_text_printf(&text, "iota([%s], axis = %d, type = %s)", dims, axis, type);
        if (start)
            mw_text_printf(&text, " %c %lld", start < 0 ? '-' : '+', (long long)llabs(start));
        MwOnnxTerm *term = mw_onnx_emit(import, shape, text.at, NULL, 0);
        term->alone = step != 1 || start;
        return term;
    }
    if (is_triangle(tensor, &start))
        return emit_triangle(import, shape, start);
    return emit_tensor(import, MW_ONNX_TERM_STATE, tensor, tensor_name(import, value));
}

/* Makes the term of a constant that has none; its dimensions in the order asked for, if they are
 * stored. */
static void need_term(MwOnnxImport *import, MwOnnxValue *value, const int8_t *order)
{
    if (value->term)
        return;
    MW_ASSERT(value->constant);
    for (int64_t i = 0; value->constant->symbolic && i < value->constant->count; i++)
        mw_onnx_fix(import, &value->constant->symbolic[i]);
    for (int i = 0; i < value->shape.rank; i++)
        value->order[i] = (int8_t)i;
    if (value->same) {
        need_term(import, value->same, (const int8_t[MW_MAX_RANK]){0, 1});
        value->term = value->same->term;
        value->order[0] = (int8_t)(1 - value->same->order[0]);
        value->order[1] = (int8_t)(1 - value->same->order[1]);
        return;
    }
    if (!value->is_weight) {
        value->term = emit_constant(import, value);
        return;
    }
    const MwOnnxTensor *tensor = value->constant;
    if (order) {
        memcpy(value->order, order, sizeof value->order);
        if (!mw_onnx_same_elements(tensor->rank, value->shape.dim, order))
            tensor = mw_onnx_tensor_permute(import->arena, tensor, order);
        else {
            MwOnnxTensor *reshaped = mw_arena_dup(import->arena, tensor, sizeof *tensor);
            for (int i = 0; i < tensor->rank; i++)
                reshaped->dim[i] = tensor->dim[order[i]];
            tensor = reshaped;
        }
    }
    value->term = emit_tensor(import, MW_ONNX_TERM_WEIGHT, tensor, tensor_name(import, value));
}

/* ---- Orders ---- */

bool mw_onnx_same_elements(int rank, const MwOnnxDim *dim, const int8_t *order)
{
    int last = -1;
    for (int i = 0; i < rank; i++) {
        if (mw_onnx_dim_is(&dim[order[i]], 1))
            continue;
        if (order[i] < last)
            return false;
        last = order[i];
    }
    return true;
}

static bool has_shape(const MwOnnxTerm *term, const MwOnnxShape *shape)
{
    bool same = term->shape.rank == shape->rank;
    for (int i = 0; same && i < shape->rank; i++)
        same = mw_onnx_dim_equal(&term->shape.dim[i], &shape->dim[i]);
    return same;
}

MwOnnxTerm *mw_onnx_reshape(MwOnnxImport *import, MwOnnxTerm *term, const MwOnnxShape *shape)
{
    static const char reshapes[] = "reshape($0";
    const bool twice = !has_shape(term, shape) && term->kind == MW_ONNX_TERM_VALUE &&
                       strncmp(term->text, reshapes, sizeof reshapes - 1) == 0;
    if (twice)
        term = term->operands[0];
    if (has_shape(term, shape))
        return term;
    const char *text = mw_onnx_text(import, "reshape($0, [%s])",
                                    mw_onnx_dims_text(import, shape->rank, shape->dim));
    MwOnnxShape result = *shape;
    result.type = term->shape.type;
    return mw_onnx_emit1(import, &result, text, term);
}

/* The term with dimension i from dimension `perm[i]`. */
static MwOnnxTerm *transpose(MwOnnxImport *import, MwOnnxTerm *term, const int8_t *perm)
{
    const int rank = term->shape.rank;
    MwOnnxShape shape = term->shape;
    bool same = true;
    MwText text = {.arena = import->arena};
    mw_text_add(&text, "transpose($0, [");
    for (int i = 0; i < rank; i++) {
        shape.dim[i] = term->shape.dim[perm[i]];
        same &= perm[i] == i;
        mw_text_printf(&text, "%s%d", i ? ", " : "", perm[i]);
    }
    mw_text_add(&text, "])");
    if (same)
        return term;
    if (mw_onnx_same_elements(rank, term->shape.dim, perm))
        return mw_onnx_reshape(import, term, &shape);
    return mw_onnx_emit1(import, &shape, text.at, term);
}

MwOnnxTerm *mw_onnx_term_as_is(MwOnnxImport *import, MwOnnxValue *value)
{
    need_term(import, value, NULL);
    return value->term;
}

MwOnnxTerm *mw_onnx_term_in(MwOnnxImport *import, MwOnnxValue *value, const int8_t *order)
{
    need_term(import, value, order);
    int8_t place[MW_MAX_RANK], perm[MW_MAX_RANK];
    for (int i = 0; i < value->shape.rank; i++)
        place[value->order[i]] = (int8_t)i;
    for (int i = 0; i < value->shape.rank; i++)
        perm[i] = place[order[i]];
    return transpose(import, value->term, perm);
}

MwOnnxTerm *mw_onnx_term(MwOnnxImport *import, MwOnnxValue *value)
{
    static const int8_t as_it_stands[MW_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return mw_onnx_term_in(import, value, as_it_stands);
}

/* ---- Results ---- */

bool mw_onnx_set(MwOnnxImport *import, const MwOnnxNode *node, int i, const MwOnnxShape *shape,
                 MwOnnxTerm *term, const int8_t *order)
{
    (void)import;
    MwOnnxValue *value = i < node->output_count ? node->outputs[i] : NULL;
    if (!value)
        return true;
    value->state = MW_ONNX_KNOWN;
    value->shape = *shape;
    value->term = term;
    for (int d = 0; d < MW_MAX_RANK; d++)
        value->order[d] = order ? order[d] : (int8_t)d;
    return true;
}

bool mw_onnx_set_same(MwOnnxImport *import, const MwOnnxNode *node, int i, MwOnnxValue *same)
{
    MwOnnxValue *value = i < node->output_count ? node->outputs[i] : NULL;
    if (!value)
        return true;
    if (same->constant && same->is_weight)
        mw_onnx_term_as_is(import, same); /* one weight, whatever it is called */
    value->state = MW_ONNX_KNOWN;
    value->shape = same->shape;
    value->constant = same->constant;
    value->is_weight = same->is_weight;
    value->term = same->term;
    memcpy(value->order, same->order, sizeof value->order);
    return true;
}

bool mw_onnx_set_constant(MwOnnxImport *import, const MwOnnxNode *node, int i,
                          const MwOnnxTensor *tensor)
{
    MwOnnxValue *value = i < node->output_count ? node->outputs[i] : NULL;
    if (!value)
        return true;
    value->state = MW_ONNX_KNOWN;
    value->shape = (MwOnnxShape){.type = tensor->type, .rank = tensor->rank};
    for (int d = 0; d < tensor->rank; d++)
        value->shape.dim[d] = mw_onnx_dim(tensor->dim[d]);
    value->constant = tensor;
    bool symbolic = false;
    for (int64_t k = 0; tensor->symbolic && k < tensor->count; k++)
        symbolic |= !mw_onnx_dim_is_constant(&tensor->symbolic[k]);
    if (tensor->symbolic && !symbolic) { /* only others of what it was taken from were */
        MwOnnxTensor *plain = mw_arena_dup(import->arena, tensor, sizeof *tensor);
        plain->symbolic = NULL;
        value->constant = plain;
    }
    return true;
}

/* ---- Constants as numbers ---- */

bool mw_onnx_constant_number(const MwOnnxValue *value, double *number)
{
    if (!value || value->state != MW_ONNX_KNOWN || !value->constant || value->is_weight ||
        !mw_onnx_is_number(value->constant))
        return false;
    *number = mw_onnx_number(value->constant, 0);
    return true;
}

int mw_onnx_constant_dims(const MwOnnxValue *value, MwOnnxDim *dims, int room)
{
    if (!value || value->state != MW_ONNX_KNOWN || !value->constant)
        return -1;
    const MwOnnxTensor *tensor = value->constant;
    if (mw_type_is_float(tensor->type) || tensor->rank > 1 || tensor->count > room)
        return -1;
    for (int64_t i = 0; i < tensor->count; i++)
        dims[i] = tensor->symbolic ? tensor->symbolic[i] : mw_onnx_dim(mw_onnx_integer(tensor, i));
    return (int)tensor->count;
}

int mw_onnx_constant_ints(MwOnnxImport *import, const MwOnnxValue *value, int64_t *numbers,
                          int room)
{
    MwOnnxDim dims[MW_ONNX_MAX_OPERANDS];
    const int count = mw_onnx_constant_dims(value, dims, (int)mw_min(room, MW_ONNX_MAX_OPERANDS));
    for (int i = 0; i < count; i++) {
        if (!mw_onnx_dim_is_constant(&dims[i]))
            mw_onnx_fix(import, &dims[i]);
        numbers[i] = dims[i].value;
    }
    return count;
}
