/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan's text: printing and parsing are inverse, and every kind of damage is named. */
#include "base/file.h"
#include "base/hash.h"
#include "runtime/plan/format.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/sample_plan.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

static MwArena *arena;

static void setup(void)
{
    arena = mw_arena_new();
}

static void teardown(void)
{
    mw_arena_free(&arena);
}

static char *printed(const MwPlan *plan)
{
    MwText text = {.arena = arena};
    mw_plan_print(&text, plan);
    return text.at;
}

/* Parses `text`; the diagnostics as they would be shown are in `*shown`. */
static MwPlan *parsed(const char *text, const char **shown)
{
    MwDiags *diags = mw_diags_new(arena);
    MwSource *source = MW_NEW(arena, MwSource, 1);
    *source = (MwSource){"p.plan", text, strlen(text)};
    MwPlan *plan = mw_plan_parse(arena, source, diags);
    *shown = diags_text(arena, diags);
    ck_assert_int_eq(mw_diags_error_count(diags) == 0, plan != NULL);
    return plan;
}

/* `text` with its first `from` replaced, and the checksum made right again. */
static char *edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    ck_assert_msg(at, "no '%s' in the plan", from);
    char *whole = mw_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    char *sum = strstr(whole, "\nchecksum ") + 1;
    sprintf(sum, "checksum %016llx\n",
            (unsigned long long)mw_hash_bytes(whole, (size_t)(sum - whole)));
    return whole;
}

START_TEST(printing_and_parsing_are_inverse)
{
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        const char *shown;
        MwPlan *sample = sample_plan(arena, ranks, 2);
        sample->meshes[0].weights[1].is_padded = true;
        sample->meshes[0].weights[1].padded = sample->meshes[0].weights[1].global;
        sample->meshes[0].programs[0].instrs[1].args[4] = (MwPlanArg){
            .kind = MW_ARG_SHIFTED, .axes = 3, .block_stride = 64, .axis = 1, .places = 2};
        sample->meshes[0].programs[0].instrs[1].args[3] =
            (MwPlanArg){.kind = MW_ARG_MIRRORED, .axes = 5, .block_stride = 32};
        const char *text = printed(sample);
        MwPlan *plan = parsed(text, &shown);
        ck_assert_str_eq(shown, "");
        ck_assert_ptr_nonnull(plan);
        ck_assert(plan->meshes[0].weights[1].is_padded && !plan->meshes[0].weights[0].is_padded);
        const MwPlanArg *arg = &plan->meshes[0].programs[0].instrs[1].args[4];
        ck_assert(arg->kind == MW_ARG_SHIFTED && arg->axes == 3 && arg->block_stride == 64);
        ck_assert(arg->axis == 1 && arg->places == 2);
        arg--;
        ck_assert(arg->kind == MW_ARG_MIRRORED && arg->axes == 5 && arg->block_stride == 32);
        ck_assert_str_eq(printed(plan), text);
    }
}
END_TEST

START_TEST(a_parsed_plan_holds_what_was_printed)
{
    const char *shown;
    const MwPlan *plan = parsed(printed(sample_plan(arena, 2, 2)), &shown);
    ck_assert_ptr_nonnull(plan);
    const MwPlanMesh *mesh = &plan->meshes[0];
    ck_assert_str_eq(mesh->buffers[SAMPLE_DIFF].name, "a \"name\"\n");
    ck_assert_int_eq(mesh->buffers[SAMPLE_X].tensor.dim[0], 4);
    ck_assert_int_eq(mesh->weights[0].init, MW_INIT_NORMAL);
    ck_assert(mesh->weights[1].reset_each_step && !mesh->weights[0].reset_each_step);
    const MwPlanInstr *diff = &mesh->programs[0].instrs[1];
    ck_assert_int_eq(diff->kind, MW_INSTR_KERNEL);
    ck_assert_int_eq(diff->args[2].kind, MW_ARG_POSITION);
    ck_assert_int_eq(diff->args[2].micro_stride, 8);
    ck_assert_int_eq(diff->args[2].loop_stride, -7);
    ck_assert_int_eq(mw_plan_instr_runs(&mesh->programs[0], 0), 1);
    ck_assert_ptr_eq(mw_plan_loop_at(&mesh->programs[0], 1), &mesh->programs[0].loops[0]);
    ck_assert_ptr_null(mw_plan_loop_at(&mesh->programs[0], 2));
    ck_assert(diff->args[1].f == 1.0 / 16);
    ck_assert_int_eq(mesh->tasks[2].program, 1);
    ck_assert(mesh->operators[0].compute_s == 1.0 / 3);
    ck_assert_str_eq(plan->command.model, "line.graph");
    ck_assert_int_eq(plan->command.option_count, 2);
    ck_assert_str_eq(plan->command.options[1].value, "rows=16");
    ck_assert(mesh->operators[0].has_runner_up && !mesh->operators[1].has_runner_up);
    ck_assert_ptr_nonnull(strstr(plan->kernel_source, " | text"));
}
END_TEST

/* Edits that keep the checksum right, and the message each must give. */
static const struct {
    const char *from, *to, *message;
} wrong[] = {
    {"meshwright plan 9", "meshwright plan 10", "p.plan:1:17: error: this plan is of version 10"},
    {"meshwright", "meshlight", "p.plan:1:1: error: this is no meshwright plan"},
    {"ranks=2", "ranks=-2", "'ranks' should be a whole number from 0"},
    {"ranks=2", "ranks=4294967298", "'ranks' should be a whole number from 0"},
    {"ranks=2", "ranks=02", "a plan is not written like this"},
    {"ranks=2", "ranks=2 ", "expected 'micro_batches=' here"},
    {"model=\"line\"", "model=\"line", "'model' should be a text in double quotes"},
    {"model=", "modell=", "expected 'model=' here"},
    {"f32[16, 4]", "f32[16, 0]", "'global' should be a tensor"},
    {"f32[16, 4]", "f32[4611686018427387904, 4611686018427387904]", "should be a tensor"},
    {"f32[16, 4]", "f33[16, 4]", "should be a tensor"},
    {"[S0, R]", "[S0]", "a spec with as many dimensions as the tensor"},
    {"[S0, R]", "[S9, R]", "'spec' should be a spec"},
    {"shape=2", "shape=2x2x2x2", "'shape' should be a mesh"},
    {"option 1 ", "option 2 ", "expected number 1 here"},
    {"  command ", "  kommand ", "expected a line 'command' here"},
    {"buffer 1 ", "buffer 2 ", "expected number 1 here"},
    {"rw2]", "rx2]", "'operands' should be a list of accesses"},
    {"rw2]", "rw2, ]", "a plan is not written like this"},
    {"position(S0, 4, 8, -7)", "position(4, 8, -7)", "'args' should be a list of arguments"},
    {"target=diff", "target=fiff", "'target' should be a kernel of this plan"},
    {"target=gemm", "target=gem", "'target' should be a routine"},
    {"program=update", "program=later", "'program' should be a program of this mesh"},
    {"init=normal", "init=gauss", "'init' should be zeros, ones"},
    {"persistent", "persistant", "unexpected text after a 'buffer'"},
    {"    |#include", "    #include", "unexpected line"},
    {"    costs", "     costs", "expected a line 'costs' here"},
    {"time_s=0.25", "time_s=0.250", "a plan is not written like this"},
    {"time_s=0.25", "time_s=0x1p-2", "a plan is not written like this"},
    {"time_s=0.25", "time_s=nan", "'time_s' should be a number"},
};

START_TEST(a_wrong_value_is_refused_with_its_line)
{
    const char *text = printed(sample_plan(arena, 2, 2));
    const char *shown;
    ck_assert_ptr_null(parsed(edited(text, wrong[_i].from, wrong[_i].to), &shown));
    ck_assert_msg(strstr(shown, wrong[_i].message), "%s -> %s gives\n%s", wrong[_i].from,
                  wrong[_i].to, shown);
    ck_assert_ptr_nonnull(strstr(shown, "p.plan:"));
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    char *text = printed(sample_plan(arena, 2, 1));
    for (size_t bytes = strlen(text); bytes-- > 0;) {
        const char *shown;
        text[bytes] = '\0';
        ck_assert_ptr_null(parsed(text, &shown));
        ck_assert_msg(strstr(shown, bytes < 16 ? "no meshwright plan" : "version") ||
                          strstr(shown, "cut off here"),
                      "%zu bytes: %s", bytes, shown);
    }
}
END_TEST

START_TEST(every_changed_byte_is_refused)
{
    const char *good = printed(sample_plan(arena, 2, 1));
    char *text = mw_arena_strdup(arena, good);
    for (size_t i = 0; text[i]; i++) {
        const char *shown;
        text[i] ^= 1;
        ck_assert_ptr_null(parsed(text, &shown));
        text[i] ^= 1;
    }
}
END_TEST

START_TEST(damage_is_one_message)
{
    char *text = printed(sample_plan(arena, 2, 1));
    const char *shown;
    char *at = strstr(text, "arena_bytes=");
    at[0] = 'A';
    ck_assert_ptr_null(parsed(text, &shown));
    ck_assert_ptr_nonnull(strstr(shown, "the plan is damaged or was edited"));
    ck_assert_ptr_null(strstr(shown, "expected 'arena_bytes=' here"));
}
END_TEST

START_TEST(lines_of_another_system_are_named)
{
    MwText text = {.arena = arena};
    for (const char *c = printed(sample_plan(arena, 2, 1)); *c; c++)
        mw_text_add_n(&text, *c == '\n' ? "\r\n" : c, *c == '\n' ? 2 : 1);
    const char *shown;
    ck_assert_ptr_null(parsed(text.at, &shown));
    ck_assert_str_eq(shown,
                     "meshwright: error: p.plan: the lines of this plan end in CR LF, which a "
                     "copy made of them; a plan is read as it was written\n");
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    MwDiags *diags = mw_diags_new(arena);
    ck_assert_ptr_null(mw_plan_read(arena, "/nowhere/p.plan", diags));
    ck_assert_int_eq(mw_diags_error_count(diags), 1);
}
END_TEST

START_TEST(an_executable_without_a_plan_is_refused)
{
    MwDiags *diags = mw_diags_new(arena);
    ck_assert_ptr_null(mw_plan_read(arena, "/proc/self/exe", diags));
    ck_assert_int_eq(mw_diags_error_count(diags), 1);
}
END_TEST

/* The section of docs/plan.md with this heading, up to the next. */
static const char *section_with(const char *page, const char *heading)
{
    const char *at = strstr(page, mw_arena_printf(arena, "### %s\n", heading));
    ck_assert_msg(at, "docs/plan.md has no section %s", heading);
    const char *end = strstr(at + 1, "\n##");
    return mw_arena_strndup(arena, at, (size_t)(end - at));
}

static void check_documented(const char *page, const char *heading, const MwPlanRecord *record)
{
    const char *section = section_with(page, heading);
    for (int i = 0; i < record->field_count; i++)
        ck_assert_msg(strstr(section, mw_arena_printf(arena, "`%s`", record->fields[i].name)),
                      "docs/plan.md does not explain '%s' of '%s'", record->fields[i].name,
                      record->keyword);
    for (int i = 0; i < record->part_count; i++) {
        const MwPlanPart *part = &record->parts[i];
        for (int k = 0; k < part->record_count; k++)
            check_documented(page,
                             part->record_count > 1
                                 ? "Instructions"
                                 : mw_arena_printf(arena, "`%s`", part->records[k].keyword),
                             &part->records[k]);
    }
}

START_TEST(the_page_explains_every_field)
{
    size_t bytes;
    const char *page = mw_file_read(arena, SOURCE_ROOT "/docs/plan.md", &bytes);
    ck_assert_ptr_nonnull(page);
    check_documented(page, "`plan`", &mw_plan_record);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *tests = tcase_create("plan");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, printing_and_parsing_are_inverse);
    tcase_add_test(tests, a_parsed_plan_holds_what_was_printed);
    tcase_add_loop_test(tests, a_wrong_value_is_refused_with_its_line, 0, MW_COUNT(wrong));
    tcase_add_test(tests, every_truncation_is_refused);
    tcase_add_test(tests, every_changed_byte_is_refused);
    tcase_add_test(tests, damage_is_one_message);
    tcase_add_test(tests, the_page_explains_every_field);
    tcase_add_test(tests, lines_of_another_system_are_named);
    tcase_add_test(tests, a_missing_file_is_named);
    tcase_add_test(tests, an_executable_without_a_plan_is_refused);
    return run_suite(suite);
}
