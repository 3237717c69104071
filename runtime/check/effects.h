/* SPDX-License-Identifier: MIT */
/* What each activity of a step does to the buffers of a mesh, seen from outside of it: which it
 * reads without having written them, which it writes, and which it overwrites with others. An
 * activity is a program, with the inputs that are filled before it and the outputs that are taken
 * after it; the setting of weights; the end of the step.
 *
 * A micro-batch uses one slot of a buffer; what is written over a buffer with several slots is
 * taken to be over all of them. */
#ifndef MW_RUNTIME_CHECK_EFFECTS_H
#define MW_RUNTIME_CHECK_EFFECTS_H

#include "base/vec.h"
#include "runtime/check/report.h"

/* An access of a buffer: by an instruction of a program, or else by what `name` says. */
typedef struct {
    const char *name;
    int program, instr;
    int buffer;
} MwAccessPlace;

typedef struct {
    int reader;  /* the first read of what was there before, as an index into places; 0: none */
    int lost;    /* a write of this activity over it before that; 0: none */
    int culprit; /* the last write over it by another buffer, after its own; 0: none */
    bool writes;
} MwEffect;

/* Programs come first. */
enum { MW_ACTIVITY_SET_WEIGHTS, MW_ACTIVITY_RESET, MW_ACTIVITY_END, MW_EXTRA_ACTIVITIES };

typedef struct {
    int activity_count;           /* programs, then the others */
    MwEffect **effects;           /* [activity][buffer] */
    MW_VEC(MwAccessPlace) places; /* element 0 is none */
} MwEffects;

/* Reads of what the same activity has written and then overwritten are errors. */
MwEffects mw_check_effects(const MwCheck *check);

/* "reads buffer 3 'x', which ... has overwritten with buffer 4 'y' that lies over it" */
void mw_check_overwritten(const MwCheck *check, const MwEffects *effects, int reader, int culprit);
/* An error of what happens at a place. */
void mw_check_place_error(const MwCheck *check, const MwAccessPlace *place, const char *format, ...)
    MW_PRINTF(3, 4);

#endif
