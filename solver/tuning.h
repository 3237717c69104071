/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuned numbers of solver/tuning.def as constants MW_TUNED_<name>. */
#ifndef MW_SOLVER_TUNING_H
#define MW_SOLVER_TUNING_H

enum {
#define TUNED_COUNT(name, value, unit, trades, evidence) MW_TUNED_##name = (value),
#define TUNED_RATIO(name, value, unit, trades, evidence)
#include "solver/tuning.def"
#undef TUNED_COUNT
#undef TUNED_RATIO
};

#define TUNED_COUNT(name, value, unit, trades, evidence)
#define TUNED_RATIO(name, value, unit, trades, evidence)                                           \
    static const double MW_TUNED_##name = (value);
#include "solver/tuning.def"
#undef TUNED_COUNT
#undef TUNED_RATIO

#endif
