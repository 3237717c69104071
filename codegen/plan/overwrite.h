/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which values may be written over others. */
#ifndef MW_CODEGEN_PLAN_OVERWRITE_H
#define MW_CODEGEN_PLAN_OVERWRITE_H

#include "codegen/plan/live_ranges.h"

/* Whether the unit of `value` may write it where root `host` lies: it reads nothing of the host but
 * the element that it writes, at the level at which it writes it, so that the read comes first; or
 * picks an element of the row that it writes, before that. A contraction may do so where it
 * accumulates into the host. */
bool mw_unit_may_overwrite(const MwLiveRanges *live, MwValueId value, MwValueId host);

/* The root that the unit of `value` changes into it; no value: it makes it anew. */
MwValueId mw_unit_changes(const MwLiveRanges *live, MwValueId value);

/* Whether two roots have the same type and number of elements. */
bool mw_values_fit(const MwLiveRanges *live, MwValueId a, MwValueId b);

#endif
