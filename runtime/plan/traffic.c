/* SPDX-License-Identifier: MIT */
#include "runtime/plan/traffic.h"

#include "base/vec.h"

typedef MW_VEC(int) Ints;

typedef struct {
    MwArena *arena;
    const MwPlanMesh *mesh;
    MwTraffic traffic;
    Ints *over; /* [buffers] endpoints whose buffers share memory with this one */
} Builder;

static bool overlap(const MwPlanBuffer *a, const MwPlanBuffer *b)
{
    return a->offset < b->offset + mw_plan_buffer_bytes(b) &&
           b->offset < a->offset + mw_plan_buffer_bytes(a);
}

/* ---- Endpoints ---- */

static void add_endpoints(Builder *b, const MwPlan *plan)
{
    MW_VEC(MwTrafficEndpoint) endpoints = {0};
    for (int t = 0; t < plan->transfer_count; t++) {
        const MwPlanTransfer *transfer = &plan->transfers[t];
        const bool sends = &plan->meshes[transfer->from_mesh] == b->mesh;
        const int buffer = sends ? transfer->from_buffer : transfer->to_buffer;
        if (sends || &plan->meshes[transfer->to_mesh] == b->mesh)
            mw_vec_push(b->arena, &endpoints,
                        ((MwTrafficEndpoint){.transfer = t, .sends = sends, .buffer = buffer}));
    }
    b->traffic.endpoints = endpoints.at;
    b->traffic.endpoint_count = endpoints.count;
}

static void find_overlaps(Builder *b)
{
    b->over = MW_NEW(b->arena, Ints, b->mesh->buffer_count);
    for (int i = 0; i < b->mesh->buffer_count; i++)
        for (int e = 0; e < b->traffic.endpoint_count; e++)
            if (overlap(&b->mesh->buffers[i], &b->mesh->buffers[b->traffic.endpoints[e].buffer]))
                mw_vec_push(b->arena, &b->over[i], e);
}

/* ---- Operations of programs ---- */

typedef struct {
    Builder *b;
    MW_VEC(MwTrafficOp) ops;
    bool *waited, *waited_all; /* [endpoints] waited for since the last send */
} Program;

/* The waits that are needed before `instr` writes a buffer. */
static void add_waits(Program *program, int instr, int buffer)
{
    const Ints *over = &program->b->over[buffer];
    for (int i = 0; i < over->count; i++) {
        const int endpoint = over->at[i];
        const bool own = program->b->traffic.endpoints[endpoint].buffer == buffer;
        bool *done = own ? &program->waited[endpoint] : &program->waited_all[endpoint];
        if (!program->b->traffic.endpoints[endpoint].sends || *done ||
            program->waited_all[endpoint])
            continue;
        *done = true;
        mw_vec_push(program->b->arena, &program->ops,
                    ((MwTrafficOp){own ? MW_TRAFFIC_WAIT : MW_TRAFFIC_WAIT_ALL, instr, endpoint}));
    }
}

static int find_endpoint(const Builder *b, const MwPlanInstr *instr)
{
    for (int e = 0; e < b->traffic.endpoint_count; e++)
        if (b->traffic.endpoints[e].transfer == instr->target)
            return e;
    MW_UNREACHABLE();
}

static void add_message(Program *program, int index, int instr_index, const MwPlanInstr *instr)
{
    const int endpoint = find_endpoint(program->b, instr);
    const bool sends = instr->kind == MW_INSTR_SEND;
    program->b->traffic.endpoints[endpoint].program = index;
    program->waited[endpoint] = program->waited_all[endpoint] = false;
    mw_vec_push(
        program->b->arena, &program->ops,
        ((MwTrafficOp){sends ? MW_TRAFFIC_SEND : MW_TRAFFIC_RECEIVE, instr_index, endpoint}));
}

static void add_ops(Builder *b, int index)
{
    const MwPlanProgram *from = &b->mesh->programs[index];
    Program program = {.b = b,
                       .waited = MW_NEW(b->arena, bool, b->traffic.endpoint_count),
                       .waited_all = MW_NEW(b->arena, bool, b->traffic.endpoint_count)};
    for (int i = 0; i < b->mesh->input_count; i++)
        if (b->mesh->inputs[i].program == index)
            add_waits(&program, -1, b->mesh->inputs[i].buffer);
    for (int i = 0; i < from->instr_count; i++) {
        const MwPlanInstr *instr = &from->instrs[i];
        for (int k = 0; k < instr->operand_count; k++)
            if (instr->operands[k].access != MW_ACCESS_READ)
                add_waits(&program, i, instr->operands[k].buffer);
        if (instr->kind == MW_INSTR_SEND || instr->kind == MW_INSTR_RECEIVE)
            add_message(&program, index, i, instr);
    }
    b->traffic.programs[index].ops = program.ops.at;
    b->traffic.programs[index].op_count = program.ops.count;
}

static void add_runs(Builder *b)
{
    for (int t = 0; t < b->mesh->task_count; t++)
        b->traffic.programs[b->mesh->tasks[t].program].run_count++;
    for (int p = 0; p < b->mesh->program_count; p++) {
        MwTrafficProgram *program = &b->traffic.programs[p];
        program->micro_batches = MW_NEW(b->arena, int, program->run_count);
        program->run_count = 0;
    }
    for (int t = 0; t < b->mesh->task_count; t++) {
        MwTrafficProgram *program = &b->traffic.programs[b->mesh->tasks[t].program];
        program->micro_batches[program->run_count++] = b->mesh->tasks[t].micro_batch;
    }
}

/* ---- Receives that are posted ahead ---- */

/* True if the program accesses the buffer. `*writes`: it writes a value there that it neither
 * receives nor makes from the value that was there. */
static bool uses(const MwPlanMesh *mesh, int index, int buffer, bool *writes)
{
    const MwPlanProgram *program = &mesh->programs[index];
    bool found = false;
    for (int i = 0; i < program->instr_count; i++) {
        const MwPlanInstr *instr = &program->instrs[i];
        for (int k = 0; k < instr->operand_count; k++) {
            if (instr->operands[k].buffer != buffer)
                continue;
            found = true;
            *writes |=
                instr->kind != MW_INSTR_RECEIVE && instr->operands[k].access == MW_ACCESS_WRITE;
        }
    }
    for (int i = 0; i < mesh->output_count; i++)
        found |= mesh->outputs[i].buffer == buffer && mesh->outputs[i].program == index;
    return found;
}

/* True if something other than a program accesses the buffer. */
static bool is_of_step(const MwPlanMesh *mesh, int buffer)
{
    bool found = mesh->buffers[buffer].persistent || mw_plan_holds_metric(mesh, buffer);
    for (int i = 0; i < mesh->input_count; i++)
        found |= mesh->inputs[i].buffer == buffer;
    for (int i = 0; i < mesh->output_count; i++)
        found |= mesh->outputs[i].buffer == buffer && mesh->outputs[i].whole;
    return found;
}

/* True if another buffer overlaps the endpoint's, or another endpoint has the same buffer. */
static bool is_shared(const Builder *b, int endpoint)
{
    for (int i = 0; i < b->mesh->buffer_count; i++)
        for (int k = 0; k < b->over[i].count; k++)
            if (b->over[i].at[k] == endpoint && i != b->traffic.endpoints[endpoint].buffer)
                return true;
    for (int e = 0; e < b->traffic.endpoint_count; e++)
        if (e != endpoint &&
            b->traffic.endpoints[e].buffer == b->traffic.endpoints[endpoint].buffer)
            return true;
    return false;
}

/* True if a program runs as often as the one that receives: on each micro-batch, or once. */
static bool runs_alike(const Builder *b, int endpoint, int program)
{
    const MwTrafficProgram *receives = &b->traffic.programs[b->traffic.endpoints[endpoint].program];
    const MwTrafficProgram *uses = &b->traffic.programs[program];
    if (uses->run_count != receives->run_count)
        return false;
    return uses->run_count == 1 || (uses->micro_batches[0] >= 0 && receives->micro_batches[0] >= 0);
}

static void set_ahead(Builder *b, int index)
{
    MwTrafficEndpoint *endpoint = &b->traffic.endpoints[index];
    bool *users = MW_NEW(b->arena, bool, b->mesh->program_count), writes = false;
    bool is_ahead =
        !endpoint->sends && !is_of_step(b->mesh, endpoint->buffer) && !is_shared(b, index);
    for (int p = 0; is_ahead && p < b->mesh->program_count; p++) {
        users[p] =
            b->traffic.programs[p].run_count > 0 && uses(b->mesh, p, endpoint->buffer, &writes);
        is_ahead = !users[p] || (!writes && runs_alike(b, index, p));
    }
    endpoint->is_ahead = is_ahead;
    for (int p = 0; is_ahead && p < b->mesh->program_count; p++) {
        MwTrafficProgram *program = &b->traffic.programs[p];
        if (!users[p])
            continue;
        endpoint->users++;
        if (!program->ahead)
            program->ahead = MW_NEW(b->arena, int, b->traffic.endpoint_count);
        program->ahead[program->ahead_count++] = index;
    }
}

MwTraffic mw_traffic(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh)
{
    Builder b = {.arena = arena, .mesh = mesh};
    b.traffic.programs = MW_NEW(arena, MwTrafficProgram, mesh->program_count);
    add_endpoints(&b, plan);
    find_overlaps(&b);
    add_runs(&b);
    for (int p = 0; p < mesh->program_count; p++)
        add_ops(&b, p);
    for (int e = 0; e < b.traffic.endpoint_count; e++)
        set_ahead(&b, e);
    return b.traffic;
}
