/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problem files: what is refused and with which words; saving and loading is an identity; the
 * saved integer program has the problem's least cost. */
#include "tests/solver/random_problem.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/scratch.h"
#include "tests/unit/support.h"

#include <fcntl.h>
#include <glpk.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define NODES                                                                                      \
    "\"nodes\": {\"intervals\": [[0, 2], [1, 1]], \"costs\": [[1, 2], [3, 4, 5]], "                \
    "\"usages\": [[1, 1], [2, 2, 2]]}"
#define EDGES "\"edges\": {\"nodes\": [[0, 1]], \"costs\": [[1, 2, 3, 4, 5, 6]]}"
#define FIVE_TIMES(text) text text text text text
#define FILE_OF(parts) "{\"problem\": {" parts "}}"

static const struct {
    const char *text, *message; /* the message after "PATH: " */
} refused[] = {
    {"", "byte 0, in the top: parse error: premature EOF"},
    {"{", "byte 1, in the top: parse error: premature EOF"},
    {FILE_OF(NODES ", " EDGES) "}", "byte 178, in the top: parse error: trailing garbage"},
    {"{\"problem\": {\"nodes\": {\"costs\": [[1, 2",
     "byte 38, in problem.nodes.costs[0][2]: parse error: premature EOF"},
    {FILE_OF("\"nodes\": {\"costs\": [[1,, 2]]}"),
     "byte 37, in problem.nodes.costs[0][1]: parse error: unallowed token at this point in JSON "
     "text"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, oops]]}"),
     "byte 38, in problem.nodes.costs[0][1]: lexical error: invalid char in json text."},
    {FILE_OF("\"nodes\": {\"labels\": [\"a\", 1]}"), "problem.nodes.labels[1]: expected a string"},
    {FILE_OF("\"nodes\": {\"labels\": [[\"a\"]]}"), "problem.nodes.labels[0]: expected a string"},
    {"[1, 2]", "problem.nodes.intervals is missing"},
    {FILE_OF(EDGES), "problem.nodes.intervals is missing"},
    {FILE_OF(NODES), "problem.edges.nodes is missing"},
    {FILE_OF("\"nodes\": {\"costs\": 3}"), "problem.nodes.costs: expected a list of lists"},
    {FILE_OF("\"nodes\": {\"costs\": {}}"), "problem.nodes.costs: expected a list of lists"},
    {FILE_OF("\"nodes\": {\"costs\": [[1], 2]}"),
     "problem.nodes.costs[1]: expected a list of integers"},
    {FILE_OF("\"nodes\": {\"costs\": [[1], [[2]]]}"),
     "problem.nodes.costs[1][0]: expected an integer"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, \"x\"]]}"),
     "problem.nodes.costs[0][1]: expected an integer"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, 2.5]]}"),
     "problem.nodes.costs[0][1]: expected an integer"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, -2]]}"), "problem.nodes.costs[0][1]: a negative number"},
    {FILE_OF("\"nodes\": {\"usages\": [[9223372036854775808]]}"),
     "problem.nodes.usages[0][0]: a number beyond 64 bits"},
    {FILE_OF("\"nodes\": {\"usages\": [[11111111111111111111111111111111111111]]}"),
     "problem.nodes.usages[0][0]: a number beyond 64 bits"},
    {FILE_OF("\"nodes\": {\"costs\": [], \"costs\": []}"), "problem.nodes.costs: given twice"},
    {FILE_OF("\"nodes\": {\"costs\": [[1 2]]}"), "byte 37, in problem.nodes.costs[0][1]: parse "
                                                 "error: after array element, I expect ',' or ']'"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, 2,]]}"),
     "byte 40, in problem.nodes.costs[0][2]: parse error: unallowed token at this point in JSON "
     "text"},
    {FILE_OF("\"nodes\": {\"costs\": [[,1]]}"),
     "byte 35, in problem.nodes.costs[0][0]: parse error: unallowed token at this point in JSON "
     "text"},
    {FILE_OF("\"nodes\": {\"costs\": [[01]]}"), "byte 36, in problem.nodes.costs[0][1]: parse "
                                                "error: after array element, I expect ',' or ']'"},
    {FILE_OF("\"nodes\": {\"costs\": [[1-2]]}"), "byte 37, in problem.nodes.costs[0][1]: parse "
                                                 "error: after array element, I expect ',' or ']'"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, 2}]}"),
     "byte 39, in problem.nodes.costs[0][2]: parse error: after array element, I expect ',' or "
     "']'"},
    {FILE_OF("\"nodes\": {\"costs\": [[1]2]}"),
     "byte 37, in problem.nodes.costs[1]: parse error: after array element, I expect ',' or ']'"},
    {FILE_OF("\"nodes\": {\"costs\": [[1][2]]}"),
     "byte 37, in problem.nodes.costs[1]: parse error: after array element, I expect ',' or ']'"},
    {FILE_OF("\"nodes\": {\"costs\": [[2e1]]}"), "problem.nodes.costs[0][0]: expected an integer"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, null]]}"),
     "problem.nodes.costs[0][1]: expected an integer"},
    {FILE_OF("\"nodes\": {\"costs\": [[1, {}]]}"),
     "problem.nodes.costs[0][1]: expected an integer"},
    {FILE_OF("\"nodes\": {\"costs\": [[-]]}"),
     "byte 35, in problem.nodes.costs[0][0]: lexical error: malformed number, a digit is required "
     "after the minus sign."},
    {FILE_OF("\"nodes\": {\"costs\": [[18446744073709551617]]}"),
     "problem.nodes.costs[0][0]: a number beyond 64 bits"},
    {FILE_OF("\"nodes\": {\"costs\": [[9999999999999999999]]}"),
     "problem.nodes.costs[0][0]: a number beyond 64 bits"},
    {FILE_OF("\"nodes\": {\"costs\": [null]}"),
     "problem.nodes.costs[0]: expected a list of integers"},
    {FILE_OF("\"nodes\": {\"costs\": null}"), "problem.nodes.costs: expected a list of lists"},
    {FILE_OF("\"usage_limit\": 1.5"), "problem.usage_limit: expected an integer"},
    {FILE_OF("\"usage_limit\": null"), "problem.usage_limit: expected an integer"},
    {FILE_OF("\"usage_limit\": 9223372036854775808"),
     "problem.usage_limit: a number beyond 64 bits"},
    {FILE_OF("\"usage_limit\": 1, \"usage_limit\": 2"), "problem.usage_limit: given twice"},
    {FILE_OF("\"name\": \"a\", \"name\": \"b\""), "problem.name: given twice"},
    {FILE_OF("\"nodes\": {\"intervals\": [[0, 99999999999999999999]]}"),
     "problem.nodes.intervals[0][1]: a number beyond 64 bits"},
    {FILE_OF("\"edges\": {\"nodes\": [[0, -1]]}"), "problem.edges.nodes[0][1]: a negative number"},
    {FILE_OF("\"nodes\": {\"intervals\": [[0, 1], [0, 1]], \"costs\": [[1], [2]], \"usages\": "
             "[[1]]}, \"edges\": {\"nodes\": [], \"costs\": []}"),
     "problem.nodes.usages has 1 entries, problem.nodes.costs has 2"},
    {"{\"x\": " FIVE_TIMES(FIVE_TIMES("[[[")),
     "x" FIVE_TIMES(FIVE_TIMES("[0][0]")) FIVE_TIMES("[0][0]") "[0][0][0]"
                                                               ": nested too deeply"},
    {FILE_OF("\"nodes\": {\"intervals\": [[0, 1]], \"costs\": [[1]], \"usages\": [[1]], "
             "\"labels\": [\"a\", \"b\"]}, \"edges\": {\"nodes\": [], \"costs\": []}"),
     "problem.nodes.labels has 2 entries, problem.nodes.costs has 1"},
    {"\x1f\x8b\x08", "cannot read after byte 0: unexpected end of file"},
    {"{\"problem\": \"\xff\"}",
     "byte 14, in problem: lexical error: invalid bytes in UTF8 string."},
    {FILE_OF("\"usage_limit\": -1"), "problem.usage_limit: a negative number"},
    {FILE_OF("\"usage_limit\": \"1\""), "problem.usage_limit: expected an integer"},
    {FILE_OF("\"nodes\": {\"intervals\": [[0, 1]], \"costs\": [[1], [2]], \"usages\": [[1], "
             "[2]]}, \"edges\": {\"nodes\": [], \"costs\": []}"),
     "problem.nodes.intervals has 1 entries, problem.nodes.costs has 2"},
    {FILE_OF("\"nodes\": {\"intervals\": [[2, 1]], \"costs\": [[1]], \"usages\": [[1]]}, "
             "\"edges\": {\"nodes\": [], \"costs\": []}"),
     "problem.nodes.intervals[0]: ends at 1, before it begins at 2"},
    {FILE_OF("\"nodes\": {\"intervals\": [[2]], \"costs\": [[1]], \"usages\": [[1]]}, "
             "\"edges\": {\"nodes\": [], \"costs\": []}"),
     "problem.nodes.intervals[0]: expected [begin, end)"},
    {FILE_OF("\"nodes\": {\"intervals\": [[0, 1]], \"costs\": [[]], \"usages\": [[]]}, "
             "\"edges\": {\"nodes\": [], \"costs\": []}"),
     "problem.nodes.costs[0]: a node needs at least one strategy"},
    {FILE_OF("\"nodes\": {\"intervals\": [[0, 1]], \"costs\": [[1, 2]], \"usages\": [[1]]}, "
             "\"edges\": {\"nodes\": [], \"costs\": []}"),
     "problem.nodes.usages[0]: 1 usages, but the node has 2 costs"},
    {FILE_OF(NODES ", \"edges\": {\"nodes\": [[0, 1]], \"costs\": []}"),
     "problem.edges.nodes has 1 entries, problem.edges.costs has 0"},
    {FILE_OF(NODES ", \"edges\": {\"nodes\": [[0, 1, 1]], \"costs\": [[1]]}"),
     "problem.edges.nodes[0]: expected two nodes"},
    {FILE_OF(NODES ", \"edges\": {\"nodes\": [[0, 2]], \"costs\": [[1]]}"),
     "problem.edges.nodes[0]: node 2 of 2"},
    {FILE_OF(NODES ", \"edges\": {\"nodes\": [[1, 1]], \"costs\": [[1]]}"),
     "problem.edges.nodes[0]: joins node 1 to itself"},
    {FILE_OF(NODES ", \"edges\": {\"nodes\": [[1, 0]], \"costs\": [[1, 2, 3, 4, 5]]}"),
     "problem.edges.costs[0]: 5 costs, but nodes 1 and 0 have 3 and 2 strategies"},
};

typedef struct {
    MwArena *arena;
    MwDiags *diags;
    const char *folder;
} Fixture;

static Fixture set_up(void)
{
    Fixture fixture = {.arena = mw_arena_new()};
    fixture.diags = mw_diags_new(fixture.arena);
    fixture.folder = scratch_folder(fixture.arena);
    return fixture;
}

static void tear_down(Fixture *fixture)
{
    ck_assert_int_eq(rmdir(fixture->folder), 0);
    mw_arena_free(&fixture->arena);
}

static const char *path_of(Fixture *fixture, const char *name)
{
    return mw_arena_printf(fixture->arena, "%s/%s", fixture->folder, name);
}

static void write_text(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
}

START_TEST(bad_files_are_refused_with_the_place)
{
    Fixture fixture = set_up();
    const char *path = path_of(&fixture, "p.json");
    write_text(path, refused[_i].text, strlen(refused[_i].text));
    ck_assert_ptr_null(mw_problem_load(fixture.arena, path, fixture.diags));
    unlink(path);
    const char *expected =
        mw_arena_printf(fixture.arena, "meshwright: error: %s: %s\n", path, refused[_i].message);
    ck_assert_str_eq(diags_text(fixture.arena, fixture.diags), expected);
    tear_down(&fixture);
}
END_TEST

START_TEST(a_missing_file_a_broken_gzip_and_a_folder_are_refused)
{
    Fixture fixture = set_up();
    ck_assert_ptr_null(
        mw_problem_load(fixture.arena, path_of(&fixture, "none.json"), fixture.diags));
    ck_assert_ptr_nonnull(
        strstr(diags_text(fixture.arena, fixture.diags), "none.json: cannot open: No such file"));

    const char *path = path_of(&fixture, "p.json.gz");
    RandomKind kind = {50, 200, 9, 10, 1000, true};
    ck_assert(mw_problem_save(random_problem(fixture.arena, &kind, 7), path, fixture.diags));
    ck_assert_int_eq(truncate(path, 500), 0);
    ck_assert_ptr_null(mw_problem_load(fixture.arena, path, fixture.diags));
    ck_assert_ptr_nonnull(
        strstr(diags_text(fixture.arena, fixture.diags), "p.json.gz: cannot read after byte "));
    unlink(path);
    ck_assert_ptr_null(mw_problem_load(fixture.arena, fixture.folder, fixture.diags));
    const char *expected = mw_arena_printf(
        fixture.arena, "%s: cannot read after byte 0: Is a directory\n", fixture.folder);
    ck_assert_ptr_nonnull(strstr(diags_text(fixture.arena, fixture.diags), expected));
    tear_down(&fixture);
}
END_TEST

START_TEST(unknown_keys_are_passed_over)
{
    Fixture fixture = set_up();
    const char *path = path_of(&fixture, "p.json");
    const char *text = "{\"x\": [1, {\"y\": null}], \"problem\": {\"z\": {\"costs\": [[-1.5]]}, "
                       "\"name\": \"n\", " EDGES ", \"t\": true, " NODES "}}";
    write_text(path, text, strlen(text));
    MwProblem *problem = mw_problem_load(fixture.arena, path, fixture.diags);
    ck_assert_str_eq(diags_text(fixture.arena, fixture.diags), "");
    ck_assert_str_eq(problem->name, "n");
    ck_assert_int_eq(problem->nodes[1].strategy_count, 3);
    ck_assert_int_eq(problem->edges[0].cost[5], 6);
    ck_assert(problem->usage_limit == MW_USAGE_UNLIMITED);
    unlink(path);
    tear_down(&fixture);
}
END_TEST

static bool same_numbers(const int64_t *a, const int64_t *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if ((a ? a[i] : 0) != (b ? b[i] : 0))
            return false;
    return true;
}

static void assert_same(const MwProblem *a, const MwProblem *b)
{
    ck_assert_str_eq(a->name, b->name);
    ck_assert_int_eq(a->node_count, b->node_count);
    ck_assert_int_eq(a->edge_count, b->edge_count);
    ck_assert(a->usage_limit == b->usage_limit);
    for (int i = 0; i < a->node_count; i++) {
        const MwProblemNode *x = &a->nodes[i], *y = &b->nodes[i];
        ck_assert_int_eq(x->strategy_count, y->strategy_count);
        ck_assert(x->begin == y->begin && x->end == y->end);
        ck_assert(same_numbers(x->cost, y->cost, x->strategy_count));
        ck_assert(same_numbers(x->usage, y->usage, x->strategy_count));
        ck_assert_str_eq(x->label ? x->label : "", y->label ? y->label : "");
    }
    for (int i = 0; i < a->edge_count; i++) {
        const MwProblemEdge *x = &a->edges[i], *y = &b->edges[i];
        ck_assert(x->a == y->a && x->b == y->b);
        int64_t count = (int64_t)a->nodes[x->a].strategy_count * a->nodes[x->b].strategy_count;
        ck_assert(same_numbers(x->cost, y->cost, count));
    }
}

/* Numbers of every length, and where what is read at once ends at any place in one of them. */
START_TEST(numbers_are_read_across_pieces_of_the_file)
{
    enum { STRATEGIES = 130000, SHIFTS = 24 };
    Fixture fixture = set_up();
    const char *path = path_of(&fixture, "p.json");
    int64_t *expected = MW_NEW(fixture.arena, int64_t, STRATEGIES);
    for (int shift = 0; shift < SHIFTS; shift++) {
        uint64_t state = (uint64_t)shift;
        FILE *file = fopen(path, "wb");
        fprintf(file, "%*s{\"problem\": {\"nodes\": {\"costs\": [[", shift, "");
        for (int s = 0; s < STRATEGIES; s++) {
            expected[s] = draw(&state, INT64_MAX) >> draw(&state, 63);
            fprintf(file, "%s%lld%s", s ? "," : "", (long long)expected[s], s % 9 ? "" : " \n");
        }
        fputs("]], \"intervals\": [[-5, 9223372036854775807]], \"usages\": [[0", file);
        for (int s = 1; s < STRATEGIES; s++)
            fputs(",0", file);
        fputs("]]}, \"edges\": {\"nodes\": [], \"costs\": []}}}", file);
        fclose(file);
        MwArena *arena = mw_arena_new();
        MwProblem *problem = mw_problem_load(arena, path, fixture.diags);
        ck_assert_str_eq(diags_text(arena, fixture.diags), "");
        ck_assert_int_eq(problem->nodes[0].strategy_count, STRATEGIES);
        ck_assert(problem->nodes[0].begin == -5 && problem->nodes[0].end == INT64_MAX);
        ck_assert(same_numbers(problem->nodes[0].cost, expected, STRATEGIES));
        mw_arena_free(&arena);
    }
    unlink(path);
    tear_down(&fixture);
}
END_TEST

START_TEST(saving_and_loading_is_an_identity)
{
    static const char *const names[] = {"p.json", "p.json.gz"};
    Fixture fixture = set_up();
    for (int seed = 0; seed < 100; seed++) {
        RandomKind kind = {20, 60, 9, 10, 1000000, seed % 2 == 0};
        MwProblem *problem = random_problem(fixture.arena, &kind, (uint64_t)seed);
        for (int i = 0; i < problem->node_count; i += 1 + seed % 3) /* all, or some */
            if (seed % 5 > 0)
                problem->nodes[i].label = mw_arena_printf(fixture.arena, "layers.%d \"[w]\"", i);
        const char *path = path_of(&fixture, names[seed % 4 / 2]);
        ck_assert(mw_problem_save(problem, path, fixture.diags));
        MwProblem *loaded = mw_problem_load(fixture.arena, path, fixture.diags);
        ck_assert_str_eq(diags_text(fixture.arena, fixture.diags), "");
        assert_same(problem, loaded);
        unlink(path);
    }
    tear_down(&fixture);
}
END_TEST

START_TEST(names_that_end_in_gz_are_zipped)
{
    Fixture fixture = set_up();
    RandomKind kind = {5, 5, 4, 0, 10, true};
    MwProblem *problem = random_problem(fixture.arena, &kind, 1);
    for (int zipped = 0; zipped < 2; zipped++) {
        const char *path = path_of(&fixture, zipped ? "p.json.gz" : "p.json");
        ck_assert(mw_problem_save(problem, path, fixture.diags));
        FILE *file = fopen(path, "rb");
        ck_assert_int_eq(fgetc(file) == 0x1f, zipped);
        fclose(file);
        unlink(path);
    }
    tear_down(&fixture);
}
END_TEST

/* What is no regular file is written to; a link stays, and what it leads to is replaced. */
START_TEST(saving_replaces_regular_files_only)
{
    Fixture fixture = set_up();
    RandomKind kind = {5, 5, 4, 0, 10, true};
    MwProblem *problem = random_problem(fixture.arena, &kind, 1);
    const char *link = path_of(&fixture, "link"), *target = path_of(&fixture, "target");
    bool (*const save[])(const MwProblem *, const char *, MwDiags *) = {mw_problem_save,
                                                                        mw_problem_save_ilp};
    for (int i = 0; i < MW_COUNT(save); i++) {
        struct stat info;
        ck_assert_int_eq(close(creat(target, 0600)), 0);
        ck_assert_int_eq(symlink("target", link), 0);
        ck_assert(save[i](problem, link, fixture.diags));
        ck_assert(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
        ck_assert(stat(target, &info) == 0 && info.st_size > 0);
        unlink(link);
        unlink(target);
        ck_assert_int_eq(mkfifo(target, 0600), 0);
        int reader = open(target, O_RDWR | O_NONBLOCK);
        ck_assert(save[i](problem, target, fixture.diags));
        char byte;
        ck_assert_int_eq(read(reader, &byte, 1), 1);
        ck_assert(stat(target, &info) == 0 && S_ISFIFO(info.st_mode));
        close(reader);
        unlink(target);
    }
    tear_down(&fixture);
}
END_TEST

START_TEST(a_failed_save_says_why_and_keeps_the_old_file)
{
    Fixture fixture = set_up();
    RandomKind kind = {5, 5, 4, 0, 10, true};
    MwProblem *problem = random_problem(fixture.arena, &kind, 1);
    ck_assert(!mw_problem_save(problem, "/nowhere/p.json", fixture.diags));
    ck_assert(!mw_problem_save_ilp(problem, "/nowhere/p.lp", fixture.diags));
    ck_assert_str_eq(diags_text(fixture.arena, fixture.diags),
                     "meshwright: error: /nowhere/p.json: cannot write: No such file or directory\n"
                     "meshwright: error: /nowhere/p.lp: cannot write: No such file or directory\n");
    tear_down(&fixture);
}
END_TEST

/* -1: no answer. */
static double solve_program(const char *path, bool mps)
{
    glp_term_out(GLP_OFF);
    glp_prob *program = glp_create_prob();
    ck_assert_int_eq(mps ? glp_read_mps(program, GLP_MPS_FILE, NULL, path)
                         : glp_read_lp(program, NULL, path),
                     0);
    glp_iocp control;
    glp_init_iocp(&control);
    control.presolve = GLP_ON;
    control.msg_lev = GLP_MSG_OFF;
    int failure = glp_intopt(program, &control);
    double value = failure || glp_mip_status(program) != GLP_OPT ? -1 : glp_mip_obj_val(program);
    glp_delete_prob(program);
    return value;
}

START_TEST(the_saved_program_has_the_least_cost)
{
    static const char *const names[] = {"p.lp", "p.mps", "p.lp.gz", "p.mps.gz"};
    Fixture fixture = set_up();
    for (int seed = 0; seed < 200; seed++) {
        RandomKind kind = {5, 9, 4, 10, 50, seed % 3 > 0};
        MwProblem *problem = random_problem(fixture.arena, &kind, (uint64_t)seed);
        const char *path = path_of(&fixture, names[seed % MW_COUNT(names)]);
        ck_assert(mw_problem_save_ilp(problem, path, fixture.diags));
        double value = solve_program(path, seed % 2);
        unlink(path);
        Enumerated expected = enumerate(problem);
        if (fabs(value - (expected.possible ? (double)expected.cost : -1)) > 1e-6)
            ck_abort_msg("seed %d: %g, not %lld", seed, value, (long long)expected.cost);
    }
    tear_down(&fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solver_files");
    TCase *tests = tcase_create("files");
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, bad_files_are_refused_with_the_place, 0, MW_COUNT(refused));
    tcase_add_test(tests, a_missing_file_a_broken_gzip_and_a_folder_are_refused);
    tcase_add_test(tests, unknown_keys_are_passed_over);
    tcase_add_test(tests, numbers_are_read_across_pieces_of_the_file);
    tcase_add_test(tests, saving_and_loading_is_an_identity);
    tcase_add_test(tests, names_that_end_in_gz_are_zipped);
    tcase_add_test(tests, saving_replaces_regular_files_only);
    tcase_add_test(tests, a_failed_save_says_why_and_keeps_the_old_file);
    tcase_add_test(tests, the_saved_program_has_the_least_cost);
    return run_suite(suite);
}
