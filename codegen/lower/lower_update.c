/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of optimizers: a program of ir/optimizers.def becomes an instruction for each
 * assignment. Its names are scalars of the kernel; an attribute is a scalar too, made once. */
#include "base/text.h"
#include "codegen/lower/lower_rules.h"
#include "ir/optimizer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 32 }; /* names of one program: operands, locals and attributes */

typedef struct {
    const char *name; /* as in the program: "w", "@beta1", "@~beta1" */
    MwRef ref;        /* the scalar that is its value now */
} Name;

typedef struct {
    MwLower *l;
    const MwOptimizerInfo *info;
    Name names[MOST_NAMES];
    int count;
} Program;

static MwRef *find(Program *program, const char *name)
{
    for (int i = 0; i < program->count; i++)
        if (strcmp(program->names[i].name, name) == 0)
            return &program->names[i].ref;
    return NULL;
}

static void set(Program *program, const char *name, MwRef ref)
{
    MwRef *known = find(program, name);
    if (known) {
        *known = ref;
        return;
    }
    MW_ASSERT(program->count < MOST_NAMES);
    program->names[program->count++] = (Name){name, ref};
}

/* The value of an attribute, named as in a program: "@beta1", "@~beta1" one minus it. */
static double attribute(const Program *program, const char *name)
{
    const bool is_complement = name[1] == '~';
    const MwNode *node = mw_lower_node(program->l);
    MwAttrKey key;
    MW_ASSERT(mw_attr_parse(name + 1 + is_complement, &key));
    double value = mw_attr_kind(key) == MW_KIND_FLOAT ? mw_node_float(node, key)
                                                      : (double)mw_node_int(node, key);
    return is_complement ? 1 - value : value;
}

/* The scalar that a name stands for, made where it is first read: a state is loaded, an attribute
 * is a constant. */
static MwRef read(Program *program, const char *name)
{
    MwLower *l = program->l;
    const MwRef *known = find(program, name);
    if (known)
        return *known;
    MW_ASSERT(name[0] == '@');
    MwRef ref = mw_lower_constant(l, MW_SCALAR_F32, attribute(program, name));
    set(program, name, ref);
    return ref;
}

/* The length of the name or attribute that begins at `at`; 0 if none does. The name of a called
 * function is not counted. */
static size_t name_length(const char *at)
{
    size_t sigils = at[0] == '@' ? 1 + (at[1] == '@' || at[1] == '~') : 0;
    size_t length = strspn(at + sigils, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (!isalpha((unsigned char)at[sigils]) || (sigils == 0 && at[length] == '('))
        return 0;
    return sigils + length;
}

static bool is_cast(const char *word)
{
    return strcmp(word, "float") == 0 || strcmp(word, "double") == 0;
}

/* The length of the literal that begins at `at`, such as 1.0f, or 1 for any other character. */
static size_t other_length(const char *at)
{
    return isdigit((unsigned char)*at) ? strspn(at, "0123456789.f") : 1;
}

/* Loads the states that an expression reads and that have no value yet. */
static void load_states(Program *program, const char *expression, size_t bytes)
{
    MwArena *arena = program->l->kernel->arena;
    for (int k = 0; k < program->info->state_count; k++) {
        const char *name = mw_optimizer_state(arena, program->info, k);
        bool is_read = false;
        for (size_t i = 0, n; i < bytes; i += n ? n : other_length(expression + i)) {
            n = name_length(expression + i);
            is_read |= n == strlen(name) && strncmp(expression + i, name, n) == 0;
        }
        if (is_read && !find(program, name))
            set(program, name, mw_lower_operand(program->l, 2 + k));
    }
}

/* Narrows an expression `@NAME ? A : B` to A, or to B where the attribute is zero. */
static void choose_branch(const Program *program, const char **expression, size_t *bytes)
{
    const size_t flag = name_length(*expression);
    if (**expression != '@' || strncmp(*expression + flag, " ? ", 3) != 0)
        return;
    const char *name = mw_arena_printf(program->l->kernel->arena, "%.*s", (int)flag, *expression);
    const char *end = *expression + *bytes, *first = *expression + flag + 3;
    const char *second = strstr(first, " : ");
    MW_ASSERT(second && second < end);
    const bool is_set = attribute(program, name) != 0;
    *expression = is_set ? first : second + 3;
    *bytes = (size_t)((is_set ? second : end) - *expression);
}

/* An expression with $k for each name that it reads, and literals of double for @@NAME. */
static MwRef evaluate(Program *program, const char *expression, size_t bytes, int flops)
{
    MwArena *arena = program->l->kernel->arena;
    MwKernelInstr instr = {.op = MW_KERNEL_EXPR, .type = MW_SCALAR_F32};
    MwText text = {.arena = arena};
    choose_branch(program, &expression, &bytes);
    load_states(program, expression, bytes);
    for (size_t i = 0, n; i < bytes; i += n ? n : other_length(expression + i)) {
        n = name_length(expression + i);
        const char *word = mw_arena_printf(arena, "%.*s", (int)n, expression + i);
        if (n == 0) {
            mw_text_add_n(&text, expression + i, other_length(expression + i));
        } else if (is_cast(word)) {
            mw_text_add(&text, word);
        } else if (strncmp(word, "@@", 2) == 0) {
            double value = attribute(program, word + 1);
            mw_text_add(&text, mw_lower_literal(arena, MW_SCALAR_F64, value));
        } else {
            MwRef ref = read(program, word);
            int k = 0;
            while (k < instr.input_count && instr.inputs[k].index != ref.index)
                k++;
            MW_ASSERT(k < MW_KERNEL_MAX_INPUTS);
            instr.inputs[k] = ref;
            instr.input_count = (int)mw_max(instr.input_count, k + 1);
            mw_text_printf(&text, "$%d", k);
        }
    }
    if (strcmp(text.at, "$0") == 0) /* an assignment of one name to another */
        return instr.inputs[0];
    instr.text = text.at;
    instr.flops = flops;
    return mw_kernel_add(program->l->kernel, &instr);
}

/* Gives a scalar to every operand but the states, which are loaded where they are first read. */
static void take_operands(Program *program)
{
    MwLower *l = program->l;
    const int states = program->info->state_count;
    set(program, "w", mw_lower_operand(l, 0));
    set(program, "g", mw_lower_operand(l, 1));
    set(program, "lr", mw_lower_operand(l, 2 + states));
    if (program->info->takes_step)
        set(program, "step", mw_lower_operand(l, 3 + states));
}

void mw_lower_update(MwLower *l)
{
    MwArena *arena = l->kernel->arena;
    Program program = {.l = l, .info = mw_optimizer_of(mw_lower_node(l)->op)};
    take_operands(&program);
    for (char *at = (char *)program.info->program; *at;) {
        const int flops = (int)strtol(at, &at, 10);
        MW_ASSERT(strncmp(at, ": ", 2) == 0);
        at += 2;
        const size_t name = name_length(at), bytes = strcspn(at, ";");
        MW_ASSERT(name > 0 && strncmp(at + name, " = ", 3) == 0 && at[bytes] == ';');
        const char *target = mw_arena_printf(arena, "%.*s", (int)name, at);
        set(&program, target, evaluate(&program, at + name + 3, bytes - name - 3, flops));
        at += bytes + 1;
    }
    mw_lower_result(l, 0, read(&program, program.info->gives_change ? "change" : "w"));
    for (int k = 0; k < program.info->state_count; k++)
        mw_lower_result(l, 1 + k, read(&program, mw_optimizer_state(arena, program.info, k)));
}
