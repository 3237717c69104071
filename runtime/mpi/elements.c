/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/elements.h"

#include <limits.h>

MPI_Datatype mw_mpi_element(MwType type)
{
    static const MPI_Datatype by_bytes[] = {
        [1] = MPI_UINT8_T, [2] = MPI_UINT16_T, [4] = MPI_UINT32_T, [8] = MPI_UINT64_T};
    return by_bytes[mw_type_bytes(type)];
}

bool mw_mpi_counts(int64_t count, MwFault *fault)
{
    return count <= INT_MAX ||
           mw_fault_set(fault, "a message of %lld elements is too long for MPI", (long long)count);
}
