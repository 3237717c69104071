/* SPDX-License-Identifier: MIT */
#include "runtime/mpi/launcher.h"

#include "base/base.h"

#include <stdlib.h>

static int first_value(const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return -1;
}

int mw_launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    return first_value(names, MW_COUNT(names));
}

int mw_launcher_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    return first_value(names, MW_COUNT(names));
}
