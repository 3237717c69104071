/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/vocabulary.h"

#include "base/hash.h"

#include <string.h>

static size_t places_for(int64_t count)
{
    size_t places = 16;
    while (places < 2 * (size_t)count)
        places *= 2;
    return places;
}

MwVocabulary mw_vocabulary(MwArena *arena, int64_t words, int64_t merges)
{
    const size_t word_places = places_for(words), merge_places = places_for(merges);
    return (MwVocabulary){.words = MW_NEW(arena, MwWordEntry, word_places),
                          .word_mask = word_places - 1,
                          .merges = MW_NEW(arena, MwMergeEntry, merge_places),
                          .merge_mask = merge_places - 1};
}

/* The place of a word, or the empty place where it would be. */
static MwWordEntry *word_at(const MwVocabulary *vocabulary, const char *text, size_t bytes)
{
    size_t at = mw_hash_bytes(text, bytes);
    for (;; at++) {
        MwWordEntry *entry = &vocabulary->words[at & vocabulary->word_mask];
        if (!entry->text || (entry->bytes == bytes && memcmp(entry->text, text, bytes) == 0))
            return entry;
    }
}

static MwMergeEntry *merge_at(const MwVocabulary *vocabulary, uint64_t pair)
{
    uint64_t at = pair * 0x9e3779b97f4a7c15u;
    for (at ^= at >> 32;; at++) {
        MwMergeEntry *entry = &vocabulary->merges[at & vocabulary->merge_mask];
        if (!entry->is_used || entry->pair == pair)
            return entry;
    }
}

void mw_vocabulary_add(MwVocabulary *vocabulary, const char *text, size_t bytes, uint32_t token)
{
    *word_at(vocabulary, text, bytes) = (MwWordEntry){text, (uint32_t)bytes, token};
}

void mw_vocabulary_add_merge(MwVocabulary *vocabulary, uint32_t left, uint32_t right, MwMerge merge)
{
    const uint64_t pair = (uint64_t)left << 32 | right;
    *merge_at(vocabulary, pair) = (MwMergeEntry){pair, merge, true};
}

uint32_t mw_vocabulary_find(const MwVocabulary *vocabulary, const char *text, size_t bytes)
{
    const MwWordEntry *entry = word_at(vocabulary, text, bytes);
    return entry->text ? entry->token : MW_NO_TOKEN;
}

MwMerge mw_vocabulary_merge(const MwVocabulary *vocabulary, uint32_t left, uint32_t right)
{
    const MwMergeEntry *entry = merge_at(vocabulary, (uint64_t)left << 32 | right);
    return entry->is_used ? entry->merge : (MwMerge){MW_NO_TOKEN, MW_NO_TOKEN};
}
