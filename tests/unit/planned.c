/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/planned.h"

#include "codegen/plan/build.h"
#include "runtime/check/check.h"
#include "tests/unit/clusters.h"
#include "tests/unit/support.h"

MwPlan *planned(MwArena *arena, const PlannedModel *model)
{
    MwDiags *diags = mw_diags_new(arena);
    MwCompilation compilation = {.arena = arena, .options = model->options};
    ck_assert(mw_mesh_parse(model->mesh, &compilation.options.mesh));
    MwCluster cluster =
        test_cluster(mw_mesh_devices(&compilation.options.mesh) * compilation.options.stages);
    cluster.backend = model->backend;
    compilation.cluster = &cluster;
    compilation.graph = mw_graph_load(arena, mw_interner_new(arena), model->path, model->defines,
                                      model->define_count, diags);
    if (compilation.graph)
        mw_graph_set_precision(compilation.graph, model->precision);
    MwPipelineOptions pipeline = {.stop_after = MW_PASS_COUNT, .dump_after = MW_PASS_COUNT};
    bool good = compilation.graph && mw_pipeline_run(&compilation, &pipeline, diags);
    MwPlan *plan = good ? mw_plan_build(&compilation, "gpt.graph", diags) : NULL;
    good = plan && mw_plan_check(plan, diags);
    mw_diags_print(diags, stderr);
    ck_assert(good);
    return plan;
}

MwPlan *planned_stages(MwArena *arena, int stages, int micro_batches, const char *backend)
{
    static const char *const pins[] = {"wte=[R, R]", "wpe=[R, R]",
                                       "layers.*.attention.wqkv=[R, R, R, R]",
                                       "layers.*.attention.wo=[R, R, R]", "layers.*.mlp.w?=[R, R]"};
    const char *batch = mw_arena_printf(arena, "%lld", (long long)mw_max(32, 2 * micro_batches));
    const MwDefine defines[] = {{"layers", "4"}, {"batch", batch}, {"seq", "64"},
                                {"width", "64"}, {"vocab", "128"}, {"heads", "2"}};
    return planned(arena, &(PlannedModel){.path = SOURCE_ROOT "/models/gpt.graph",
                                          .mesh = "2",
                                          .backend = backend,
                                          .defines = defines,
                                          .define_count = MW_COUNT(defines),
                                          .options = {.stages = stages,
                                                      .micro_batches = micro_batches,
                                                      .pins = pins,
                                                      .pin_count = MW_COUNT(pins),
                                                      .has_schedule = stages > 1,
                                                      .schedule = MW_PIPELINE_1F1B}});
}

MwPlan *planned_ring(MwArena *arena, int ways, int layers, int micro_batches, const char *backend)
{
    static const char *const pins[] = {"layers.*.attention.sdpa.0=ring",
                                       "grad.layers.*.attention.q=ring"};
    const MwDefine defines[] = {{"layers", mw_arena_printf(arena, "%d", layers)},
                                {"batch", mw_arena_printf(arena, "%d", 2 * micro_batches)},
                                {"seq", "256"},
                                {"width", "64"},
                                {"vocab", "128"},
                                {"heads", "2"}};
    return planned(arena, &(PlannedModel){.path = SOURCE_ROOT "/models/gpt.graph",
                                          .mesh = mw_arena_printf(arena, "%d", ways),
                                          .backend = backend,
                                          .defines = defines,
                                          .define_count = MW_COUNT(defines),
                                          .options = {.stages = 1,
                                                      .micro_batches = micro_batches,
                                                      .remat = MW_REMAT_NONE,
                                                      .pins = pins,
                                                      .pin_count = MW_COUNT(pins)}});
}

const MwPlanInstr *planned_instr(const MwPlanMesh *mesh, const MwCommand *command)
{
    return &mesh->programs[mesh->tasks[command->task].program].instrs[command->instr];
}

MwCommandList planned_commands(MwArena *arena, const MwPlan *plan, int mesh, MwQueue collectives,
                               bool has_graphs)
{
    const MwTraffic traffic = mw_traffic(arena, plan, &plan->meshes[mesh]);
    return mw_step_commands(arena, &plan->meshes[mesh], &traffic, collectives, collectives,
                            has_graphs);
}

bool planned_is_sum(const MwPlanMesh *mesh, const MwCommand *command)
{
    return command->kind == MW_COMMAND_INSTR && mesh->tasks[command->task].micro_batch < 0 &&
           planned_instr(mesh, command)->kind == MW_INSTR_COLLECTIVE &&
           (planned_instr(mesh, command)->target == MW_ALL_REDUCE ||
            planned_instr(mesh, command)->target == MW_REDUCE_SCATTER);
}

static bool reads(const MwPlanMesh *mesh, const MwCommand *command, int buffer)
{
    for (int i = 0;
         command->kind == MW_COMMAND_INSTR && i < planned_instr(mesh, command)->operand_count; i++)
        if (planned_instr(mesh, command)->operands[i].buffer == buffer &&
            planned_instr(mesh, command)->operands[i].access != MW_ACCESS_WRITE)
            return true;
    return false;
}

int planned_overlap(const MwPlanMesh *mesh, const MwCommandList *commands, int sum)
{
    const int result = planned_instr(mesh, &commands->at[sum])->operands[1].buffer;
    int count = 0;
    for (int i = sum + 1; i < commands->count && !reads(mesh, &commands->at[i], result); i++)
        count += commands->at[i].kind == MW_COMMAND_INSTR &&
                 mesh->tasks[commands->at[i].task].micro_batch >= 0;
    return count;
}
