/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of tokenizer.json on any text: it gives a tokenizer or a message, and a tokenizer
 * makes the same of a text as a whole and in pieces: tokens, or a message. */
#include "tests/fuzz/fuzz.h"
#include "tools/tokenize/encoder.h"

#include <string.h>

static const char text[] =
    "It's a test\n\n  caf\xc3\xa9 cafe\xcc\x81 <|endoftext|>42 \xff\xf0\x9f\x98"
    "\x80 ababababababababababababababababababababababababababababababab";

typedef struct {
    uint32_t at[4 * sizeof text];
    int64_t count;
} Tokens;

static bool take(void *context, const uint32_t *tokens, int64_t count, MwFault *fault)
{
    Tokens *taken = context;
    (void)fault;
    MW_ASSERT(taken->count + count <= MW_COUNT(taken->at));
    memcpy(taken->at + taken->count, tokens, sizeof *tokens * (size_t)count);
    taken->count += count;
    return true;
}

static bool encode(const MwTokenizer *tokenizer, size_t piece, Tokens *tokens)
{
    MwEncoder *encoder = mw_encoder_new(tokenizer, take, tokens);
    const size_t bytes = strlen(text);
    bool good = true;
    MwFault fault = {0};
    for (size_t at = 0; at < bytes && good; at += piece) {
        const size_t part = (size_t)mw_min((int64_t)piece, (int64_t)(bytes - at));
        good = mw_encoder_add(encoder, text + at, part, at + part == bytes, &fault);
    }
    MW_ASSERT(good || *fault.text);
    mw_encoder_free(&encoder);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwTokenizer tokenizer;
    MwFault fault = {0};
    if (mw_tokenizer_read(arena, "fuzz.json", (const char *)data, bytes, &tokenizer, &fault)) {
        Tokens whole = {.count = 0}, parts = {.count = 0};
        const bool good = encode(&tokenizer, sizeof text, &whole);
        MW_ASSERT(encode(&tokenizer, 3, &parts) == good);
        MW_ASSERT(!good ||
                  (whole.count == parts.count &&
                   memcmp(whole.at, parts.at, sizeof *whole.at * (size_t)whole.count) == 0));
        mw_tokenizer_close(&tokenizer);
    } else {
        MW_ASSERT(*fault.text);
    }
    mw_arena_free(&arena);
    return 0;
}
