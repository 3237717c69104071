/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units as they are spelled in cluster files: "16 GiB", "25 Gb/s", "3.5 us". */
#ifndef MW_FRONTEND_CLUSTER_UNITS_H
#define MW_FRONTEND_CLUSTER_UNITS_H

#include "base/text.h"

/* What a quantity measures. */
typedef enum {
    MW_QUANTITY_NUMBER, /* no unit */
    MW_QUANTITY_BYTES,
    MW_QUANTITY_SECONDS,
    MW_QUANTITY_BYTES_PER_S,
    MW_QUANTITY_FLOPS,
    MW_QUANTITY_FLOPS_PER_S,
    MW_QUANTITY_USD_PER_H, /* the currency may be any, if it is one for all that is compared */
    MW_QUANTITY_COUNT
} MwQuantity;

/* "bytes", "time" ... for messages. */
const char *mw_quantity_name(MwQuantity quantity);
/* Its units in words: "ns, us, ms or s". Nothing for MW_QUANTITY_NUMBER. */
void mw_text_add_units(MwText *text, MwQuantity quantity);

/* Returns the number of bytes, seconds, ... in one `unit`; 0 if it is not a unit of the
 * quantity. */
double mw_unit_scale(MwQuantity quantity, const char *unit);
/* The unit nearest to a mistyped one; NULL if none is near. */
const char *mw_unit_suggest(MwQuantity quantity, const char *typed);

/* "1.25 GB/s": four significant digits in the largest unit that leaves at least one whole. Sizes
 * in bytes that are whole numbers of a unit are exact. */
void mw_text_add_quantity(MwText *text, MwQuantity quantity, double value);

#endif
