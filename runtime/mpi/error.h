/* SPDX-License-Identifier: MIT */
/* Errors of MPI as faults. */
#ifndef MW_RUNTIME_MPI_ERROR_H
#define MW_RUNTIME_MPI_ERROR_H

#include "runtime/exec/fault.h"

/* False, after a fault that names `call` and the cause, if `status` is an error. */
bool mw_mpi_check(int status, const char *call, MwFault *fault);
/* Calls NAME(...) and checks its status. */
#define MW_MPI_CALL(fault, name, ...) mw_mpi_check(name(__VA_ARGS__), #name, (fault))

#endif
