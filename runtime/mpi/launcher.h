/* SPDX-License-Identifier: MIT */
/* What the program that started this process says of it, before MPI starts: by the environment
 * variables of Open MPI, of PMIx and PMI, and of Slurm. */
#ifndef MW_RUNTIME_MPI_LAUNCHER_H
#define MW_RUNTIME_MPI_LAUNCHER_H

/* -1 where no launcher started this process, or it does not say. */
int mw_launcher_rank(void);
int mw_launcher_size(void);

#endif
