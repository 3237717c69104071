/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/plan/accesses.h"

#include <stdlib.h>

/* Cell c is the bytes from the c-th place where a buffer begins or ends to the next such place. */
typedef struct {
    int begin, end; /* cells [begin, end) of a buffer */
} Cells;

typedef struct {
    int writer; /* -1: none */
    MwInstrList readers;
} Entry;

struct MwAccesses {
    MwArena *arena;
    Cells *cells; /* [buffers] */
    int cell_count;
    uint64_t *starts; /* bit c: an entry begins with cell c; the last bit is a sentinel */
    Entry *entries;   /* [cells] of the cells that begin one */
};

/* ---- Cells ---- */

static int compare_offsets(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A buffer without bytes counts as one byte. */
static int64_t end_of(const MwPlanBuffer *buffer)
{
    return buffer->offset + mw_max(mw_plan_buffer_bytes(buffer), 1);
}

static int find_offset(const int64_t *offsets, int count, int64_t offset)
{
    const int64_t *at = bsearch(&offset, offsets, (size_t)count, sizeof *offsets, compare_offsets);
    return (int)(at - offsets);
}

static void cut_into_cells(MwAccesses *accesses, const MwPlanBuffer *buffers, int count)
{
    int64_t *offsets = MW_NEW(accesses->arena, int64_t, 2 * count + 1);
    int distinct = 0;
    for (int b = 0; b < count; b++) {
        offsets[2 * b] = buffers[b].offset;
        offsets[2 * b + 1] = end_of(&buffers[b]);
    }
    qsort(offsets, 2 * (size_t)count, sizeof *offsets, compare_offsets);
    for (int i = 0; i < 2 * count; i++)
        if (i == 0 || offsets[i] != offsets[distinct - 1])
            offsets[distinct++] = offsets[i];
    accesses->cell_count = (int)mw_max(distinct - 1, 1);
    accesses->cells = MW_NEW(accesses->arena, Cells, count);
    for (int b = 0; b < count; b++)
        accesses->cells[b] = (Cells){find_offset(offsets, distinct, buffers[b].offset),
                                     find_offset(offsets, distinct, end_of(&buffers[b]))};
}

MwAccesses *mw_accesses_new(MwArena *arena, const MwPlanBuffer *buffers, int buffer_count)
{
    MwAccesses *accesses = MW_NEW(arena, MwAccesses, 1);
    accesses->arena = arena;
    cut_into_cells(accesses, buffers, buffer_count);
    accesses->entries = MW_NEW(arena, Entry, accesses->cell_count);
    accesses->starts = MW_NEW(arena, uint64_t, accesses->cell_count / 64 + 1);
    accesses->starts[0] |= 1;
    accesses->starts[accesses->cell_count / 64] |= UINT64_C(1) << accesses->cell_count % 64;
    accesses->entries[0].writer = -1;
    return accesses;
}

/* ---- Entries ---- */

/* The first cell of the entry that has cell `cell`. */
static int start_of(const MwAccesses *accesses, int cell)
{
    int word = cell / 64;
    uint64_t bits = accesses->starts[word] & (UINT64_MAX >> (63 - cell % 64));
    while (!bits)
        bits = accesses->starts[--word];
    return word * 64 + 63 - __builtin_clzll(bits);
}

/* The first cell of the entry after the one that begins with cell `start`. */
static int next_start(const MwAccesses *accesses, int start)
{
    int word = (start + 1) / 64;
    uint64_t bits = accesses->starts[word] & (UINT64_MAX << (start + 1) % 64);
    while (!bits)
        bits = accesses->starts[++word];
    return word * 64 + __builtin_ctzll(bits);
}

/* Makes an entry begin with cell `cell`, which has the history of the entry that it was part of. */
static void split_at(MwAccesses *accesses, int cell)
{
    const int start = start_of(accesses, cell);
    if (start == cell)
        return;
    const Entry *from = &accesses->entries[start];
    accesses->starts[cell / 64] |= UINT64_C(1) << cell % 64;
    accesses->entries[cell] = (Entry){.writer = from->writer};
    for (int i = 0; i < from->readers.count; i++)
        mw_vec_push(accesses->arena, &accesses->entries[cell].readers, from->readers.at[i]);
}

static Cells split_around(MwAccesses *accesses, int buffer)
{
    const Cells cells = accesses->cells[buffer];
    split_at(accesses, cells.begin);
    split_at(accesses, cells.end);
    return cells;
}

void mw_accesses_read(MwAccesses *accesses, int buffer, int instr)
{
    const Cells cells = split_around(accesses, buffer);
    for (int c = cells.begin; c < cells.end; c = next_start(accesses, c))
        mw_vec_push(accesses->arena, &accesses->entries[c].readers, instr);
}

void mw_accesses_write(MwAccesses *accesses, int buffer, int instr)
{
    const Cells cells = split_around(accesses, buffer);
    for (int c = next_start(accesses, cells.begin); c < cells.end; c = next_start(accesses, c))
        accesses->starts[c / 64] &= ~(UINT64_C(1) << c % 64);
    accesses->entries[cells.begin].writer = instr;
    accesses->entries[cells.begin].readers.count = 0;
}

void mw_accesses_before(const MwAccesses *accesses, int buffer, bool writes,
                        void (*follow)(void *context, int instr), void *context)
{
    const Cells cells = accesses->cells[buffer];
    for (int c = start_of(accesses, cells.begin); c < cells.end; c = next_start(accesses, c)) {
        const Entry *entry = &accesses->entries[c];
        if (entry->writer >= 0)
            follow(context, entry->writer);
        for (int r = 0; r < entry->readers.count && writes; r++)
            follow(context, entry->readers.at[r]);
    }
}
