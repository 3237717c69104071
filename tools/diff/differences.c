/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/diff/differences.h"

#include "base/quantity.h"

#include <stdlib.h>
#include <string.h>

const char *mw_diff_section_name(MwDiffSection section)
{
    static const char *const names[MW_DIFF_SECTION_COUNT] = {
        [MW_DIFF_PLAN] = "plan",
        [MW_DIFF_PREDICTION] = "prediction",
        [MW_DIFF_STAGES] = "stages",
        [MW_DIFF_MESHES] = "meshes",
        [MW_DIFF_COMMUNICATION] = "communication",
        [MW_DIFF_OPERATORS] = "operators",
        [MW_DIFF_WEIGHTS] = "weights",
        [MW_DIFF_PROGRAMS] = "programs",
    };
    return names[section];
}

/* ---- Adding ---- */

static MwDifference *add(MwDifferences *to, const char *what, const char *a, const char *b)
{
    MwDifference *difference = mw_vec_add(to->arena, &to->all);
    *difference = (MwDifference){
        .section = to->section, .name = to->name ? to->name : "", .what = what, .a = a, .b = b};
    return difference;
}

void mw_diff_text(MwDifferences *to, const char *what, const char *a, const char *b)
{
    if (!a != !b || (a && strcmp(a, b) != 0))
        add(to, what, a, b);
}

static void add_numbers(MwDifference *to, double a, double b)
{
    to->has_numbers = true;
    to->a_number = a;
    to->b_number = b;
}

void mw_diff_count(MwDifferences *to, const char *what, int64_t a, int64_t b)
{
    if (a != b)
        add_numbers(add(to, what, mw_arena_printf(to->arena, "%lld", (long long)a),
                        mw_arena_printf(to->arena, "%lld", (long long)b)),
                    (double)a, (double)b);
}

void mw_diff_bytes(MwDifferences *to, const char *what, int64_t a, int64_t b)
{
    if (a != b)
        add_numbers(
            add(to, what, mw_bytes_text(to->arena, (double)a), mw_bytes_text(to->arena, (double)b)),
            (double)a, (double)b);
}

void mw_diff_seconds(MwDifferences *to, const char *what, double a, double b)
{
    if (!(a == b))
        add_numbers(add(to, what, mw_seconds_text(to->arena, a), mw_seconds_text(to->arena, b)), a,
                    b);
}

/* ---- Matching ---- */

typedef struct {
    MwDiffKey key;
    int index;
} Entry;

static int compare_keys(const MwDiffKey *a, const MwDiffKey *b)
{
    const int by_name = strcmp(a->name, b->name);
    return by_name ? by_name : strcmp(a->kind, b->kind);
}

static int compare_entries(const void *left, const void *right)
{
    const Entry *a = left, *b = right;
    const int by_key = compare_keys(&a->key, &b->key);
    return by_key ? by_key : a->index - b->index;
}

static Entry *sorted(MwArena *arena, const MwDiffKey *keys, int count)
{
    Entry *entries = MW_NEW(arena, Entry, count);
    for (int i = 0; i < count; i++)
        entries[i] = (Entry){keys[i], i};
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    return entries;
}

int *mw_diff_match(MwArena *arena, const MwDiffKey *a, int a_count, const MwDiffKey *b, int b_count)
{
    int *match = MW_NEW(arena, int, a_count);
    const Entry *ours = sorted(arena, a, a_count), *theirs = sorted(arena, b, b_count);
    for (int i = 0, k = 0; i < a_count; i++) {
        while (k < b_count && compare_keys(&theirs[k].key, &ours[i].key) < 0)
            k++;
        const bool is_same = k < b_count && compare_keys(&theirs[k].key, &ours[i].key) == 0;
        match[ours[i].index] = is_same ? theirs[k++].index : -1;
    }
    return match;
}
