/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/bpe.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* SHORT_BYTES: words up to so many bytes are merged by scanning, which then takes fewer steps than
 * a heap does. CACHE_PLACES: words in the cache, 11 MB; each place has the last word of its hash
 * that is at most KEPT_BYTES long and has at most KEPT_TOKENS tokens. All three are chosen, not
 * measured. */
enum { SHORT_BYTES = 64, CACHE_PLACES = 1 << 17, KEPT_BYTES = 36, KEPT_TOKENS = 10 };

typedef struct {
    uint8_t bytes, count; /* 0 bytes: an empty place */
    char word[KEPT_BYTES];
    uint32_t tokens[KEPT_TOKENS];
} Kept;

/* A token of a long word, in a list in order of their positions. */
typedef struct {
    uint32_t token;         /* MW_NO_TOKEN: it became part of the one before */
    int32_t previous, next; /* -1: none */
} Symbol;

/* A pair that may be merged: the symbol at `at` and the one after it. It is out of date where their
 * merge is another by now. */
typedef struct {
    uint32_t rank, token;
    int32_t at;
} Candidate;

struct MwBpe {
    const MwVocabulary *vocabulary;
    bool ignore_merges;
    uint32_t byte_tokens[256];
    Kept *cache;
    uint32_t *tokens; /* [room] of the word */
    Symbol *symbols;  /* [room] */
    Candidate *heap;  /* [3 * room] */
    int64_t room, heap_count;
};

static void *resize(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    MW_ASSERT(memory);
    return memory;
}

MwBpe *mw_bpe_new(const MwVocabulary *vocabulary, bool ignore_merges)
{
    MwBpe *bpe = resize(NULL, sizeof *bpe);
    *bpe = (MwBpe){.vocabulary = vocabulary, .ignore_merges = ignore_merges};
    bpe->cache = calloc(CACHE_PLACES, sizeof *bpe->cache);
    MW_ASSERT(bpe->cache);
    for (int byte = 0; byte < 256; byte++) {
        const char text = (char)byte;
        bpe->byte_tokens[byte] = mw_vocabulary_find(vocabulary, &text, 1);
    }
    return bpe;
}

void mw_bpe_free(MwBpe **bpe)
{
    if (*bpe) {
        free((*bpe)->cache);
        free((*bpe)->tokens);
        free((*bpe)->symbols);
        free((*bpe)->heap);
        free(*bpe);
    }
    *bpe = NULL;
}

static void make_room(MwBpe *bpe, int64_t room)
{
    if (room <= bpe->room)
        return;
    bpe->room = mw_max(room, 2 * bpe->room);
    bpe->tokens = resize(bpe->tokens, (size_t)bpe->room * sizeof *bpe->tokens);
    if (bpe->room > SHORT_BYTES) {
        bpe->symbols = resize(bpe->symbols, (size_t)bpe->room * sizeof *bpe->symbols);
        bpe->heap = resize(bpe->heap, 3 * (size_t)bpe->room * sizeof *bpe->heap);
    }
}

/* ---- Short words ---- */

static int64_t merge_short(MwBpe *bpe, int64_t count)
{
    MwMerge merges[SHORT_BYTES]; /* of each token and the one after it */
    uint32_t *tokens = bpe->tokens;
    for (int64_t i = 0; i + 1 < count; i++)
        merges[i] = mw_vocabulary_merge(bpe->vocabulary, tokens[i], tokens[i + 1]);
    for (;;) {
        int64_t best = -1;
        uint32_t rank = MW_NO_TOKEN;
        for (int64_t i = 0; i + 1 < count; i++) {
            if (merges[i].rank < rank) {
                rank = merges[i].rank;
                best = i;
            }
        }
        if (best < 0)
            return count;
        tokens[best] = merges[best].token;
        count--;
        memmove(tokens + best + 1, tokens + best + 2, (size_t)(count - best - 1) * sizeof *tokens);
        memmove(merges + best, merges + best + 1, (size_t)(count - best) * sizeof *merges);
        if (best > 0)
            merges[best - 1] = mw_vocabulary_merge(bpe->vocabulary, tokens[best - 1], tokens[best]);
        if (best + 1 < count)
            merges[best] = mw_vocabulary_merge(bpe->vocabulary, tokens[best], tokens[best + 1]);
    }
}

/* ---- Long words ---- */

static bool is_before(const Candidate *a, const Candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(MwBpe *bpe, Candidate candidate)
{
    int64_t at = bpe->heap_count++;
    for (; at > 0 && is_before(&candidate, &bpe->heap[(at - 1) / 2]); at = (at - 1) / 2)
        bpe->heap[at] = bpe->heap[(at - 1) / 2];
    bpe->heap[at] = candidate;
}

static Candidate pop(MwBpe *bpe)
{
    Candidate *heap = bpe->heap;
    const Candidate top = heap[0], last = heap[--bpe->heap_count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < bpe->heap_count; at = child) {
        if (child + 1 < bpe->heap_count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static MwMerge merge_of(const MwBpe *bpe, int64_t at)
{
    const Symbol *symbol = &bpe->symbols[at];
    if (symbol->token == MW_NO_TOKEN || symbol->next < 0)
        return (MwMerge){MW_NO_TOKEN, MW_NO_TOKEN};
    return mw_vocabulary_merge(bpe->vocabulary, symbol->token, bpe->symbols[symbol->next].token);
}

/* Each of n symbols is pushed once at first, and twice more at most for each of n - 1 merges. */
static void push_pair(MwBpe *bpe, int64_t at)
{
    if (at < 0)
        return;
    const MwMerge merge = merge_of(bpe, at);
    if (merge.rank != MW_NO_TOKEN)
        push(bpe, (Candidate){merge.rank, merge.token, (int32_t)at});
}

static int64_t merge_long(MwBpe *bpe, int64_t count)
{
    Symbol *symbols = bpe->symbols;
    for (int64_t i = 0; i < count; i++)
        symbols[i] = (Symbol){bpe->tokens[i], (int32_t)i - 1, i + 1 < count ? (int32_t)i + 1 : -1};
    bpe->heap_count = 0;
    for (int64_t i = 0; i < count; i++)
        push_pair(bpe, i);
    while (bpe->heap_count > 0) {
        const Candidate best = pop(bpe);
        const MwMerge merge = merge_of(bpe, best.at);
        if (merge.rank != best.rank || merge.token != best.token)
            continue;
        Symbol *left = &symbols[best.at], *right = &symbols[left->next];
        left->token = best.token;
        left->next = right->next;
        right->token = MW_NO_TOKEN;
        if (left->next >= 0)
            symbols[left->next].previous = best.at;
        push_pair(bpe, left->previous);
        push_pair(bpe, best.at);
    }
    int64_t kept = 0;
    for (int64_t i = 0; i >= 0; i = symbols[i].next)
        bpe->tokens[kept++] = symbols[i].token;
    return kept;
}

/* ---- Words ---- */

static int64_t encode(MwBpe *bpe, const char *word, size_t bytes, unsigned char *missing)
{
    make_room(bpe, (int64_t)bytes);
    const uint32_t whole =
        bpe->ignore_merges ? mw_vocabulary_find(bpe->vocabulary, word, bytes) : MW_NO_TOKEN;
    if (whole != MW_NO_TOKEN) {
        bpe->tokens[0] = whole;
        return 1;
    }
    for (size_t i = 0; i < bytes; i++) {
        *missing = (unsigned char)word[i];
        bpe->tokens[i] = bpe->byte_tokens[*missing];
        if (bpe->tokens[i] == MW_NO_TOKEN)
            return -1;
    }
    return bytes <= SHORT_BYTES ? merge_short(bpe, (int64_t)bytes)
                                : merge_long(bpe, (int64_t)bytes);
}

int64_t mw_bpe_word(MwBpe *bpe, const char *word, size_t bytes, const uint32_t **tokens,
                    unsigned char *missing)
{
    Kept *kept = &bpe->cache[mw_hash_bytes(word, bytes) % CACHE_PLACES];
    if (bytes == kept->bytes && memcmp(kept->word, word, bytes) == 0) {
        *tokens = kept->tokens;
        return kept->count;
    }
    const int64_t count = encode(bpe, word, bytes, missing);
    *tokens = bpe->tokens;
    if (bytes <= KEPT_BYTES && count > 0 && count <= KEPT_TOKENS) {
        kept->bytes = (uint8_t)bytes;
        kept->count = (uint8_t)count;
        memcpy(kept->word, word, bytes);
        memcpy(kept->tokens, bpe->tokens, (size_t)count * sizeof *kept->tokens);
    }
    return count;
}
