/* SPDX-License-Identifier: MIT */
#include "runtime/exec/choices.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Hexadecimal digits of a hash, and the line of it. */
enum { HASH_DIGITS = 16, HASH_LINE = HASH_DIGITS + 1 };

bool mw_choices_find(const MwChoices *choices, uint64_t key, int64_t *value)
{
    for (int i = 0; i < choices->list.count; i++)
        if (choices->list.at[i].key == key) {
            *value = choices->list.at[i].value;
            return true;
        }
    return false;
}

void mw_choices_add(MwArena *arena, MwChoices *choices, uint64_t key, int64_t value)
{
    int64_t old;
    if (!mw_choices_find(choices, key, &old))
        mw_vec_push(arena, &choices->list, ((MwChoice){key, value}));
}

/* ---- Ranks ---- */

bool mw_choices_share(MwArena *arena, MwTransport *transport, MwChoices *choices, MwFault *fault)
{
    const MwTransportTable *table = transport->table;
    int *counts = MW_NEW(arena, int, transport->size), most = 0;
    if (!table->allgather(transport, &choices->list.count, sizeof *counts, counts, fault))
        return false;
    for (int r = 0; r < transport->size; r++)
        most = (int)mw_max(most, counts[r]);
    MwChoice *own = MW_NEW(arena, MwChoice, mw_max(1, most));
    MwChoice *all = MW_NEW(arena, MwChoice, mw_max(1, most) * transport->size);
    if (choices->list.count)
        memcpy(own, choices->list.at, sizeof *own * (size_t)choices->list.count);
    if (most && !table->allgather(transport, own, (int64_t)sizeof *own * most, all, fault))
        return false;
    choices->list.count = 0;
    for (int r = 0; r < transport->size; r++)
        for (int i = 0; i < counts[r]; i++)
            mw_choices_add(arena, choices, all[r * most + i].key, all[r * most + i].value);
    return true;
}

/* ---- Files ---- */

const char *mw_choices_file(MwArena *arena, const char *folder, const MwChoices *choices)
{
    return mw_arena_printf(arena, "%s/%016" PRIx64 ".choices", folder,
                           mw_hash_bytes(choices->of, strlen(choices->of)));
}

static void add_head(MwText *text, const MwChoices *choices)
{
    mw_text_printf(text, "meshwright choices 1\n%s\n", choices->of);
}

static void add_hash(MwText *text)
{
    mw_text_printf(text, "%016" PRIx64 "\n", mw_hash_bytes(text->at, text->bytes));
}

void mw_choices_read(MwArena *arena, const char *file, MwChoices *choices)
{
    size_t bytes;
    char *text = mw_file_read(arena, file, &bytes);
    MwText head = {.arena = arena}, whole = {.arena = arena};
    add_head(&head, choices);
    if (!text || bytes < head.bytes + HASH_LINE || memcmp(text, head.at, head.bytes) != 0)
        return;
    mw_text_add_n(&whole, text, bytes - HASH_LINE);
    add_hash(&whole);
    if (whole.bytes != bytes || memcmp(whole.at, text, bytes) != 0)
        return;
    text[bytes - HASH_LINE] = '\0';
    for (char *at = text + head.bytes, *end; *at; at = *end ? end + 1 : end) {
        const uint64_t key = strtoull(at, &end, 16);
        const int64_t value = strtoll(end, &end, 10);
        mw_choices_add(arena, choices, key, value);
    }
}

bool mw_choices_write(MwArena *arena, const char *file, const MwChoices *choices)
{
    MwText text = {.arena = arena};
    add_head(&text, choices);
    for (int i = 0; i < choices->list.count; i++)
        mw_text_printf(&text, "%016" PRIx64 " %" PRId64 "\n", choices->list.at[i].key,
                       choices->list.at[i].value);
    add_hash(&text);
    return mw_file_write(file, text.at, text.bytes, 0600);
}
