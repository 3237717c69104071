/* SPDX-License-Identifier: MIT */
/* base/algorithms.def as a table: the algorithms by which collectives are done. */
#ifndef MW_BASE_ALGORITHM_H
#define MW_BASE_ALGORITHM_H

typedef enum {
#define ALGORITHM(id, name, what) MW_ALGORITHM_##id,
#include "base/algorithms.def"
#undef ALGORITHM
    MW_ALGORITHM_COUNT
} MwAlgorithm;

const char *mw_algorithm_name(MwAlgorithm algorithm); /* "ring" */
/* What the algorithm does: "each block goes round a ring of all devices". */
const char *mw_algorithm_what(MwAlgorithm algorithm);

#endif
