/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map from interned names to pointers, in the order they were added. */
#ifndef MW_FRONTEND_TABLE_H
#define MW_FRONTEND_TABLE_H

#include "base/vec.h"

typedef struct {
    const char *name; /* interned */
    void *value;
} MwTableEntry;

/* {.arena = a} is an empty table. */
typedef struct {
    MwArena *arena;
    MW_VEC(MwTableEntry) entries;
    int32_t *slots; /* open addressing: index of the entry plus 1; 0: free */
    size_t slot_count;
} MwTable;

/* Where the value of `name` stands; NULL if it has none. Valid until the next add. */
void **mw_table_find(const MwTable *table, const char *name);
/* Adds `name` with value NULL, or finds it. */
void **mw_table_add(MwTable *table, const char *name);

/* NULL if it has none. */
static inline void *mw_table_get(const MwTable *table, const char *name)
{
    void **at = mw_table_find(table, name);
    return at ? *at : NULL;
}

#endif
