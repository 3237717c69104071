/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vocabulary and the merges of byte-level BPE, in hash tables. */
#ifndef MW_TOOLS_TOKENIZE_VOCABULARY_H
#define MW_TOOLS_TOKENIZE_VOCABULARY_H

#include "base/arena.h"

enum { MW_NO_TOKEN = UINT32_MAX };

/* What two tokens next to each other become. */
typedef struct {
    uint32_t rank; /* lower ones come first; MW_NO_TOKEN: they stay apart */
    uint32_t token;
} MwMerge;

typedef struct {
    const char *text; /* NULL: an empty place */
    uint32_t bytes, token;
} MwWordEntry;

typedef struct {
    uint64_t pair; /* left << 32 | right */
    MwMerge merge;
    bool is_used;
} MwMergeEntry;

/* Both tables have a power of two of places, at most half of which are used. */
typedef struct {
    MwWordEntry *words;
    size_t word_mask;
    MwMergeEntry *merges;
    size_t merge_mask;
} MwVocabulary;

MwVocabulary mw_vocabulary(MwArena *arena, int64_t words, int64_t merges);
/* A word or a pair that is added again has its last token. `text` outlives the vocabulary. */
void mw_vocabulary_add(MwVocabulary *vocabulary, const char *text, size_t bytes, uint32_t token);
void mw_vocabulary_add_merge(MwVocabulary *vocabulary, uint32_t left, uint32_t right,
                             MwMerge merge);
/* MW_NO_TOKEN: there is none of that text. */
uint32_t mw_vocabulary_find(const MwVocabulary *vocabulary, const char *text, size_t bytes);
MwMerge mw_vocabulary_merge(const MwVocabulary *vocabulary, uint32_t left, uint32_t right);

#endif
