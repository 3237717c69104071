/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/added.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS = 1 << 16 };

static int compare_lengths(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

static int pair_of(const char *text)
{
    return (unsigned char)text[0] << 8 | (unsigned char)text[1];
}

static void set_begin(MwAdded *added, const MwAddedToken *token)
{
    for (int second = 0; second < 256; second++) {
        const char text[] = {token->text[0], token->bytes > 1 ? token->text[1] : (char)second};
        added->begins[pair_of(text) / 8] |= (uint8_t)(1 << pair_of(text) % 8);
    }
}

MwAdded mw_added(MwArena *arena, const MwAddedToken *tokens, int count)
{
    MwAdded added = {.texts = mw_vocabulary(arena, count, 0),
                     .begins = MW_NEW(arena, uint8_t, PAIRS / 8),
                     .lengths = MW_NEW(arena, uint32_t, count)};
    for (int i = 0; i < count; i++) {
        mw_vocabulary_add(&added.texts, tokens[i].text, tokens[i].bytes, tokens[i].token);
        set_begin(&added, &tokens[i]);
        added.lengths[i] = tokens[i].bytes;
    }
    if (count)
        qsort(added.lengths, (size_t)count, sizeof *added.lengths, compare_lengths);
    for (int i = 0; i < count; i++)
        if (i == 0 || added.lengths[i] != added.lengths[i - 1])
            added.lengths[added.length_count++] = added.lengths[i];
    return added;
}

/* The longest token that begins at the text. */
static bool token_at(const MwAdded *added, const char *text, size_t bytes, MwAddedToken *found)
{
    for (int i = 0; i < added->length_count; i++) {
        const uint32_t length = added->lengths[i];
        const uint32_t token =
            length <= bytes ? mw_vocabulary_find(&added->texts, text, length) : MW_NO_TOKEN;
        *found = (MwAddedToken){text, length, token};
        if (token != MW_NO_TOKEN)
            return true;
    }
    return false;
}

bool mw_added_find(const MwAdded *added, const char *text, size_t bytes, bool is_end, size_t *begin,
                   MwAddedToken *found)
{
    const size_t longest = added->length_count ? added->lengths[0] : 0;
    const size_t waits = is_end || longest == 0 ? 0 : longest - 1; /* too near the end to tell */
    size_t decided = bytes > waits ? bytes - waits : 0;
    while (decided > 0 && decided < bytes && ((unsigned char)text[decided] & 0xc0) == 0x80)
        decided--; /* not in a character */
    for (*begin = 0; *begin < decided && longest; ++*begin) {
        const char last[] = {text[*begin], 0};
        const bool is_last = *begin + 1 == bytes;
        const int pair = pair_of(is_last ? last : text + *begin);
        if ((is_last || added->begins[pair / 8] >> pair % 8 & 1) &&
            token_at(added, text + *begin, bytes - *begin, found))
            return true;
    }
    *begin = decided;
    return false;
}
