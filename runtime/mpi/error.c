/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/error.h"

#include <mpi.h>

bool mw_mpi_check(int status, const char *call, MwFault *fault)
{
    if (status == MPI_SUCCESS)
        return true;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(status, text, &length);
    return mw_fault_set(fault, "%s: %s", call, text);
}
