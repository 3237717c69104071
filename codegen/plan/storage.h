/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers: which stored values share one, how long each is live, and where it lies in the arena of
 * the mesh.
 *
 * Values share a buffer where one may be written over the other: a weight and its new value, what a
 * step of a loop takes over and what it leaves, the two sides of an all-reduce, an element-wise
 * result and an operand that is read there for the last time.
 *
 * Where all tasks of a micro-batch run one after another (a chain), a value is live from one
 * position to another. Where tasks of other micro-batches run between, a value that is live from
 * one task to another spans tasks: its buffer has a place of its own, with a slot for each
 * micro-batch in flight. So has the buffer of a value that is sent or received, with one slot more,
 * because it may be on its way while tasks run.
 *
 * A collective of the update may run before the backward ends, as soon as its operand is there, if
 * the device overlaps collectives with kernels (runtime/order/commands.h). The memory of its result
 * is reserved from then on, if there is enough. */
#ifndef MW_CODEGEN_PLAN_STORAGE_H
#define MW_CODEGEN_PLAN_STORAGE_H

#include "codegen/plan/live_ranges.h"

typedef struct {
    const char *name; /* of the first value to lie there; NULL: scratch memory */
    MwTensor tensor;
    bool persistent; /* a weight or state */
    bool on_host;    /* in the memory of the host, not in the arena of the device */
    bool spans;      /* several tasks: it has a place of its own, with several slots */
    int slots;       /* copies, one for each micro-batch in flight */
    int begin,
        end;   /* positions of the mesh at and between which it is live; for a buffer that spans
                         tasks, end is in the last task that uses it */
    int early; /* position from which on a collective may write its first value; `begin` where none
                         may do so early */
    bool early_spans; /* other tasks run between `early` and `begin` */
    int written;   /* position of the stage at which it got its latest value; -1: a source has it */
    int64_t bytes; /* of one slot */
    int64_t offset; /* of its first slot, as in a plan (runtime/plan/plan.h) */
} MwStorageBuffer;

/* The memory of a mesh: the buffers of all its stages, whose positions follow each other. */
typedef struct {
    MwArena *arena;
    MW_VEC(MwStorageBuffer) buffers;
    int positions;       /* of the stages so far */
    int64_t arena_bytes; /* that all buffers take */
    int64_t live_bytes;  /* that are live at once at the worst position: no arena can be smaller */
    int64_t host_bytes;  /* that buffers on the host take */
} MwMeshStorage;

/* The memory of a stage. */
typedef struct {
    MwMeshStorage *mesh;
    const MwOrder *order;
    int32_t *buffer; /* [values] the buffer of a stored root, an index into the mesh's; -1: none */
    int32_t
        *scratch; /* [units] the buffer that the routine of a library operator works in; -1: none */
    int first_position; /* of the stage, among those of the mesh */
    bool *copies;       /* [assigns] the value is copied to its target at the end of its program */
    bool *next_copies;  /* [nodes] of a scan_next, what it leaves is copied to where the next step
                           takes it over, at the end of the step */
} MwStorage;

/* Adds the buffers of one stage; offsets are not known yet. `live` is brought up to date with the
 * copies. */
MwStorage mw_storage_plan(MwMeshStorage *mesh, MwLiveRanges *live);
/* Adds a buffer of `bytes` that the kernel of a unit works in and nothing else uses meanwhile.
 * Where it `stays`, no other unit of the program uses its memory, so that the order in which the
 * unit runs stays free. */
int mw_storage_add_scratch(MwStorage *storage, const MwUnits *units, int unit, int64_t bytes,
                           bool stays);
/* No arena takes less than this for the buffers so far. */
int64_t mw_storage_least_bytes(const MwMeshStorage *mesh);
/* Assigns offsets, in the arena and on the host, when the buffers of all stages are there.
 * `overlaps`: collectives run early, if the arena then takes no more than `limit_bytes` (0: however
 * much it takes). */
void mw_storage_place(MwMeshStorage *mesh, bool overlaps, int64_t limit_bytes);

#endif
