/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/call.h"

#include "base/element.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0x5a };

float call_sample(int64_t element, int operand)
{
    uint32_t hash = (uint32_t)element * 2654435761u + (uint32_t)operand * 40503u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    return (float)(hash >> 8) / (float)(1 << 23) - 1;
}

static bool is_windows(MwRoutine routine)
{
    return routine >= MW_ROUTINE_CONV && routine <= MW_ROUTINE_SUM_POOL_GRAD;
}

static bool is_filter(MwRoutine routine, int operand)
{
    return routine <= MW_ROUTINE_CONV_FILTER_GRAD &&
           operand == (routine == MW_ROUTINE_CONV_FILTER_GRAD ? 2 : 1);
}

static bool is_attention(MwRoutine routine)
{
    return routine >= MW_ROUTINE_SDPA && routine <= MW_ROUTINE_SDPA_MASK_GRAD;
}

static MwType attention_type(const Call *call, int operand)
{
    const bool is_masked = call->routine == MW_ROUTINE_SDPA_MASKED;
    const bool has_mask = is_masked || (call->routine >= MW_ROUTINE_SDPA_MASKED_GRAD);
    const bool is_lse = operand == (is_masked ? 5 : 4);
    if (is_lse || mw_routine_info(call->routine)->accesses[operand] == 's')
        return MW_F32;
    return (MwType)call
        ->args[has_mask && operand == (is_masked ? 3 : 6) ? MW_SDPA_MASK_TYPE : MW_SDPA_TYPE]
        .i;
}

MwType call_type(const Call *call, int operand)
{
    if (is_attention(call->routine))
        return attention_type(call, operand);
    if (is_windows(call->routine))
        return mw_type_stored(
            (MwType)call
                ->args[is_filter(call->routine, operand) ? MW_CONV_FILTER_TYPE : MW_WINDOW_TYPE]
                .i);
    if (call->routine == MW_ROUTINE_TOP_K || call->routine == MW_ROUTINE_TAKE_ALONG_GRAD)
        return operand == (call->routine == MW_ROUTINE_TOP_K ? 2 : 0)
                   ? MW_I32
                   : (MwType)call->args[MW_ALONG_TYPE].i;
    if (call->routine == MW_ROUTINE_LINEAR_SCAN)
        return (MwType)call->args[MW_LINEAR_SCAN_TYPE].i;
    if (call->routine == MW_ROUTINE_CUMSUM)
        return (MwType)call->args[MW_ALONG_TYPE].i;
    if (mw_gemm_extras(call->routine))
        return mw_type_stored((MwType)call->args[MW_GEMM_TYPE + mw_min(operand, 2)].i);
    return MW_F32;
}

double call_value(const Call *call, int operand, int64_t element)
{
    return mw_element_get(call_type(call, operand), call->operands[operand], element);
}

/* The number that operand `operand` has first at `element`; one that a product in tf32 takes as it
 * is. */
static double first_value(const Call *call, int operand, int64_t element)
{
    const float sample = call_sample(element, operand);
    if (call_type(call, operand) == MW_BOOL)
        return sample < 0.3f;
    const bool is_product = mw_gemm_extras(call->routine) || is_windows(call->routine);
    const int type = is_windows(call->routine) ? MW_WINDOW_TYPE : MW_GEMM_TYPE;
    const bool is_tf32 = is_product && operand < 2 && call->args[type].i == MW_TF32;
    return (double)(is_tf32 ? mw_tf32_from_f32(sample) : sample);
}

double call_rounding(const Call *call, int operand)
{
    const MwType type = call_type(call, operand);
    return type == MW_BF16 ? 1.0 / 256 : type == MW_F16 ? 1.0 / 2048 : 0;
}

void call_allocate(Call *call)
{
    const MwRoutineInfo *info = mw_routine_info(call->routine);
    ck_assert(mw_routine_extents(call->routine, call->args, call->bytes));
    for (int i = 0; i < info->operand_count; i++) {
        char *values = malloc((size_t)call->bytes[i] + CALL_GUARD_BYTES);
        const bool is_filled = !strchr("ws", info->accesses[i]);
        memset(values, 0xff, (size_t)call->bytes[i]);
        const MwType type = call_type(call, i);
        for (int64_t k = 0; is_filled && k < call->bytes[i] / mw_type_bytes(type); k++)
            mw_element_put(type, values, k, first_value(call, i, k));
        memset(values + call->bytes[i], GUARD, CALL_GUARD_BYTES);
        call->operands[i] = values;
    }
}

float *call_floats(const Call *call, int operand)
{
    const MwType type = call_type(call, operand);
    const int64_t count = call->bytes[operand] / mw_type_bytes(type);
    const void *from = call->operands[operand];
    float *values = malloc(sizeof *values * (size_t)count);
    for (int64_t k = 0; k < count; k++)
        values[k] = (float)mw_element_get(type, from, k);
    return values;
}

void call_release(Call *call)
{
    for (int i = 0; i < mw_routine_info(call->routine)->operand_count; i++) {
        const char *end = (const char *)call->operands[i] + call->bytes[i];
        for (int k = 0; k < CALL_GUARD_BYTES; k++)
            if (end[k] != GUARD) /* an assertion writes to a file */
                ck_abort_msg("operand %d was written behind its end", i);
        free(call->operands[i]);
    }
}

static MwPlanInstr instr_of(MwArena *arena, const Call *call)
{
    const MwRoutineInfo *info = mw_routine_info(call->routine);
    MwPlanInstr instr = {.kind = MW_INSTR_ROUTINE, .target = (int)call->routine};
    instr.arg_count = info->int_count + info->float_count;
    instr.args = MW_NEW(arena, MwPlanArg, instr.arg_count);
    for (int i = 0; i < info->int_count; i++)
        instr.args[i] = (MwPlanArg){.kind = MW_ARG_INT, .i = call->args[i].i};
    for (int i = info->int_count; i < instr.arg_count; i++)
        instr.args[i] = (MwPlanArg){.kind = MW_ARG_FLOAT, .f = call->args[i].f};
    return instr;
}

MwPlan *call_plan(MwArena *arena, const Call *calls, int count)
{
    MwPlan *plan = MW_NEW(arena, MwPlan, 1);
    MwPlanInstr *instrs = MW_NEW(arena, MwPlanInstr, count);
    plan->mesh_count = 1;
    plan->meshes = MW_NEW(arena, MwPlanMesh, 1);
    plan->meshes->program_count = 1;
    plan->meshes->programs = MW_NEW(arena, MwPlanProgram, 1);
    *plan->meshes->programs =
        (MwPlanProgram){.name = "calls", .instrs = instrs, .instr_count = count};
    for (int i = 0; i < count; i++)
        instrs[i] = instr_of(arena, &calls[i]);
    return plan;
}
