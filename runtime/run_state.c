/* SPDX-License-Identifier: MIT */
#include "runtime/run_state.h"

#include <stdio.h>
#include <unistd.h>

typedef struct {
    int failed;
    MwFault fault;
} Report;

bool mw_run_agree(MwRunState *run, bool good, const MwFault *fault)
{
    MwTransport *transport = run->transport;
    Report own = {.failed = !good};
    MwFault trouble = {0};
    if (!good)
        own.fault = *fault;
    Report *all = MW_NEW(run->arena, Report, transport->size);
    if (!transport->table->allgather(transport, &own, sizeof own, all, &trouble)) {
        fprintf(stderr, "meshwright: rank %d: %s\n", transport->rank, trouble.text);
        transport->table->abort(transport, MW_RUN_FAULT);
    }
    int failed = 0, first = -1;
    for (int r = 0; r < transport->size; r++) {
        failed += all[r].failed;
        first = first < 0 && all[r].failed ? r : first;
    }
    if (failed && transport->rank == 0 && failed == transport->size)
        fprintf(stderr, "meshwright: %s\n", all[0].fault.text);
    else if (failed && transport->rank == 0)
        fprintf(stderr, "meshwright: rank %d: %s\n", first, all[first].fault.text);
    return failed == 0;
}

MW_NORETURN void mw_run_end_all(MwRunState *run, int64_t step, const MwFault *fault)
{
    MwFault ignored, said = *fault;
    mw_outputs_close(&run->outputs, false, &ignored);
    usleep((useconds_t)mw_min(run->transport->rank, 8) * 50000);
    if (step >= 0)
        mw_fault_prefix(&said, "step %lld", (long long)step);
    if (run->transport->size > 1)
        mw_fault_prefix(&said, "rank %d", run->transport->rank);
    fprintf(stderr, "meshwright: %s\n", said.text);
    run->transport->table->abort(run->transport, MW_RUN_FAULT);
}
