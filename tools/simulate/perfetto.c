/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/simulate/perfetto.h"

#include "runtime/plan/origin.h"
#include "tools/json.h"

static void put_event(MwJson *json, const char *phase, const char *category, const char *name,
                      int rank, int thread)
{
    yajl_gen_map_open(json->gen);
    mw_json_field_string(json, "ph", phase);
    mw_json_field_string(json, "cat", category);
    mw_json_field_string(json, "name", name);
    mw_json_field_int(json, "pid", rank);
    mw_json_field_int(json, "tid", thread);
}

static void put_args(MwJson *json)
{
    mw_json_string(json, "args");
    yajl_gen_map_open(json->gen);
}

static void end_event(MwJson *json)
{
    yajl_gen_map_close(json->gen); /* args */
    yajl_gen_map_close(json->gen);
}

static void put_mesh(MwJson *json, const MwPlan *plan, int index)
{
    const MwPlanMesh *mesh = &plan->meshes[index];
    const int last = mesh->first_rank + mw_mesh_devices(&mesh->shape) - 1;
    put_event(json, "M", "", "process_name", mesh->first_rank, 0);
    put_args(json);
    mw_json_field_string(json, "name",
                         last == mesh->first_rank
                             ? mw_arena_printf(json->arena, "mesh %d: rank %d", index, last)
                             : mw_arena_printf(json->arena, "mesh %d: ranks %d to %d", index,
                                               mesh->first_rank, last));
    end_event(json);
}

static void put_task(MwJson *json, const MwPlan *plan, const MwSimulatedTask *task)
{
    const MwPlanMesh *mesh = &plan->meshes[task->mesh];
    const MwPlanTask *of = &mesh->tasks[task->task];
    put_event(json, "X", "task", mesh->programs[of->program].name, mesh->first_rank, 0);
    mw_json_field_double(json, "ts", 1e6 * task->begin_s);
    mw_json_field_double(json, "dur", 1e6 * (task->end_s - task->begin_s));
    put_args(json);
    mw_json_field_int(json, "micro_batch", of->micro_batch);
    end_event(json);
}

/* Collectives that run beside kernels have a thread of their own. */
static void put_instr(MwJson *json, const MwPlan *plan, const MwSimulation *simulation,
                      const MwSimulatedInstr *instr)
{
    const MwSimulatedTask *task = &simulation->tasks[instr->task];
    const MwPlanMesh *mesh = &plan->meshes[task->mesh];
    const MwPlanProgram *program = &mesh->programs[mesh->tasks[task->task].program];
    const MwPlanInstr *of = &program->instrs[instr->instr];
    const bool beside =
        of->kind == MW_INSTR_COLLECTIVE && mesh->shape.size[of->axis] > 1 && simulation->overlaps;
    put_event(json, "X", program->name, mw_plan_instr_title(json->arena, plan, mesh, of),
              mesh->first_rank, beside);
    mw_json_field_double(json, "ts", 1e6 * instr->begin_s);
    mw_json_field_double(json, "dur", 1e6 * (instr->end_s - instr->begin_s));
    put_args(json);
    mw_json_field_int(json, "instruction", instr->instr);
    end_event(json);
}

/* Messages to one mesh overlap, which slices of one thread may not. */
static void put_message(MwJson *json, const MwPlan *plan, const MwSimulatedMessage *message, int id)
{
    const MwPlanTransfer *transfer = &plan->transfers[message->transfer];
    const int rank = plan->meshes[transfer->to_mesh].first_rank;
    for (int end = 0; end < 2; end++) {
        put_event(json, end ? "e" : "b", "transfer", transfer->name, rank, 0);
        mw_json_field_int(json, "id", id);
        mw_json_field_double(json, "ts", 1e6 * (end ? message->end_s : message->begin_s));
        put_args(json);
        mw_json_field_int(json, "from_mesh", transfer->from_mesh);
        mw_json_field_int(json, "message", message->message);
        end_event(json);
    }
}

void mw_simulate_trace(MwText *text, const MwPlan *plan, const MwSimulation *simulation)
{
    MwJson json = mw_json_begin(text->arena);
    yajl_gen_config(json.gen, yajl_gen_beautify, 0);
    mw_json_field_string(&json, "displayTimeUnit", "ms");
    mw_json_field_array(&json, "traceEvents");
    for (int m = 0; m < plan->mesh_count; m++)
        put_mesh(&json, plan, m);
    for (int t = 0; t < simulation->task_count; t++)
        put_task(&json, plan, &simulation->tasks[t]);
    for (int i = 0; i < simulation->instr_count; i++)
        put_instr(&json, plan, simulation, &simulation->instrs[i]);
    for (int i = 0; i < simulation->message_count; i++)
        put_message(&json, plan, &simulation->messages[i], i);
    yajl_gen_array_close(json.gen);
    mw_json_end(&json, text);
}
