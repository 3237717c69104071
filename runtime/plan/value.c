/* SPDX-License-Identifier: MIT */
#include "runtime/plan/value.h"

#include "base/vec.h"
#include "runtime/plan/routine.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The unnamed arguments of a kind's functions that it has no use for. */
#define PRINT(name)                                                                                \
    static void name(MwText *text, const MwPlanScope *scope, const void *at, const void *more)
#define PARSE(name)                                                                                \
    static const char *name(const MwPlanScope *scope, const char *word, void *at, void *more)

/* ---- Numbers ---- */

static bool read_integer(const char *word, int64_t least, int64_t most, int64_t *value)
{
    const char *digits = *word == '-' ? word + 1 : word;
    if (!isdigit((unsigned char)*digits))
        return false;
    char *end;
    errno = 0;
    long long number = strtoll(word, &end, 10);
    *value = number;
    return !errno && !*end && number >= least && number <= most;
}

static bool read_int(const char *word, int least, int *value)
{
    int64_t wide;
    if (!read_integer(word, least, INT_MAX, &wide))
        return false;
    *value = (int)wide;
    return true;
}

static bool read_double(const char *word, double *value)
{
    const char *digits = *word == '-' ? word + 1 : word;
    if (!isdigit((unsigned char)*digits) && strcmp(digits, "inf") != 0)
        return false;
    char *end;
    *value = strtod(word, &end);
    return !*end;
}

PRINT(print_int)
{
    (void)scope, (void)more;
    mw_text_printf(text, "%d", *(const int *)at);
}

PARSE(parse_count)
{
    (void)scope, (void)more;
    return read_int(word, 0, at) ? NULL : "a whole number from 0 to 2147483647";
}

PARSE(parse_index)
{
    (void)scope, (void)more;
    return read_int(word, -1, at) ? NULL : "a whole number from -1 to 2147483647";
}

PRINT(print_size)
{
    (void)scope, (void)more;
    mw_text_printf(text, "%lld", (long long)*(const int64_t *)at);
}

PARSE(parse_size)
{
    (void)scope, (void)more;
    return read_integer(word, 0, INT64_MAX, at) ? NULL : "a whole number from 0 to 2^63 - 1";
}

PRINT(print_number)
{
    (void)scope, (void)more;
    mw_text_add_double(text, *(const double *)at);
}

PARSE(parse_number)
{
    (void)scope, (void)more;
    return read_double(word, at) ? NULL : "a number";
}

const MwPlanKind mw_plan_count = {print_int, parse_count, false};
const MwPlanKind mw_plan_index = {print_int, parse_index, false};
const MwPlanKind mw_plan_size = {print_size, parse_size, false};
const MwPlanKind mw_plan_number = {print_number, parse_number, false};
const MwPlanKind mw_plan_flag = {NULL, NULL, true};

/* ---- Strings ---- */

PRINT(print_string)
{
    (void)scope, (void)more;
    const char *string = *(const char *const *)at;
    mw_text_add(text, "\"");
    for (const char *c = string ? string : ""; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127)
            mw_text_printf(text, "\\x%02x", (unsigned char)*c);
        else if (*c == '"' || *c == '\\')
            mw_text_printf(text, "\\%c", *c);
        else
            mw_text_add_n(text, c, 1);
    }
    mw_text_add(text, "\"");
}

/* One character at `word`, after a backslash or plain; gives how many bytes it took, 0 if none. */
static int read_character(const char *word, char *character)
{
    *character = *word;
    if (*word != '\\')
        return *word && *word != '"';
    *character = word[1];
    if (word[1] == '"' || word[1] == '\\')
        return 2;
    if (word[1] != 'x' || !isxdigit((unsigned char)word[2]) || !isxdigit((unsigned char)word[3]))
        return 0;
    char hex[3] = {word[2], word[3], '\0'};
    *character = (char)strtol(hex, NULL, 16);
    return *character ? 4 : 0;
}

PARSE(parse_string)
{
    (void)more;
    static const char expected[] = "a text in double quotes";
    if (*word++ != '"')
        return expected;
    char *string = mw_arena_alloc(scope->arena, strlen(word) + 1);
    int length = 0, taken;
    while ((taken = read_character(word, &string[length])) > 0) {
        word += taken;
        length++;
    }
    if (strcmp(word, "\"") != 0)
        return expected;
    string[length] = '\0';
    *(const char **)at = string;
    return NULL;
}

const MwPlanKind mw_plan_string = {print_string, parse_string, false};

/* ---- Types, shapes and specs ---- */

PRINT(print_type)
{
    (void)scope, (void)more;
    mw_text_add(text, mw_type_name(*(const MwType *)at));
}

PARSE(parse_type)
{
    (void)scope, (void)more;
    return mw_type_parse(word, at) ? NULL : mw_type_names();
}

PRINT(print_tensor)
{
    (void)scope, (void)more;
    char buffer[MW_TENSOR_TEXT_BYTES];
    mw_text_add(text, mw_tensor_text(at, buffer));
}

/* "8, 128]" into dimensions; false unless every one is from 1 and the tensor has at most 2^60
 * bytes. */
static bool read_dims(const char *word, MwTensor *tensor)
{
    int64_t bytes = mw_type_bytes(tensor->type);
    if (strcmp(word, "]") == 0)
        return true;
    for (;;) {
        if (tensor->rank == MW_MAX_RANK || !isdigit((unsigned char)*word))
            return false;
        char *end;
        errno = 0;
        int64_t dim = strtoll(word, &end, 10);
        if (errno || dim < 1 || __builtin_mul_overflow(bytes, dim, &bytes) || bytes >> 60)
            return false;
        tensor->dim[tensor->rank++] = dim;
        if (strcmp(end, "]") == 0)
            return true;
        if (strncmp(end, ", ", 2) != 0)
            return false;
        word = end + 2;
    }
}

PARSE(parse_tensor)
{
    (void)scope, (void)more;
    char name[8] = "";
    size_t length = strcspn(word, "[");
    if (length < sizeof name)
        memcpy(name, word, length);
    MwTensor tensor = {0};
    if (!word[length] || !mw_type_parse(name, &tensor.type) ||
        !read_dims(word + length + 1, &tensor))
        return "a tensor such as f32[8, 128]";
    *(MwTensor *)at = tensor;
    return NULL;
}

static void put_spec(MwText *text, MwSpec spec, int rank)
{
    char buffer[MW_SPEC_TEXT_BYTES];
    mw_text_add(text, mw_spec_text(spec, rank, buffer));
}

PRINT(print_spec)
{
    (void)scope;
    put_spec(text, *(const MwSpec *)at, ((const MwTensor *)more)->rank);
}

PRINT(print_own_spec)
{
    (void)scope;
    put_spec(text, *(const MwSpec *)at, *(const int *)more);
}

static const char spec_expected[] = "a spec such as [S0, R]";

PARSE(parse_own_spec)
{
    (void)scope;
    return mw_spec_parse(word, at, more) ? NULL : spec_expected;
}

PARSE(parse_same_spec)
{
    (void)scope;
    int rank;
    if (!mw_spec_parse(word, at, &rank))
        return spec_expected;
    return rank == *(const int *)more ? NULL : "a spec with as many dimensions as the tensor";
}

PARSE(parse_spec)
{
    return parse_same_spec(scope, word, at, &((MwTensor *)more)->rank);
}

PRINT(print_shape)
{
    (void)scope, (void)more;
    char buffer[MW_MESH_TEXT_BYTES];
    mw_text_add(text, mw_mesh_text(at, buffer));
}

PARSE(parse_shape)
{
    (void)scope, (void)more;
    return mw_mesh_parse(word, at) ? NULL : "a mesh such as 4 or 2x4";
}

const MwPlanKind mw_plan_type = {print_type, parse_type, false};
const MwPlanKind mw_plan_tensor = {print_tensor, parse_tensor, false};
const MwPlanKind mw_plan_spec = {print_spec, parse_spec, false};
const MwPlanKind mw_plan_own_spec = {print_own_spec, parse_own_spec, false};
const MwPlanKind mw_plan_same_spec = {print_own_spec, parse_same_spec, false};
const MwPlanKind mw_plan_shape = {print_shape, parse_shape, false};

/* ---- Names of a fixed list ---- */

static const char *init_name(int init)
{
    return init < MW_INIT_COUNT ? mw_init_info((MwInit)init)->name : NULL;
}

static const char *combine_name(int combine)
{
    return combine < MW_COMBINE_COUNT ? mw_combine_name((MwCombine)combine) : NULL;
}

static const char *collective_name(int collective)
{
    return collective < MW_COLLECTIVE_COUNT ? mw_collective_name((MwCollective)collective) : NULL;
}

static const char *routine_name(int routine)
{
    return routine < MW_ROUTINE_COUNT ? mw_routine_info((MwRoutine)routine)->name : NULL;
}

static const char *read_name(const char *(*name)(int), const char *word, int *value,
                             const char *expected)
{
    for (*value = 0; name(*value); ++*value)
        if (strcmp(name(*value), word) == 0)
            return NULL;
    return expected;
}

#define NAMED_KIND(kind, expected)                                                                 \
    PRINT(print_##kind)                                                                            \
    {                                                                                              \
        (void)scope, (void)more;                                                                   \
        mw_text_add(text, kind##_name(*(const int *)at));                                          \
    }                                                                                              \
    PARSE(parse_##kind)                                                                            \
    {                                                                                              \
        (void)scope, (void)more;                                                                   \
        return read_name(kind##_name, word, at, expected);                                         \
    }                                                                                              \
    const MwPlanKind mw_plan_##kind = {print_##kind, parse_##kind, false};

NAMED_KIND(init, "zeros, ones, normal, uniform or constant")
NAMED_KIND(combine, "sum, max or logsumexp")
NAMED_KIND(collective, "a collective such as all_reduce")
NAMED_KIND(routine, "a routine such as gemm")

/* ---- Names that the plan itself gives ---- */

PRINT(print_kernel)
{
    (void)more;
    mw_text_add(text, scope->plan->kernels[*(const int *)at].name);
}

PARSE(parse_kernel)
{
    (void)more;
    for (int i = 0; i < scope->plan->kernel_count; i++) {
        if (strcmp(scope->plan->kernels[i].name, word) == 0) {
            *(int *)at = i;
            return NULL;
        }
    }
    return "a kernel of this plan";
}

PRINT(print_program)
{
    (void)more;
    mw_text_add(text, scope->mesh->programs[*(const int *)at].name);
}

PARSE(parse_program)
{
    (void)more;
    for (int i = 0; i < scope->mesh->program_count; i++) {
        if (strcmp(scope->mesh->programs[i].name, word) == 0) {
            *(int *)at = i;
            return NULL;
        }
    }
    return "a program of this mesh";
}

const MwPlanKind mw_plan_kernel = {print_kernel, parse_kernel, false};
const MwPlanKind mw_plan_program = {print_program, parse_program, false};

/* ---- Lists: "[a, b, c]" ---- */

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
            return read_int(item + letters, 0, &operand->buffer);
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

static bool read_arg(const char *item, void *element)
{
    MwPlanArg *arg = element;
    if (strcmp(item, "step") == 0 || strcmp(item, "seed") == 0) {
        arg->kind = item[1] == 't' ? MW_ARG_STEP : MW_ARG_SEED;
        return true;
    }
    if (*item == 'f') {
        arg->kind = MW_ARG_FLOAT;
        return read_double(item + 1, &arg->f);
    }
    if (*item == 'p')
        return read_position(item, arg);
    if (strncmp(item, "shifted", 7) == 0)
        return read_shifted(item, arg);
    arg->kind = MW_ARG_INT;
    return read_integer(item, INT64_MIN, INT64_MAX, &arg->i);
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
    return read_int(item, 0, element);
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
        mw_text_printf(text, "%s%d ", i ? ", " : "", operands[i].operator_index);
        put_spec(text, operands[i].spec, operands[i].rank);
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
    return read_int(number, -1, &operand->operator_index) &&
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
