/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/cluster/units.h"

#include "base/suggest.h"

#include <math.h>
#include <string.h>

typedef struct {
    MwQuantity quantity;
    const char *name;
    double scale;
    bool printed; /* the printer uses it; the others are only read */
} Unit;

/* The units of a quantity stand together in ascending order. */
static const Unit units[] = {
    {MW_QUANTITY_BYTES, "B", 1, true},
    {MW_QUANTITY_BYTES, "KB", 1e3, true},
    {MW_QUANTITY_BYTES, "kB", 1e3, false},
    {MW_QUANTITY_BYTES, "KiB", 0x1p10, true},
    {MW_QUANTITY_BYTES, "MB", 1e6, true},
    {MW_QUANTITY_BYTES, "MiB", 0x1p20, true},
    {MW_QUANTITY_BYTES, "GB", 1e9, true},
    {MW_QUANTITY_BYTES, "GiB", 0x1p30, true},
    {MW_QUANTITY_BYTES, "TB", 1e12, true},
    {MW_QUANTITY_SECONDS, "ns", 1e-9, true},
    {MW_QUANTITY_SECONDS, "us", 1e-6, true},
    {MW_QUANTITY_SECONDS, "ms", 1e-3, true},
    {MW_QUANTITY_SECONDS, "s", 1, true},
    {MW_QUANTITY_BYTES_PER_S, "KB/s", 1e3, true},
    {MW_QUANTITY_BYTES_PER_S, "Mb/s", 1e6 / 8, false},
    {MW_QUANTITY_BYTES_PER_S, "MB/s", 1e6, true},
    {MW_QUANTITY_BYTES_PER_S, "Gb/s", 1e9 / 8, false},
    {MW_QUANTITY_BYTES_PER_S, "GB/s", 1e9, true},
    {MW_QUANTITY_BYTES_PER_S, "GiB/s", 0x1p30, false},
    {MW_QUANTITY_BYTES_PER_S, "TB/s", 1e12, true},
    {MW_QUANTITY_FLOPS, "FLOP", 1, true},
    {MW_QUANTITY_FLOPS, "KFLOP", 1e3, true},
    {MW_QUANTITY_FLOPS, "MFLOP", 1e6, true},
    {MW_QUANTITY_FLOPS, "GFLOP", 1e9, true},
    {MW_QUANTITY_FLOPS, "TFLOP", 1e12, true},
    {MW_QUANTITY_FLOPS_PER_S, "MFLOP/s", 1e6, true},
    {MW_QUANTITY_FLOPS_PER_S, "GFLOP/s", 1e9, true},
    {MW_QUANTITY_FLOPS_PER_S, "TFLOP/s", 1e12, true},
    {MW_QUANTITY_FLOPS_PER_S, "PFLOP/s", 1e15, true},
    {MW_QUANTITY_USD_PER_H, "USD/h", 1, true},
};

const char *mw_quantity_name(MwQuantity quantity)
{
    static const char *const names[MW_QUANTITY_COUNT] = {
        "a plain number",   "bytes", "time", "bytes per second", "FLOPs",
        "FLOPs per second", "price"};
    return names[quantity];
}

void mw_text_add_units(MwText *text, MwQuantity quantity)
{
    int left = 0;
    for (int i = 0; i < MW_COUNT(units); i++)
        left += units[i].quantity == quantity;
    for (int i = 0; i < MW_COUNT(units); i++) {
        if (units[i].quantity != quantity)
            continue;
        left--;
        mw_text_printf(text, "%s%s", units[i].name, left > 1 ? ", " : left == 1 ? " or " : "");
    }
}

double mw_unit_scale(MwQuantity quantity, const char *unit)
{
    for (int i = 0; i < MW_COUNT(units); i++)
        if (units[i].quantity == quantity && strcmp(units[i].name, unit) == 0)
            return units[i].scale;
    return 0;
}

const char *mw_unit_suggest(MwQuantity quantity, const char *typed)
{
    const char *names[MW_COUNT(units)];
    for (int i = 0; i < MW_COUNT(units); i++)
        names[i] = units[i].quantity == quantity ? units[i].name : NULL;
    return mw_suggest(typed, names, MW_COUNT(units));
}

/* The largest unit that leaves at least one whole. Sizes in bytes take the largest unit that is
 * exact, a decimal one before a binary one. */
static const Unit *printed_unit(MwQuantity quantity, double value)
{
    const Unit *first = NULL, *largest = NULL, *decimal = NULL, *binary = NULL;
    for (int i = 0; i < MW_COUNT(units); i++) {
        const Unit *unit = &units[i];
        if (unit->quantity != quantity || !unit->printed)
            continue;
        bool is_binary = strchr(unit->name, 'i') != NULL;
        bool is_exact = quantity == MW_QUANTITY_BYTES && fmod(value, unit->scale) == 0;
        if (!first)
            first = unit;
        else if (is_exact && is_binary)
            binary = unit;
        else if (is_exact)
            decimal = unit;
        if (value >= unit->scale && !is_binary)
            largest = unit;
    }
    if (quantity == MW_QUANTITY_BYTES && value == floor(value))
        return decimal ? decimal : binary ? binary : first;
    return largest ? largest : first;
}

void mw_text_add_quantity(MwText *text, MwQuantity quantity, double value)
{
    if (quantity == MW_QUANTITY_NUMBER) {
        mw_text_add_double(text, value);
        return;
    }
    const Unit *unit = printed_unit(quantity, value);
    double count = value / unit->scale;
    bool is_exact = quantity == MW_QUANTITY_BYTES && count == floor(count);
    mw_text_printf(text, is_exact ? "%.0f %s" : "%.4g %s", count, unit->name);
}
