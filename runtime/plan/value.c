/* SPDX-License-Identifier: MIT */
#include "runtime/plan/value.h"

#include "runtime/plan/routine.h"
#include "runtime/plan/value_word.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ---- */

PRINT(print_int)
{
    (void)scope, (void)more;
    mw_text_printf(text, "%d", *(const int *)at);
}

PARSE(parse_count)
{
    (void)scope, (void)more;
    return mw_word_int(word, 0, at) ? NULL : "a whole number from 0 to 2147483647";
}

PARSE(parse_index)
{
    (void)scope, (void)more;
    return mw_word_int(word, -1, at) ? NULL : "a whole number from -1 to 2147483647";
}

PRINT(print_size)
{
    (void)scope, (void)more;
    mw_text_printf(text, "%lld", (long long)*(const int64_t *)at);
}

PARSE(parse_size)
{
    (void)scope, (void)more;
    return mw_word_integer(word, 0, INT64_MAX, at) ? NULL : "a whole number from 0 to 2^63 - 1";
}

PRINT(print_number)
{
    (void)scope, (void)more;
    mw_text_add_double(text, *(const double *)at);
}

PARSE(parse_number)
{
    (void)scope, (void)more;
    return mw_word_double(word, at) ? NULL : "a number";
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
