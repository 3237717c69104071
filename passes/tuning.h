/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuned numbers of passes/tuning.def as constants MW_TUNED_<name>. */
#ifndef MW_PASSES_TUNING_H
#define MW_PASSES_TUNING_H

enum {
#define TUNED_COUNT(name, value, unit, trades, evidence) MW_TUNED_##name = (value),
#define TUNED_RATIO(name, value, unit, trades, evidence)
#include "passes/tuning.def"
#undef TUNED_COUNT
#undef TUNED_RATIO
};

#define TUNED_COUNT(name, value, unit, trades, evidence)
#define TUNED_RATIO(name, value, unit, trades, evidence)                                           \
    static const double MW_TUNED_##name = (value);
#include "passes/tuning.def"
#undef TUNED_COUNT
#undef TUNED_RATIO

#endif
