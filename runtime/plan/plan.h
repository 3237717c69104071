/* SPDX-License-Identifier: MIT */
/* The plan in memory: everything that the executor needs, and what the compiler decided and
 * predicted.
 *
 * A plan is a versioned text file (docs/plan.md) with one section per mesh, not per rank. Reading
 * it and printing it are inverse to the byte. runtime/check/check.h proves that a plan can run.
 *
 * All counts of elements and bytes are per device (local) unless the name says global. */
#ifndef MW_RUNTIME_PLAN_PLAN_H
#define MW_RUNTIME_PLAN_PLAN_H

#include "base/diag.h"
#include "base/init.h"
#include "base/spec.h"
#include "base/tensor.h"
#include "base/text.h"

enum { MW_PLAN_VERSION = 9, MW_BUFFER_ALIGNMENT = 64 };

/* A range of the arena, or of the memory of the host, whose offsets follow those of the arena
 * (mw_host_begin). A buffer is storage, not a value: an in-place kernel reads and writes the
 * same buffer, and the values of a chain of reshapes share one. A write covers the whole buffer, in
 * a loop perhaps by all its runs together; an instruction that writes a part and keeps the rest has
 * access MW_ACCESS_READ_WRITE. */
typedef struct {
    const char *name;
    MwTensor tensor; /* local */
    int64_t offset;  /* in bytes; a multiple of MW_BUFFER_ALIGNMENT */
    int64_t bytes;   /* at least mw_tensor_bytes(tensor) */
    /* Number of slots, at least 1: values of as many micro-batches can be held at a time. A task of
     * micro-batch m uses slot m % slots. A buffer that a task without a micro-batch uses has 1. */
    int slots;
    /* holds a weight or state: keeps its contents between steps, and overlaps no other buffer */
    bool persistent;
} MwPlanBuffer;

/* The offset at which the memory of the host begins, behind an arena of so many bytes. */
static inline int64_t mw_host_begin(int64_t arena_bytes)
{
    return mw_round_up(arena_bytes, MW_BUFFER_ALIGNMENT);
}

/* The distance of two adjacent slots of `bytes` each. */
static inline int64_t mw_slot_bytes(int64_t bytes)
{
    return mw_round_up(bytes, MW_BUFFER_ALIGNMENT);
}

/* The size of the buffer with all its slots. */
static inline int64_t mw_plan_buffer_bytes(const MwPlanBuffer *buffer)
{
    return (buffer->slots - 1) * mw_slot_bytes(buffer->bytes) + buffer->bytes;
}

/* The slot that the tasks of a micro-batch use; -1 stands for no micro-batch. */
static inline int mw_plan_slot(const MwPlanBuffer *buffer, int micro_batch)
{
    return micro_batch < 0 ? 0 : micro_batch % buffer->slots;
}

/* The offset of that slot in the arena. */
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
    /* int: micro_batch * micro_stride + mw_mesh_block(axes) * block_stride + run * loop_stride,
     * where `run` counts the runs of the loop that the instruction is in, from 0 */
    MW_ARG_POSITION,
    /* int: block_stride times the block, by `axes`, of the device that is `places` further along
     * `axis`, round its end */
    MW_ARG_SHIFTED,
    /* int: block_stride times the block, by `axes`, in the mirror: as far from the last one as the
     * device's own is from the first */
    MW_ARG_MIRRORED,
    MW_ARG_STEP, /* int: the step as kernels get it (base/philox.h); steps count from 1 */
    MW_ARG_SEED, /* int: the seed of the run */
} MwPlanArgKind;

/* A scalar argument of an instruction. */
typedef struct {
    MwPlanArgKind kind;
    int64_t i;
    double f;
    MwAxes axes;
    int64_t block_stride, micro_stride, loop_stride;
    int axis, places; /* MW_ARG_SHIFTED */
} MwPlanArg;

typedef enum {
    /* target: index into MwPlan.kernels. Where the kernel takes sets, the operands and args of one
     * set follow those of another. */
    MW_INSTR_KERNEL,
    /* target: MwRoutine, a routine of the device (runtime/plan/routines.def) */
    MW_INSTR_ROUTINE,
    /* target: MwCollective; operands: source (read) and destination (write) of one part after
     * another. Where there are several parts, args are the elements of the source of each. */
    MW_INSTR_COLLECTIVE,
    /* target: index into MwPlan.transfers; the operand is the transfer's buffer on this mesh. A
     * send is in flight while later instructions run; whatever overwrites its buffer waits for
     * it. */
    MW_INSTR_SEND,
    MW_INSTR_RECEIVE, /* as MW_INSTR_SEND; the data is in the buffer when the instruction is done */
} MwInstrKind;

typedef struct {
    MwInstrKind kind;
    int target;
    MwPlanOperand *operands;
    int operand_count;
    MwPlanArg *args;
    int arg_count;
    /* ---- Collectives only: the group is the devices that differ in `axis` only; it has w members.
     * The result has count elements for all_reduce; w * count for all_gather, blocks in order of
     * coordinate; count / w for reduce_scatter; count for all_to_all, where block i of the source
     * goes to coordinate i; count for shift, the source of the next coordinate, round the end, and
     * for mirror, that of coordinate w - 1 - i on coordinate i.
     * Source and destination may be one buffer for all_reduce. Each part is a collective of its
     * own; they are done together (a bucket). */
    int axis;
    MwType type;
    int64_t count; /* elements of the sources of all parts */
    MwCombine combine;
    /* ---- For the report */
    /* the operator that it computes a part of, in MwPlanMesh.operators; -1: none */
    int operator_index;
    bool has_operators; /* it computes parts of several: */
    int *operators; /* ascending; operator_index is one of them, or -1 where calls are grouped */
    int operator_count;
    double time_s;            /* predicted */
    bool has_work;            /* it computes: */
    double flops, work_bytes; /* of one run, as the cost model counts them */
} MwPlanInstr;

/* Instructions first .. first + count - 1 of a program run `runs` times, one after another. None of
 * them sends or receives. */
typedef struct {
    int first, count, runs;
} MwPlanLoop;

typedef struct {
    const char *name; /* "forward", "backward", "update" */
    MwPlanInstr *instrs;
    int instr_count;
    MwPlanLoop *loops; /* ascending; none is in another */
    int loop_count;
} MwPlanProgram;

/* An entry of the schedule: one run of a program. A program runs either once on every micro-batch
 * or without a micro-batch. */
typedef struct {
    int program;     /* index */
    int micro_batch; /* -1: none, as for the update */
} MwPlanTask;

/* The integers of an input that lie at [begin, end) of one axis are in [0, below), such as row
 * numbers of an embedding. */
typedef struct {
    int axis;           /* 0 of a scalar, whose size there is 1 */
    int64_t begin, end; /* of the whole batch */
    int64_t below;
} MwPlanBound;

/* An input of the model. Micro-batch m gets block m of dimension 0, or all of it. Several meshes
 * may have an input of one name. */
typedef struct {
    const char *name;
    int buffer;      /* index */
    MwTensor global; /* type and shape of the whole batch */
    MwSpec spec;     /* of one micro-batch, or of the whole */
    int program;     /* index; the buffer is filled before the program's task of the micro-batch */
    bool whole;      /* the same for every micro-batch */
    MwPlanBound *bounds;
    int bound_count;
    bool is_padded; /* the devices hold `padded` of it: `global`, and zeros behind it */
    MwTensor padded;
} MwPlanInput;

/* An output of the model: one block of dimension 0 per micro-batch, or `whole`. */
typedef struct {
    const char *name;
    int buffer;      /* index */
    MwTensor global; /* type and shape of the whole batch */
    MwSpec spec;     /* of one micro-batch, or of the whole */
    bool whole;      /* taken once, at the end of the step */
    /* index; the buffer is taken after the program's task of the micro-batch; -1 if `whole` */
    int program;
    bool is_padded; /* the devices hold `padded` of it, whose further elements mean nothing */
    MwTensor padded;
} MwPlanOutput;

/* A weight or an optimizer state. Several meshes may have one of the same name; it has the same
 * value on all of them. */
typedef struct {
    const char *name; /* in checkpoints too */
    int buffer;       /* index; persistent */
    MwTensor global;
    MwSpec spec;
    MwInit init;
    double init_value;
    bool is_state; /* an optimizer state, not a weight */
    /* The state is the weight `copy_of` in a shorter type, sharded as that is, or on the device in
     * any type where that is on the host. Steps keep it so; it
     * is not in checkpoints, and is set with the weight. */
    bool is_copy;
    const char *copy_of;
    /* an accumulator: set to its initial value before each step, not in checkpoints */
    bool reset_each_step;
    bool is_padded; /* the devices hold `padded` of it: `global`, and zeros behind it */
    MwTensor padded;
} MwPlanWeight;

/* The name by which files have what a weight or state is set to, and random numbers are drawn. */
static inline const char *mw_plan_stored_name(const MwPlanWeight *weight)
{
    return weight->is_copy ? weight->copy_of : weight->name;
}

/* The tensor that the devices hold of an input, output or weight. */
#define mw_plan_held(data) ((data)->is_padded ? &(data)->padded : &(data)->global)

/* ---- The report: what was decided and predicted, as `inspect` shows it ---- */

/* A collective that reshards an operand of an operator. */
typedef struct {
    MwCollective kind;
    int axis;
    int64_t bytes; /* of the larger of source and result, per device */
    double time_s;
} MwPlanCollective;

typedef struct {
    int operator_index; /* the operator that computes it; -1: none */
    int rank;           /* of the tensor */
    MwSpec spec;        /* the spec in which the consumer takes it */
} MwPlanOperatorOperand;

/* One operator of the model, after differentiation. Costs are per step: work done once per
 * micro-batch counts that many times. */
typedef struct {
    const char *name;   /* of its first result */
    const char *op;     /* name in ir/ops.def */
    const char *source; /* "models/gpt.graph:12:9"; "" if none */
    const char *phase;  /* "forward", "backward", "update" */
    MwType type;        /* element type of the first result */
    int rank;           /* number of dimensions of the first result */
    MwSpec spec;        /* of the first result */
    MwPlanOperatorOperand *operands;
    int operand_count;
    double compute_s, communication_s;
    MwPlanCollective *collectives; /* that reshard its operands to their specs */
    int collective_count;
    bool has_runner_up;       /* another strategy exists */
    MwSpec runner_up;         /* result spec of the next best strategy, the rest of the plan held */
    double runner_up_extra_s; /* how much longer a step takes with it */
    bool pinned;              /* the user chose the strategy */
} MwPlanOperator;

/* A number of the step that the mesh has and that a run shows. */
typedef struct {
    const char *name;
    int index; /* its place among the metrics of all meshes, of which losses are the first */
    /* f32[], the same on every device, holds the number of the step after the last task */
    int buffer;
    bool minimised; /* it is a loss: a train statement minimises it */
} MwPlanMetric;

typedef struct {
    double objective_s;   /* time of a step that the intra-op pass minimised */
    double lower_bound_s; /* no plan on this mesh costs less, by the cost model */
    double compute_s, communication_s;
    double step_s;      /* time of a step predicted from the instructions, after fusion */
    int64_t live_bytes; /* greatest sum of live buffers: no arena can be smaller */
} MwPlanCosts;

typedef struct {
    MwMeshShape shape;
    int first_rank; /* ranks first_rank .. + mw_mesh_devices(shape) - 1, row-major */
    int64_t arena_bytes;
    bool has_host;      /* buffers of a device lie on the host: */
    int64_t host_bytes; /* in memory of its own there, of so many bytes */
    bool has_ceilings;  /* what a device of the mesh can do at most, by its cluster file: */
    double flops_per_s, bytes_per_s; /* products of the type that most are of; memory */
    bool has_collective_share;       /* kernels are slower while a collective runs: */
    double collective_share;         /* it takes this part of the device's compute, in (0, 1) */
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
    MwPlanMetric *metrics;
    int metric_count;
    MwPlanOperator *operators;
    int operator_count;
    MwPlanCosts costs;
} MwPlanMesh;

/* Whether a buffer lies on the host. */
static inline bool mw_plan_is_on_host(const MwPlanMesh *mesh, const MwPlanBuffer *buffer)
{
    return mesh->has_host && buffer->offset >= mw_host_begin(mesh->arena_bytes);
}

/* The end of all offsets of the mesh. */
static inline int64_t mw_plan_mesh_end(const MwPlanMesh *mesh)
{
    return mesh->has_host ? mw_host_begin(mesh->arena_bytes) + mesh->host_bytes : mesh->arena_bytes;
}

typedef struct {
    /* C identifier of a function of type MwKernel (runtime/plan/kernel.h) */
    const char *name;
    int operand_count, arg_count; /* of one set */
    bool takes_sets;              /* one call runs on any number of sets */
    /* the processors of the host run it, where those of the devices are others: it is of the part
     * of the source that is C (MW_KERNEL_HOST_MACRO) */
    bool on_host;
} MwPlanKernel;

/* Where some kernels run on the host and others on a GPU, the source is two: CUDA C or, behind this
 * line, C for the host. The table is in the former, and has the functions of the latter. */
#define MW_KERNEL_HOST_MACRO "MW_HOST_KERNELS"
#define MW_KERNEL_HOST_LINE "#define " MW_KERNEL_HOST_MACRO "\n"

/* A tensor that goes from one mesh to another each time the program with its send runs. */
typedef struct {
    const char *name; /* of the value */
    /* global type and shape: of one micro-batch if its programs run on micro-batches */
    MwTensor tensor;
    int from_mesh, from_buffer;
    MwSpec from_spec;
    int to_mesh, to_buffer;
    MwSpec to_spec;
    bool broadcast; /* as in MwTransfer (runtime/plan/transfer.h) */
    double time_s;  /* predicted time of one run */
} MwPlanTransfer;

/* A pipeline stage, as it was decided and predicted. Stages are in the order of the pipeline; the
 * stages of one mesh are its chunks. Times are of one run of a program. */
typedef struct {
    int mesh;
    int first_layer, layer_count; /* layers of the model, numbered from 0 */
    /* numbers of its layers that are recomputed in the backward, and of those of which only what is
     * no result of a product, a convolution or attention is */
    int remat_layers, selective_layers;
    bool streams;        /* there are layers that keep on the host what the backward needs */
    int streamed_layers; /* number of those */
    double forward_s, backward_s; /* for one micro-batch */
    /* gradients of weights for one micro-batch, where they run apart from the backward; else 0 */
    double weight_s;
    double update_s;
    /* its programs, in the list of the mesh; the update belongs to all stages */
    int first_program, program_count;
    int first_operator, operator_count; /* its operators, in the list of the mesh */
} MwPlanStage;

/* A layout of the model that the search considered and rejected. */
typedef struct {
    const char *name;   /* "4 stages, 1f1b, 16 micro-batches" */
    const char *reason; /* "time"; "memory"; "effort": layouts that the search left out */
    double step_s;      /* predicted time of a step, or a lower bound of it; 0: not known */
    /* memory that a device would need, where that is the reason; 0: not known */
    int64_t needed_bytes;
} MwPlanAlternative;

/* An option of the command line: "--cluster" and "local:4". */
typedef struct {
    const char *name, *value;
} MwPlanOption;

/* What the plan was made from: with the same texts, the same command makes it again. */
typedef struct {
    const char *model; /* as the command line names it; "": no command made the plan */
    /* hashes of the texts that the model and the cluster were read from, as 16 hex digits */
    const char *model_hash, *cluster_hash;
    MwPlanOption *options; /* those that decide what is planned, in the order of their names */
    int option_count;
} MwPlanCommand;

typedef struct {
    const char *model;   /* name of the model */
    const char *source;  /* path of the .graph */
    const char *cluster; /* name of the cluster */
    const char *backend; /* "cpu" or "cuda" */
    int rank_count;
    int micro_batches;
    const char *schedule; /* "1f1b", ...; "none" if there is one mesh */
    double step_s;        /* predicted time of a step (codegen/simulate/simulate.h) */
    int64_t device_bytes; /* memory of a device */
    /* of products, convolutions and attention in a step, without recomputation */
    double model_flops;
    double model_peak_s; /* their time on one device at the rates of its datasheet; 0: not known */
    bool has_price;
    double usd_per_h; /* price of the cluster, by its file */
    MwPlanCommand command;
    MwPlanKernel *kernels;
    int kernel_count;
    const char *kernel_source; /* C or CUDA C that defines every kernel */
    MwPlanMesh *meshes;
    int mesh_count;
    MwPlanTransfer *transfers;
    int transfer_count;
    MwPlanStage *stages;
    int stage_count;
    MwPlanAlternative *alternatives;
    int alternative_count;
} MwPlan;

/* Appends the text of the plan file, with its checksum (print.c). */
void mw_plan_print(MwText *text, const MwPlan *plan);
/* NULL after an error that names the line and the cause, such as damage, truncation or another
 * version (parse.c). */
MwPlan *mw_plan_parse(MwArena *arena, const MwSource *source, MwDiags *diags);
/* The section of an executable that holds the text of its plan and nothing else. */
#define MW_PLAN_SECTION ".mwplan"
/* Reads a plan file, or the plan of an executable that `meshwright compile` made (file.c). */
MwPlan *mw_plan_read(MwArena *arena, const char *path, MwDiags *diags);
/* Whether the file is one that mw_plan_read takes, by its first bytes, or its section, alone. */
bool mw_plan_is_at(MwArena *arena, const char *path);

/* The name of the kernel, routine or collective that an instruction runs; "send" or "receive". */
const char *mw_plan_instr_name(const MwPlan *plan, const MwPlanInstr *instr);
/* The number of parts of a collective, and the elements of the source of one of them. */
static inline int mw_plan_part_total(const MwPlanInstr *instr)
{
    return instr->operand_count / 2;
}

static inline int64_t mw_plan_part_count(const MwPlanInstr *instr, int part)
{
    return instr->arg_count ? instr->args[part].i : instr->count;
}

/* The number of sets of operands, or of parts; 1 unless it runs a kernel that takes sets or is a
 * collective. */
int mw_plan_instr_sets(const MwPlan *plan, const MwPlanInstr *instr);
/* The name, with the number of sets if that is more than 1: "k17_adamw x 148". Cut off at
 * `bytes`. */
void mw_plan_instr_label(const MwPlan *plan, const MwPlanInstr *instr, char *label, size_t bytes);

/* The loop that an instruction is in; NULL: in none. */
const MwPlanLoop *mw_plan_loop_at(const MwPlanProgram *program, int instr);
/* How often an instruction runs each time its program does. */
int mw_plan_instr_runs(const MwPlanProgram *program, int instr);

/* The most stages that a mesh has, if the plan has any. */
int mw_plan_chunks(const MwPlan *plan);
/* The mesh that a rank of the run belongs to. */
const MwPlanMesh *mw_plan_mesh_of_rank(const MwPlan *plan, int rank);

int mw_plan_metric_count(const MwPlan *plan); /* of all meshes */
/* The number of metrics that are losses; 0: the model is for inference. */
int mw_plan_loss_count(const MwPlan *plan);
/* A metric by its place among all, and the mesh that has it. */
const MwPlanMetric *mw_plan_metric(const MwPlan *plan, int index, const MwPlanMesh **mesh);
/* Whether the buffer holds a metric of the mesh. */
bool mw_plan_holds_metric(const MwPlanMesh *mesh, int buffer);

#endif
