/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions of a stage in one phase: those of its units in their order, buckets of them as
 * one, the ends of loops, and copies of new values that stand elsewhere than the old ones. */
#include "codegen/plan/report.h"
#include "codegen/plan/stage.h"

/* Whether the program of the phase ends with a copy for assign i. */
static bool copies_in(const MwStageBuilder *s, MwPhase phase, int i)
{
    const MwGraph *graph = mw_stage_builder_graph(s);
    const MwValueId value = graph->assigns.at[i].value;
    const int maker = mw_value(graph, mw_legal_root(s->legal, value))->node.index;
    return s->storage.copies[i] && mw_max(mw_units_phase(s->legal, s->units, maker),
                                          mw_value_node(graph, value)->phase) == phase;
}

static int count_copies(const MwStageBuilder *s, MwPhase phase)
{
    int count = 0;
    for (int i = 0; i < mw_stage_builder_graph(s)->assigns.count; i++)
        count += copies_in(s, phase, i);
    return count;
}

/* New values that could not be written over the old ones are copied there at the end. */
static void emit_copies(const MwStageBuilder *s, MwEmitter *emitter, MwPhase phase,
                        MwPlanProgram *program)
{
    const MwGraph *graph = mw_stage_builder_graph(s);
    for (int i = 0; i < graph->assigns.count; i++) {
        const MwAssign *assign = &graph->assigns.at[i];
        if (!copies_in(s, phase, i))
            continue;
        int64_t bytes = mw_tensor_bytes(mw_value_tensor(graph, assign->target));
        program->instrs[program->instr_count++] =
            mw_instr_of_copy(emitter, mw_stage_builder_buffer(s, assign->value),
                             mw_stage_builder_buffer(s, assign->target), bytes);
    }
}

static int count_next_copies(const MwStageBuilder *s)
{
    int count = 0;
    for (int n = 0; n < mw_stage_builder_graph(s)->nodes.count; n++)
        count += s->storage.next_copies[n];
    return count;
}

/* Copies what a step of a loop leaves to where the next step takes it over, if it is not there. */
static void emit_next_copies(const MwStageBuilder *s, MwEmitter *emitter, int loop,
                             MwPlanProgram *program)
{
    const MwGraph *graph = mw_stage_builder_graph(s);
    const MwLoop *range = &s->legal->loops.at[loop];
    for (int n = range->first; n <= range->last; n++) {
        const MwNode *node = &graph->nodes.at[n];
        if (s->legal->loops.of_node[n] != loop || !s->storage.next_copies[n])
            continue;
        MwValueId next = {node->first_result};
        program->instrs[program->instr_count++] =
            mw_instr_of_copy(emitter, mw_stage_builder_buffer(s, next),
                             mw_stage_builder_buffer(s, node->operands[1]),
                             mw_tensor_bytes(mw_value_tensor(graph, next)));
    }
}

/* Ends the loop whose instructions begin with `first`, after `used` bytes (mw_reuse_bytes). */
static void end_loop(const MwStageBuilder *s, MwEmitter *emitter, int loop, int first, double used,
                     MwPlanProgram *program)
{
    emit_next_copies(s, emitter, loop, program);
    mw_reuse_repeat(emitter->reuse, used, s->legal->loops.at[loop].steps);
    if (program->instr_count > first)
        program->loops[program->loop_count++] =
            (MwPlanLoop){first, program->instr_count - first, (int)s->legal->loops.at[loop].steps};
}

/* Makes the last instructions one where the unit at position `p` ends a bucket. */
static void join_bucket(const MwStageBuilder *s, MwEmitter *emitter, int p, MwPlanProgram *program)
{
    const int first = s->order.position[s->order.unit[p]], count = p - first + 1;
    const bool goes_on = p + 1 < s->order.count && s->order.position[s->order.unit[p + 1]] == first;
    if (count == 1 || goes_on)
        return;
    const MwPlanInstr **parts = MW_NEW(s->arena, const MwPlanInstr *, count);
    program->instr_count -= count;
    for (int i = 0; i < count; i++)
        parts[i] = &program->instrs[program->instr_count + i];
    program->instrs[program->instr_count] = mw_instr_of_bucket(emitter, parts, count);
    program->instr_count++;
}

void mw_stage_builder_program(const MwStageBuilder *s, MwEmitter *emitter, int first_operator,
                              MwPhase phase, MwPlanProgram *program)
{
    int begin = s->order.begin[phase], end = s->order.begin[phase + 1], loop_begin = 0;
    program->instrs =
        MW_NEW(s->arena, MwPlanInstr, end - begin + count_copies(s, phase) + count_next_copies(s));
    double loop_used = 0;
    program->loops = MW_NEW(s->arena, MwPlanLoop, s->legal->loops.count);
    for (int p = begin; p < end; p++) {
        const int unit = s->order.unit[p], loop = s->units->units.at[unit].loop;
        MwPlanInstr instr;
        if (loop >= 0 && p == s->order.loops[loop].first) {
            loop_begin = program->instr_count;
            loop_used = mw_reuse_bytes(emitter->reuse);
        }
        if (mw_instr_of_unit(emitter, unit, &instr)) {
            mw_plan_report_instr(s->arena, s->stage, s->legal, &s->units->units.at[unit],
                                 first_operator, &instr);
            program->instrs[program->instr_count++] = instr;
        }
        join_bucket(s, emitter, p, program);
        if (loop >= 0 && p == s->order.loops[loop].last)
            end_loop(s, emitter, loop, loop_begin, loop_used, program);
    }
    emit_copies(s, emitter, phase, program);
}
