/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which instructions used which bytes of an arena last, while the instructions of a program are
 * gone through in order: the last writer of every byte, and its readers since then.
 *
 * The arena is cut where buffers begin and end. Neighbouring pieces with the same writer and
 * readers are one entry, so the entries grow with the accesses so far, and never beyond twice the
 * number of buffers. */
#ifndef MW_CODEGEN_PLAN_ACCESSES_H
#define MW_CODEGEN_PLAN_ACCESSES_H

#include "base/arena.h"
#include "base/vec.h"
#include "runtime/plan/plan.h"

typedef MW_VEC(int) MwInstrList;

typedef struct MwAccesses MwAccesses;

/* No byte has been used yet. Lies in `arena`. */
MwAccesses *mw_accesses_new(MwArena *arena, const MwPlanBuffer *buffers, int buffer_count);

/* Notes that instruction `instr` reads all of a buffer, or writes it. */
void mw_accesses_read(MwAccesses *accesses, int buffer, int instr);
void mw_accesses_write(MwAccesses *accesses, int buffer, int instr);

/* Calls `follow` with each instruction that must run before another one can read the buffer, or
 * can write it: the writers of its bytes and, if it is written, their readers. May name an
 * instruction several times. */
void mw_accesses_before(const MwAccesses *accesses, int buffer, bool writes,
                        void (*follow)(void *context, int instr), void *context);

#endif
