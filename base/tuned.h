/* SPDX-License-Identifier: MIT */
/* The rows of MW_TUNED_TABLE, a table of tuned numbers, as constants MW_TUNED_<name>: a count is an
 * int, a ratio a double. It has no include guard: a header for each table defines the macro and
 * includes this file (solver/tuning.h). bench/tuned_rows.py builds with variables instead. */

enum {
#define TUNED_COUNT(name, value, unit, trades, evidence) MW_TUNED_##name = (value),
#define TUNED_RATIO(name, value, unit, trades, evidence)
#include MW_TUNED_TABLE
#undef TUNED_COUNT
#undef TUNED_RATIO
};

#define TUNED_COUNT(name, value, unit, trades, evidence)
#define TUNED_RATIO(name, value, unit, trades, evidence)                                           \
    static const double MW_TUNED_##name = (value);
#include MW_TUNED_TABLE
#undef TUNED_COUNT
#undef TUNED_RATIO
