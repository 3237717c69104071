/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sharding specs and meshes: their texts, and who holds what. */
#include "base/spec.h"
#include "tests/unit/support.h"

#include <string.h>

static const MwMeshShape mesh_2x4 = {2, {2, 4}};

START_TEST(specs_print_as_they_read)
{
    static const struct {
        const char *text, *printed;
        int rank;
    } cases[] = {
        {"[S0, R]", "[S0, R]", 2},
        {" [ S01 ,R , R ] ", "[S01, R, R]", 3},
        {"[R, S1] +P0", "[R, S1] +P0", 2},
        {"[] +P01", "[] +P01", 0},
        {"[]", "[]", 0},
        {"[R]+M0", "[R] +M0", 1},
        {"[S2] + L01", "[S2] +L01", 1},
        {"[S012]", "[S012]", 1},
    };
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwSpec spec;
        int rank;
        char buffer[MW_SPEC_TEXT_BYTES];
        ck_assert_msg(mw_spec_parse(cases[i].text, &spec, &rank), "%s", cases[i].text);
        ck_assert_int_eq(rank, cases[i].rank);
        ck_assert_str_eq(mw_spec_text(spec, rank, buffer), cases[i].printed);
    }
}
END_TEST

START_TEST(what_is_no_spec_is_refused)
{
    static const char *const texts[] = {
        "",       "S0",      "[S0",      "[S]",    "[S3]",
        "[Q]",    "[R,]",    "[R R]",    "[R] P0", "[R] +",
        "[R] +P", "[R] +Q0", "[R] +P0x", "[R][R]", "[R, R, R, R, R, R, R, R, R]"};
    for (int i = 0; i < MW_COUNT(texts); i++) {
        MwSpec spec;
        int rank;
        ck_assert_msg(!mw_spec_parse(texts[i], &spec, &rank), "%s", texts[i]);
    }
}
END_TEST

static MwSpec spec_of(const char *text)
{
    MwSpec spec;
    int rank;
    ck_assert(mw_spec_parse(text, &spec, &rank));
    return spec;
}

START_TEST(equal_specs_have_equal_bits)
{
    MwSpec spec = mw_spec_with_dim(mw_spec_replicated(), 1, 2);
    spec = mw_spec_with_partial(spec, 1, MW_COMBINE_MAX);
    ck_assert(mw_spec_equal(spec, spec_of("[R, S1] +M0")));
    ck_assert_uint_eq(mw_spec_axes(spec, 2), 3);
    ck_assert_int_eq(mw_spec_combine(spec), MW_COMBINE_MAX);
    spec = mw_spec_with_partial(spec, 0, MW_COMBINE_MAX);
    ck_assert(mw_spec_equal(spec, spec_of("[R, S1]")));
    ck_assert(mw_spec_equal(mw_spec_with_dim(spec, 1, 0), mw_spec_replicated()));
}
END_TEST

START_TEST(combines_have_names)
{
    MwCombine combine;
    for (int i = 0; i < MW_COMBINE_COUNT; i++) {
        ck_assert(mw_combine_parse(mw_combine_name((MwCombine)i), &combine));
        ck_assert_int_eq(combine, i);
    }
    ck_assert(!mw_combine_parse("product", &combine));
    ck_assert(!mw_combine_parse("", &combine));
}
END_TEST

START_TEST(validity_and_local_shapes)
{
    static const struct {
        const char *spec;
        bool valid;
        int64_t local[2];
    } cases[] = {
        {"[S0, R]", true, {8, 12}},     {"[S01, R]", true, {2, 12}}, {"[R, S01]", false, {0}},
        {"[S0, S1]", true, {8, 3}},     {"[S0, S0]", false, {0}},    {"[S2, R]", false, {0}},
        {"[S0, R] +P1", true, {8, 12}}, {"[S0, R] +P0", false, {0}}, {"[R, R]", true, {16, 12}},
    };
    MwTensor tensor = mw_tensor(MW_F32, 2, (int64_t[]){16, 12});
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwSpec spec = spec_of(cases[i].spec);
        ck_assert_msg(mw_spec_is_valid(spec, &tensor, &mesh_2x4) == cases[i].valid, "%s",
                      cases[i].spec);
        if (!cases[i].valid)
            continue;
        MwTensor local = mw_spec_local(spec, &tensor, &mesh_2x4);
        MwTensor expected = mw_tensor(MW_F32, 2, cases[i].local);
        ck_assert_msg(mw_tensor_equal(&local, &expected), "%s", cases[i].spec);
    }
}
END_TEST

/* With S01 on a 2x4 mesh, device (i, j) holds block 4i + j of 8. */
START_TEST(blocks_count_the_lowest_axis_slowest)
{
    ck_assert_int_eq(mw_mesh_devices(&mesh_2x4), 8);
    for (int device = 0; device < 8; device++) {
        int coordinate[MW_MAX_AXES];
        mw_mesh_coordinates(&mesh_2x4, device, coordinate);
        ck_assert_int_eq(coordinate[0], device / 4);
        ck_assert_int_eq(coordinate[1], device % 4);
        ck_assert_int_eq(mw_mesh_block(&mesh_2x4, 3, coordinate), device);
        ck_assert_int_eq(mw_mesh_block(&mesh_2x4, 1, coordinate), device / 4);
        ck_assert_int_eq(mw_mesh_block(&mesh_2x4, 2, coordinate), device % 4);
        ck_assert_int_eq(mw_mesh_block(&mesh_2x4, 0, coordinate), 0);
    }
}
END_TEST

START_TEST(meshes_print_as_they_read)
{
    static const char *const good[] = {"4", "2x4", "1x1x8"};
    static const char *const bad[] = {"", "x4", "2x", "0", "2x2x2x2", "-1", "2*4", "4 "};
    for (int i = 0; i < MW_COUNT(good); i++) {
        MwMeshShape mesh;
        char buffer[MW_MESH_TEXT_BYTES];
        ck_assert(mw_mesh_parse(good[i], &mesh));
        ck_assert_str_eq(mw_mesh_text(&mesh, buffer), good[i]);
    }
    for (int i = 0; i < MW_COUNT(bad); i++) {
        MwMeshShape mesh;
        ck_assert_msg(!mw_mesh_parse(bad[i], &mesh), "%s", bad[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spec");
    TCase *tests = tcase_create("spec");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, specs_print_as_they_read);
    tcase_add_test(tests, what_is_no_spec_is_refused);
    tcase_add_test(tests, equal_specs_have_equal_bits);
    tcase_add_test(tests, combines_have_names);
    tcase_add_test(tests, validity_and_local_shapes);
    tcase_add_test(tests, blocks_count_the_lowest_axis_slowest);
    tcase_add_test(tests, meshes_print_as_they_read);
    return run_suite(suite);
}
