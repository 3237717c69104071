/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planning under a memory limit: which attempt is delivered, and what is said where none fits. */
#include "codegen/plan/plan_model.h"

#include "base/quantity.h"
#include "frontend/frontend.h"
#include "tests/unit/clusters.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/support.h"

#include <stdlib.h>
#include <string.h>

/* mlp on two devices. */
typedef struct {
    MwArena *arena;
    MwDiags *diags;
    MwDefine defines[4];
    const MwGraph *graph;
    MwCluster cluster;
    MwCompileOptions options;
    MwPipelineOptions pipeline;
    char *dump;
    size_t dump_bytes;
} Case;

static void open_case_of(Case *c, const char *batch)
{
    *c = (Case){.arena = mw_arena_new(),
                .defines = {{"batch", batch}, {"inputs", "8"}, {"width", "8"}, {"classes", "8"}},
                .cluster = test_cluster(2),
                .options = {.solve_time_s = 5},
                .pipeline = {.stop_after = MW_PASS_COUNT, .dump_after = MW_PASS_COUNT}};
    c->cluster.host = (MwHostModel){0};
    c->diags = mw_diags_new(c->arena);
    c->graph = mw_graph_load(c->arena, mw_interner_new(c->arena), SOURCE_ROOT "/models/mlp.graph",
                             c->defines, MW_COUNT(c->defines), c->diags);
    ck_assert_msg(c->graph != NULL, "%s", diags_text(c->arena, c->diags));
}

static void open_case(Case *c)
{
    open_case_of(c, "8");
}

static void close_case(Case *c)
{
    free(c->dump);
    mw_arena_free(&c->arena);
}

static MwPlanResult plan_of(Case *c, int64_t memory_bytes)
{
    c->options.memory_bytes = memory_bytes;
    c->diags = mw_diags_new(c->arena);
    const MwPlanRequest request = {.graph = c->graph,
                                   .source = "mlp.graph",
                                   .cluster = &c->cluster,
                                   .options = &c->options,
                                   .pipeline = &c->pipeline};
    return mw_plan_model(c->arena, &request, c->diags);
}

/* The largest arena of the plan that is made without a limit. */
static double plenty_bytes(Case *c)
{
    const MwPlan *plan = plan_of(c, 0).plan;
    int64_t most = 0;
    for (int m = 0; m < plan->mesh_count; m++)
        most = mw_max(most, plan->meshes[m].arena_bytes);
    return (double)most;
}

/* The first result that is as wanted, with less and less memory from a share of plenty. */
static MwPlanResult seek(Case *c, double share, bool (*is_wanted)(const MwPlanResult *result))
{
    enum { STEPS = 30 };
    double memory_bytes = share * plenty_bytes(c);
    for (int i = 0; i < STEPS; i++, memory_bytes *= 0.97) {
        MwPlanResult result = plan_of(c, (int64_t)memory_bytes);
        if (is_wanted(&result))
            return result;
    }
    ck_abort_msg("there is no such result");
}

static bool is_planned_again(const MwPlanResult *result)
{
    return result->plan && result->attempts > 1;
}

static bool has_large_arena(const MwPlanResult *result)
{
    return result->excess.kind == MW_EXCESS_ARENA;
}

/* A limit that the tests share, with which the first plan does not fit, but another one does. */
static int64_t tight_bytes;

static void find_limit(void)
{
    Case c;
    open_case(&c);
    seek(&c, 0.7, is_planned_again);
    tight_bytes = c.options.memory_bytes;
    close_case(&c);
}

/* What the passes print for a target, their own dump among it. */
static const char *dump_for(const Case *c, int64_t target_bytes)
{
    MwPipelineOptions pipeline = c->pipeline;
    char *dump = NULL;
    size_t bytes = 0;
    MwCompilation compilation = {.arena = c->arena,
                                 .options = c->options,
                                 .cluster = &c->cluster,
                                 .memory_target_bytes = target_bytes};
    compilation.graph =
        mw_graph_load(c->arena, mw_interner_new(c->arena), SOURCE_ROOT "/models/mlp.graph",
                      c->defines, MW_COUNT(c->defines), c->diags);
    pipeline.dump = open_memstream(&dump, &bytes);
    ck_assert(mw_pipeline_run(&compilation, &pipeline, mw_diags_new(c->arena)));
    fclose(pipeline.dump);
    const char *text = mw_arena_strdup(c->arena, dump);
    free(dump);
    return text;
}

START_TEST(the_plan_that_is_delivered_fits)
{
    Case c;
    open_case(&c);
    MwPlanResult result = plan_of(&c, tight_bytes);
    ck_assert_ptr_nonnull(result.plan);
    ck_assert_int_gt(result.attempts, 1);
    ck_assert_int_eq(result.excess.kind, MW_EXCESS_NONE);
    ck_assert_int_eq(mw_diags_error_count(c.diags), 0);
    ck_assert_int_lt(result.target_bytes, c.options.memory_bytes);
    for (int m = 0; m < result.plan->mesh_count; m++)
        ck_assert_int_le(result.plan->meshes[m].arena_bytes, c.options.memory_bytes);
    close_case(&c);
}
END_TEST

/* In one stage: of several layouts the plan is that with the shortest simulated step, where the
 * passes alone take the best by estimate. */
START_TEST(a_dump_is_of_the_plan_that_is_delivered)
{
    Case c;
    open_case(&c);
    c.options.stages = 1;
    seek(&c, 0.9, is_planned_again);
    c.pipeline.dump_after = MW_PASS_partition;
    c.pipeline.dump = open_memstream(&c.dump, &c.dump_bytes);
    MwPlanResult result = plan_of(&c, c.options.memory_bytes);
    fclose(c.pipeline.dump);
    ck_assert_int_gt(result.attempts, 1);
    ck_assert_str_eq(c.dump, dump_for(&c, result.target_bytes));
    ck_assert_str_ne(c.dump, dump_for(&c, 0));
    close_case(&c);
}
END_TEST

START_TEST(what_the_user_gave_stays_as_it_was)
{
    Case c;
    open_case(&c);
    c.options.memory_bytes = tight_bytes;
    c.options.chunks = 2; /* which asks for a schedule */
    MwCompileOptions options = c.options;
    MwPipelineOptions pipeline = c.pipeline;
    MwCluster cluster = c.cluster;
    int nodes = c.graph->nodes.count, pins = c.graph->pins.count;
    plan_of(&c, tight_bytes);
    ck_assert_mem_eq(&c.options, &options, sizeof options);
    ck_assert_mem_eq(&c.pipeline, &pipeline, sizeof pipeline);
    ck_assert_mem_eq(&c.cluster, &cluster, sizeof cluster);
    ck_assert_int_eq(c.graph->nodes.count, nodes);
    ck_assert_int_eq(c.graph->pins.count, pins);
    close_case(&c);
}
END_TEST

/* What is exceeded, and by how much, is what the message says of it. */
static void check_refusal(Case *c, const MwPlanResult *result, MwExcessKind kind,
                          const char *message)
{
    ck_assert_ptr_null(result->plan);
    ck_assert_int_eq(result->excess.kind, kind);
    ck_assert_int_gt(result->excess.needed_bytes, result->excess.limit_bytes);
    ck_assert_int_eq(mw_diags_error_count(c->diags), 1);
    const char *said = diags_text(c->arena, c->diags);
    const char *needed = mw_bytes_text(c->arena, (double)result->excess.needed_bytes);
    const char *limit = mw_bytes_text(c->arena, (double)result->excess.limit_bytes);
    ck_assert_msg(strstr(said, message) && strstr(said, needed) && strstr(said, limit), "%s", said);
}

typedef struct {
    int stages;
    double share; /* of the memory that the plan without a limit needs */
    MwExcessKind kind;
    const char *message;
} Refusal;

static const Refusal refusals[] = {
    {0, 0.01, MW_EXCESS_LAYOUT, "the model does not fit the cluster"},
    {1, 0.01, MW_EXCESS_SHARDING, "on a mesh of 2 a device needs"},
};

START_TEST(what_was_exceeded_is_said)
{
    const Refusal *refusal = &refusals[_i];
    Case c;
    open_case(&c);
    c.options.stages = refusal->stages;
    MwPlanResult result = plan_of(&c, (int64_t)(refusal->share * plenty_bytes(&c)));
    check_refusal(&c, &result, refusal->kind, refusal->message);
    ck_assert_int_eq(result.attempts, 1);
    close_case(&c);
}
END_TEST

/* Where the passes find something but its buffers never fit, that is said which was closest to what
 * was asked: the first. */
START_TEST(gaps_between_buffers_are_said)
{
    Case c;
    open_case(&c);
    MwPlanResult result = seek(&c, 0.56, has_large_arena);
    check_refusal(&c, &result, MW_EXCESS_ARENA, "a device needs");
    ck_assert_int_gt(result.attempts, 1);
    ck_assert_int_eq(result.target_bytes, 0);
    close_case(&c);
}
END_TEST

/* A batch that two devices do not divide is padded: where that adds little, there is nothing to
 * compare it with. */
static const struct {
    const char *batch;
    int attempts;
} batches[] = {{"8", 1}, {"201", 1}, {"9", 2}};

START_TEST(next_to_no_padding_is_not_compared_with_none)
{
    Case c;
    open_case_of(&c, batches[_i].batch);
    const MwPlanResult result = plan_of(&c, 0);
    ck_assert_ptr_nonnull(result.plan);
    ck_assert_int_eq(result.attempts, batches[_i].attempts);
    close_case(&c);
}
END_TEST

/* States are on the host where nothing fits otherwise, and not where something does. */
START_TEST(states_are_on_the_host_as_the_last_resort)
{
    Case c;
    open_case(&c);
    c.cluster = test_cluster(2);
    c.defines[2].value = c.defines[1].value = "256";
    c.graph = mw_graph_load(c.arena, mw_interner_new(c.arena), SOURCE_ROOT "/models/mlp.graph",
                            c.defines, MW_COUNT(c.defines), c.diags);
    c.options.mesh = (MwMeshShape){1, {2}};
    c.options.stages = 1;
    int on_device = 0, on_host = 0, none = 0;
    for (int64_t bytes = 1500000; bytes > 300000; bytes -= 100000) {
        const MwPlanResult result = plan_of(&c, bytes);
        const MwPlanMesh *mesh = result.plan ? &result.plan->meshes[0] : NULL;
        ck_assert(!mesh || mesh->arena_bytes <= bytes);
        on_device += mesh && !mesh->has_host;
        on_host += mesh && mesh->has_host;
        none += !mesh;
        ck_assert(!(mesh && !mesh->has_host && on_host)); /* with less memory */
        ck_assert(!(mesh && none));
        ck_assert_int_eq(result.excess.kind == MW_EXCESS_NONE, mesh != NULL);
    }
    ck_assert_int_gt(on_device, 0);
    ck_assert_int_gt(on_host, 0);
    ck_assert_int_gt(none, 0);
    c.options.has_offload = true; /* none */
    int refused = 0;
    for (int64_t bytes = 1500000; bytes > 300000; bytes -= 100000)
        refused += !plan_of(&c, bytes).plan;
    ck_assert_int_eq(refused, on_host + none);
    close_case(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan_model");
    TCase *tests = tcase_create("plan_model");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, find_limit, NULL);
    tcase_add_test(tests, the_plan_that_is_delivered_fits);
    tcase_add_test(tests, a_dump_is_of_the_plan_that_is_delivered);
    tcase_add_test(tests, what_the_user_gave_stays_as_it_was);
    tcase_add_loop_test(tests, what_was_exceeded_is_said, 0, MW_COUNT(refusals));
    tcase_add_test(tests, gaps_between_buffers_are_said);
    tcase_add_loop_test(tests, next_to_no_padding_is_not_compared_with_none, 0, MW_COUNT(batches));
    tcase_add_test(tests, states_are_on_the_host_as_the_last_resort);
    return run_suite(suite);
}
