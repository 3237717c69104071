/* SPDX-License-Identifier: MIT */
/* The plan: all that the executor needs to know, and what was decided and predicted on the way.
 *
 * A plan is a versioned text file (docs/plan.md), one section per mesh and not per rank; this is
 * its form in memory. Reading and printing are inverse to the byte. mw_plan_check proves, without
 * trusting the compiler, that a plan can run: every buffer is read only after it is written,
 * buffers that are live together do not overlap, collectives and shapes agree, the arena holds
 * everything, what one mesh sends another receives, and no mesh waits for ever.
 *
 * All counts of elements and bytes are per device (local) unless the name says global. */
#ifndef MW_RUNTIME_PLAN_PLAN_H
#define MW_RUNTIME_PLAN_PLAN_H

#include "base/diag.h"
#include "base/spec.h"
#include "base/tensor.h"
#include "base/text.h"

enum { MW_PLAN_VERSION = 3, MW_BUFFER_ALIGNMENT = 64 };

/* A piece of the arena. A buffer is storage, not a value: an in-place kernel reads and writes one,
 * and the values of a reshape chain share one. A write is of the whole buffer; an instruction that
 * writes a part and keeps the rest both reads and writes. */
typedef struct {
    const char *name;
    MwTensor tensor; /* local */
    int64_t offset;  /* bytes from the start of the arena; a multiple of MW_BUFFER_ALIGNMENT */
    int64_t bytes;   /* at least mw_tensor_bytes(tensor) */
    /* Places for values of several micro-batches at a time, at least 1: a task of micro-batch m uses
     * slot m % slots. What tasks without a micro-batch use has one. */
    int slots;
    bool persistent; /* weights, states: keeps its contents between steps, alone in its place */
} MwPlanBuffer;

/* From one slot to the next, where each holds `bytes`. */
static inline int64_t mw_slot_bytes(int64_t bytes)
{
    return mw_round_up(bytes, MW_BUFFER_ALIGNMENT);
}

/* From the start of the first slot to the end of the last. */
static inline int64_t mw_plan_buffer_bytes(const MwPlanBuffer *buffer)
{
    return (buffer->slots - 1) * mw_slot_bytes(buffer->bytes) + buffer->bytes;
}

/* The slot that tasks of a micro-batch use; -1 is no micro-batch. */
static inline int mw_plan_slot(const MwPlanBuffer *buffer, int micro_batch)
{
    return micro_batch < 0 ? 0 : micro_batch % buffer->slots;
}

/* Where that slot starts in the arena. */
static inline int64_t mw_plan_slot_offset(const MwPlanBuffer *buffer, int micro_batch)
{
    return buffer->offset + mw_plan_slot(buffer, micro_batch) * mw_slot_bytes(buffer->bytes);
}

typedef enum { MW_ACCESS_READ, MW_ACCESS_WRITE, MW_ACCESS_READ_WRITE } MwAccess;

typedef struct {
    int buffer; /* index */
    MwAccess access;
} MwPlanOperand;

typedef enum {
    MW_ARG_INT,
    MW_ARG_FLOAT,
    MW_ARG_POSITION, /* int: micro_batch * micro_stride + mw_mesh_block(axes) * block_stride */
    MW_ARG_STEP,     /* int: number of the step, 1 first */
    MW_ARG_SEED,     /* int: seed of the run */
} MwPlanArgKind;

/* A scalar argument of an instruction. */
typedef struct {
    MwPlanArgKind kind;
    int64_t i;
    double f;
    MwAxes axes;
    int64_t block_stride, micro_stride;
} MwPlanArg;

typedef enum {
    /* target: index into MwPlan.kernels; operands and args of one set after another, where the kernel
     * takes sets */
    MW_INSTR_KERNEL,
    MW_INSTR_ROUTINE, /* target: MwRoutine, a routine of the device (runtime/plan/routines.def) */
    MW_INSTR_COLLECTIVE, /* target: MwCollective; operands: source (read), destination (write) */
    /* target: index into MwPlan.transfers; one operand, its buffer on this mesh. A send goes on
     * while the tasks do, and what would overwrite its buffer waits for it; a receive has the data
     * when it is done. */
    MW_INSTR_SEND,
    MW_INSTR_RECEIVE,
} MwInstrKind;

typedef struct {
    MwInstrKind kind;
    int target;
    MwPlanOperand *operands;
    int operand_count;
    MwPlanArg *args;
    int arg_count;
    /* Collectives: the group is the devices that differ in `axis` only. `count` elements of `type`
     * in the source buffer: all_reduce gives count; all_gather gives ways * count, blocks in order
     * of coordinate; reduce_scatter gives count / ways; all_to_all gives count, block i of the
     * source going to coordinate i. Source and destination may be one buffer for all_reduce. */
    int axis;
    MwType type;
    int64_t count;
    MwCombine combine;
    /* Where it comes from and what it was predicted to take. */
    int operator_index; /* index into MwPlanMesh.operators; -1: none */
    double time_s;
} MwPlanInstr;

typedef struct {
    const char *name; /* "forward", "backward", "update" */
    MwPlanInstr *instrs;
    int instr_count;
} MwPlanProgram;

/* One entry of the schedule: run a program, on one micro-batch or (micro_batch -1, as the update)
 * on none. A program runs either once on every micro-batch or without one. */
typedef struct {
    int program;
    int micro_batch;
} MwPlanTask;

/* May stand on several meshes under one name. */
typedef struct {
    const char *name;
    int buffer;
    MwTensor global; /* of the whole batch */
    MwSpec spec;     /* micro-batch m is block m of dimension 0; `spec` shards within it */
    int64_t bound;   /* integers are in [0, bound), as row numbers of an embedding; 0: any */
    int program;     /* before whose task of micro-batch m the executor puts block m there */
} MwPlanInput;

/* As an input, a block per micro-batch; or `whole`: taken once, at the end of the step. */
typedef struct {
    const char *name;
    int buffer;
    MwTensor global;
    MwSpec spec;
    bool whole;
    int program; /* after whose task of micro-batch m block m is taken; -1 where `whole` */
} MwPlanOutput;

typedef enum {
    MW_INIT_ZEROS,
    MW_INIT_ONES,
    MW_INIT_NORMAL,   /* standard deviation init_value */
    MW_INIT_UNIFORM,  /* in (-init_value, init_value) */
    MW_INIT_CONSTANT, /* init_value */
} MwInit;

/* A weight or an optimizer state. Kept in checkpoints under its name. One that several meshes hold
 * is the same on all of them. */
typedef struct {
    const char *name;
    int buffer;
    MwTensor global;
    MwSpec spec;
    MwInit init;
    double init_value;
    bool is_state; /* an optimizer state rather than a weight */
    /* An accumulator: set to its initial value before each step, not checkpointed. */
    bool reset_each_step;
} MwPlanWeight;

/* ---- What was decided and predicted (the report that `inspect` shows) ---- */

typedef struct {
    MwCollective kind;
    int axis;
    int64_t bytes; /* of the larger side, per device */
    double time_s;
} MwPlanCollective;

typedef struct {
    int operator_index; /* the operator that gives it; -1: none */
    int rank;
    MwSpec spec; /* as the operator that takes it wants it */
} MwPlanOperatorOperand;

/* One operator of the model, after differentiation. Costs are per step: work done once per
 * micro-batch counts that many times. */
typedef struct {
    const char *name;   /* of its first result */
    const char *op;     /* name in ir/ops.def */
    const char *source; /* "models/gpt.graph:12:9"; "" if none */
    const char *phase;  /* "forward", "backward", "update" */
    MwType type;        /* of the first result, */
    int rank;           /* and its dimensions */
    MwSpec spec;        /* of the first result */
    MwPlanOperatorOperand *operands;
    int operand_count;
    double compute_s, communication_s;
    MwPlanCollective *collectives; /* that bring its operands into their specs */
    int collective_count;
    bool has_runner_up; /* another strategy exists */
    MwSpec runner_up;   /* result spec of the next best strategy, the rest of the plan held */
    double runner_up_extra_s;
    bool pinned;
} MwPlanOperator;

typedef struct {
    double objective_s;   /* predicted time of a step that the intra-op pass minimised */
    double lower_bound_s; /* no plan on this mesh costs less, by the cost model */
    double compute_s, communication_s;
    double step_s;      /* predicted from the instructions themselves, after fusion */
    int64_t live_bytes; /* greatest sum of live buffers: no arena can be smaller */
} MwPlanCosts;

typedef struct {
    MwMeshShape shape;
    int first_rank; /* ranks first_rank .. + mw_mesh_devices(shape) - 1, row-major */
    int64_t arena_bytes;
    MwPlanBuffer *buffers;
    int buffer_count;
    MwPlanProgram *programs;
    int program_count;
    MwPlanTask *tasks; /* one step */
    int task_count;
    MwPlanInput *inputs;
    int input_count;
    MwPlanOutput *outputs;
    int output_count;
    MwPlanWeight *weights;
    int weight_count;
    int loss_buffer; /* f32[], the same on every device; holds the loss of the step when the tasks
                        are done; -1: not on this mesh */
    MwPlanOperator *operators;
    int operator_count;
    MwPlanCosts costs;
} MwPlanMesh;

typedef struct {
    const char *name; /* C identifier; its function has type MwKernel (runtime/plan/kernel.h) */
    int operand_count, arg_count; /* of one set */
    bool takes_sets;              /* runs on any number of sets at once */
} MwPlanKernel;

/* A tensor that goes from one mesh to another, each time the program that sends it runs. */
typedef struct {
    const char *name; /* of the value */
    MwTensor tensor;  /* global: of one micro-batch where its programs run on micro-batches */
    int from_mesh, from_buffer;
    MwSpec from_spec;
    int to_mesh, to_buffer;
    MwSpec to_spec;
    /* One of the ranks that want the same gets it and passes it on, rather than each a part
     * (runtime/plan/transfer.h). */
    bool broadcast;
    double time_s; /* predicted, of one such time */
} MwPlanTransfer;

/* A pipeline stage, as it was decided and predicted. Stages are in the order of the pipeline; those
 * of one mesh are its chunks. Times are of one run of its programs. */
typedef struct {
    int mesh;
    int first_layer, layer_count; /* of the model, numbered from 0 */
    int remat_layers;             /* of them, that are computed again in the backward */
    double forward_s, backward_s; /* of one micro-batch */
    double weight_s;              /* its gradients of weights, where they run apart from backward */
    double update_s;
    /* Its parts of the lists of the mesh. The update is one program for all stages of a mesh. */
    int first_program, program_count;
    int first_operator, operator_count;
} MwPlanStage;

/* A way to lay out the model that the search considered and did not take. */
typedef struct {
    const char *name;     /* "4 stages, 1f1b, 16 micro-batches" */
    const char *reason;   /* "time", or "memory" */
    double step_s;        /* predicted, or a lower bound; 0: not known */
    int64_t needed_bytes; /* of a device, where memory is the reason; 0: not known */
} MwPlanAlternative;

typedef struct {
    const char *model;   /* name of the model */
    const char *source;  /* path of the .graph */
    const char *cluster; /* name of the cluster */
    const char *backend; /* "cpu" or "cuda" */
    int rank_count;
    int micro_batches;
    const char *schedule; /* "1f1b", ...; "none" where there is one mesh */
    double step_s;        /* predicted: the schedule's timeline, then the update */
    MwPlanKernel *kernels;
    int kernel_count;
    const char *kernel_source; /* C or CUDA C; defines every kernel */
    MwPlanMesh *meshes;
    int mesh_count;
    MwPlanTransfer *transfers;
    int transfer_count;
    MwPlanStage *stages;
    int stage_count;
    MwPlanAlternative *alternatives;
    int alternative_count;
} MwPlan;

/* The plan file's text, checksum included. */
void mw_plan_print(MwText *text, const MwPlan *plan);
/* NULL after an error that names the line and what is wrong: damage, truncation, another version.
 */
MwPlan *mw_plan_parse(MwArena *arena, const MwSource *source, MwDiags *diags);
/* The section of an executable that holds its plan's text, and nothing else. */
#define MW_PLAN_SECTION ".mwplan"
/* Reads a plan file, or the plan inside an executable made by `meshwright compile`. */
MwPlan *mw_plan_read(MwArena *arena, const char *path, MwDiags *diags);

/* Name of the kernel, routine or collective that an instruction runs; "send" and "receive". */
const char *mw_plan_instr_name(const MwPlan *plan, const MwPlanInstr *instr);
/* How many sets of operands it has; 1 but for kernels that take sets. */
int mw_plan_instr_sets(const MwPlan *plan, const MwPlanInstr *instr);
/* Its name, and the number of sets where that is more than 1: "k17_adamw x 148". Cut off at `bytes`. */
void mw_plan_instr_label(const MwPlan *plan, const MwPlanInstr *instr, char *label, size_t bytes);

/* The mesh that has the loss; NULL: none. */
const MwPlanMesh *mw_plan_loss_mesh(const MwPlan *plan);

#endif
