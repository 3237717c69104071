/* SPDX-License-Identifier: MIT */
#include "base/init.h"

#include <string.h>

static const MwInitInfo table[MW_INIT_COUNT] = {
    [MW_INIT_ZEROS] = {"zeros", NULL, false},
    [MW_INIT_ONES] = {"ones", NULL, false},
    [MW_INIT_NORMAL] = {"normal", "deviation", true},
    [MW_INIT_UNIFORM] = {"uniform", "limit", true},
    [MW_INIT_CONSTANT] = {"constant", "value", false},
};

const MwInitInfo *mw_init_info(MwInit init)
{
    return &table[init];
}

bool mw_init_parse(const char *name, MwInit *init)
{
    for (int i = 0; i < MW_INIT_COUNT; i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        *init = (MwInit)i;
        return true;
    }
    return false;
}
