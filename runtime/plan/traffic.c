/* SPDX-License-Identifier: MIT */
#include "runtime/plan/traffic.h"

#include "base/vec.h"

typedef MW_VEC(int) Ints;

typedef struct {
    MwArena *arena;
    const MwPlanMesh *mesh;
    MwTraffic traffic;
    Ints *over; /* [buffers] the lines whose buffers share memory with it */
} Builder;

static bool overlap(const MwPlanBuffer *a, const MwPlanBuffer *b)
{
    return a->offset < b->offset + mw_plan_buffer_bytes(b) &&
           b->offset < a->offset + mw_plan_buffer_bytes(a);
}

/* ---- Lines ---- */

static void add_lines(Builder *b, const MwPlan *plan)
{
    MW_VEC(MwTrafficLine) lines = {0};
    for (int t = 0; t < plan->transfer_count; t++) {
        const MwPlanTransfer *transfer = &plan->transfers[t];
        const bool sends = &plan->meshes[transfer->from_mesh] == b->mesh;
        if (sends || &plan->meshes[transfer->to_mesh] == b->mesh)
            mw_vec_push(
                b->arena, &lines,
                ((MwTrafficLine){.transfer = t,
                                 .sends = sends,
                                 .buffer = sends ? transfer->from_buffer : transfer->to_buffer}));
    }
    b->traffic.lines = lines.at;
    b->traffic.line_count = lines.count;
}

static void find_overlaps(Builder *b)
{
    b->over = MW_NEW(b->arena, Ints, b->mesh->buffer_count);
    for (int i = 0; i < b->mesh->buffer_count; i++)
        for (int l = 0; l < b->traffic.line_count; l++)
            if (overlap(&b->mesh->buffers[i], &b->mesh->buffers[b->traffic.lines[l].buffer]))
                mw_vec_push(b->arena, &b->over[i], l);
}

/* ---- Events of programs ---- */

typedef struct {
    Builder *b;
    MW_VEC(MwTrafficEvent) events;
    bool *waited, *waited_all; /* [lines] since the last send */
} Program;

/* What must be waited for before `instr` writes a buffer. */
static void add_waits(Program *program, int instr, int buffer)
{
    const Ints *over = &program->b->over[buffer];
    for (int i = 0; i < over->count; i++) {
        const int line = over->at[i];
        const bool own = program->b->traffic.lines[line].buffer == buffer;
        bool *done = own ? &program->waited[line] : &program->waited_all[line];
        if (!program->b->traffic.lines[line].sends || *done || program->waited_all[line])
            continue;
        *done = true;
        mw_vec_push(program->b->arena, &program->events,
                    ((MwTrafficEvent){own ? MW_TRAFFIC_WAIT : MW_TRAFFIC_WAIT_ALL, instr, line}));
    }
}

static int find_line(const Builder *b, const MwPlanInstr *instr)
{
    for (int l = 0; l < b->traffic.line_count; l++)
        if (b->traffic.lines[l].transfer == instr->target)
            return l;
    MW_UNREACHABLE();
}

static void add_message(Program *program, int index, int instr_index, const MwPlanInstr *instr)
{
    const int line = find_line(program->b, instr);
    const bool sends = instr->kind == MW_INSTR_SEND;
    program->b->traffic.lines[line].program = index;
    program->waited[line] = program->waited_all[line] = false;
    mw_vec_push(
        program->b->arena, &program->events,
        ((MwTrafficEvent){sends ? MW_TRAFFIC_SEND : MW_TRAFFIC_RECEIVE, instr_index, line}));
}

static void add_events(Builder *b, int index)
{
    const MwPlanProgram *from = &b->mesh->programs[index];
    Program program = {.b = b,
                       .waited = MW_NEW(b->arena, bool, b->traffic.line_count),
                       .waited_all = MW_NEW(b->arena, bool, b->traffic.line_count)};
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
    b->traffic.programs[index].events = program.events.at;
    b->traffic.programs[index].event_count = program.events.count;
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

/* True if the program has to do with the buffer. `*writes`: it puts a value there other than by
 * receiving one or changing what is there. */
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

/* True if the step itself has to do with the buffer. */
static bool is_of_step(const MwPlanMesh *mesh, int buffer)
{
    bool found = mesh->buffers[buffer].persistent || mesh->loss_buffer == buffer;
    for (int i = 0; i < mesh->input_count; i++)
        found |= mesh->inputs[i].buffer == buffer;
    for (int i = 0; i < mesh->output_count; i++)
        found |= mesh->outputs[i].buffer == buffer && mesh->outputs[i].whole;
    return found;
}

/* True if a buffer other than the line's lies over it, or another line is of it too. */
static bool is_shared(const Builder *b, int line)
{
    for (int i = 0; i < b->mesh->buffer_count; i++)
        for (int k = 0; k < b->over[i].count; k++)
            if (b->over[i].at[k] == line && i != b->traffic.lines[line].buffer)
                return true;
    for (int l = 0; l < b->traffic.line_count; l++)
        if (l != line && b->traffic.lines[l].buffer == b->traffic.lines[line].buffer)
            return true;
    return false;
}

/* True if a program runs as the one that receives does: on each micro-batch, or once. */
static bool runs_alike(const Builder *b, int line, int program)
{
    const MwTrafficProgram *receives = &b->traffic.programs[b->traffic.lines[line].program];
    const MwTrafficProgram *uses = &b->traffic.programs[program];
    if (uses->run_count != receives->run_count)
        return false;
    return uses->run_count == 1 || (uses->micro_batches[0] >= 0 && receives->micro_batches[0] >= 0);
}

static void set_ahead(Builder *b, int index)
{
    MwTrafficLine *line = &b->traffic.lines[index];
    bool *users = MW_NEW(b->arena, bool, b->mesh->program_count), writes = false;
    line->is_ahead = !line->sends && !is_of_step(b->mesh, line->buffer) && !is_shared(b, index);
    for (int p = 0; line->is_ahead && p < b->mesh->program_count; p++) {
        users[p] = b->traffic.programs[p].run_count > 0 && uses(b->mesh, p, line->buffer, &writes);
        line->is_ahead = !users[p] || (!writes && runs_alike(b, index, p));
    }
    for (int p = 0; line->is_ahead && p < b->mesh->program_count; p++) {
        MwTrafficProgram *program = &b->traffic.programs[p];
        if (!users[p])
            continue;
        line->users++;
        if (!program->lines)
            program->lines = MW_NEW(b->arena, int, b->traffic.line_count);
        program->lines[program->line_count++] = index;
    }
}

MwTraffic mw_traffic(MwArena *arena, const MwPlan *plan, const MwPlanMesh *mesh)
{
    Builder b = {.arena = arena, .mesh = mesh};
    b.traffic.programs = MW_NEW(arena, MwTrafficProgram, mesh->program_count);
    add_lines(&b, plan);
    find_overlaps(&b);
    add_runs(&b);
    for (int p = 0; p < mesh->program_count; p++)
        add_events(&b, p);
    for (int l = 0; l < b.traffic.line_count; l++)
        set_ahead(&b, l);
    return b.traffic;
}
