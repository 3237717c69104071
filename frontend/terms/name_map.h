/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map from interned names to pointers, in the order they were added. */
#ifndef MW_FRONTEND_TERMS_NAME_MAP_H
#define MW_FRONTEND_TERMS_NAME_MAP_H

#include "base/vec.h"

typedef struct {
    const char *name; /* interned */
    void *value;
} MwNameMapEntry;

/* {.arena = a} is an empty map. */
typedef struct {
    MwArena *arena;
    MW_VEC(MwNameMapEntry) entries;
    int32_t *slots; /* open addressing: index of the entry plus 1; 0: free */
    size_t slot_count;
} MwNameMap;

/* Where the value of `name` stands; NULL if the map lacks it. Valid until the next add. */
void **mw_name_map_find(const MwNameMap *table, const char *name);
/* Adds `name` with value NULL, or finds it. */
void **mw_name_map_add(MwNameMap *table, const char *name);

/* A map with the same names and values, in the same arena. */
MwNameMap mw_name_map_copy(const MwNameMap *table);

/* The value of `name`; NULL if the map lacks it. */
static inline void *mw_name_map_get(const MwNameMap *table, const char *name)
{
    void **at = mw_name_map_find(table, name);
    return at ? *at : NULL;
}

#endif
