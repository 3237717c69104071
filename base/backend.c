/* SPDX-License-Identifier: MIT */
#include "base/backend.h"

#include "base/base.h"

#include <string.h>

enum {
    TAKES_HALVES = 1,
    OVERLAPS = 2,
    HAS_EPILOGUES = 4,
    USES_NCCL = 8,
    KEEPS_OBJECTS = 16,
    TAKES_BF16 = 32,
    TAKES_FP8 = 64
};

static const MwBackendInfo backends[MW_BACKEND_COUNT] = {
#define BACKEND(id, name, suffix, compiler, variable, printer, archive, facts)                     \
    [MW_BACKEND_##id] = {MW_BACKEND_##id,                                                          \
                         name,                                                                     \
                         suffix,                                                                   \
                         compiler,                                                                 \
                         variable,                                                                 \
                         archive,                                                                  \
                         ((facts)&TAKES_HALVES) != 0,                                              \
                         ((facts) & (TAKES_HALVES | TAKES_BF16)) != 0,                             \
                         ((facts)&TAKES_FP8) != 0,                                                 \
                         ((facts)&OVERLAPS) != 0,                                                  \
                         ((facts)&HAS_EPILOGUES) != 0,                                             \
                         ((facts)&USES_NCCL) != 0,                                                 \
                         ((facts)&KEEPS_OBJECTS) != 0},
#include "base/backends.def"
#undef BACKEND
};

const MwBackendInfo *mw_backend_info(MwBackendId id)
{
    MW_ASSERT(id < MW_BACKEND_COUNT);
    return &backends[id];
}

const MwBackendInfo *mw_backend_named(const char *name)
{
    for (int i = 0; i < MW_BACKEND_COUNT; i++)
        if (strcmp(backends[i].name, name) == 0)
            return &backends[i];
    return NULL;
}

const char *mw_backend_choices(void)
{
    static const char between[] = " or ";
    static const char choices[] =
#define BACKEND(id, name, ...) " or " name
#include "base/backends.def"
#undef BACKEND
        ;
    return choices + sizeof between - 1;
}
