/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include <math.h>

typedef struct {
    double unit;
    const char *name;
} Unit;

/* `units` from the largest; the last is taken for whatever is smaller. */
static const char *quantity_text(MwArena *arena, double value, const Unit *units, int count)
{
    int i = 0;
    while (i + 1 < count && fabs(value) < units[i].unit)
        i++;
    double shown = value / units[i].unit;
    int decimals = shown == floor(shown) ? 0 : shown < 10 ? 2 : shown < 100 ? 1 : 0;
    return mw_arena_printf(arena, "%.*f %s", decimals, shown, units[i].name);
}

const char *mw_seconds_text(MwArena *arena, double seconds)
{
    static const Unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    return seconds == 0 ? "0" : quantity_text(arena, seconds, units, MW_COUNT(units));
}

const char *mw_bytes_text(MwArena *arena, double bytes)
{
    static const Unit units[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
    return quantity_text(arena, bytes, units, MW_COUNT(units));
}
