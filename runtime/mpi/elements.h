/* SPDX-License-Identifier: MIT */
/* Elements of tensors as MPI moves them: it never computes with them. */
#ifndef MW_RUNTIME_MPI_ELEMENTS_H
#define MW_RUNTIME_MPI_ELEMENTS_H

#include "base/tensor.h"
#include "runtime/exec/fault.h"

#include <mpi.h>

/* One element of the type. */
MPI_Datatype mw_mpi_element(MwType type);
/* False, after a fault, if MPI, which counts in int, cannot send so many elements. */
bool mw_mpi_counts(int64_t count, MwFault *fault);

#endif
