/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feeds of rows: files of tokens of every kind, several files, shuffled, in mixtures; the same at
 * every parallelism. */
#include "runtime/data/tokens.h"
#include "tests/unit/feeds.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

/* Tokens 0, 1, ... of so many bits each, as they stand in a file. */
static unsigned char *tokens_of(int bits, int count, int first)
{
    unsigned char *data = MW_NEW(arena, unsigned char, count *(bits / 8) + 1);
    for (int i = 0; i < count; i++)
        for (int b = 0; b < bits / 8; b++)
            data[i * (bits / 8) + b] = (unsigned char)((unsigned)(first + i) >> 8 * b);
    return data;
}

static const char *raw_with(const char *name, int bits, int count, int first)
{
    return file_with(name, tokens_of(bits, count, first), (size_t)(count * (bits / 8)));
}

static const char *headed_with(const char *name, int bits, int64_t promised, int count)
{
    const size_t bytes = (size_t)count * (size_t)(bits / 8);
    unsigned char *data = mw_arena_alloc(arena, MW_TOKENS_HEADER_BYTES + bytes);
    mw_tokens_header(bits, promised, data);
    memcpy(data + MW_TOKENS_HEADER_BYTES, tokens_of(bits, count, 0), bytes);
    return file_with(name, data, MW_TOKENS_HEADER_BYTES + bytes);
}

enum { COUNT = 2 * BATCH * LENGTH + 3 };

/* "tokens:FILE" for a file of tokens 0, 1, ... of each kind. */
static const char *feed_of_kind(int kind)
{
    const MwTensor flat = {MW_I64, 1, {COUNT}};
    int64_t numbers[COUNT];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    switch (kind) {
    case 0:
        return mw_arena_printf(arena, "tokens:%s", headed_with("a.data", 16, COUNT, COUNT));
    case 1:
        return mw_arena_printf(arena, "tokens:%s", headed_with("a.data", 32, COUNT, COUNT + 1));
    case 2:
        return mw_arena_printf(arena, "tokens:%s", raw_with("a.bin", 16, COUNT, 0));
    case 3:
        return mw_arena_printf(arena, "tokens:%s", raw_with("a.u32", 32, COUNT, 0));
    case 4:
        return mw_arena_printf(arena, "tokens16:%s", raw_with("a", 16, COUNT, 0));
    case 5:
        return mw_arena_printf(arena, "tokens32:%s", raw_with("a.bin", 32, COUNT, 0));
    default:
        return mw_arena_printf(arena, "tokens:%s", npy_with("a.npy", &flat, numbers));
    }
}

enum { KINDS = 7 };

/* Rows follow one another, the first after the last of 2 batches; targets are one further. */
START_TEST(tokens_of_every_kind_are_the_same)
{
    const MwPlanMesh *mesh = mesh_of_one();
    MwFeeds *feeds = opened(mesh, feed_of_kind(_i), "random");
    ck_assert_int_eq(mw_feeds_rows(feeds), 2 * BATCH);
    for (int64_t step = 1; step <= 3; step++) {
        int32_t tokens[BATCH * LENGTH], targets[BATCH * LENGTH];
        whole_batch(feeds, mesh, 0, step, 1, tokens);
        whole_batch(feeds, mesh, 1, step, 1, targets);
        for (int i = 0; i < BATCH * LENGTH; i++) {
            ck_assert_int_eq(tokens[i], (int)((step - 1) % 2) * BATCH * LENGTH + i);
            ck_assert_int_eq(targets[i], tokens[i] + 1);
        }
    }
    mw_feeds_close(&feeds);
}
END_TEST

/* A file for each of two inputs, with the one after the token in neither or one. */
START_TEST(tokens_go_into_inputs_by_name)
{
    const MwPlanMesh *mesh = mesh_of_one();
    const char *path = raw_with("a.bin", 16, BATCH * LENGTH, 0);
    int32_t tokens[BATCH * LENGTH], targets[BATCH * LENGTH];
    MwFeeds *feeds =
        opened(mesh, mw_arena_printf(arena, "tokens:targets=%s,tokens=%s", path, path), "random");
    whole_batch(feeds, mesh, 0, 1, 1, tokens);
    whole_batch(feeds, mesh, 1, 1, 1, targets);
    ck_assert_mem_eq(tokens, targets, sizeof tokens);
    ck_assert_int_eq(tokens[BATCH * LENGTH - 1], BATCH * LENGTH - 1);
    mw_feeds_close(&feeds);
    path = raw_with("b.bin", 16, BATCH * LENGTH + 1, 0);
    feeds =
        opened(mesh, mw_arena_printf(arena, "tokens:tokens+1=%s,targets=%s", path, path), "random");
    whole_batch(feeds, mesh, 0, 1, 1, tokens);
    whole_batch(feeds, mesh, 1, 1, 1, targets);
    ck_assert_int_eq(tokens[0], 1);
    ck_assert_int_eq(targets[0], 0);
    mw_feeds_close(&feeds);
}
END_TEST

/* What of the rows of the data is taken in the steps: how often each row number is, by the first
 * token of the row. */
static void count_rows(const MwFeeds *feeds, const MwPlanMesh *mesh, int steps, int *taken)
{
    for (int64_t step = 1; step <= steps; step++) {
        int32_t tokens[BATCH * LENGTH], targets[BATCH * LENGTH];
        whole_batch(feeds, mesh, 0, step, 1, tokens);
        whole_batch(feeds, mesh, 1, step, 1, targets);
        for (int i = 0; i < BATCH * LENGTH; i++) {
            ck_assert_int_eq(targets[i], tokens[i] + 1);
            ck_assert(i % LENGTH == 0 || tokens[i] == tokens[i - 1] + 1);
        }
        for (int row = 0; row < BATCH; row++)
            taken[tokens[row * LENGTH] / LENGTH]++;
    }
}

static MwFeeds *shuffled(const MwPlanMesh *mesh, const char *text)
{
    MwFault fault = {0};
    const char *texts[] = {text, "random"};
    MwFeeds *feeds = tried_feeds(mesh, texts, 2, true, &fault);
    ck_assert_msg(feeds, "%s", fault.text);
    return feeds;
}

/* Three files of 3, 4 and 17 rows of tokens, numbered through; by name or by pattern. */
START_TEST(several_files_are_one_data_set)
{
    MwPlanMesh *mesh = mesh_of_one();
    const int rows[] = {3, 4, 17};
    int taken[24] = {0}, first = 0;
    for (int i = 0; i < 3; first += rows[i++] * LENGTH)
        raw_with(mw_arena_printf(arena, "part%d.bin", i), 16, rows[i] * LENGTH + 1, first);
    const char *text = _i ? mw_arena_printf(arena, "tokens:%s/part*.bin", folder)
                          : mw_arena_printf(arena, "tokens:%s/part0.bin,%s/part1.bin,%s/part2.bin",
                                            folder, folder, folder);
    MwFeeds *feeds = opened(mesh, text, "random"), *other = shuffled(mesh, text);
    int32_t tokens[BATCH * LENGTH], drawn[BATCH * LENGTH];
    whole_batch(feeds, mesh, 0, 1, 1, tokens);
    for (int i = 0; i < BATCH * LENGTH; i++)
        ck_assert_int_eq(tokens[i], i);
    whole_batch(other, mesh, 0, 1, 1, drawn);
    ck_assert_mem_ne(tokens, drawn, sizeof drawn);
    count_rows(other, mesh, 3, taken);
    for (int row = 0; row < 24; row++)
        ck_assert_int_eq(taken[row], 1);
    mw_feeds_close(&feeds);
    mw_feeds_close(&other);
}
END_TEST

START_TEST(a_mixture_is_by_weight)
{
    MwPlanMesh *mesh = mesh_of_one();
    mesh->inputs[0].bound_count = mesh->inputs[1].bound_count = 0;
    const char *a = raw_with("a.bin", 16, 20 * LENGTH + 1, 0),
               *b = raw_with("b.bin", 16, 10 * LENGTH + 1, 20 * LENGTH);
    MwFeeds *feeds = opened(mesh, mw_arena_printf(arena, "tokens:%s*0.75,%s*.25", a, b), "random");
    int taken[30] = {0}, of_a = 0;
    count_rows(feeds, mesh, 500, taken);
    for (int row = 0; row < 20; row++)
        of_a += taken[row];
    ck_assert(of_a > 2900 && of_a < 3100);
    mw_feeds_close(&feeds);
}
END_TEST

static const struct {
    MwMeshShape shape;
    const char *spec;
    int micros;
} splits[] = {
    {{1, {2}}, "[S0, R]", 1},     {{1, {2}}, "[R, S0]", 2},    {{2, {2, 2}}, "[S01, R]", 2},
    {{2, {2, 2}}, "[S0, S1]", 4}, {{2, {4, 2}}, "[S1, R]", 1}, {{2, {2, 2}}, "[S1, S0]", 2},
};

/* Shuffled and mixed, with rows of an array beside tokens. */
START_TEST(rows_are_the_same_at_every_parallelism)
{
    const MwPlanMesh *one = mesh_of_one();
    const MwPlanMesh *many = mesh_with(splits[_i].shape, spec_of(splits[_i].spec));
    const MwTensor tensor = {MW_F32, 2, {20, WIDTH}};
    float rows[20 * WIDTH];
    for (int i = 0; i < MW_COUNT(rows); i++)
        rows[i] = (float)i;
    const char *a = raw_with("a.bin", 16, 11 * LENGTH + 1, 0),
               *b = raw_with("b.bin", 16, 9 * LENGTH + 1, 100);
    const char *texts[] = {mw_arena_printf(arena, "tokens:%s,%s", a, b),
                           mw_arena_printf(arena, "npy:x=%s", npy_with("x.npy", &tensor, rows)),
                           mw_arena_printf(arena, "tokens:%s*2,%s*1", a, b), "random:x=5"};
    for (int mixed = 0; mixed < 2; mixed++) {
        MwFault fault = {0};
        const char *with_random[] = {texts[2 * mixed], mixed ? "random" : texts[1]};
        MwFeeds *feeds_one = tried_feeds(one, with_random, 2, true, &fault);
        MwFeeds *feeds_many = tried_feeds(many, with_random, 2, true, &fault);
        ck_assert_msg(feeds_one && feeds_many, "%s", fault.text);
        for (int64_t step = 1; step <= 7; step++) {
            for (int input = 0; input < 3; input++) {
                int32_t expected[BATCH * LENGTH] = {0}, found[BATCH * LENGTH] = {0};
                whole_batch(feeds_one, one, input, step, 1, expected);
                whole_batch(feeds_many, many, input, step, splits[_i].micros, found);
                ck_assert_mem_eq(found, expected, sizeof found);
            }
        }
        mw_feeds_close(&feeds_one);
        mw_feeds_close(&feeds_many);
    }
}
END_TEST

/* Row i of x is the number of row i of the tokens, in whatever order they come. */
START_TEST(rows_stay_together)
{
    const MwPlanMesh *mesh = mesh_of_one();
    const MwTensor tensor = {MW_F32, 2, {20, WIDTH}};
    float rows[20 * WIDTH];
    for (int i = 0; i < MW_COUNT(rows); i++)
        rows[i] = (float)(i / WIDTH);
    MwFault fault = {0};
    const char *texts[] = {
        mw_arena_printf(arena, "tokens:%s", raw_with("a.bin", 16, 20 * LENGTH + 1, 0)),
        mw_arena_printf(arena, "npy:x=%s", npy_with("x.npy", &tensor, rows))};
    MwFeeds *feeds = tried_feeds(mesh, texts, 2, true, &fault);
    ck_assert_msg(feeds, "%s", fault.text);
    for (int64_t step = 1; step <= 6; step++) {
        int32_t tokens[BATCH * LENGTH], bits[BATCH * LENGTH];
        float x[BATCH * WIDTH];
        whole_batch(feeds, mesh, 0, step, 1, tokens);
        whole_batch(feeds, mesh, 2, step, 1, bits);
        memcpy(x, bits, sizeof x);
        for (int row = 0; row < BATCH; row++)
            ck_assert_int_eq((int)x[row * WIDTH + 1], tokens[row * LENGTH] / LENGTH);
    }
    mw_feeds_close(&feeds);
}
END_TEST

/* Whole feeds that cannot be: A has 8 rows of tokens and one more, B 7, X 8 rows of x, Y 9; H is a
 * file with a header that promises too much, V one of another version. */
static const struct {
    const char *feed, *message;
} wrong[] = {
    {"tokens:B.bin", "B.bin has 7 rows of 6 tokens; the input needs at least one batch of them"},
    {"tokens:A.txt", "does not say how wide its tokens are"},
    {"tokens16:O.bin", "O.bin has 99 bytes, which is no whole number of tokens of 16 bits"},
    {"tokens:H.bin", "is cut off: its header promises 100 tokens of 16 bits, it holds 49"},
    {"tokens:V.bin", "of version 9, where 1 is known"},
    {"tokens:X.npy", "X.npy holds float32[8, 4]; tokens are integers in one dimension"},
    {"tokens:x=A.bin", "tokens feed an input i32[batch, length], or of i64; this one is f32[8, 4]"},
    {"tokens:taken=A.bin", "the model has no input 'taken'; did you mean 'tokens'?"},
    {"tokens:N*.bin", "no file matches"},
    {"tokens:A.bin*0,B.bin*1", "A.bin*0; a weight (FILE*WEIGHT) is above 0"},
    {"tokens:A.bin*0.5,B.bin", "either all files of an input have a weight"},
    {"tokens:A.bin*0.5,E.bin*1", "E.bin has no rows, and a weight of its own"},
    {"tokens:", "it names no file"},
    {"tokens:targets=A.bin",
     "no data for the input tokens: i32[8, 6]. Give --feed tokens:tokens=FOLDER/A.bin, npy:"},
    {"npy:x+1=X.npy", "x+1 is for tokens: alone"},
    {"npy:x=Y.npy,tokens=T.npy", "T.npy has 8 rows for the input tokens, and "},
    {"npy:x=X.npy,T.npy", "T.npy holds int32[8, 6]; the input f32[8, 4] needs rows of its shape"},
};

START_TEST(a_wrong_feed_is_named)
{
    const MwPlanMesh *mesh = mesh_of_one();
    const MwTensor eight = {MW_F32, 2, {8, WIDTH}}, nine = {MW_F32, 2, {9, WIDTH}};
    const MwTensor rows = {MW_I32, 2, {8, LENGTH}};
    static const float zeros[9 * WIDTH];
    static const int32_t tokens[8 * LENGTH];
    raw_with("A.bin", 16, 8 * LENGTH + 1, 0);
    raw_with("A.txt", 16, 8 * LENGTH + 1, 0);
    raw_with("B.bin", 16, 8 * LENGTH, 0);
    raw_with("E.bin", 16, 1, 0);
    file_with("O.bin", zeros, 99);
    headed_with("H.bin", 16, 100, 49);
    const char *versioned = headed_with("V.bin", 16, 49, 49);
    FILE *file = fopen(versioned, "r+b");
    ck_assert(file && fseek(file, 4, SEEK_SET) == 0 && fputc(9, file) == 9 && fclose(file) == 0);
    npy_with("X.npy", &eight, zeros);
    npy_with("Y.npy", &nine, zeros);
    npy_with("T.npy", &rows, tokens);
    char *text = mw_arena_alloc(arena, 1000), *to = text;
    for (const char *at = wrong[_i].feed; *at; at++) { /* files are in the folder */
        if (*at >= 'A' && *at <= 'Z')
            to += sprintf(to, "%s/", folder);
        *to++ = *at;
    }
    *to = '\0';
    const char *texts[] = {text, "random:x=5"}, *message = wrong[_i].message;
    const char *hole = strstr(message, "FOLDER");
    if (hole)
        message = mw_arena_printf(arena, "%.*s%s%s", (int)(hole - message), message, folder,
                                  hole + strlen("FOLDER"));
    MwFault fault = {0};
    ck_assert_ptr_null(tried_feeds(mesh, texts, 2, false, &fault));
    ck_assert_msg(strstr(fault.text, message), "%s gives: %s", text, fault.text);
}
END_TEST

/* Token 300 is in the second row of the second file; as i32 there is no 2^31 + 5. */
START_TEST(wrong_tokens_are_found_in_their_file)
{
    const MwPlanMesh *mesh = mesh_of_one();
    unsigned char *data = tokens_of(32, 6 * LENGTH + 1, 0);
    const uint32_t value = _i ? 0x80000005u : 300;
    const char *first = raw_with("a.u32", 32, 3 * LENGTH + 1, 0);
    memcpy(data + 4 * (LENGTH + 2), &value, sizeof value);
    const char *second = file_with("b.u32", data, 4 * (6 * LENGTH + 1));
    const char *text = mw_arena_printf(arena, "tokens:%s,%s", first, second);
    MwFeeds *feeds = opened(mesh, text, "random");
    const MwBox box = mw_shard_box(&mesh->inputs[0].global, mesh->inputs[0].spec, &mesh->shape,
                                   (const int[MW_MAX_AXES]){0});
    int32_t to[BATCH * LENGTH];
    MwFault fault = {0};
    ck_assert(!mw_feeds_input(feeds, 0, 1, &box, to, &fault));
    ck_assert_str_eq(fault.text,
                     _i ? mw_arena_printf(arena,
                                          "step 1: input tokens: token 8 of %s: the data holds "
                                          "2147483653, which i32 cannot represent",
                                          second)
                        : mw_arena_printf(arena,
                                          "step 1: input tokens: the data holds 300 (token 8 of "
                                          "%s); the model takes 0 to 255",
                                          second));
    mw_feeds_close(&feeds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    TCase *tests = tcase_create("rows");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, feeds_setup, feeds_teardown);
    tcase_add_loop_test(tests, tokens_of_every_kind_are_the_same, 0, KINDS);
    tcase_add_test(tests, tokens_go_into_inputs_by_name);
    tcase_add_loop_test(tests, several_files_are_one_data_set, 0, 2);
    tcase_add_test(tests, a_mixture_is_by_weight);
    tcase_add_loop_test(tests, rows_are_the_same_at_every_parallelism, 0, MW_COUNT(splits));
    tcase_add_test(tests, rows_stay_together);
    tcase_add_loop_test(tests, a_wrong_feed_is_named, 0, MW_COUNT(wrong));
    tcase_add_loop_test(tests, wrong_tokens_are_found_in_their_file, 0, 2);
    return run_suite(suite);
}
