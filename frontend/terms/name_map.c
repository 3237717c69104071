/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/terms/name_map.h"

#include "base/hash.h"

static size_t find_slot(const MwNameMap *table, const char *name)
{
    size_t mask = table->slot_count - 1;
    size_t i = mw_hash_mix(0, (uint64_t)(uintptr_t)name) & mask;
    while (table->slots[i] && table->entries.at[table->slots[i] - 1].name != name)
        i = (i + 1) & mask;
    return i;
}

static void grow(MwNameMap *table)
{
    table->slot_count = table->slot_count ? table->slot_count * 2 : 16;
    table->slots = MW_NEW(table->arena, int32_t, table->slot_count);
    for (int i = 0; i < table->entries.count; i++)
        table->slots[find_slot(table, table->entries.at[i].name)] = i + 1;
}

void **mw_name_map_find(const MwNameMap *table, const char *name)
{
    if (!table->slot_count)
        return NULL;
    int32_t entry = table->slots[find_slot(table, name)];
    return entry ? &table->entries.at[entry - 1].value : NULL;
}

void **mw_name_map_add(MwNameMap *table, const char *name)
{
    void **found = mw_name_map_find(table, name);
    if (found)
        return found;
    if (((size_t)table->entries.count + 1) * 2 > table->slot_count)
        grow(table);
    table->slots[find_slot(table, name)] = table->entries.count + 1;
    MwNameMapEntry *entry = mw_vec_add(table->arena, &table->entries);
    entry->name = name;
    return &entry->value;
}

MwNameMap mw_name_map_copy(const MwNameMap *table)
{
    MwNameMap copy = {.arena = table->arena};
    for (int i = 0; i < table->entries.count; i++)
        *mw_name_map_add(&copy, table->entries.at[i].name) = table->entries.at[i].value;
    return copy;
}
