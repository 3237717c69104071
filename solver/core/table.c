/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two hash tables of MwTables: from contents to tables, and from keys to results. Both use open
 * addressing with linear probing; a capacity is a power of two, and at most half of it is in use.
 * Nothing iterates over them, so that no result depends on hash values. */
#include "solver/core/table.h"

#include "base/hash.h"

#include <string.h>

typedef struct {
    uint64_t hash;
    MwTable *table; /* NULL: empty */
} TableSlot;

typedef struct {
    void *result;
    int count;
    int key[];
} Memo;

typedef struct {
    uint64_t hash;
    const Memo *memo; /* NULL: empty */
} MemoSlot;

/* Each array that grows has an arena of its own, which is freed when the larger array exists. */
struct MwTables {
    MwArena *arena, *contents;
    MwArena *slot_arena, *memo_arena, *scratch_arena;
    TableSlot *slots;
    MemoSlot *memo;
    size_t slot_capacity, memo_capacity, memo_count;
    int table_count;
    int64_t *scratch, scratch_capacity;
    int *key;
    int key_capacity;
    int64_t work; /* mw_tables_work */
};

/* Entries that take about as long as looking up a key. */
enum { RECALL_ENTRIES = 32 };

MwTables *mw_tables_new(MwArena *arena)
{
    return mw_tables_new_with_contents(arena, arena);
}

MwTables *mw_tables_new_with_contents(MwArena *arena, MwArena *contents)
{
    MwTables *tables = MW_NEW(arena, MwTables, 1);
    tables->arena = arena;
    tables->contents = contents;
    tables->slot_capacity = tables->memo_capacity = 1024;
    tables->slot_arena = mw_arena_new_within(arena);
    tables->memo_arena = mw_arena_new_within(arena);
    tables->scratch_arena = mw_arena_new_within(arena);
    tables->slots = MW_NEW(tables->slot_arena, TableSlot, tables->slot_capacity);
    tables->memo = MW_NEW(tables->memo_arena, MemoSlot, tables->memo_capacity);
    return tables;
}

MwArena *mw_tables_arena(MwTables *tables)
{
    return tables->arena;
}

int64_t *mw_tables_scratch(MwTables *tables, int64_t count)
{
    if (count > tables->scratch_capacity) {
        tables->scratch_capacity = mw_max(count, 2 * tables->scratch_capacity);
        mw_arena_free(&tables->scratch_arena);
        tables->scratch_arena = mw_arena_new_within(tables->arena);
        tables->scratch = MW_NEW(tables->scratch_arena, int64_t, tables->scratch_capacity);
    }
    return tables->scratch;
}

int *mw_tables_key(MwTables *tables, int count)
{
    if (count > tables->key_capacity) {
        tables->key_capacity = 2 * count;
        tables->key = MW_NEW(tables->arena, int, tables->key_capacity);
    }
    return tables->key;
}

int64_t mw_tables_work(const MwTables *tables)
{
    return tables->work;
}

static bool same_table(const MwTable *table, int arity, const int *dims, const int64_t *values)
{
    return table->arity == arity && memcmp(table->dims, dims, sizeof *dims * (size_t)arity) == 0 &&
           memcmp(table->at, values, sizeof *values * (size_t)table->count) == 0;
}

static void grow_slots(MwTables *tables)
{
    TableSlot *old = tables->slots;
    MwArena *old_arena = tables->slot_arena;
    size_t old_capacity = tables->slot_capacity;
    size_t mask = (tables->slot_capacity *= 2) - 1;
    tables->slot_arena = mw_arena_new_within(tables->arena);
    tables->slots = MW_NEW(tables->slot_arena, TableSlot, tables->slot_capacity);
    for (size_t i = 0; i < old_capacity; i++) {
        if (!old[i].table)
            continue;
        size_t to = old[i].hash & mask;
        while (tables->slots[to].table)
            to = (to + 1) & mask;
        tables->slots[to] = old[i];
    }
    mw_arena_free(&old_arena);
}

static void find_extremes(MwTable *table)
{
    table->least = table->greatest = table->at[0];
    for (int64_t i = 1; i < table->count; i++) {
        table->least = mw_min(table->least, table->at[i]);
        table->greatest = mw_max(table->greatest, table->at[i]);
    }
}

const MwTable *mw_table_intern(MwTables *tables, int arity, const int *dims, const int64_t *values)
{
    MW_ASSERT(arity >= 1 && arity <= MW_TABLE_ARITY);
    int64_t count = 1;
    for (int i = 0; i < arity; i++)
        count *= dims[i];
    tables->work += count;
    uint64_t hash = mw_hash_mix(mw_hash_bytes(values, sizeof *values * (size_t)count),
                                mw_hash_bytes(dims, sizeof *dims * (size_t)arity));
    size_t mask = tables->slot_capacity - 1, i = hash & mask;
    for (; tables->slots[i].table; i = (i + 1) & mask)
        if (tables->slots[i].hash == hash &&
            same_table(tables->slots[i].table, arity, dims, values))
            return tables->slots[i].table;
    MwTable *table = MW_NEW(tables->arena, MwTable, 1);
    table->id = tables->table_count++;
    table->arity = arity;
    table->dims = mw_arena_dup(tables->arena, dims, sizeof *dims * (size_t)arity);
    table->count = count;
    table->at = mw_arena_dup(tables->contents, values, sizeof *values * (size_t)count);
    find_extremes(table);
    tables->slots[i] = (TableSlot){hash, table};
    if ((size_t)tables->table_count * 2 > tables->slot_capacity)
        grow_slots(tables);
    return table;
}

void mw_table_mark_separated(const MwTable *table)
{
    ((MwTable *)table)->separated = true;
}

static size_t find_memo(const MwTables *tables, const int *key, int count, uint64_t hash)
{
    size_t mask = tables->memo_capacity - 1, i = hash & mask;
    for (; tables->memo[i].memo; i = (i + 1) & mask) {
        const Memo *memo = tables->memo[i].memo;
        if (tables->memo[i].hash == hash && memo->count == count &&
            memcmp(memo->key, key, sizeof *key * (size_t)count) == 0)
            break;
    }
    return i;
}

void *mw_tables_recall(MwTables *tables, const int *key, int count)
{
    tables->work += RECALL_ENTRIES;
    uint64_t hash = mw_hash_bytes(key, sizeof *key * (size_t)count);
    const Memo *memo = tables->memo[find_memo(tables, key, count, hash)].memo;
    return memo ? memo->result : NULL;
}

static void grow_memo(MwTables *tables)
{
    MemoSlot *old = tables->memo;
    MwArena *old_arena = tables->memo_arena;
    size_t old_capacity = tables->memo_capacity;
    size_t mask = (tables->memo_capacity *= 2) - 1;
    tables->memo_arena = mw_arena_new_within(tables->arena);
    tables->memo = MW_NEW(tables->memo_arena, MemoSlot, tables->memo_capacity);
    for (size_t i = 0; i < old_capacity; i++) {
        if (!old[i].memo)
            continue;
        size_t to = old[i].hash & mask;
        while (tables->memo[to].memo)
            to = (to + 1) & mask;
        tables->memo[to] = old[i];
    }
    mw_arena_free(&old_arena);
}

void mw_tables_remember(MwTables *tables, const int *key, int count, void *result)
{
    uint64_t hash = mw_hash_bytes(key, sizeof *key * (size_t)count);
    MemoSlot *slot = &tables->memo[find_memo(tables, key, count, hash)];
    MW_ASSERT(!slot->memo && result);
    Memo *memo = mw_arena_alloc(tables->arena, sizeof *memo + sizeof *key * (size_t)count);
    memo->result = result;
    memo->count = count;
    memcpy(memo->key, key, sizeof *key * (size_t)count);
    *slot = (MemoSlot){hash, memo};
    if (++tables->memo_count * 2 > tables->memo_capacity)
        grow_memo(tables);
}
