/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What feeds give, that it is the same at every parallelism, and what they say of bad files. */
#include "base/element.h"
#include "base/hash.h"
#include "base/philox.h"
#include "runtime/data/npy.h"
#include "runtime/exec/weights.h"
#include "runtime/feed/feed.h"
#include "tests/unit/feeds.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKENS = 1000 };

static const char *text_file(void)
{
    unsigned char text[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        text[i] = (unsigned char)(i % 251);
    return mw_arena_printf(arena, "lm:%s", file_with("text", text, sizeof text));
}

START_TEST(text_gives_windows_and_what_follows)
{
    const MwPlanMesh *mesh = mesh_of_one();
    MwFeeds *feeds = opened(mesh, text_file(), "random");
    int32_t tokens[2][BATCH * LENGTH], targets[BATCH * LENGTH];
    for (int64_t step = 1; step <= 2; step++) {
        whole_batch(feeds, mesh, 0, step, 1, tokens[step - 1]);
        whole_batch(feeds, mesh, 1, step, 1, targets);
        for (int i = 0; i < BATCH * LENGTH; i++) {
            ck_assert_int_eq(targets[i], (tokens[step - 1][i] + 1) % 251);
            if (i % LENGTH != LENGTH - 1)
                ck_assert_int_eq(tokens[step - 1][i + 1], targets[i]);
        }
    }
    ck_assert_mem_ne(tokens[0], tokens[1], sizeof tokens[0]);
    mw_feeds_close(&feeds);
}
END_TEST

START_TEST(wide_tokens_are_little_endian)
{
    unsigned char text[2 * (LENGTH + 1)];
    for (int i = 0; i <= LENGTH; i++) {
        text[2 * i] = (unsigned char)i;
        text[2 * i + 1] = 0;
    }
    const char *feed = mw_arena_printf(arena, "lm16:%s", file_with("wide", text, sizeof text));
    const MwPlanMesh *mesh = mesh_of_one();
    MwFeeds *feeds = opened(mesh, feed, "random");
    int32_t tokens[BATCH * LENGTH];
    whole_batch(feeds, mesh, 0, 1, 1, tokens);
    for (int i = 0; i < BATCH * LENGTH; i++)
        ck_assert_int_eq(tokens[i], i % LENGTH);
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

START_TEST(data_is_the_same_at_every_parallelism)
{
    const MwPlanMesh *one = mesh_of_one();
    const MwPlanMesh *many = mesh_with(splits[_i].shape, spec_of(splits[_i].spec));
    float rows[3 * BATCH * WIDTH];
    for (int i = 0; i < MW_COUNT(rows); i++)
        rows[i] = (float)i;
    const MwTensor tensor = mw_tensor(MW_F32, 2, (int64_t[]){3 * BATCH, WIDTH});
    const char *npy = mw_arena_printf(arena, "npy:x=%s", npy_with("x.npy", &tensor, rows));
    const char *second = _i % 2 ? npy : "random", *first = text_file();
    MwFeeds *feeds_one = opened(one, first, second), *feeds_many = opened(many, first, second);
    for (int64_t step = 1; step <= 5; step++) {
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
END_TEST

START_TEST(arrays_give_batch_after_batch)
{
    const MwPlanMesh *mesh = mesh_of_one();
    double rows[(BATCH + 4) * WIDTH];
    for (int i = 0; i < MW_COUNT(rows); i++)
        rows[i] = i + 0.5;
    /* float64, as NumPy saves it by default */
    char file[128 + sizeof rows] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': "
                                   "False, 'shape': (12, 4), }";
    memcpy(file + 128, rows, sizeof rows);
    const char *npy = mw_arena_printf(arena, "npy:x=%s", file_with("x.npy", file, sizeof file));
    MwFeeds *feeds = opened(mesh, npy, "random");
    for (int64_t step = 1; step <= 4; step++) {
        int32_t bits[BATCH * LENGTH];
        float found[BATCH * WIDTH];
        whole_batch(feeds, mesh, 2, step, 1, bits);
        memcpy(found, bits, sizeof found);
        for (int i = 0; i < BATCH * WIDTH; i++)
            ck_assert(found[i] == rows[((step - 1) * BATCH * WIDTH + i) % MW_COUNT(rows)]);
    }
    mw_feeds_close(&feeds);
}
END_TEST

/* Of an input that is no part of the batch a row of the file is all of it. */
START_TEST(a_row_is_all_of_a_whole_input)
{
    const MwPlanMesh *mesh = mesh_with((MwMeshShape){1, {1}}, (MwSpec){0});
    MwPlanInput *table = &mesh->inputs[2];
    const int32_t rows[] = {1, 2, 3, 4, 5, 6};
    const MwTensor file = mw_tensor(MW_I32, 3, (int64_t[]){2, 3, 1});
    table->global = mw_tensor(MW_I32, 2, (int64_t[]){3, 1});
    table->whole = true;
    const char *npy = mw_arena_printf(arena, "npy:x=%s", npy_with("t.npy", &file, rows));
    MwFeeds *feeds = opened(mesh, npy, "random");
    for (int64_t step = 1; step <= 3; step++) {
        int32_t found[3];
        whole_batch(feeds, mesh, 2, step, 1, found);
        ck_assert_mem_eq(found, rows + 3 * ((step - 1) % 2), sizeof found);
    }
    mw_feeds_close(&feeds);
}
END_TEST

START_TEST(names_of_files_may_have_commas)
{
    const MwPlanMesh *mesh = mesh_of_one();
    const MwTensor tokens = mesh->inputs[0].global, x = mesh->inputs[2].global;
    int32_t ones[BATCH * LENGTH], found[BATCH * LENGTH];
    float zeros[BATCH * WIDTH] = {0};
    for (int i = 0; i < MW_COUNT(ones); i++)
        ones[i] = 1;
    npy_with("1,a\\b.npy", &tokens, ones);
    npy_with("2.npy", &x, zeros);
    const char *npy =
        mw_arena_printf(arena, "npy:tokens=%s/1\\,a\\b.npy,,x=%s/2.npy,", folder, folder);
    MwFeeds *feeds = opened(mesh, npy, "random");
    whole_batch(feeds, mesh, 0, 1, 1, found);
    ck_assert_mem_eq(found, ones, sizeof found);
    mw_feeds_close(&feeds);
}
END_TEST

START_TEST(random_integers_are_below_their_bound)
{
    const MwPlanMesh *mesh = mesh_of_one();
    MwFeeds *feeds = opened(mesh, "random:tokens=3", "random");
    int seen[3] = {0};
    for (int64_t step = 1; step <= 10; step++) {
        int32_t tokens[BATCH * LENGTH];
        whole_batch(feeds, mesh, 0, step, 1, tokens);
        for (int i = 0; i < BATCH * LENGTH; i++) {
            ck_assert(tokens[i] >= 0 && tokens[i] < 3);
            seen[tokens[i]]++;
        }
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_gt(seen[i], 100);
    mw_feeds_close(&feeds);
}
END_TEST

START_TEST(random_integers_of_8_bits_are_all_from_0_on)
{
    MwPlanMesh *mesh = mesh_of_one();
    mesh->inputs[0].global.type = _i ? MW_I8 : MW_U8;
    mesh->inputs[0].bound_count = 0;
    MwFeeds *feeds = opened(mesh, "random", "random");
    int most = 0;
    for (int64_t step = 1; step <= 20; step++) {
        const int coordinate[MW_MAX_AXES] = {0};
        const MwPlanInput *in = &mesh->inputs[0];
        const MwBox box =
            mw_shard_box_of_micro_batch(&in->global, in->spec, &mesh->shape, coordinate, 0, 1);
        uint8_t images[BATCH * LENGTH];
        MwFault fault;
        ck_assert(mw_feeds_input(feeds, 0, step, &box, images, &fault));
        for (int i = 0; i < BATCH * LENGTH; i++)
            most = images[i] > most ? images[i] : most;
    }
    ck_assert_int_eq(most > 120, 1);
    ck_assert_int_eq(most > 127, !_i);
    mw_feeds_close(&feeds);
}
END_TEST

/* Asks for the whole first input, to be told `message`. */
static void refuses_to_give(MwFeeds *feeds, const MwPlanMesh *mesh, const char *message)
{
    const int origin[MW_MAX_AXES] = {0};
    const MwBox box =
        mw_shard_box(&mesh->inputs[0].global, mesh->inputs[0].spec, &mesh->shape, origin);
    int32_t to[BATCH * LENGTH];
    MwFault fault = {0};
    ck_assert(!mw_feeds_input(feeds, 0, 1, &box, to, &fault));
    ck_assert_str_eq(fault.text, message);
    mw_feeds_close(&feeds);
}

START_TEST(integers_outside_the_model_are_refused)
{
    int32_t rows[BATCH * LENGTH] = {[13] = 256};
    const MwTensor tensor = mw_tensor(MW_I32, 2, (int64_t[]){BATCH, LENGTH});
    const MwPlanMesh *mesh = mesh_of_one();
    const char *npy = mw_arena_printf(arena, "npy:tokens=%s", npy_with("t.npy", &tensor, rows));
    refuses_to_give(opened(mesh, npy, "random"), mesh,
                    mw_arena_printf(arena,
                                    "step 1: input tokens: the data holds 256 (row 2 of %s/t.npy); "
                                    "the model takes 0 to 255",
                                    folder));
}
END_TEST

/* The input is split among four devices; the bounds are of its rows 2 and 3, and its columns 4 and
 * 5: what lies elsewhere may be anything. */
START_TEST(bounds_are_of_parts_of_an_input)
{
    static const struct {
        int row, column, value;
        const char *refused; /* NULL: it is not */
    } cases[] = {
        {2, 1, 7, "the model takes 0 to 6"},
        {3, 4, 7, "the model takes 0 to 6"},
        {5, 4, 9, "the model takes 0 to 8"},
        {7, 5, -1, "the model takes 0 to 8"},
        {2, 1, 6, NULL},
        {1, 1, 1000, NULL},
        {4, 3, -5, NULL},
        {7, 4, 8, NULL},
    };
    const MwTensor tensor = mw_tensor(MW_I32, 2, (int64_t[]){BATCH, LENGTH});
    MwPlanMesh *mesh = mesh_with((MwMeshShape){2, {2, 2}}, spec_of("[S0, S1]"));
    MwPlanBound bounds[] = {{0, 2, 4, 7}, {1, 4, 6, 9}};
    mesh->inputs[0].bounds = bounds;
    mesh->inputs[0].bound_count = MW_COUNT(bounds);
    for (int c = 0; c < MW_COUNT(cases); c++) {
        int32_t rows[BATCH * LENGTH] = {0};
        rows[cases[c].row * LENGTH + cases[c].column] = cases[c].value;
        MwFeeds *feeds =
            opened(mesh, mw_arena_printf(arena, "npy:tokens=%s", npy_with("t.npy", &tensor, rows)),
                   "random");
        MwFault fault = {0};
        bool is_taken = true;
        for (int device = 0; device < 4; device++) {
            const int at[MW_MAX_AXES] = {device / 2, device % 2};
            const MwBox box =
                mw_shard_box(&mesh->inputs[0].global, mesh->inputs[0].spec, &mesh->shape, at);
            int32_t to[BATCH * LENGTH];
            is_taken = is_taken && mw_feeds_input(feeds, 0, 1, &box, to, &fault);
        }
        ck_assert_msg(is_taken == !cases[c].refused, "case %d", c);
        if (cases[c].refused)
            ck_assert_str_eq(
                fault.text,
                mw_arena_printf(arena,
                                "step 1: input tokens: the data holds %d (row %d of %s/t.npy); %s",
                                cases[c].value, cases[c].row, folder, cases[c].refused));
        mw_feeds_close(&feeds);
    }
}
END_TEST

START_TEST(integers_that_are_too_large_are_refused)
{
    const int64_t rows[BATCH * LENGTH] = {[13] = INT64_C(1) << 40};
    char file[128 + sizeof rows] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<i8', 'fortran_order': "
                                   "False, 'shape': (8, 6), }";
    memcpy(file + 128, rows, sizeof rows);
    MwPlanMesh *mesh = mesh_of_one();
    mesh->inputs[0].bound_count = 0; /* as of integers that name no rows */
    const char *npy = mw_arena_printf(arena, "npy:tokens=%s", file_with("t", file, sizeof file));
    refuses_to_give(opened(mesh, npy, "random"), mesh,
                    mw_arena_printf(arena,
                                    "step 1: input tokens: row 2 of %s/t: the data holds "
                                    "1099511627776, which i32 cannot represent",
                                    folder));
}
END_TEST

START_TEST(a_file_that_becomes_shorter_is_named)
{
    const MwPlanMesh *mesh = mesh_of_one();
    MwFeeds *feeds = opened(mesh, text_file(), "random");
    const char *path = mw_arena_printf(arena, "%s/text", folder);
    int32_t tokens[BATCH * LENGTH];
    whole_batch(feeds, mesh, 0, 1, 1, tokens);
    ck_assert_int_eq(truncate(path, 5), 0);
    refuses_to_give(feeds, mesh,
                    mw_arena_printf(arena,
                                    "step 1: input tokens: %s has become shorter than 1000 bytes, "
                                    "its size when it was opened",
                                    path));
}
END_TEST

/* Feeds that cannot be, with FILE for a file of the given bytes, and what must be said. */
static const struct {
    const char *feed, *contents, *message;
} wrong[] = {
    {"lm:/nowhere", "", "cannot read /nowhere: No such file"},
    {"lm:/", "", "cannot read /: Is a directory"},
    {"lm:/dev/zero", "", "cannot read /dev/zero: it is not a regular file"},
    {"lm:FILE", "", "the file has 0 tokens; a row needs 6 and the token after them"},
    {"lm:FILE", "abcdef", "the file has 6 tokens; a row needs 6 and the token after them"},
    {"lm16:FILE", "abcdefghijklm", "the file has 6 tokens"},
    {"npy:x=FILE", "hello", "this is not a .npy file"},
    {"npy:x=FILE", "\x93NUMPY\x01-----------", "this is not a .npy file"},
    {"npy:y=FILE", "", "the model has no input 'y'"},
    {"npy:x", "", "'x' should be NAME=FILE"},
    {"random:tokens=0", "", "is not a whole number from 1"},
    {"random:tokens=3x", "", "is not a whole number from 1"},
    {"npx:x=FILE", "", "a feed is lm:FILE"},
    {"lm:FILE", "abcdefghijkl", "no data for the input x: f32[8, 4]"},
};

START_TEST(a_wrong_feed_is_named)
{
    const MwPlanMesh *mesh = mesh_of_one();
    const char *path = file_with("data", wrong[_i].contents, strlen(wrong[_i].contents));
    const char *hole = strstr(wrong[_i].feed, "FILE");
    const char *feed =
        hole ? mw_arena_printf(arena, "%.*s%s", (int)(hole - wrong[_i].feed), wrong[_i].feed, path)
             : wrong[_i].feed;
    MwFault fault = {0};
    ck_assert_ptr_null(tried_feeds(mesh, &feed, 1, false, &fault));
    ck_assert_msg(strstr(fault.text, wrong[_i].message), "%s gives: %s", wrong[_i].feed,
                  fault.text);
}
END_TEST

/* Headers of .npy files that promise more or other than is there. */
static const struct {
    const char *header, *message;
} headers[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (8, 4), }",
     "it is cut off: its shape needs"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }", "x.npy holds float32[0, 4]"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "x.npy holds float32[2]"},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
     "its element type is not a little-endian float"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }",
     "its element type is not a little-endian float"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", "it is in Fortran order"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
     "its shape is too large for any file"},
    {"{'descr': '<f4', 'fortran_order': False, }", "its header has no shape"},
};

START_TEST(a_wrong_array_is_named)
{
    const MwPlanMesh *mesh = mesh_of_one();
    size_t length = strlen(headers[_i].header);
    char *file = mw_arena_alloc(arena, 10 + length + 8);
    memcpy(file, "\x93NUMPY\x01", 8);
    file[8] = (char)length;
    memcpy(file + 10, headers[_i].header, length);
    const char *feed =
        mw_arena_printf(arena, "npy:x=%s", file_with("x.npy", file, 10 + length + 8));
    MwFault fault = {0};
    ck_assert_ptr_null(tried_feeds(mesh, &feed, 1, false, &fault));
    ck_assert_msg(strstr(fault.text, headers[_i].message), "%s", fault.text);
}
END_TEST

/* An element of an array: its type, its bits, the type of the input, the element there or none. */
static const struct {
    MwFileType from;
    uint64_t bits;
    MwType type;
    const char *message; /* NULL: it becomes `element` */
    double element;
} conversions[] = {
    {{'i', 8}, 1ull << 40, MW_I64, NULL, 0x1p40},
    {{'i', 8}, 1ull << 31, MW_I32, "2147483648, which i32 cannot represent"},
    {{'i', 8}, (uint64_t)-7, MW_I32, NULL, -7},
    {{'u', 8}, 1ull << 63, MW_I64, "9223372036854775808, which i64 cannot represent"},
    {{'i', 8}, (uint64_t)-1, MW_U8, "-1, which u8 cannot represent"},
    {{'i', 4}, 256, MW_U8, "256, which u8 cannot represent"},
    {{'u', 1}, 255, MW_U8, NULL, 255},
    {{'u', 1}, 128, MW_I8, "128, which i8 cannot represent"},
    {{'i', 1}, 0x80, MW_I8, NULL, -128},
    {{'u', 1}, 200, MW_I64, NULL, 200},
    {{'u', 1}, 200, MW_F32, NULL, 200},
    {{'u', 2}, 2049, MW_F16, NULL, 2048},
    {{'i', 8}, 1 << 20, MW_F16, NULL, INFINITY},
    {{'f', 2}, 0x7bff, MW_F16, NULL, 65504},
    {{'f', 2}, 0x8001, MW_F32, NULL, -0x1p-24},
    {{'f', 8}, 0x3ff0020000000000, MW_F16, NULL, 1}, /* a tie: 1 + 2^-11 */
    {{'b', 1}, 1, MW_U8, NULL, 1},
};

START_TEST(elements_become_those_of_the_input)
{
    const MwNpy npy = {.type = conversions[_i].from};
    const MwType type = conversions[_i].type;
    int64_t to[1];
    MwFault fault = {0};
    ck_assert(mw_npy_fits(&npy, type));
    const bool good =
        mw_npy_convert(&npy, (const char *)&conversions[_i].bits, 1, type, to, &fault);
    ck_assert(good == !conversions[_i].message);
    if (good)
        ck_assert(mw_element_get(type, to, 0) == conversions[_i].element);
    else
        ck_assert_msg(strstr(fault.text, conversions[_i].message), "%s", fault.text);
}
END_TEST

/* 2^53 + 1, which no double is. */
START_TEST(integers_of_64_bits_stay_exact)
{
    const int64_t from = (1ll << 53) + 1;
    const MwNpy npy = {.type = {'i', 8}};
    int64_t to[1];
    MwFault fault = {0};
    ck_assert(mw_npy_convert(&npy, (const char *)&from, 1, MW_I64, to, &fault));
    ck_assert_int_eq(to[0], from);
}
END_TEST

START_TEST(arrays_are_written_as_they_are_read)
{
    static const MwTensor tensors[] = {{MW_F32, 0, {0}},
                                       {MW_F32, 1, {3}},
                                       {MW_I32, 2, {2, 5}},
                                       {MW_BF16, 3, {1, 2, 3}},
                                       {MW_BOOL, 8, {1, 2, 1, 2, 1, 2, 1, 2}},
                                       {MW_I64, 2, {2, 3}},
                                       {MW_I8, 1, {5}},
                                       {MW_U8, 4, {1, 2, 2, 1}},
                                       {MW_F16, 2, {3, 3}}};
    for (int i = 0; i < MW_COUNT(tensors); i++) {
        char file[MW_NPY_HEADER_BYTES + 64];
        int bytes = mw_npy_header(&tensors[i], file);
        MwNpy npy;
        MwFault fault = {0};
        ck_assert_int_eq(bytes % 64, 0);
        ck_assert_msg(mw_npy_read(file, bytes + mw_tensor_bytes(&tensors[i]), &npy, &fault), "%s",
                      fault.text);
        ck_assert_int_eq(npy.rank, tensors[i].rank);
        ck_assert_mem_eq(npy.dim, tensors[i].dim, sizeof npy.dim);
        ck_assert_int_eq(npy.type.bytes, mw_type_bytes(tensors[i].type));
        ck_assert(!mw_npy_read(file, bytes + mw_tensor_bytes(&tensors[i]) - 1, &npy, &fault));
    }
}
END_TEST

/* Weights: the whole is what any device computes of its part. */
START_TEST(weights_are_the_same_in_every_piece)
{
    static const MwPlanWeight weight = {
        .name = "w", .global = {MW_F32, 1, {100}}, .init = MW_INIT_NORMAL, .init_value = 0.02};
    float whole[100], piece[7];
    mw_weight_values(&weight, 3, 0, 100, whole);
    for (int first = 0; first + 7 <= 100; first++) {
        mw_weight_values(&weight, 3, first, 7, piece);
        ck_assert_mem_eq(piece, whole + first, sizeof piece);
        ck_assert(whole[first] ==
                  (float)(0.02 * mw_normal_at(3, mw_hash_bytes("w", 1), (uint64_t)first)));
    }
}
END_TEST

/* A copy is the weight, rounded to its type as a cast does. */
START_TEST(copies_are_rounded_weights)
{
    enum { COUNT = 4000 };
    static const MwPlanWeight weight = {
        .name = "w", .global = {MW_F32, 1, {COUNT}}, .init = MW_INIT_NORMAL, .init_value = 0.02};
    MwPlanWeight copy = weight;
    copy.name = "w.bf16";
    copy.copy_of = "w";
    copy.is_state = copy.is_copy = true;
    copy.global.type = MW_BF16;
    float values[COUNT];
    uint16_t halves[COUNT], rounded[COUNT];
    mw_weight_values(&weight, 3, 0, COUNT, values);
    mw_weight_values(&copy, 3, 0, COUNT, halves);
    for (int i = 0; i < COUNT; i++)
        mw_element_put(MW_BF16, rounded, i, values[i]);
    ck_assert_mem_eq(halves, rounded, sizeof halves);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("feed");
    TCase *tests = tcase_create("feed");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, feeds_setup, feeds_teardown);
    tcase_add_test(tests, text_gives_windows_and_what_follows);
    tcase_add_test(tests, wide_tokens_are_little_endian);
    tcase_add_loop_test(tests, data_is_the_same_at_every_parallelism, 0, MW_COUNT(splits));
    tcase_add_test(tests, arrays_give_batch_after_batch);
    tcase_add_test(tests, a_row_is_all_of_a_whole_input);
    tcase_add_test(tests, names_of_files_may_have_commas);
    tcase_add_test(tests, random_integers_are_below_their_bound);
    tcase_add_loop_test(tests, random_integers_of_8_bits_are_all_from_0_on, 0, 2);
    tcase_add_test(tests, bounds_are_of_parts_of_an_input);
    tcase_add_test(tests, integers_outside_the_model_are_refused);
    tcase_add_test(tests, integers_that_are_too_large_are_refused);
    tcase_add_test(tests, a_file_that_becomes_shorter_is_named);
    tcase_add_loop_test(tests, a_wrong_feed_is_named, 0, MW_COUNT(wrong));
    tcase_add_loop_test(tests, a_wrong_array_is_named, 0, MW_COUNT(headers));
    tcase_add_loop_test(tests, elements_become_those_of_the_input, 0, MW_COUNT(conversions));
    tcase_add_test(tests, integers_of_64_bits_stay_exact);
    tcase_add_test(tests, arrays_are_written_as_they_are_read);
    tcase_add_test(tests, weights_are_the_same_in_every_piece);
    tcase_add_test(tests, copies_are_rounded_weights);
    return run_suite(suite);
}
