/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers: which stored values share one, how long each is live, and where it lies in the arena.
 *
 * Values share a buffer where one may be written over the other: a weight and its new value, the
 * two sides of an all-reduce, an element-wise result and an operand that dies there.
 *
 * Where all tasks of a micro-batch run one after another (a chain), a value lives from position to
 * position. Where tasks of others run between, what lives from one task to another spans them: it
 * has a place of its own, with a slot for each micro-batch in flight; and so has what is sent or
 * received, which may be on its way while tasks run, with a slot more.
 *
 * A collective of the update whose operand the backward has left may run before that ends, where the
 * device does both at once (runtime/exec/acts.h). For that its result has its memory from then on, if there
 * is enough. */
#ifndef MW_CODEGEN_PLAN_STORAGE_H
#define MW_CODEGEN_PLAN_STORAGE_H

#include "codegen/fuse/order.h"
#include "passes/staging.h"

typedef struct {
    const char *name; /* of the first value to lie there; NULL: scratch */
    MwTensor tensor;
    bool persistent;
    bool spans; /* holds values over several tasks: alone in its place, a slot for each micro-batch
                   in flight */
    int slots;
    int begin, end; /* positions at which and between which it is live; for the last task that uses
                       it, where it spans several */
    int early; /* the position from which on a collective may write its first value; begin where none
                  may */
    bool early_spans; /* other tasks run between that and `begin` */
    int written;      /* the last position at which it gets a new value so far */
    int64_t bytes, offset;
} MwStorageBuffer;

/* The memory of a mesh: the buffers of all its stages, whose positions follow each other. */
typedef struct {
    MW_VEC(MwStorageBuffer) buffers;
    int positions;
    int64_t arena_bytes;
    int64_t live_bytes; /* no arena can be smaller */
} MwMeshStorage;

typedef struct {
    MwMeshStorage *mesh;
    int32_t *buffer;    /* [values] of a stored root, an index into the mesh's; -1: none */
    int32_t *scratch;   /* [units] buffer that its routine works in; -1: none */
    int first_position; /* of the stage, among those of the mesh */
    bool *copies;       /* [assigns] the value is copied to its target when its program ends */
} MwStorage;

/* Adds the buffers of one stage; offsets are not known yet. */
MwStorage mw_storage_plan(MwMeshStorage *mesh, const MwLegal *legal, const MwUnits *units,
                          const MwOrder *order, const MwFlight *flight);
/* The buffer of so many bytes that a unit works in and nobody else sees; where it `stays`, no other
 * unit of the program uses that memory, so that nothing but what it reads says when the unit runs. */
int mw_storage_add_scratch(MwArena *arena, MwStorage *storage, const MwOrder *order, int unit,
                           int64_t bytes, bool stays);
/* Assigns offsets when all stages are there. `overlaps`: collectives may come early, where no more than
 * `limit_bytes` are needed for it (0: whatever that takes). */
void mw_storage_place(MwArena *arena, MwMeshStorage *mesh, bool overlaps, int64_t limit_bytes);

/* The phase in which an input is wanted first; forward where it is not. */
MwPhase mw_storage_input_phase(const MwLegal *legal, const MwUnits *units, MwValueId root);

#endif
