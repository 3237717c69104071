/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/target.h"

#include "base/base.h"

#include <string.h>

static const MwTarget targets[] = {
    {.backend = "cpu", .printer = &mw_c_printer},
    {.backend = "cuda",
     .printer = &mw_cuda_printer,
     .takes_bf16 = true,
     .overlaps = true,
     .has_epilogues = true},
};

const MwTarget *mw_target(const char *backend)
{
    for (int i = 0; i < MW_COUNT(targets); i++)
        if (strcmp(targets[i].backend, backend) == 0)
            return &targets[i];
    MW_UNREACHABLE();
}
