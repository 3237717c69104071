/* SPDX-License-Identifier: MIT */
#include "runtime/cuda/fastest.h"

#include "runtime/cuda/error.h"

#include <math.h>

/* Times that each way is timed in a row, after one that loads its code. More average out more noise
 * and make the start of a run longer. Chosen, not measured. */
enum { REPEATS = 5 };

typedef struct {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    MwCudaWay *way;
    void *context;
} Timer;

#define CALL(name, ...) MW_CUDA_CALL(fault, name, __VA_ARGS__)

/* Infinite if the way is refused. */
static bool time_way(const Timer *timer, int i, float *time_ms, MwFault *fault)
{
    bool refused = false;
    *time_ms = INFINITY;
    if (!timer->way(timer->context, i, &refused, fault))
        return false;
    if (refused)
        return true;
    if (!CALL(cudaEventRecord, timer->begin, timer->stream))
        return false;
    for (int r = 0; r < REPEATS; r++)
        if (!timer->way(timer->context, i, &refused, fault))
            return false;
    return CALL(cudaEventRecord, timer->end, timer->stream) &&
           CALL(cudaEventSynchronize, timer->end) &&
           CALL(cudaEventElapsedTime, time_ms, timer->begin, timer->end);
}

static bool time_all(const Timer *timer, int count, MwCudaFastest *fastest, MwFault *fault)
{
    float time_ms;
    *fastest = (MwCudaFastest){-1, INFINITY};
    for (int i = 0; i < count; i++) {
        if (!time_way(timer, i, &time_ms, fault))
            return false;
        if (time_ms < fastest->time_ms)
            *fastest = (MwCudaFastest){i, time_ms};
    }
    return true;
}

bool mw_cuda_fastest(cudaStream_t stream, int count, MwCudaWay *way, void *context,
                     MwCudaFastest *fastest, MwFault *fault)
{
    Timer timer = {.stream = stream, .way = way, .context = context};
    const bool good = CALL(cudaEventCreateWithFlags, &timer.begin, cudaEventDefault) &&
                      CALL(cudaEventCreateWithFlags, &timer.end, cudaEventDefault) &&
                      time_all(&timer, count, fastest, fault);
    if (timer.begin)
        cudaEventDestroy(timer.begin);
    if (timer.end)
        cudaEventDestroy(timer.end);
    return good;
}
