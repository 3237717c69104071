/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the fakes of CUDA's libraries share: streams as queues, and calls that fail when told to.
 *
 * Device memory is memory of the process. Nothing that is queued on a stream is done by the call that
 * queues it: it is done later, by calls that look whether something is done or wait for it, which
 * take turns among the streams (from FAKE_CUDA_ORDER=N on in another order; FAKE_CUDA_ORDER=late: a
 * stream does next to nothing until somebody waits for it). So what does not wait for what it needs finds that
 * it is not there.
 *
 * FAKE_CUDA_FAULT=CALL:N:KIND,... says what happens to the N-th call (1 first) of a function:
 * `fail`, `hang` (what it queues is never done), `async` (what it queues is never done, and the
 * communicator says so when it is asked). FAKE_CUDA_DEVICES is how many GPUs there are, 8 if it is
 * not set. */
#ifndef FAKE_CUDA_FAKE_H
#define FAKE_CUDA_FAKE_H

#include "tests/fake_cuda/cuda_runtime_api.h"

#include <stdbool.h>

typedef enum { FAKE_GOOD, FAKE_FAIL, FAKE_HANG, FAKE_ASYNC } FakeFault;

/* Counts the call. */
FakeFault fake_fault(const char *call);

/* A launch was refused: cudaGetLastError says so. */
void fake_refuse(cudaError_t error);

/* Queues work: `work` is called until it is true, then `state` is freed. */
typedef bool FakeWork(void *state);
void fake_queue(cudaStream_t stream, FakeWork *work, void *state);
bool fake_never(void *state);

/* Lets every stream do something, or where they are late those that `stream` waits for; NULL: all.
 * True if one did. */
bool fake_turn(cudaStream_t stream);
/* Waits for all that is queued on the stream. Kernels, which the shim (tests/kernels/cuda_shim.h)
 * runs when they are launched, come after it. */
void fake_drain(cudaStream_t stream);
/* That for kernels that tests/kernels/cuda_shim.h runs. What is launched for the first time is loaded
 * before. */
void cuda_shim_before_launch(const char *kernel, void *stream);
/* Code is loaded to the GPU, for which the host is blocked until all that is queued is done. */
void fake_load(void);
/* Calls `idle` while fake_drain waits, until it is false: with a GPU the host would go on meanwhile. */
void fake_while_draining(bool (*idle)(void *context), void *context);

#endif
