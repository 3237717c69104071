/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/solve/text.h"

#include <stdio.h>
#include <string.h>

const char *mw_cost_text(MwCost cost, char text[MW_COST_TEXT_BYTES])
{
    char *at = text + MW_COST_TEXT_BYTES - 1;
    *at = '\0';
    do
        *--at = (char)('0' + (int)(cost % 10));
    while (cost /= 10);
    return memmove(text, at, (size_t)(text + MW_COST_TEXT_BYTES - at));
}

void mw_json_field_cost(MwJson *json, const char *key, MwCost cost)
{
    char digits[MW_COST_TEXT_BYTES];
    mw_json_field_raw(json, key, mw_cost_text(cost, digits));
}

const char *mw_gap_text(const MwSolution *solution, char text[MW_GAP_TEXT_BYTES])
{
    MwCost gap = solution->cost - solution->lower_bound;
    double share = gap > 0 ? (double)gap / (double)solution->cost : 0;
    snprintf(text, MW_GAP_TEXT_BYTES, "%.3g %%", 100 * share);
    return text;
}
