/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any legal sharding computes what the model means: whole models, forward, backward and update, in
 * strategies drawn at random and in those that the compiler prefers, partitioned and run on
 * simulated devices; every value of every device is compared with the global one. */
#include "frontend/frontend.h"
#include "passes/pass.h"
#include "passes/sharding/result.h"
#include "tests/reference/random_choice.h"
#include "tests/reference/spmd.h"
#include "tests/reference/spread.h"
#include "tests/unit/clusters.h"
#include "tests/unit/support.h"

#include "ir/verify.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *model; /* its file, seen from models/ */
    const char *sizes; /* "a=1 b=2" */
    int integers_below;
} models[] = {
    {"mlp", "batch=8 inputs=8 width=16 classes=8", 8},
    {"gpt", "batch=8 seq=8 vocab=16 layers=1 width=16 heads=4", 16},
    {"llama", "batch=8 seq=8 vocab=16 layers=1 width=16 heads=4 kv_heads=2 hidden=32", 16},
    {"gemma",
     "batch=4 seq=8 vocab=16 layers=2 width=16 heads=4 kv_heads=2 head=4 hidden=16 window=3 "
     "attention_cap=0.5",
     16},
    {"t5",
     "batch=4 source=8 target=4 vocab=16 layers=1 width=16 heads=4 head=4 hidden=16 buckets=4 "
     "distance=6",
     16},
    {"bert", "batch=8 seq=8 vocab=16 layers=1 width=16 heads=4", 2},
    {"vit", "batch=8 image=8 patch=4 classes=8 layers=1 width=16 heads=4", 8},
    {"../tests/dist/windows", "", 0},
};

static const struct {
    const char *mesh;
    int micro_batches;
    /* messages and launches take hardly any time, and products all of it, so that borders of
     * windows go in rings and halves of causal queries to the mirror */
    bool is_prompt;
} meshes[] = {{"1", 1},   {"2", 1},         {"4", 2, true}, {"2x2", 1},
              {"2x2", 4}, {"2x4", 1, true}, {"2x2x2", 1}};

/* On the mesh of most axes, the last, problems are the largest: these models alone are on it. */
enum { MODELS_ON_LAST = 2 };

enum {
    SEEDS = 1,
    CASES = MW_COUNT(models) * (MW_COUNT(meshes) - 1) + MODELS_ON_LAST,
};

static const MwDefine *parse_sizes(MwArena *arena, const char *sizes, int *count)
{
    MW_VEC(MwDefine) defines = {0};
    char *save, *text = mw_arena_strdup(arena, sizes);
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        mw_vec_push(arena, &defines, ((MwDefine){word, equals + 1}));
    }
    *count = defines.count;
    return defines.at;
}

/* Runs the passes up to sharding, which are those of the pipeline. */
static void prepare(MwCompilation *compilation, int model, MwDiags *diags)
{
    MwArena *arena = compilation->arena;
    int define_count;
    const MwDefine *defines = parse_sizes(arena, models[model].sizes, &define_count);
    const char *path =
        mw_arena_printf(arena, "%s/models/%s.graph", SOURCE_ROOT, models[model].model);
    compilation->graph =
        mw_graph_load(arena, mw_interner_new(arena), path, defines, define_count, diags);
    MwPipelineOptions pipeline = {.stop_after = MW_PASS_share, .dump_after = MW_PASS_COUNT};
    bool ok = compilation->graph && mw_pipeline_run(compilation, &pipeline, diags);
    mw_diags_print(diags, stderr);
    ck_assert(ok);
}

static void run_and_compare(const MwCompilation *compilation, const MwSharding *sharding, int model,
                            uint64_t seed, MwDiags *diags)
{
    MwLocalGraph *local = mw_partition(compilation->arena, sharding);
    bool good = mw_graph_verify(local->graph, "partition", diags);
    mw_diags_print(diags, stderr);
    ck_assert(good);
    SpmdRun run = {.local = local,
                   .seed = seed,
                   .micro_batch = (int)(seed % (uint64_t)compilation->staging.micro_batches),
                   .integers_below = models[model].integers_below};
    SpmdResult result = spmd_run(&run);
    ck_assert_msg(result.error <= 1e-9, "%s, seed %d: error %g at %s", models[model].model,
                  (int)seed, result.error, result.worst);
}

static MwCompilation compilation_for(MwArena *arena, int mesh, MwCluster *cluster)
{
    MwCompilation compilation = {.arena = arena, .cluster = cluster};
    compilation.options.micro_batches = meshes[mesh].micro_batches;
    ck_assert(mw_mesh_parse(meshes[mesh].mesh, &compilation.options.mesh));
    *cluster = test_cluster(mw_mesh_devices(&compilation.options.mesh));
    if (meshes[mesh].is_prompt) {
        cluster->node_link.call_s = cluster->node_link.latency_s = cluster->device.launch_s = 1e-9;
        cluster->device.gemm[MW_F32].rate_flops = 1e6;
    }
    return compilation;
}

START_TEST(random_shardings_compute_the_same)
{
    const int model = _i % MW_COUNT(models), mesh = _i / MW_COUNT(models);
    for (uint64_t seed = (uint64_t)_i * SEEDS; seed < (uint64_t)(_i + 1) * SEEDS; seed++) {
        MwArena *arena = mw_arena_new();
        MwDiags *diags = mw_diags_new(arena);
        MwCluster cluster;
        MwCompilation compilation = compilation_for(arena, mesh, &cluster);
        prepare(&compilation, model, diags);
        MwIntraQuery query = {.graph = compilation.stages[0].graph,
                              .cluster = &cluster,
                              .mesh = compilation.options.mesh,
                              .micro_batches = compilation.staging.micro_batches,
                              .memory_bytes = MW_USAGE_UNLIMITED};
        MwSharding sharding = {.problem = mw_intra_problem(arena, &query, diags)};
        uint64_t random = seed;
        sharding.choice = random_choice(arena, &sharding.problem->problem, &random);
        run_and_compare(&compilation, &sharding, model, seed, diags);
        mw_arena_free(&arena);
    }
}
END_TEST

/* As the compiler shards by itself. */
START_TEST(preferred_shardings_compute_the_same)
{
    const int model = _i % MW_COUNT(models), mesh = _i / MW_COUNT(models);
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    MwCluster cluster;
    MwCompilation compilation = compilation_for(arena, mesh, &cluster);
    prepare(&compilation, model, diags);
    bool ok = mw_pass_sharding(&compilation, diags);
    mw_diags_print(diags, stderr);
    ck_assert(ok);
    run_and_compare(&compilation, compilation.stages[0].sharding, model, 1, diags);
    mw_arena_free(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spmd");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 100);
    tcase_add_loop_test(tests, random_shardings_compute_the_same, 0, CASES);
    tcase_add_loop_test(tests, preferred_shardings_compute_the_same, 0, CASES);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
