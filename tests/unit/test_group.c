/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grouping calls of one kernel: which become one, and that all else keeps what it depends on. */
#include "codegen/plan/group.h"
#include "tests/unit/support.h"

#include <ctype.h>
#include <string.h>

enum { KERNELS = 3, LETTERS = 26 };

/* Kernels 0 and 1 take sets; 1 takes long. */
static const MwPlanKernel kernels[KERNELS] = {
    {"short", 2, 1, .takes_sets = true}, {"long", 2, 1, .takes_sets = true}, {"lonely", 2, 1}};
static const double launch_s = 1e-6, call_s[KERNELS] = {1.5e-6, 1e-3, 1e-6};

/* "k0" calls kernel 0, "c" is a collective, "s3" sends transfer 3, "r3" receives it. Operands
 * follow, read (-), written (=) or both (+): buffers, of which b lies over B. */
static const struct {
    const char *program;
    bool waits;
    const char *grouped;
} cases[] = {
    {"k0-A=B k0-C=D", false, "k0-A=B-C=D"},
    {"k0-A=B k0-A=D", false, "k0-A=B-A=D"},
    {"k0-A+B k0-C+D k0-E+F", true, "k0-A+B-C+D-E+F"},
    {"k2-A=B k2-C=D", true, "k2-A=B k2-C=D"},
    {"k0-A=B k0-C=D-E=F-G=H k0-I=J-K=L", true, "k0-A=B-C=D-E=F-G=H-I=J-K=L"},
    /* What depends on another stays behind it, also where only memory ties them. */
    {"k0-A=B k0-B=C", true, "k0-A=B k0-B=C"},
    {"k0-A=B k0-C+B", true, "k0-A=B k0-C+B"},
    {"k0-A=B k0-C=b", true, "k0-A=B k0-C=b"},
    {"k0-A=B k0-b=C", true, "k0-A=B k0-b=C"},
    {"k0-A=B k0-C=a", true, "k0-A=B k0-C=a"},
    {"k0-A=B k2-B=C k0-C=D k0-E=F", true, "k0-A=B-E=F k2-B=C k0-C=D"},
    /* Calls are taken forward; they wait only where they may. */
    {"k0-A=B k2-E=F k0-C=D", false, "k0-A=B-C=D k2-E=F"},
    {"k0-A=B k2-E=C k0-C=D", false, "k0-A=B k2-E=C k0-C=D"},
    {"k0-A=B k2-E=C k0-C=D", true, "k2-E=C k0-A=B-C=D"},
    {"c-A=A k0-A=B c-C=C k0-C=D", false, "c-A=A k0-A=B c-C=C k0-C=D"},
    {"c-A=A k0-A=B c-C=C k0-C=D", true, "c-A=A c-C=C k0-A=B-C=D"},
    {"c-A=A k0-A=B c-B=B c-C=C k0-C=D c-D=D", true, "c-A=A c-C=C k0-A=B-C=D c-B=B c-D=D"},
    /* A collective runs beside what is before its reader, which is not taken forward to it. */
    {"c-A=B k0-E=F k2-G=H k0-B=C", false, "c-A=B k0-E=F k2-G=H k0-B=C"},
    {"c-A=B k0-B=F k2-G=H k0-B=C", false, "c-A=B k0-B=F-B=C k2-G=H"},
    {"c-A=B k0-E=F k2-G=H k0-B=C", true, "c-A=B k2-G=H k0-E=F-B=C"},
    /* Communication finds long work begun. */
    {"c-A=A k1-A=B c-C=C k1-C=D k1-E=F", true, "c-A=A k1-A=B-E=F c-C=C k1-C=D"},
    {"k1-A=B k2-E=C k1-C=D", true, "k2-E=C k1-A=B-C=D"},
    /* Kernels do not wait for each other's groups longer than they must. */
    {"k0-A=B k1-B=C k0-D=E k1-E=F", true, "k0-A=B-D=E k1-B=C-E=F"},
    /* Messages keep their order. */
    {"k0-A=B s0-B k0-C=D s1-E r2=G", true, "k0-A=B-C=D s0-B s1-E r2=G"},
};

static const char *read_access(const char *at, MwPlanInstr *instr)
{
    static const char signs[] = "-=+";
    while (*at && *at != ' ') {
        const MwAccess access = (MwAccess)(strchr(signs, *at) - signs);
        const int buffer = isupper(at[1]) ? at[1] - 'A' : at[1] - 'a' + LETTERS;
        instr->operands[instr->operand_count++] = (MwPlanOperand){buffer, access};
        at += 2;
    }
    return *at ? at + 1 : at;
}

static MwPlanProgram read(MwArena *arena, const char *text)
{
    static const char kinds[] = {
        [MW_INSTR_KERNEL] = 'k', [MW_INSTR_ROUTINE] = '-', [MW_INSTR_COLLECTIVE] = 'c',
        [MW_INSTR_SEND] = 's',   [MW_INSTR_RECEIVE] = 'r', [MW_INSTR_RECEIVE + 1] = 0};
    MwPlanProgram program = {.name = "update", .instrs = MW_NEW(arena, MwPlanInstr, 16)};
    while (*text) {
        const int number = program.instr_count++;
        MwPlanInstr *instr = &program.instrs[number];
        *instr = (MwPlanInstr){.kind = (MwInstrKind)(strchr(kinds, *text++) - kinds),
                               .operands = MW_NEW(arena, MwPlanOperand, 8),
                               .operator_index = number};
        if (instr->kind != MW_INSTR_COLLECTIVE)
            instr->target = *text++ - '0';
        if (instr->kind == MW_INSTR_KERNEL) {
            instr->time_s = call_s[instr->target];
            instr->args = MW_NEW(arena, MwPlanArg, 1);
            instr->args[0].i = number;
            instr->arg_count = 1;
        }
        text = read_access(text, instr);
    }
    return program;
}

static const char *write(MwArena *arena, const MwPlanProgram *program)
{
    static const char kinds[] = "k-csr";
    MwText text = {.arena = arena};
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        mw_text_printf(&text, "%s%c", i ? " " : "", kinds[instr->kind]);
        if (instr->kind != MW_INSTR_COLLECTIVE)
            mw_text_printf(&text, "%d", instr->target);
        for (int k = 0; k < instr->operand_count; k++) {
            const int buffer = instr->operands[k].buffer;
            mw_text_printf(&text, "%c%c", "-=+"[instr->operands[k].access],
                           buffer < LETTERS ? 'A' + buffer : 'a' + buffer - LETTERS);
        }
    }
    return text.at;
}

static MwPlanProgram group(MwArena *arena, const char *text, bool waits)
{
    MwPlanBuffer buffers[2 * LETTERS];
    for (int b = 0; b < 2 * LETTERS; b++)
        buffers[b] = (MwPlanBuffer){.offset = 64 * (b % LETTERS), .bytes = 64, .slots = 1};
    const MwGrouping grouping = {.buffers = buffers,
                                 .buffer_count = MW_COUNT(buffers),
                                 .kernels = kernels,
                                 .kernel_count = KERNELS,
                                 .launch_s = launch_s,
                                 .waits = waits};
    const MwPlanProgram program = read(arena, text);
    return mw_program_group(arena, &grouping, &program);
}

START_TEST(calls_become_one)
{
    MwArena *arena = mw_arena_new();
    const MwPlanProgram grouped = group(arena, cases[_i].program, cases[_i].waits);
    ck_assert_str_eq(grouped.name, "update");
    ck_assert_str_eq(write(arena, &grouped), cases[_i].grouped);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(a_group_has_all_arguments_and_one_launch)
{
    MwArena *arena = mw_arena_new();
    const MwPlanProgram grouped = group(arena, "k0-A=B k2-C=D k0-E=F k0-B=G", true);
    ck_assert_str_eq(write(arena, &grouped), "k2-C=D k0-A=B-E=F k0-B=G");
    const MwPlanInstr *both = &grouped.instrs[1], *alone = &grouped.instrs[2];
    ck_assert_int_eq(both->arg_count, 2);
    ck_assert_int_eq(both->args[0].i, 0);
    ck_assert_int_eq(both->args[1].i, 2);
    ck_assert_int_eq(both->operator_index, -1);
    ck_assert_double_eq_tol(both->time_s, 2e-6, 1e-12);
    ck_assert_int_eq(alone->operator_index, 3);
    ck_assert_double_eq_tol(alone->time_s, 1.5e-6, 1e-12);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("group");
    TCase *tests = tcase_create("group");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, calls_become_one, 0, MW_COUNT(cases));
    tcase_add_test(tests, a_group_has_all_arguments_and_one_launch);
    return run_suite(suite);
}
