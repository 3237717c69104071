/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include <math.h>

typedef struct {
    double unit;
    const char *name;
} QuantityUnit;

/* `units` go from the largest to the smallest, which also serves smaller values. */
static const char *quantity_text(MwArena *arena, double value, const QuantityUnit *units, int count)
{
    int i = 0;
    while (i + 1 < count && fabs(value) < units[i].unit)
        i++;
    double shown = value / units[i].unit;
    int decimals = shown == floor(shown) ? 0 : shown < 10 ? 2 : shown < 100 ? 1 : 0;
    return mw_arena_printf(arena, "%.*f %s", decimals, shown, units[i].name);
}

/* Whether 0 is nearer to a time than 0.01 ns. */
static bool is_no_time(double seconds)
{
    return fabs(seconds) < 0.005e-9;
}

const char *mw_seconds_text(MwArena *arena, double seconds)
{
    static const QuantityUnit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    return is_no_time(seconds) ? "0" : quantity_text(arena, seconds, units, MW_COUNT(units));
}

const char *mw_duration_text(MwArena *arena, double seconds)
{
    static const QuantityUnit units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}};
    return seconds < 60 ? mw_seconds_text(arena, seconds)
                        : quantity_text(arena, seconds, units, MW_COUNT(units));
}

const char *mw_seconds_difference_text(MwArena *arena, double seconds)
{
    if (is_no_time(seconds))
        return "+0";
    return mw_arena_printf(arena, "%c%s", seconds < 0 ? '-' : '+',
                           mw_seconds_text(arena, fabs(seconds)));
}

const char *mw_bytes_text(MwArena *arena, double bytes)
{
    static const QuantityUnit units[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
    return quantity_text(arena, bytes, units, MW_COUNT(units));
}

const char *mw_usd_text(MwArena *arena, double usd)
{
    return mw_arena_printf(arena, fabs(usd) >= 100 ? "%.0f USD" : "%.3g USD", usd);
}
