/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merging the updates of stages: nothing is lost, parts keep their order, and what must come before
 * a receive does. */
#include "codegen/plan/merge.h"
#include "tests/unit/support.h"

/* "k" is a kernel, "s3" a send and "r3" a receive of transfer 3. */
static const struct {
    const char *parts[3];
    const char *merged;
} cases[] = {
    {{"", "", ""}, ""},
    {{"kks1k", "", ""}, "kks1k"},
    {{"r1k", "s2k", ""}, "s2kr1k"},
    {{"s0r3k", "ks1r2ks4", ""}, "s0ks1r2ks4r3k"},
    {{"r5ks6", "r1s2r3s4", "kr0"}, "kr0r1s2r3s4r5ks6"},
};

static MwPlanProgram read(MwArena *arena, const char *text)
{
    MwPlanProgram program = {.instrs = MW_NEW(arena, MwPlanInstr, 16)};
    for (; *text; text++) {
        MwPlanInstr *instr = &program.instrs[program.instr_count++];
        instr->kind = *text == 'k'   ? MW_INSTR_KERNEL
                      : *text == 's' ? MW_INSTR_SEND
                                     : MW_INSTR_RECEIVE;
        if (instr->kind != MW_INSTR_KERNEL)
            instr->target = *++text - '0';
    }
    return program;
}

static const char *write(MwArena *arena, const MwPlanProgram *program)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "");
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        if (instr->kind == MW_INSTR_KERNEL)
            mw_text_add(&text, "k");
        else
            mw_text_printf(&text, "%c%d", instr->kind == MW_INSTR_SEND ? 's' : 'r', instr->target);
    }
    return text.at;
}

START_TEST(parts_become_one)
{
    MwArena *arena = mw_arena_new();
    MwPlanProgram parts[3];
    for (int p = 0; p < 3; p++)
        parts[p] = read(arena, cases[_i].parts[p]);
    MwPlanProgram merged = mw_programs_merge(arena, "update", parts, 3);
    ck_assert_str_eq(merged.name, "update");
    ck_assert_str_eq(write(arena, &merged), cases[_i].merged);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge");
    TCase *tests = tcase_create("merge");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, parts_become_one, 0, MW_COUNT(cases));
    return run_suite(suite);
}
