/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Byte pair encoding of one word: from its bytes on, the adjacent pair of tokens whose merge has
 * the lowest rank, the leftmost of several, becomes one token, as long as there is a merge
 * (Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units", ACL
 * 2016). A short word scans its pairs for that; a long one keeps them in a heap. The tokens of
 * frequent words are kept in a cache. */
#ifndef MW_TOOLS_TOKENIZE_BPE_H
#define MW_TOOLS_TOKENIZE_BPE_H

#include "tools/tokenize/vocabulary.h"

typedef struct MwBpe MwBpe;

/* `ignore_merges`: a word that is a token becomes that, whatever its merges. */
MwBpe *mw_bpe_new(const MwVocabulary *vocabulary, bool ignore_merges);
/* The longest word that is encoded: its heap takes 200 MB. */
enum { MW_MOST_WORD_BYTES = 1 << 22 };
/* Sets the tokens of a word of 1 to MW_MOST_WORD_BYTES bytes, which are valid until the next call.
 * Returns their number; -1: the vocabulary has no token for a byte of it, which is set. */
int64_t mw_bpe_word(MwBpe *bpe, const char *word, size_t bytes, const uint32_t **tokens,
                    unsigned char *missing);
void mw_bpe_free(MwBpe **bpe);

#endif
