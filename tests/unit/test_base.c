/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/: arenas, vectors, interning, texts, files and how diagnostics look. */
#include "base/diag.h"
#include "base/divisors.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/new_file.h"
#include "base/process.h"
#include "base/quantity.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/vec.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/scratch.h"
#include "tests/unit/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_arena(void)
{
    MwArena *arena = mw_arena_new();
    char *first = mw_arena_strdup(arena, "first");
    for (int i = 1; i < 400; i++) {
        unsigned char *memory = mw_arena_alloc(arena, (size_t)i);
        ck_assert_uint_eq((uintptr_t)memory % 16, 0);
        for (int k = 0; k < i; k++)
            if (memory[k] != 0)
                ck_abort_msg("byte %d of %d is not zero", k, i);
        memset(memory, 0xff, (size_t)i);
    }
    ck_assert_str_eq(first, "first");
    mw_arena_free(&arena);
    ck_assert_ptr_null(arena);
}

/* The second one gets memory that the first one wrote. */
START_TEST(arena_memory_is_zeroed_aligned_and_stays)
{
    check_arena();
    check_arena();
}
END_TEST

START_TEST(vec_keeps_its_elements_when_it_grows)
{
    MwArena *arena = mw_arena_new();
    MW_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        mw_vec_push(arena, &v, i * i);
    ck_assert_int_eq(v.count, 1000);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(v.at[i], i * i);
    mw_arena_free(&arena);
}
END_TEST

/* What is wrong here, the sanitizers see: memory freed twice, or never. */
START_TEST(arenas_within_one_go_before_it_or_with_it)
{
    MwArena *arena = mw_arena_new(), *within[4];
    for (int i = 0; i < 4; i++)
        within[i] = mw_arena_new_within(arena);
    MwArena *innermost = mw_arena_new_within(within[3]);
    for (int i = 0; i < 3; i += 2)
        mw_arena_free(&within[i]);
    ck_assert_str_eq(mw_arena_strdup(within[1], "stays"), "stays");
    ck_assert_str_eq(mw_arena_strdup(innermost, "too"), "too");
    mw_arena_free(&arena);
    ck_assert_ptr_null(arena);
}
END_TEST

START_TEST(divisors_are_all_and_ascend)
{
    MwArena *arena = mw_arena_new();
    for (int n = 1; n <= 200; n++) {
        const MwDivisors all = mw_divisors(arena, n);
        int count = 0;
        for (int d = 1; d <= n; d++)
            if (n % d == 0)
                ck_assert_int_eq(all.at[count++], d);
        ck_assert_int_eq(all.count, count);
    }
    mw_arena_free(&arena);
}
END_TEST

START_TEST(interned_texts_are_equal_by_pointer)
{
    MwArena *arena = mw_arena_new();
    MwInterner *interner = mw_interner_new(arena);
    const char *names[2000];
    for (int i = 0; i < 2000; i++)
        names[i] = mw_intern_printf(interner, "layers.%d.w", i);
    for (int i = 0; i < 2000; i++) {
        char text[32];
        snprintf(text, sizeof text, "layers.%d.w", i);
        ck_assert_ptr_eq(mw_intern(interner, text), names[i]);
    }
    ck_assert_ptr_ne(mw_intern_n(interner, "layers.1", 7), names[1]);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(suggestions_are_near_or_none)
{
    static const char *const names[] = {"bandwidth", NULL,         "backend", "memory",
                                        "launch",    "all_gather", "sin"};
    static const struct {
        const char *typed, *expected;
    } cases[] = {
        {"bandwith", "bandwidth"},
        {"badnwidth", "bandwidth"},
        {"memmory", "memory"},
        {"Launch", "launch"},
        {"allgather", "all_gather"},
        {"weights", NULL},
        {"", NULL},
        {"back", NULL},
        {"min", NULL},
        {"isn", "sin"},
        {"sinn", "sin"},
        {"sn", "sin"},
        {"launsh", "launch"},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        const char *found = mw_suggest(cases[i].typed, names, MW_COUNT(names));
        if (cases[i].expected)
            ck_assert_pstr_eq(found, cases[i].expected);
        else
            ck_assert_pstr_eq(found, NULL);
    }
}
END_TEST

START_TEST(doubles_print_shortest_and_read_back)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},     {3, "3"},        {1000, "1000"},
                 {-10, "-10"},     {1e15, "1e+15"}, {123456789, "123456789"},
                 {1e-12, "1e-12"}, {-2.5, "-2.5"},  {1.0 / 3, "0.3333333333333333"}};
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwText text = {.arena = arena};
        mw_text_add_double(&text, cases[i].value);
        ck_assert_str_eq(text.at, cases[i].text);
        ck_assert(strtod(text.at, NULL) == cases[i].value);
    }
    MwText text = {.arena = arena};
    mw_text_add_double(&text, -__builtin_nan(""));
    ck_assert_str_eq(text.at, "nan");
    mw_arena_free(&arena);
}
END_TEST

START_TEST(words_are_quoted_for_the_shell)
{
    static const struct {
        const char *word, *text;
    } cases[] = {
        {"--feed", "--feed"},   {"lm:a/b.txt", "lm:a/b.txt"}, {"", "''"},   {"a b", "'a b'"},
        {"it's", "'it'\\''s'"}, {"$HOME;*", "'$HOME;*'"},     {"~", "'~'"}, {"\n", "'\n'"}};
    MwArena *arena = mw_arena_new();
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwText text = {.arena = arena};
        mw_text_add_word(&text, cases[i].word);
        ck_assert_str_eq(text.at, cases[i].text);
    }
    mw_arena_free(&arena);
}
END_TEST

START_TEST(times_have_three_digits_and_their_unit)
{
    MwArena *arena = mw_arena_new();
    ck_assert_str_eq(mw_seconds_text(arena, 12.3456e-3), "12.3 ms");
    ck_assert_str_eq(mw_seconds_text(arena, 1e-11), "0.01 ns");
    ck_assert_str_eq(mw_seconds_text(arena, 1e-18), "0");
    ck_assert_str_eq(mw_duration_text(arena, 30), "30 s");
    ck_assert_str_eq(mw_duration_text(arena, 90), "1.50 min");
    ck_assert_str_eq(mw_duration_text(arena, 86400 * 45.6), "45.6 d");
    ck_assert_str_eq(mw_usd_text(arena, 0.0012345), "0.00123 USD");
    ck_assert_str_eq(mw_usd_text(arena, 12345.6), "12346 USD");
    ck_assert_str_eq(mw_seconds_difference_text(arena, -480e-9), "-480 ns");
    ck_assert_str_eq(mw_seconds_difference_text(arena, -1e-18), "+0");
    mw_arena_free(&arena);
}
END_TEST

START_TEST(diagnostics_show_line_and_caret)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwSource source = {.name = "m.graph", .text = "a = b\nh = x @ w1\n", .bytes = 16};
    mw_diag_error(diags, (MwSpan){&source, 10, 16}, "sizes %d and %d differ", 4, 5);
    mw_diag_note(diags, mw_span_none(), "transpose one");
    mw_diag_error(diags, mw_span_none(), "cannot write");
    ck_assert_str_eq(diags_text(arena, diags), "m.graph:2:5: error: sizes 4 and 5 differ\n"
                                               "    2 | h = x @ w1\n"
                                               "      |     ^~~~~~\n"
                                               "  note: transpose one\n"
                                               "meshwright: error: cannot write\n");
    ck_assert_int_eq(mw_diags_error_count(diags), 2);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(diagnostics_move_with_their_text)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwSource said = {.name = "said", .text = "c + d", .bytes = 5};
    MwSource text = {.name = "text", .text = "a = b\ne = c + d\n}\n", .bytes = 18};
    mw_diag_error(diags, (MwSpan){&text, 6, 7}, "before");
    mw_diag_error(diags, (MwSpan){&text, 14, 15}, "within");
    mw_diag_error(diags, (MwSpan){&text, 16, 17}, "after");
    mw_diag_error(diags, (MwSpan){&said, 0, 1}, "elsewhere");
    mw_diags_move(diags, (MwSpan){&text, 10, 18}, &said);
    ck_assert_str_eq(diags_text(arena, diags), "text:2:1: error: before\n"
                                               "    2 | e = c + d\n"
                                               "      | ^\n"
                                               "said:1:5: error: within\n"
                                               "    1 | c + d\n"
                                               "      |     ^\n"
                                               "said:1:6: error: after\n"
                                               "    1 | c + d\n"
                                               "      |      ^\n"
                                               "said:1:1: error: elsewhere\n"
                                               "    1 | c + d\n"
                                               "      | ^\n");
    mw_arena_free(&arena);
}
END_TEST

/* Shown with a span, of a line of `columns` times `letter`; `shown` is the line and what is under
 * it. */
static void check_long_line(const char *letter, int columns, int begin, int end, const char *shown)
{
    MwArena *arena = mw_arena_new();
    MwText line = {.arena = arena};
    mw_text_add(&line, "first\n");
    for (int i = 0; i < columns; i++)
        mw_text_add(&line, letter);
    mw_text_add(&line, "\nlast");
    MwSource source = {.name = "m", .text = line.at, .bytes = line.bytes};
    uint32_t width = (uint32_t)strlen(letter);
    MwDiags *diags = mw_diags_new(arena);
    MwSpan span = {&source, 6 + width * (uint32_t)begin, 6 + width * (uint32_t)end};
    mw_diag_error(diags, span, "e");
    ck_assert_str_eq(diags_text(arena, diags),
                     mw_arena_printf(arena, "m:2:%d: error: e\n%s", begin + 1, shown));
    mw_arena_free(&arena);
}

#define TEN(c) c c c c c c c c c c
#define SIXTY(c) TEN(c) TEN(c) TEN(c) TEN(c) TEN(c) TEN(c)
#define HUNDRED_SIXTY(c) SIXTY(c) SIXTY(c) TEN(c) TEN(c) TEN(c) TEN(c)

START_TEST(long_lines_are_cut_around_the_caret)
{
    check_long_line("x", 160, 159, 160,
                    "    2 | " HUNDRED_SIXTY("x") "\n      | " SIXTY(" ") SIXTY(" ") TEN(" ")
                        TEN(" ") TEN(" ") "         ^\n");
    check_long_line("x", 161, 2, 4, "    2 | " HUNDRED_SIXTY("x") "...\n      |   ^~\n");
    check_long_line("x", 5000, 4000, 4002,
                    "    2 | ..." HUNDRED_SIXTY("x") "...\n      |    " SIXTY(" ") "^~\n");
    check_long_line("\xc3\xb6", 5000, 4990, 4999,
                    "    2 | ..." SIXTY("\xc3\xb6")
                        TEN("\xc3\xb6") "\n      |    " SIXTY(" ") "^~~~~~~~~\n");
    check_long_line("x", 5000, 0, 5000,
                    "    2 | " HUNDRED_SIXTY("x") "...\n      | ^" SIXTY("~") SIXTY("~") TEN("~")
                        TEN("~") TEN("~") "~~~~~~~~~\n");
}
END_TEST

START_TEST(devices_are_not_read)
{
    MwArena *arena = mw_arena_new();
    size_t bytes;
    ck_assert_ptr_null(mw_file_read(arena, "/dev/zero", &bytes));
    ck_assert_int_eq(errno, ENOTSUP);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(scratch_files_go_where_the_user_says)
{
    ck_assert_int_eq(setenv("TMPDIR", "/somewhere", 1), 0);
    ck_assert_str_eq(mw_file_scratch(), "/somewhere");
    ck_assert_int_eq(setenv("TMPDIR", "", 1), 0);
    ck_assert_str_eq(mw_file_scratch(), "/tmp");
    ck_assert_int_eq(unsetenv("TMPDIR"), 0);
    ck_assert_str_eq(mw_file_scratch(), "/tmp");
}
END_TEST

START_TEST(a_failed_write_keeps_the_old_file)
{
    MwArena *arena = mw_arena_new();
    const char *folder = scratch_folder(arena), *path = mw_arena_printf(arena, "%s/f", folder);
    ck_assert(mw_file_write(path, "old", 3, 0644));
    size_t bytes = 0;
    ck_assert_str_eq(mw_file_read(arena, path, &bytes), "old");
    ck_assert_uint_eq(bytes, 3);
    ck_assert(!mw_file_write("/dev/full/x", "new", 3, 0644));
    ck_assert_ptr_null(mw_file_read(arena, folder, &bytes));
    unlink(path);
    rmdir(folder);
    mw_arena_free(&arena);
}
END_TEST

/* The names in a folder, sorted, with a space after each. */
static const char *names_in(MwArena *arena, const char *folder)
{
    struct dirent **entries;
    MwText text = {.arena = arena};
    int count = scandir(folder, &entries, NULL, alphasort);
    mw_text_add(&text, "");
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            mw_text_printf(&text, "%s ", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return text.at;
}

START_TEST(programs_are_run)
{
    static const struct {
        const char *script;
        int status;
    } cases[] = {{"exit 0", 0}, {"exit 3", 3}, {"kill -9 $$", 1}};
    MwArena *arena = mw_arena_new();
    const char *words[] = {"sh", "-c", "echo \"$0\"", "a b", NULL};
    const char *folder = scratch_folder(arena);
    const char *path = mw_arena_printf(arena, "%s/out", folder);
    size_t bytes;
    const int output = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(mw_process_run(words, output), 0);
    close(output);
    ck_assert_str_eq(mw_file_read(arena, path, &bytes), "a b\n");
    unlink(path);
    rmdir(folder);
    for (int i = 0; i < MW_COUNT(cases); i++) {
        words[2] = cases[i].script;
        ck_assert_int_eq(mw_process_run(words, -1), cases[i].status);
    }
    words[0] = "/none/sh";
    ck_assert_int_eq(mw_process_run(words, -1), -1);
    ck_assert_int_eq(errno, ENOENT);
    mw_arena_free(&arena);
}
END_TEST

START_TEST(a_new_file_appears_when_it_is_complete)
{
    MwArena *arena = mw_arena_new();
    const char *folder = scratch_folder(arena), *path = mw_arena_printf(arena, "%s/f", folder);
    size_t bytes;
    for (int i = 0; i < 3; i++) {
        MwNewFile file;
        ck_assert(mw_new_file_open(&file, path));
        ck_assert_int_eq(write(file.fd, "012" + i, 1), 1);
        ck_assert(file.temporary || strcmp(names_in(arena, folder), i ? "f " : "") == 0);
        if (i < 2)
            ck_assert(mw_new_file_keep(&file, 0640));
        else
            mw_new_file_drop(&file);
        ck_assert_str_eq(names_in(arena, folder), "f ");
        ck_assert_str_eq(mw_file_read(arena, path, &bytes), i ? "1" : "0");
    }
    struct stat info;
    ck_assert(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640);
    unlink(path);
    rmdir(folder);
    mw_arena_free(&arena);
}
END_TEST

/* As in `meshwright inspect <(...)`: longer than what a pipe holds, so that it comes in parts. */
START_TEST(a_pipe_is_read_to_its_end)
{
    enum { COUNT = 100000 };
    MwArena *arena = mw_arena_new();
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    if (fork() == 0) {
        for (int i = 0; i < COUNT; i++)
            if (write(ends[1], "0123456789" + i % 10, 1) != 1)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    size_t bytes;
    const char *text = mw_file_read(arena, mw_arena_printf(arena, "/dev/fd/%d", ends[0]), &bytes);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(bytes, COUNT);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(text[i], '0' + i % 10);
    ck_assert_int_eq(text[COUNT], '\0');
    int status;
    ck_assert(wait(&status) > 0 && status == 0);
    close(ends[0]);
    mw_arena_free(&arena);
}
END_TEST

static mode_t kind_of(const char *path)
{
    struct stat info;
    ck_assert_int_eq(lstat(path, &info), 0);
    return info.st_mode & S_IFMT;
}

START_TEST(links_and_pipes_stay_what_they_are)
{
    MwArena *arena = mw_arena_new();
    char read_back[4] = "";
    const char *folder = scratch_folder(arena);
    const char *file = mw_arena_printf(arena, "%s/file", folder);
    const char *link = mw_arena_printf(arena, "%s/link", folder);
    const char *pipe = mw_arena_printf(arena, "%s/pipe", folder);
    ck_assert(mw_file_write(file, "old", 3, 0644));
    ck_assert_int_eq(symlink(file, link), 0);
    ck_assert(mw_file_write(link, "new", 3, 0644));
    size_t bytes;
    ck_assert_str_eq(mw_file_read(arena, file, &bytes), "new");
    ck_assert_int_eq(kind_of(link), S_IFLNK);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    int fd = open(pipe, O_RDWR | O_NONBLOCK);
    ck_assert(mw_file_write(pipe, "new", 3, 0644));
    ck_assert_int_eq(kind_of(pipe), S_IFIFO);
    ck_assert_int_eq(read(fd, read_back, 3), 3);
    ck_assert_str_eq(read_back, "new");
    close(fd);
    ck_assert(!mw_file_write(folder, "new", 3, 0644));
    ck_assert_int_eq(errno, EISDIR);
    unlink(pipe);
    unlink(link);
    unlink(file);
    rmdir(folder);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tests = tcase_create("base");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, arena_memory_is_zeroed_aligned_and_stays);
    tcase_add_test(tests, arenas_within_one_go_before_it_or_with_it);
    tcase_add_test(tests, vec_keeps_its_elements_when_it_grows);
    tcase_add_test(tests, divisors_are_all_and_ascend);
    tcase_add_test(tests, interned_texts_are_equal_by_pointer);
    tcase_add_test(tests, suggestions_are_near_or_none);
    tcase_add_test(tests, doubles_print_shortest_and_read_back);
    tcase_add_test(tests, times_have_three_digits_and_their_unit);
    tcase_add_test(tests, diagnostics_show_line_and_caret);
    tcase_add_test(tests, diagnostics_move_with_their_text);
    tcase_add_test(tests, words_are_quoted_for_the_shell);
    tcase_add_test(tests, long_lines_are_cut_around_the_caret);
    tcase_add_test(tests, programs_are_run);
    tcase_add_test(tests, a_new_file_appears_when_it_is_complete);
    tcase_add_test(tests, devices_are_not_read);
    tcase_add_test(tests, scratch_files_go_where_the_user_says);
    tcase_add_test(tests, a_failed_write_keeps_the_old_file);
    tcase_add_test(tests, links_and_pipes_stay_what_they_are);
    tcase_add_test(tests, a_pipe_is_read_to_its_end);
    return run_suite(suite);
}
