/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/fuse/units.h"

int64_t mw_unit_rows(const MwUnit *unit)
{
    return unit->space.columns ? unit->space.points / unit->space.columns : 1;
}

MwLayout mw_units_spread(const MwUnit *unit, MwLevel level, const MwLayout *layout)
{
    MwLayout spread = *layout;
    if (level == MW_LEVEL_ROW)
        mw_layout_repeat_inside(&spread, unit->space.columns);
    else if (level == MW_LEVEL_COLUMN)
        mw_layout_repeat_outside(&spread, mw_unit_rows(unit));
    else if (level == MW_LEVEL_TOTAL)
        mw_layout_repeat_outside(&spread, unit->space.points);
    mw_layout_collapse(&spread);
    return spread;
}

MwLevel mw_units_result_level(const MwLegal *legal, const MwUnits *units, int n)
{
    MwLevel level = mw_node_space(legal, mw_legal_at(legal, n)).result_level;
    return level == MW_LEVEL_POINT ? units->level[n] : level;
}
