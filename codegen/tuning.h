/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuned numbers of code generation as constants MW_TUNED_<name>: a count is an int, a ratio a
 * double. codegen/tuning.def says of each what it trades and what was measured. A build of
 * bench/ablate-plans reads their values when it runs, by a header that it names. */
#ifndef MW_CODEGEN_TUNING_H
#define MW_CODEGEN_TUNING_H

#ifdef MW_CODEGEN_TUNING_HEADER
#include MW_CODEGEN_TUNING_HEADER
#else

enum {
#define TUNED_COUNT(name, value, unit, trades, evidence) MW_TUNED_##name = (value),
#define TUNED_RATIO(name, value, unit, trades, evidence)
#include "codegen/tuning.def"
#undef TUNED_COUNT
#undef TUNED_RATIO
};

#define TUNED_COUNT(name, value, unit, trades, evidence)
#define TUNED_RATIO(name, value, unit, trades, evidence)                                           \
    static const double MW_TUNED_##name = (value);
#include "codegen/tuning.def"
#undef TUNED_COUNT
#undef TUNED_RATIO

#endif

#endif
