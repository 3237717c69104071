/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost/reshard.h: every path between two specs, run on simulated devices, gives the right parts;
 * and it is the cheapest. */
#include "cost/reshard.h"
#include "cost/units.h"
#include "tests/reference/spread.h"
#include "tests/unit/clusters.h"
#include "tests/unit/specs.h"
#include "tests/unit/support.h"

#include <stdlib.h>

static const MwMeshShape meshes[] = {
    {1, {1}}, {1, {2}}, {1, {4}}, {2, {2, 2}}, {2, {1, 3}}, {2, {2, 3}}, {3, {2, 2, 2}},
};

typedef struct {
    const MwMeshShape *mesh;
    MwTensor tensor;
    MwCombine combine;
    MwResharder *resharder;
    double *whole;
    uint64_t random;
    int pairs;
} Case;

/* True where the source is partial wherever the target is, which is when there is a path. */
static bool is_reachable(MwSpec from, MwSpec to)
{
    return (mw_spec_partial(to) & ~mw_spec_partial(from)) == 0;
}

static void check_pair(MwArena *arena, Case *c, MwSpec from, MwSpec to)
{
    MwReshardTable *table = mw_reshard_table(c->resharder, &c->tensor, c->combine);
    int64_t cost =
        mw_reshard_cost(table, mw_reshard_index(table, from), mw_reshard_index(table, to));
    if (!is_reachable(from, to)) {
        ck_assert_int_ge(cost, MW_COST_INFINITE);
        return;
    }
    MwReshardPath path = mw_reshard_path(arena, c->resharder, &c->tensor, from, to);
    ck_assert_int_eq(path.cost, cost);
    Spread spread = spread_scatter(arena, c->mesh, &c->tensor, c->whole, from, &c->random);
    MwSpec at = from;
    int64_t sum = 0, local = 0;
    for (int i = 0; i < path.count; i++) {
        const MwReshardStep *step = &path.steps[i];
        ck_assert(mw_spec_equal(step->from, at));
        MwTensor source = spread.local;
        spread = spread_collective(arena, &spread, step->op, step->axis, step->dim, step->from_dim,
                                   step->combine);
        ck_assert_int_eq(step->bytes,
                         mw_max(mw_tensor_bytes(&source), mw_tensor_bytes(&spread.local)));
        ck_assert_int_gt(step->cost, 0);
        at = step->to;
        sum += step->cost;
        local += step->local;
        ck_assert_int_ge(step->cost, step->local);
    }
    ck_assert(mw_spec_equal(at, to));
    ck_assert_int_eq(sum, path.cost);
    ck_assert_int_eq(
        local, mw_reshard_local(table, mw_reshard_index(table, from), mw_reshard_index(table, to)));
    double tolerance = c->combine == MW_COMBINE_LOGSUMEXP ? 1e-12 : 0;
    char a[MW_SPEC_TEXT_BYTES], b[MW_SPEC_TEXT_BYTES];
    ck_assert_msg(spread_error(&spread, to, &c->tensor, c->whole) <= tolerance, "%s to %s",
                  mw_spec_text(from, c->tensor.rank, a), mw_spec_text(to, c->tensor.rank, b));
    c->pairs++;
}

static void check_tensor(const MwMeshShape *mesh, const MwTensor *tensor, MwCombine combine)
{
    MwArena *arena = mw_arena_new();
    MwCluster cluster = test_cluster(mw_mesh_devices(mesh));
    MwCostModel model = mw_cost_model(&cluster, mesh);
    Case c = {.mesh = mesh, .tensor = *tensor, .combine = combine, .random = 1};
    c.resharder = mw_resharder_new(arena, &model);
    int64_t elements = mw_tensor_elements(tensor);
    c.whole = MW_NEW(arena, double, elements);
    for (int64_t i = 0; i < elements; i++)
        c.whole[i] = (double)(i * 7 % 31);
    Specs specs = all_specs(arena, tensor, mesh, combine);
    for (int from = 0; from < specs.count; from++) {
        MwArena *scratch = mw_arena_new();
        for (int to = from % CASE_STRIDE; to < specs.count; to += CASE_STRIDE)
            check_pair(scratch, &c, specs.at[from], specs.at[to]);
        mw_arena_free(&scratch);
    }
    ck_assert_int_ge(c.pairs, specs.count / CASE_STRIDE);
    mw_arena_free(&arena);
}

START_TEST(paths_give_the_parts_of_the_target_spec)
{
    static const MwTensor tensors[] = {
        {MW_F32, 0, {0}}, {MW_F32, 1, {24}}, {MW_F32, 2, {4, 12}}, {MW_F32, 3, {2, 12, 8}}};
    for (int combine = 0; combine < MW_COMBINE_COUNT; combine++)
        for (int t = 0; t < MW_COUNT(tensors); t++)
            check_tensor(&meshes[_i], &tensors[t], (MwCombine)combine);
}
END_TEST

/* The table's costs satisfy Bellman's equation over single steps read off all the paths: no step
 * leads to a cheaper way. */
START_TEST(no_detour_is_cheaper)
{
    MwMeshShape mesh = {2, {2, 4}};
    MwArena *arena = mw_arena_new();
    MwCluster cluster = test_cluster(8);
    MwCostModel model = mw_cost_model(&cluster, &mesh);
    MwResharder *resharder = mw_resharder_new(arena, &model);
    MwTensor tensor = {MW_F32, 3, {8, 16, 64}};
    MwReshardTable *table = mw_reshard_table(resharder, &tensor, MW_COMBINE_SUM);
    Specs specs = all_specs(arena, &tensor, &mesh, MW_COMBINE_SUM);
    for (int a = 0; a < specs.count; a++)
        for (int b = 0; b < specs.count; b++)
            for (int c = 0; c < specs.count; c++) {
                int x = mw_reshard_index(table, specs.at[a]),
                    y = mw_reshard_index(table, specs.at[b]),
                    z = mw_reshard_index(table, specs.at[c]);
                int64_t direct = mw_reshard_cost(table, x, z);
                int64_t detour = mw_reshard_cost(table, x, y) + mw_reshard_cost(table, y, z);
                ck_assert_int_le(direct, detour);
            }
    mw_arena_free(&arena);
}
END_TEST

/* Picoseconds of copying so many bytes. */
static int64_t copy_ps(const MwCostModel *model, int64_t bytes)
{
    const MwWork copy = {.kind = MW_WORK_STREAM, .bytes = 2 * (double)bytes};
    return bytes ? mw_picoseconds(mw_cost_work_s(model, &copy)) : 0;
}

/* What single steps the search knows, that it takes the direct one, and what kernels do for it. */
START_TEST(a_direct_collective_is_taken)
{
    static const struct {
        const char *from, *to;
        MwOp op;
        int axis, dim, from_dim;
        int64_t bytes, copied;
    } cases[] = {
        {"[R, R] +P0", "[R, R]", MW_OP_ALL_REDUCE, 0, -1, -1, 1048576, 0},
        {"[R, S0] +P1", "[R, S0]", MW_OP_ALL_REDUCE, 1, -1, -1, 524288, 0},
        {"[S0, R] +P1", "[S0, S1]", MW_OP_REDUCE_SCATTER, 1, 1, -1, 524288, 524288},
        {"[S0, R] +P1", "[S01, R]", MW_OP_REDUCE_SCATTER, 1, 0, -1, 524288, 0},
        {"[S01, R]", "[S0, R]", MW_OP_ALL_GATHER, 1, 0, -1, 524288, 0},
        {"[R, S0]", "[R, R]", MW_OP_ALL_GATHER, 0, 1, -1, 1048576, 1048576},
        {"[S1, R]", "[R, S1]", MW_OP_ALL_TO_ALL, 1, 1, 0, 262144, 262144},
        {"[R, R]", "[S1, R]", MW_OP_SHARD, 1, 0, -1, 1048576, 262144},
        {"[S0, R]", "[S01, R]", MW_OP_SHARD, 1, 0, -1, 524288, 131072},
    };
    MwMeshShape mesh = {2, {2, 4}};
    MwArena *arena = mw_arena_new();
    MwCluster cluster = test_cluster(8);
    MwCostModel model = mw_cost_model(&cluster, &mesh);
    MwResharder *resharder = mw_resharder_new(arena, &model);
    MwTensor tensor = {MW_F32, 2, {512, 512}};
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwSpec from, to;
        int rank;
        ck_assert(mw_spec_parse(cases[i].from, &from, &rank));
        ck_assert(mw_spec_parse(cases[i].to, &to, &rank));
        MwReshardPath path = mw_reshard_path(arena, resharder, &tensor, from, to);
        ck_assert_msg(path.count == 1, "%s to %s", cases[i].from, cases[i].to);
        ck_assert_int_eq(path.steps[0].op, cases[i].op);
        ck_assert_int_eq(path.steps[0].axis, cases[i].axis);
        ck_assert_int_eq(path.steps[0].dim, cases[i].dim);
        ck_assert_int_eq(path.steps[0].from_dim, cases[i].from_dim);
        ck_assert_int_eq(path.steps[0].bytes, cases[i].bytes);
        ck_assert_int_eq(path.steps[0].local, copy_ps(&model, cases[i].copied));
    }
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reshard");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 100);
    tcase_add_loop_test(tests, paths_give_the_parts_of_the_target_spec, 0, MW_COUNT(meshes));
    tcase_add_test(tests, no_detour_is_cheaper);
    tcase_add_test(tests, a_direct_collective_is_taken);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
