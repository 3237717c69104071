/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the fakes of CUDA's libraries share: streams as queues, and calls that fail when told to.
 *
 * Device memory is memory of the process. Nothing that is queued on a stream is done by the call
 * that queues it: it is done later, by calls that look whether something is done or wait for it,
 * which take turns among the streams (from FAKE_CUDA_ORDER=N on in another order;
 * FAKE_CUDA_ORDER=late: a stream does next to nothing until somebody waits for it). So what does
 * not wait for what it needs finds that it is not there.
 *
 * FAKE_CUDA_INTERLEAVE=N: in the middle of copies and products, and of kernels of
 * tests/kernels/cuda_shim.h, other streams do something now and then. FAKE_CUDA_LOSE_WAIT=N: the
 * N-th wait of a stream for an event is forgotten.
 *
 * FAKE_CUDA_FAULT=CALL:N:KIND,... says what happens to the N-th call (1 first) of a function:
 * `fail`, `hang` (what it queues is never done), `async` (what it queues is never done: of NCCL's
 * calls the communicator says so when it is asked; copies, memsets and graphs break the GPU, on
 * which nothing is done any more, and all later calls fail). Calls of cuBLASLt with an epilogue
 * count as `epilogue_heuristic` and `epilogue_call` too. FAKE_CUDA_LOG=FILE: the names of these
 * calls are added to the file, a line each. FAKE_CUDA_DEVICES is how many GPUs there are, 8 if it
 * is not set. */
#ifndef FAKE_CUDA_FAKE_H
#define FAKE_CUDA_FAKE_H

#include "tests/fake_cuda/cuda_runtime_api.h"

#include <stdbool.h>

typedef enum { FAKE_GOOD, FAKE_FAIL, FAKE_HANG, FAKE_ASYNC } FakeFault;

/* Counts the call. */
FakeFault fake_fault(const char *call);

/* Whether an `async` fault has broken the GPU; and the work that breaks it. */
bool fake_is_broken(void);
bool fake_break(void *state);

/* A launch was refused: cudaGetLastError says so. */
void fake_refuse(cudaError_t error);

/* Queues work: `work` is called with a copy of its state until it is true. */
typedef bool FakeWork(void *state);
void fake_queue(cudaStream_t stream, FakeWork *work, const void *state, size_t bytes);
bool fake_never(void *state);

/* Lets every stream do something, or where they are late those that `stream` waits for; NULL: all.
 * True if one did. */
bool fake_turn(cudaStream_t stream);
/* Work takes so much more time on the clock that events are timed by. */
void fake_spend(double ms);
double fake_clock_ms(void);
/* What a product takes by an algorithm of cuBLASLt. */
double fake_algorithm_ms(int algorithm);
/* Whether work is on the GPU that is not known to be done, or is kept for a graph. */
bool fake_is_busy(void);
/* Called in the middle of work: other streams may do something there. */
void fake_interleave(void);
/* Whether a graph was launched that is not known to be done. */
bool fake_graph_is_busy(void);
/* Code is loaded to the GPU, for which the host is blocked until all that is queued is done. */
void fake_load(void);

#endif
