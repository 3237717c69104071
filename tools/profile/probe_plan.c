/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan of a probe: one mesh of ranks / ways by ways, one program, every instruction repeated
 * until it takes a good part of a millisecond, so that the clock's cost does not count.
 *
 * Work reads the weights x and y, which are random, and writes z; attention keeps its results in
 * buffers of its own, since its gradient reads them. */
#include "tools/profile/probe.h"

#include "codegen/print/printer.h"
#include "ir/ir.h"
#include "runtime/plan/routine.h"

#include <math.h>

enum {
    LARGEST_STREAM = 16 << 20,     /* elements: three arrays of 64 MiB, beyond most caches */
    SMALLEST_STREAM = 2 << 10,     /* elements: three arrays that fit the nearest cache */
    VECTOR_ELEMENTS = 8 << 10,     /* so few that arithmetic counts, not memory */
    LARGEST_PRODUCT = 1 << 10,     /* m, n and k */
    SMALLEST_COLLECTIVE = 1 << 10, /* bytes */
    LARGEST_COLLECTIVE = 16 << 20, /* bytes */
    ATTENTION_TOKENS = 2 << 10,    /* tokens of one attention, in all its sequences */
    LARGEST_ATTENTION = 1 << 10,   /* tokens of its longest sequence */
    HEADS = 4,
    HEAD_WIDTH = 64, /* elements of a head */
    CONV_BATCH = 8,  /* images of a convolution */
    CONV_SIDE = 16,  /* points of an image in both of its dimensions */
    CONV_WINDOW = 3, /* those of a window */
    MOST_CHANNELS = 256,
    STEP = 4,          /* factor from one size to the next */
    MOST_REPEATS = 64, /* instructions of one probe */
};

enum { X, Y, Z, OUT, LSE, DQ, DK, DV, SCRATCH, BUFFER_COUNT };

typedef struct {
    MwArena *arena;
    MwPlanMesh *mesh;
    MW_VEC(MwPlanInstr) instrs;
    MW_VEC(MwProbe) probes;
} Builder;

/* ---- Buffers ---- */

static void add_buffers(Builder *builder)
{
    const int64_t lse = ATTENTION_TOKENS * HEADS, attention = lse * HEAD_WIDTH;
    const struct {
        const char *name;
        int64_t elements;
    } all[BUFFER_COUNT] = {
        [X] = {"x", LARGEST_STREAM},
        [Y] = {"y", LARGEST_STREAM},
        [Z] = {"z", LARGEST_STREAM},
        [OUT] = {"out", attention},
        [LSE] = {"lse", lse},
        [DQ] = {"dq", attention},
        [DK] = {"dk", attention},
        [DV] = {"dv", attention},
        [SCRATCH] = {"scratch", 2 * MW_SDPA_QUERY_TILE * LARGEST_ATTENTION},
    };
    MwPlanMesh *mesh = builder->mesh;
    mesh->buffers = MW_NEW(builder->arena, MwPlanBuffer, BUFFER_COUNT);
    mesh->buffer_count = BUFFER_COUNT;
    for (int i = 0; i < BUFFER_COUNT; i++) {
        MwTensor tensor = mw_tensor(MW_F32, 1, &all[i].elements);
        mesh->buffers[i] = (MwPlanBuffer){
            .name = all[i].name,
            .tensor = tensor,
            .offset = mesh->arena_bytes,
            .bytes = mw_round_up(mw_tensor_bytes(&tensor), MW_BUFFER_ALIGNMENT),
            .slots = 1,
            .persistent = i == X || i == Y,
        };
        mesh->arena_bytes += mesh->buffers[i].bytes;
    }
    mesh->weights = MW_NEW(builder->arena, MwPlanWeight, 2);
    mesh->weight_count = 2;
    for (int i = X; i <= Y; i++)
        mesh->weights[i] = (MwPlanWeight){.name = all[i].name,
                                          .buffer = i,
                                          .global = mesh->buffers[i].tensor,
                                          .spec = mw_spec_replicated(),
                                          .init = MW_INIT_NORMAL,
                                          .init_value = 1};
}

/* ---- Instructions ---- */

/* How often to run an instruction that takes about `estimate_s`. The first finds its operands and
 * its code in no near cache, which is told from others by the median of three unless it takes long:
 * where operands come from is in the bandwidth. */
static int repeats(double estimate_s)
{
    static const double enough_s = 300e-6, long_s = 3e-3;
    const int least = estimate_s < long_s ? 3 : 1;
    return (int)fmin(MOST_REPEATS, fmax(least, ceil(enough_s / estimate_s)));
}

static void add_probe(Builder *builder, MwProbe probe, const MwPlanInstr *instr, double estimate_s)
{
    probe.first = builder->instrs.count;
    probe.count = repeats(estimate_s);
    for (int i = 0; i < probe.count; i++)
        mw_vec_push(builder->arena, &builder->instrs, *instr);
    mw_vec_push(builder->arena, &builder->probes, probe);
}

/* Letter i of `accesses` says how the instruction accesses operand i: r or w. */
static MwPlanInstr new_instr(Builder *builder, MwInstrKind kind, int target, const int *buffers,
                             const char *accesses, int count)
{
    MwPlanInstr instr = {.kind = kind,
                         .target = target,
                         .operands = MW_NEW(builder->arena, MwPlanOperand, count),
                         .operand_count = count,
                         .operator_index = -1};
    for (int i = 0; i < count; i++)
        instr.operands[i] =
            (MwPlanOperand){buffers[i], accesses[i] == 'r' ? MW_ACCESS_READ : MW_ACCESS_WRITE};
    return instr;
}

static void set_args(Builder *builder, MwPlanInstr *instr, const MwPlanArg *args, int count)
{
    instr->args = mw_arena_dup(builder->arena, args, sizeof *args * (size_t)count);
    instr->arg_count = count;
}

static void add_product(Builder *builder, MwType type, int64_t m, int64_t n, int64_t k)
{
    MwPlanInstr instr =
        new_instr(builder, MW_INSTR_ROUTINE, MW_ROUTINE_GEMM, (int[]){X, Y, Z}, "rrw", 3);
    MwPlanArg args[MW_GEMM_ARGS] = {0};
    args[MW_GEMM_M].i = m;
    args[MW_GEMM_N].i = args[MW_GEMM_LDB].i = args[MW_GEMM_LDC].i = n;
    args[MW_GEMM_K].i = args[MW_GEMM_LDA].i = k;
    args[MW_GEMM_BATCH0].i = args[MW_GEMM_BATCH1].i = 1;
    args[MW_GEMM_TYPE].i = args[MW_GEMM_B_TYPE].i = args[MW_GEMM_C_TYPE].i = type;
    args[MW_GEMM_ALPHA] = (MwPlanArg){.kind = MW_ARG_FLOAT, .f = 1};
    args[MW_GEMM_BETA] = (MwPlanArg){.kind = MW_ARG_FLOAT, .f = 0};
    set_args(builder, &instr, args, MW_GEMM_ARGS);
    double estimate_s = 2.0 * (double)(m * n * k) / 1e11 + (double)(m * k + k * n + m * n) / 1e10;
    add_probe(builder, (MwProbe){.kind = MW_PROBE_PRODUCT, .m = m, .n = n, .k = k, .type = type},
              &instr, estimate_s);
}

static void add_products(Builder *builder, MwType type)
{
    for (int64_t m = 1; m <= LARGEST_PRODUCT; m *= STEP)
        for (int64_t n = 1; n <= LARGEST_PRODUCT; n *= STEP)
            for (int64_t k = 1; k <= LARGEST_PRODUCT; k *= STEP)
                add_product(builder, type, m, n, k);
}

/* Queries, keys and values lie side by side in x, as a projection of all three leaves them. */
static void add_attention(Builder *builder, int64_t tokens)
{
    MwPlanInstr forward = new_instr(builder, MW_INSTR_ROUTINE, MW_ROUTINE_SDPA,
                                    (int[]){X, X, X, OUT, LSE, SCRATCH}, "rrrwww", 6);
    MwPlanInstr backward =
        new_instr(builder, MW_INSTR_ROUTINE, MW_ROUTINE_SDPA_GRAD,
                  (int[]){X, X, X, OUT, LSE, Y, DQ, DK, DV, SCRATCH}, "rrrrrrwwww", 10);
    const int64_t width = HEADS * HEAD_WIDTH, sequences = ATTENTION_TOKENS / tokens;
    MwPlanArg args[MW_SDPA_ARGS] = {0};
    args[MW_SDPA_CAUSAL].i = 1;
    args[MW_SDPA_B].i = sequences;
    args[MW_SDPA_S].i = args[MW_SDPA_T].i = tokens;
    args[MW_SDPA_H].i = args[MW_SDPA_G].i = HEADS;
    args[MW_SDPA_D].i = HEAD_WIDTH;
    args[MW_SDPA_Q_ROW].i = args[MW_SDPA_K_ROW].i = args[MW_SDPA_V_ROW].i = 3 * width;
    args[MW_SDPA_K_OFFSET].i = width;
    args[MW_SDPA_V_OFFSET].i = 2 * width;
    args[MW_SDPA_SCALE] = (MwPlanArg){.kind = MW_ARG_FLOAT, .f = 1 / sqrt(HEAD_WIDTH)};
    args[MW_SDPA_SOFT_CAP].kind = MW_ARG_FLOAT;
    set_args(builder, &forward, args, MW_SDPA_ARGS);
    args[MW_SDPA_DQ_ROW].i = args[MW_SDPA_DK_ROW].i = args[MW_SDPA_DV_ROW].i = width;
    set_args(builder, &backward, args, MW_SDPA_ARGS);
    MwProbe probe = {
        .kind = MW_PROBE_ATTENTION, .m = sequences * HEADS, .n = tokens, .k = HEAD_WIDTH};
    double estimate_s = (double)(2 * ATTENTION_TOKENS * width * tokens) / 5e10;
    add_probe(builder, probe, &forward, estimate_s);
    probe.kind = MW_PROBE_ATTENTION_GRAD;
    add_probe(builder, probe, &backward, 2.5 * estimate_s);
}

/* A convolution of as many features as channels, in which each point of the image has a window. */
static void add_conv(Builder *builder, MwProbeKind kind, MwRoutine routine, int64_t channels)
{
    MwPlanInstr instr =
        new_instr(builder, MW_INSTR_ROUTINE, (int)routine, (int[]){X, Y, Z}, "rrw", 3);
    MwPlanArg args[MW_CONV_ARGS] = {0};
    args[MW_WINDOW_TYPE].i = args[MW_CONV_FILTER_TYPE].i = MW_F32;
    args[MW_WINDOW_BATCH].i = CONV_BATCH;
    args[MW_WINDOW_CHANNELS].i = args[MW_CONV_FEATURES].i = channels;
    args[MW_CONV_GROUPS].i = 1;
    for (int d = 0; d < MW_WINDOW_DIMS; d++) {
        args[MW_WINDOW_IN + d].i = args[MW_WINDOW_OUT + d].i = d ? CONV_SIDE : 1;
        args[MW_WINDOW_SIZE + d].i = d ? CONV_WINDOW : 1;
        args[MW_WINDOW_STRIDE + d].i = args[MW_WINDOW_DILATION + d].i = 1;
        args[MW_WINDOW_BEFORE + d].i = d ? CONV_WINDOW / 2 : 0;
    }
    set_args(builder, &instr, args, MW_CONV_ARGS);
    const MwProbe probe = {.kind = kind,
                           .m = CONV_BATCH * CONV_SIDE * CONV_SIDE,
                           .n = CONV_WINDOW * CONV_WINDOW * channels,
                           .k = channels};
    add_probe(builder, probe, &instr, 2.0 * (double)(probe.m * probe.n * probe.k) / 2e11);
}

static void add_convs(Builder *builder)
{
    for (int64_t channels = STEP; channels <= MOST_CHANNELS; channels *= STEP) {
        add_conv(builder, MW_PROBE_CONV, MW_ROUTINE_CONV, channels);
        add_conv(builder, MW_PROBE_CONV_TRANSPOSE, MW_ROUTINE_CONV_TRANSPOSE, channels);
        add_conv(builder, MW_PROBE_CONV_FILTER_GRAD, MW_ROUTINE_CONV_FILTER_GRAD, channels);
    }
}

static void add_collective(Builder *builder, MwCollective collective, int ways, int64_t bytes)
{
    MwPlanInstr instr =
        new_instr(builder, MW_INSTR_COLLECTIVE, (int)collective, (int[]){X, Z}, "rw", 2);
    instr.axis = builder->mesh->shape.axis_count - 1;
    instr.type = MW_F32;
    const MwCollectiveInfo *info = mw_collective_info(collective);
    instr.count = bytes / mw_type_bytes(MW_F32) / (info->joins && !info->splits ? ways : 1);
    instr.count -= instr.count % ways;
    add_probe(
        builder,
        (MwProbe){
            .kind = MW_PROBE_COLLECTIVE, .collective = collective, .ways = ways, .bytes = bytes},
        &instr, 5e-6 + (double)bytes / 5e9);
}

static void add_collectives(Builder *builder, int ways)
{
    for (int kind = 0; kind < MW_COLLECTIVE_COUNT && ways > 1; kind++)
        for (int64_t bytes = SMALLEST_COLLECTIVE; bytes <= LARGEST_COLLECTIVE; bytes *= STEP)
            add_collective(builder, kind, ways, bytes);
}

/* ---- Kernels ---- */

/* The operators of the kernels that are timed: the first as a stream, the others as arithmetic. */
static const MwOp kernel_ops[] = {MW_OP_ADD,  MW_OP_EXP,  MW_OP_TANH,
                                  MW_OP_SILU, MW_OP_GELU, MW_OP_GELU_GRAD};

/* Elements of the rows that are summed up, from fewer than fill a vector on. */
static const int sum_columns[] = {4, 16, 64, 256, 1024};

enum {
    FIRST_SUMS = MW_COUNT(kernel_ops),
    KERNELS = FIRST_SUMS + MW_COUNT(sum_columns),
};

/* A kernel that computes the expression of ir/ops.def, with elements of the operands for $0 and
 * $1. */
static const char *kernel_body(MwArena *arena, MwOp op)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, MW_KERNEL_HEAD
                "{\n"
                "    const float *restrict a = operands[0], *restrict b = operands[1];\n"
                "    float *restrict c = operands[2];\n"
                "    (void)b, (void)sets, (void)stream;\n"
                "    for (int64_t i = 0; i < args[0].i; i++)\n"
                "        c[i] = ");
    for (const char *at = mw_op_info(op)->expression; *at; at++)
        if (*at == '$')
            mw_text_add(&text, *++at == '0' ? "a[i]" : "b[i]");
        else
            mw_text_add_n(&text, at, 1);
    mw_text_add(&text, ";\n}\n");
    return text.at;
}

/* A kernel that sums rows of the first operand into the second. */
static const char *sums_body(MwArena *arena, int64_t columns)
{
    const int64_t rows = VECTOR_ELEMENTS / columns;
    const MwTensor from = mw_tensor(MW_F32, 2, (int64_t[]){rows, columns}),
                   to = mw_tensor(MW_F32, 1, &rows);
    MwKernelDef kernel = {.arena = arena};
    const int x = mw_kernel_operand(&kernel, X, &from), z = mw_kernel_operand(&kernel, Z, &to);
    const MwNest nest = {.space = {.dim_count = 2, .row_dims = 1, .size = {rows, columns}}};
    mw_vec_push(arena, &kernel.nests, nest);
    MwKernelInstr instr = {.op = MW_KERNEL_LOAD,
                           .level = MW_LEVEL_POINT,
                           .type = MW_SCALAR_F32,
                           .operand = x,
                           .at = {.stride = {columns, 1}}};
    const MwRef element = mw_kernel_add(&kernel, &instr);
    instr = (MwKernelInstr){.op = MW_KERNEL_ROW_SUM,
                            .level = MW_LEVEL_ROW,
                            .type = MW_SCALAR_F32,
                            .inputs = {element},
                            .input_count = 1};
    const MwRef sum = mw_kernel_add(&kernel, &instr);
    instr = (MwKernelInstr){.op = MW_KERNEL_STORE,
                            .level = MW_LEVEL_ROW,
                            .type = MW_SCALAR_F32,
                            .inputs = {sum},
                            .input_count = 1,
                            .operand = z,
                            .at = {.stride = {1, 0}}};
    mw_kernel_add(&kernel, &instr);
    kernel.operands.at[x].reads = kernel.operands.at[z].writes = true;
    mw_nest_finish(kernel.nests.at);
    MwText text = {.arena = arena};
    mw_c_printer.body(&text, &kernel);
    return text.at;
}

/* The kernels of functions, then those of sums. */
static void add_kernels(MwArena *arena, MwPlan *plan)
{
    MwText source = {.arena = arena};
    MwKernelName names[KERNELS];
    plan->kernels = MW_NEW(arena, MwPlanKernel, KERNELS);
    plan->kernel_count = KERNELS;
    mw_c_printer.prelude(&source);
    for (int i = 0; i < MW_COUNT(kernel_ops); i++) {
        const char *op = mw_op_info(kernel_ops[i])->name;
        const char *name = mw_arena_printf(arena, "probe_%s", op);
        names[i] = (MwKernelName){name, name};
        mw_kernel_print(&source, name, op, kernel_body(arena, kernel_ops[i]));
        plan->kernels[i] = (MwPlanKernel){name, .operand_count = 3, .arg_count = 1};
    }
    for (int i = 0; i < MW_COUNT(sum_columns); i++) {
        const char *name = mw_arena_printf(arena, "probe_sums_%d", sum_columns[i]);
        names[FIRST_SUMS + i] = (MwKernelName){name, name};
        mw_kernel_print(&source, name, "sums of rows", sums_body(arena, sum_columns[i]));
        plan->kernels[FIRST_SUMS + i] = (MwPlanKernel){name, .operand_count = 2};
    }
    mw_c_printer.table(&source, names, KERNELS);
    plan->kernel_source = source.at;
}

static void add_sums(Builder *builder, int i)
{
    const MwPlanInstr instr =
        new_instr(builder, MW_INSTR_KERNEL, FIRST_SUMS + i, (int[]){X, Z}, "rw", 2);
    add_probe(builder,
              (MwProbe){.kind = MW_PROBE_ROW_SUM,
                        .m = VECTOR_ELEMENTS / sum_columns[i],
                        .n = sum_columns[i]},
              &instr, 1e-7 + VECTOR_ELEMENTS * (1 / 20e9 + 1 / (0.1e9 * sum_columns[i])));
}

static void add_kernel(Builder *builder, MwProbeKind kind, int kernel, int64_t elements)
{
    MwPlanInstr instr = new_instr(builder, MW_INSTR_KERNEL, kernel, (int[]){X, Y, Z}, "rrw", 3);
    set_args(builder, &instr, &(MwPlanArg){.kind = MW_ARG_INT, .i = elements}, 1);
    int flops = mw_op_info(kernel_ops[kernel])->flops_per_point;
    add_probe(builder, (MwProbe){.kind = kind, .m = elements, .n = flops}, &instr,
              1e-7 + (double)elements * (12 / 20e9 + flops / 50e9));
}

static void add_work(Builder *builder)
{
    add_kernel(builder, MW_PROBE_LAUNCH, 0, 16);
    for (int i = 1; i < MW_COUNT(kernel_ops); i++)
        add_kernel(builder, MW_PROBE_VECTOR, i, VECTOR_ELEMENTS);
    for (int i = 0; i < MW_COUNT(sum_columns); i++)
        add_sums(builder, i);
    for (int64_t elements = SMALLEST_STREAM; elements <= LARGEST_STREAM; elements *= STEP)
        add_kernel(builder, MW_PROBE_STREAM, 0, elements);
    for (int64_t tokens = LARGEST_ATTENTION / 16; tokens <= LARGEST_ATTENTION; tokens *= 2)
        add_attention(builder, tokens);
    add_convs(builder);
    add_products(builder, MW_F32);
    add_products(builder, MW_BF16);
}

/* ---- The plan ---- */

static MwMeshShape mesh_of(int ranks, int ways)
{
    return ways == ranks ? (MwMeshShape){1, {ranks}} : (MwMeshShape){2, {ranks / ways, ways}};
}

MwProbes mw_probe_new(MwArena *arena, int ranks, int ways, bool has_work)
{
    MW_ASSERT(ranks % ways == 0);
    MwPlan *plan = MW_NEW(arena, MwPlan, 1);
    Builder builder = {.arena = arena, .mesh = MW_NEW(arena, MwPlanMesh, 1)};
    *plan = (MwPlan){.model = "probe",
                     .source = "",
                     .cluster = "",
                     .backend = "cpu",
                     .rank_count = ranks,
                     .micro_batches = 1,
                     .schedule = "none",
                     .meshes = builder.mesh,
                     .mesh_count = 1};
    builder.mesh->shape = mesh_of(ranks, ways);
    add_buffers(&builder);
    add_kernels(arena, plan);
    if (has_work)
        add_work(&builder);
    add_collectives(&builder, ways);
    MwPlanProgram *program = MW_NEW(arena, MwPlanProgram, 1);
    *program = (MwPlanProgram){"probe", builder.instrs.at, builder.instrs.count};
    builder.mesh->programs = program;
    builder.mesh->program_count = 1;
    builder.mesh->tasks = MW_NEW(arena, MwPlanTask, 1);
    builder.mesh->task_count = 1;
    return (MwProbes){arena, plan, builder.probes.at, builder.probes.count};
}
