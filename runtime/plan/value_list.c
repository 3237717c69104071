/* SPDX-License-Identifier: MIT */
/* The kinds of values that are lists: "[a, b, c]". */
#include "base/vec.h"
#include "runtime/plan/value.h"
#include "runtime/plan/value_word.h"

#include <stdio.h>
#include <string.h>

/* Copies the next item of a list into the arena and moves `*at` to the one after it, or to the
 * closing bracket. False at the end, and where no list is. */
static bool next_item(MwArena *arena, const char **at, const char **item)
{
    if (**at == ']' || !**at)
        return false;
    const char *end = *at;
    for (int depth = 0; *end && (depth || (*end != ',' && *end != ']')); end++)
        depth += (*end == '[' || *end == '(') - (*end == ']' || *end == ')');
    *item = mw_arena_strndup(arena, *at, (size_t)(end - *at));
    *at = strncmp(end, ", ", 2) == 0 ? end + 2 : end;
    return true;
}

/* Reads every item of a list with `read_item` into an array of elements. */
static bool read_list(MwArena *arena, const char *word, size_t element_bytes,
                      bool (*read_item)(const char *item, void *element), void *list, int *count)
{
    int capacity = 0;
    char *elements = NULL;
    const char *item;
    *count = 0;
    if (*word++ != '[')
        return false;
    while (next_item(arena, &word, &item)) {
        if (*count == capacity)
            elements = mw_vec_grow(arena, elements, &capacity, element_bytes);
        if (!read_item(item, elements + element_bytes * (size_t)(*count)++))
            return false;
    }
    memcpy(list, &elements, sizeof elements);
    return strcmp(word, "]") == 0;
}

static const char *const access_letters[] = {
    [MW_ACCESS_READ] = "r", [MW_ACCESS_WRITE] = "w", [MW_ACCESS_READ_WRITE] = "rw"};

PRINT(print_operands)
{
    (void)scope;
    const MwPlanOperand *operands = *(MwPlanOperand *const *)at;
    mw_text_add(text, "[");
    for (int i = 0; i < *(const int *)more; i++)
        mw_text_printf(text, "%s%s%d", i ? ", " : "", access_letters[operands[i].access],
                       operands[i].buffer);
    mw_text_add(text, "]");
}

static bool read_operand(const char *item, void *element)
{
    MwPlanOperand *operand = element;
    size_t letters = strspn(item, "rw");
    for (int i = 0; i < MW_COUNT(access_letters); i++) {
        if (letters == strlen(access_letters[i]) &&
            strncmp(item, access_letters[i], letters) == 0) {
            operand->access = (MwAccess)i;
            return mw_word_int(item + letters, 0, &operand->buffer);
        }
    }
    return false;
}

PARSE(parse_operands)
{
    return read_list(scope->arena, word, sizeof(MwPlanOperand), read_operand, at, more)
               ? NULL
               : "a list of accesses and buffers such as [r3, w4, rw5]";
}

/* "S01", or "R" for no axis. */
static void put_axes(MwText *text, MwAxes axes)
{
    mw_text_add(text, axes ? "S" : "R");
    for (int a = 0; a < MW_MAX_AXES; a++)
        if (axes >> a & 1)
            mw_text_printf(text, "%d", a);
}

static void put_arg(MwText *text, const MwPlanArg *arg)
{
    switch (arg->kind) {
    case MW_ARG_INT:
        mw_text_printf(text, "%lld", (long long)arg->i);
        break;
    case MW_ARG_FLOAT:
        mw_text_add(text, "f");
        mw_text_add_double(text, arg->f);
        break;
    case MW_ARG_POSITION:
        mw_text_add(text, "position(");
        put_axes(text, arg->axes);
        mw_text_printf(text, ", %lld, %lld", (long long)arg->block_stride,
                       (long long)arg->micro_stride);
        if (arg->loop_stride)
            mw_text_printf(text, ", %lld", (long long)arg->loop_stride);
        mw_text_add(text, ")");
        break;
    case MW_ARG_SHIFTED:
        mw_text_add(text, "shifted(");
        put_axes(text, arg->axes);
        mw_text_printf(text, ", %lld, %d, %d)", (long long)arg->block_stride, arg->axis,
                       arg->places);
        break;
    case MW_ARG_MIRRORED:
        mw_text_add(text, "mirrored(");
        put_axes(text, arg->axes);
        mw_text_printf(text, ", %lld)", (long long)arg->block_stride);
        break;
    case MW_ARG_STEP:
        mw_text_add(text, "step");
        break;
    case MW_ARG_SEED:
        mw_text_add(text, "seed");
        break;
    }
}

PRINT(print_args)
{
    (void)scope;
    const MwPlanArg *args = *(MwPlanArg *const *)at;
    mw_text_add(text, "[");
    for (int i = 0; i < *(const int *)more; i++) {
        mw_text_add(text, i ? ", " : "");
        put_arg(text, &args[i]);
    }
    mw_text_add(text, "]");
}

/* "S01", "R" for no axis. */
static bool read_axes(const char *text, MwAxes *axes)
{
    char spec_text[MW_SPEC_TEXT_BYTES];
    MwSpec spec;
    int rank;
    snprintf(spec_text, sizeof spec_text, "[%s]", text);
    if (!mw_spec_parse(spec_text, &spec, &rank))
        return false;
    *axes = mw_spec_dim(spec, 0);
    return true;
}

/* "position(S01, 128, 64)", with the stride of a loop "position(S01, 128, 64, 32)" */
static bool read_position(const char *item, MwPlanArg *arg)
{
    char axes[8];
    long long block, micro, loop = 0;
    int taken = 0;
    if (sscanf(item, "position(%7[RS0-9], %19lld, %19lld%n", axes, &block, &micro, &taken) != 3)
        return false;
    item += taken;
    taken = 0;
    if (*item == ',' && (sscanf(item, ", %19lld%n", &loop, &taken) != 1 || !loop))
        return false;
    if (strcmp(item + taken, ")") != 0)
        return false;
    *arg = (MwPlanArg){
        .kind = MW_ARG_POSITION, .block_stride = block, .micro_stride = micro, .loop_stride = loop};
    return read_axes(axes, &arg->axes);
}

/* "shifted(S01, 128, 1, 2)" */
static bool read_shifted(const char *item, MwPlanArg *arg)
{
    char axes[8];
    long long block;
    int axis, places, taken = 0;
    if (sscanf(item, "shifted(%7[RS0-9], %19lld, %9d, %9d)%n", axes, &block, &axis, &places,
               &taken) != 4 ||
        !taken || item[taken])
        return false;
    *arg =
        (MwPlanArg){.kind = MW_ARG_SHIFTED, .block_stride = block, .axis = axis, .places = places};
    return read_axes(axes, &arg->axes);
}

/* "mirrored(S01, 128)" */
static bool read_mirrored(const char *item, MwPlanArg *arg)
{
    char axes[8];
    long long block;
    int taken = 0;
    if (sscanf(item, "mirrored(%7[RS0-9], %19lld)%n", axes, &block, &taken) != 2 || !taken ||
        item[taken])
        return false;
    *arg = (MwPlanArg){.kind = MW_ARG_MIRRORED, .block_stride = block};
    return read_axes(axes, &arg->axes);
}

static bool read_arg(const char *item, void *element)
{
    MwPlanArg *arg = element;
    if (strcmp(item, "step") == 0 || strcmp(item, "seed") == 0) {
        arg->kind = item[1] == 't' ? MW_ARG_STEP : MW_ARG_SEED;
        return true;
    }
    if (*item == 'f') {
        arg->kind = MW_ARG_FLOAT;
        return mw_word_double(item + 1, &arg->f);
    }
    if (*item == 'p')
        return read_position(item, arg);
    if (strncmp(item, "shifted", 7) == 0)
        return read_shifted(item, arg);
    if (*item == 'm')
        return read_mirrored(item, arg);
    arg->kind = MW_ARG_INT;
    return mw_word_integer(item, INT64_MIN, INT64_MAX, &arg->i);
}

PARSE(parse_args)
{
    return read_list(scope->arena, word, sizeof(MwPlanArg), read_arg, at, more)
               ? NULL
               : "a list of arguments such as [8, f0.5, step, seed, position(S0, 64, 0)]";
}

PRINT(print_counts)
{
    (void)scope;
    const int *counts = *(int *const *)at;
    mw_text_add(text, "[");
    for (int i = 0; i < *(const int *)more; i++)
        mw_text_printf(text, "%s%d", i ? ", " : "", counts[i]);
    mw_text_add(text, "]");
}

static bool read_count(const char *item, void *element)
{
    return mw_word_int(item, 0, element);
}

PARSE(parse_counts)
{
    return read_list(scope->arena, word, sizeof(int), read_count, at, more)
               ? NULL
               : "a list of counts such as [3, 4]";
}

PRINT(print_operator_operands)
{
    (void)scope;
    const MwPlanOperatorOperand *operands = *(MwPlanOperatorOperand *const *)at;
    mw_text_add(text, "[");
    for (int i = 0; i < *(const int *)more; i++) {
        char spec[MW_SPEC_TEXT_BYTES];
        mw_text_printf(text, "%s%d %s", i ? ", " : "", operands[i].operator_index,
                       mw_spec_text(operands[i].spec, operands[i].rank, spec));
    }
    mw_text_add(text, "]");
}

static bool read_operator_operand(const char *item, void *element)
{
    MwPlanOperatorOperand *operand = element;
    char number[16] = "";
    size_t length = strcspn(item, " ");
    if (!item[length] || length >= sizeof number)
        return false;
    memcpy(number, item, length);
    return mw_word_int(number, -1, &operand->operator_index) &&
           mw_spec_parse(item + length + 1, &operand->spec, &operand->rank);
}

PARSE(parse_operator_operands)
{
    return read_list(scope->arena, word, sizeof(MwPlanOperatorOperand), read_operator_operand, at,
                     more)
               ? NULL
               : "a list of operators and specs such as [3 [S0, R], -1 [R]]";
}

const MwPlanKind mw_plan_operands = {print_operands, parse_operands, false};
const MwPlanKind mw_plan_args = {print_args, parse_args, false};
const MwPlanKind mw_plan_counts = {print_counts, parse_counts, false};
const MwPlanKind mw_plan_operator_operands = {print_operator_operands, parse_operator_operands,
                                              false};
