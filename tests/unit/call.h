/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of routines with operands of just the size they reach. */
#ifndef MW_TESTS_UNIT_CALL_H
#define MW_TESTS_UNIT_CALL_H

#include "base/tensor.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/routine.h"

/* Operands with exactly the bytes that a call reaches; the ends are checked by sanitizers and by
 * what stands behind them. */
typedef struct {
    MwRoutine routine;
    MwKernelArg args[32];
    int64_t bytes[MW_ROUTINE_MAX_OPERANDS];
    void *operands[MW_ROUTINE_MAX_OPERANDS];
} Call;

enum { CALL_GUARD_BYTES = 64 }; /* behind every operand */

/* The type of an operand's elements, and one of them. */
MwType call_type(const Call *call, int operand);
double call_value(const Call *call, int operand, int64_t element);
/* Half of the last place of a number of an operand of 16 bits, relative to it; 0 for other types.
 * What is compared with sums that lie on the edge of two numbers allows a little more. */
double call_rounding(const Call *call, int operand);
/* What call_allocate puts into an operand that the call reads: small numbers that repeat nowhere
 * near. What it only writes is NaN. */
float call_sample(int64_t element, int operand);
/* Allocates the operands for the arguments. */
void call_allocate(Call *call);
/* Returns the values of an operand, to be freed. */
float *call_floats(const Call *call, int operand);
/* Checks that nothing was written behind the operands, and frees them. */
void call_release(Call *call);

/* A plan of one mesh whose one program makes the calls. */
MwPlan *call_plan(MwArena *arena, const Call *calls, int count);

/* Runs a call on the device that is tested. */
typedef void RunCall(Call *call);

#endif
