/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Added tokens, such as <|endoftext|>: texts that are one token wherever they stand, whatever the
 * vocabulary makes of them. Of those that begin at the first such place, the longest is meant. */
#ifndef MW_TOOLS_TOKENIZE_ADDED_H
#define MW_TOOLS_TOKENIZE_ADDED_H

#include "tools/tokenize/vocabulary.h"

typedef struct {
    MwVocabulary texts; /* of the tokens, without merges */
    uint8_t *begins;    /* bitmap: the first two bytes of a token; a token of one has all seconds */
    uint32_t *lengths;  /* [length_count] of tokens, descending, without doubles */
    int length_count;
} MwAdded;

/* A token's text, which is not empty. */
typedef struct {
    const char *text;
    uint32_t bytes, token;
} MwAddedToken;

MwAdded mw_added(MwArena *arena, const MwAddedToken *tokens, int count);
/* Finds the first token in the text. False: there is none; *begin is then where one may begin that
 * what follows the text completes. `is_end`: nothing follows. */
bool mw_added_find(const MwAdded *added, const char *text, size_t bytes, bool is_end, size_t *begin,
                   MwAddedToken *found);

#endif
