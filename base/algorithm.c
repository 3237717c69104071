/* SPDX-License-Identifier: MIT */
#include "base/algorithm.h"

#include "base/base.h"

static const struct {
    const char *name, *what;
} algorithms[] = {
#define ALGORITHM(id, name, what) {name, what},
#include "base/algorithms.def"
#undef ALGORITHM
};

const char *mw_algorithm_name(MwAlgorithm algorithm)
{
    MW_ASSERT(algorithm < MW_ALGORITHM_COUNT);
    return algorithms[algorithm].name;
}

const char *mw_algorithm_what(MwAlgorithm algorithm)
{
    MW_ASSERT(algorithm < MW_ALGORITHM_COUNT);
    return algorithms[algorithm].what;
}
