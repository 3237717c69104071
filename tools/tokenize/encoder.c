/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/encoder.h"

#include "tools/tokenize/bpe.h"
#include "tools/tokenize/buffer.h"
#include "tools/tokenize/utf8.h"

#include <stdlib.h>
#include <string.h>

struct MwEncoder {
    const MwTokenizer *tokenizer;
    MwTokenSink *sink;
    void *context;
    MwBpe *bpe;
    MwBuffer bytes;  /* the beginning of a character, at most */
    MwBuffer text;   /* UTF-8 in which added tokens are looked for */
    MwBuffer raw;    /* before its normal form */
    MwBuffer normal; /* in which added tokens are looked for again */
    MwBuffer pieces; /* before the first split */
    size_t cut;      /* bytes of `pieces` that are cut already */
    size_t searched; /* bytes of `pieces`, at least `cut`, before which no other match begins */
    bool has_begun;  /* the segment of `pieces` has text */
    MwBuffer spaced; /* a piece with a space before it */
    int64_t replaced;
};

MwEncoder *mw_encoder_new(const MwTokenizer *tokenizer, MwTokenSink *sink, void *context)
{
    MwEncoder *encoder = calloc(1, sizeof *encoder);
    MW_ASSERT(encoder);
    encoder->tokenizer = tokenizer;
    encoder->sink = sink;
    encoder->context = context;
    encoder->bpe = mw_bpe_new(&tokenizer->vocabulary, tokenizer->ignore_merges);
    return encoder;
}

void mw_encoder_free(MwEncoder **encoder)
{
    if (*encoder) {
        MwBuffer *const buffers[] = {&(*encoder)->bytes,  &(*encoder)->text,   &(*encoder)->raw,
                                     &(*encoder)->normal, &(*encoder)->pieces, &(*encoder)->spaced};
        for (int i = 0; i < MW_COUNT(buffers); i++)
            mw_buffer_free(buffers[i]);
        mw_bpe_free(&(*encoder)->bpe);
        free(*encoder);
    }
    *encoder = NULL;
}

int64_t mw_encoder_replaced(const MwEncoder *encoder)
{
    return encoder->replaced;
}

/* ---- Words ---- */

static bool add_word(MwEncoder *encoder, const char *word, size_t bytes, MwFault *fault)
{
    const uint32_t *tokens;
    unsigned char missing;
    if (bytes > MW_MOST_WORD_BYTES)
        return mw_fault_set(fault, "a word of the text has more than %d MiB: '%.20s...'",
                            MW_MOST_WORD_BYTES >> 20, word);
    const int64_t count = mw_bpe_word(encoder->bpe, word, bytes, &tokens, &missing);
    if (count < 0)
        return mw_fault_set(fault, "the tokenizer has no token for the byte 0x%02x of '%.*s'",
                            missing, (int)mw_min((int64_t)bytes, 40), word);
    return encoder->sink(encoder->context, tokens, count, fault);
}

/* ---- Pieces ---- */

static bool add_piece(MwEncoder *encoder, int split, const char *text, size_t bytes,
                      MwFault *fault);

/* Hands the text before a match, and the match, to the split after this one. */
static bool add_parts(MwEncoder *encoder, int split, const char *text, size_t before, size_t match,
                      MwFault *fault)
{
    const MwTextSplitKind kind = encoder->tokenizer->splits[split].kind;
    return (kind == MW_SPLIT_MATCHES || !before ||
            add_piece(encoder, split + 1, text, before, fault)) &&
           (kind == MW_SPLIT_REMOVED || !match ||
            add_piece(encoder, split + 1, text + before, match, fault));
}

static bool split_piece(MwEncoder *encoder, int split, const char *text, size_t bytes,
                        MwFault *fault)
{
    const MwPattern *pattern = encoder->tokenizer->splits[split].pattern;
    MwMatchRange match;
    for (size_t done = 0; done < bytes; done = match.end) {
        switch (mw_pattern_find(pattern, text, bytes, done, true, &match, fault)) {
        case MW_MATCH_FOUND:
            break;
        case MW_MATCH_NONE:
            match = (MwMatchRange){bytes, bytes};
            break;
        case MW_MATCH_PARTIAL: /* nothing follows */
            MW_UNREACHABLE();
        case MW_MATCH_FAULT:
            return false;
        }
        if (!add_parts(encoder, split, text + done, match.begin - done, match.end - match.begin,
                       fault))
            return false;
    }
    return true;
}

/* A complete piece that split `split` is the next to cut; it has at least one byte. */
static bool add_piece(MwEncoder *encoder, int split, const char *text, size_t bytes, MwFault *fault)
{
    const MwTokenizer *tokenizer = encoder->tokenizer;
    if (tokenizer->prefix_space && split == tokenizer->prefix_split && split > 0 && *text != ' ') {
        mw_buffer_take(&encoder->spaced, mw_buffer_bytes(&encoder->spaced));
        mw_buffer_add(&encoder->spaced, " ", 1);
        mw_buffer_add(&encoder->spaced, text, bytes++);
        text = mw_buffer_text(&encoder->spaced);
    }
    return split == tokenizer->split_count ? add_word(encoder, text, bytes, fault)
                                           : split_piece(encoder, split, text, bytes, fault);
}

/* Drops the text that was cut, but for what the pattern may look back to. */
static void drop_cut(MwEncoder *encoder)
{
    const size_t kept = mw_pattern_looks_back(encoder->tokenizer->splits[0].pattern);
    const char *text = mw_buffer_text(&encoder->pieces);
    size_t dropped = encoder->cut > kept ? encoder->cut - kept : 0;
    while (dropped > 0 && dropped < encoder->cut && ((unsigned char)text[dropped] & 0xc0) == 0x80)
        dropped--; /* not in a character */
    mw_buffer_take(&encoder->pieces, dropped);
    encoder->cut -= dropped;
    encoder->searched = encoder->cut;
}

/* Cuts what is known of a segment by the first split. */
static bool cut_pieces(MwEncoder *encoder, bool is_end, MwFault *fault)
{
    MwBuffer *pieces = &encoder->pieces;
    const MwPattern *pattern = encoder->tokenizer->splits[0].pattern;
    while (mw_buffer_bytes(pieces) > encoder->searched) {
        const char *text = mw_buffer_text(pieces);
        const size_t bytes = mw_buffer_bytes(pieces), cut = encoder->cut;
        MwMatchRange match;
        switch (mw_pattern_find(pattern, text, bytes, encoder->searched, is_end, &match, fault)) {
        case MW_MATCH_FOUND:
            if (!add_parts(encoder, 0, text + cut, match.begin - cut, match.end - match.begin,
                           fault))
                return false;
            encoder->cut = match.end;
            drop_cut(encoder);
            break;
        case MW_MATCH_PARTIAL:
            encoder->searched = match.begin;
            return true;
        case MW_MATCH_NONE:
            encoder->searched = bytes;
            break;
        case MW_MATCH_FAULT:
            return false;
        }
    }
    return true;
}

/* More of a segment, which is text between added tokens, in its normal form. */
static bool add_segment(MwEncoder *encoder, const char *text, size_t bytes, bool is_end,
                        MwFault *fault)
{
    const MwTokenizer *tokenizer = encoder->tokenizer;
    MwBuffer *pieces = &encoder->pieces;
    const bool begins = bytes && !encoder->has_begun;
    if (begins && tokenizer->prefix_space && tokenizer->prefix_split == 0 && *text != ' ')
        mw_buffer_add(pieces, " ", 1);
    mw_buffer_add(pieces, text, bytes);
    encoder->has_begun = (encoder->has_begun || bytes) && !is_end;
    if (tokenizer->split_count && !cut_pieces(encoder, is_end, fault))
        return false;
    if (mw_buffer_bytes(pieces) > MW_MOST_PIECE_BYTES)
        return mw_fault_set(fault, "the text has more than %d MiB that nothing splits",
                            MW_MOST_PIECE_BYTES >> 20);
    if (!is_end)
        return true;
    /* What is left has no match. */
    const char *rest = mw_buffer_text(pieces) + encoder->cut;
    const size_t left = mw_buffer_bytes(pieces) - encoder->cut;
    const bool good = !left || (tokenizer->split_count ? add_parts(encoder, 0, rest, left, 0, fault)
                                                       : add_word(encoder, rest, left, fault));
    mw_buffer_take(pieces, mw_buffer_bytes(pieces));
    encoder->cut = encoder->searched = 0;
    return good;
}

/* ---- Added tokens ---- */

typedef bool Stage(MwEncoder *encoder, const char *text, size_t bytes, bool is_end, MwFault *fault);

/* Looks for added tokens in `buffer`; `next` gets the text between them, which each of them
 * ends. */
static bool find_added(MwEncoder *encoder, const MwAdded *added, MwBuffer *buffer, bool is_end,
                       Stage *next, MwFault *fault)
{
    size_t begin;
    MwAddedToken found;
    while (mw_added_find(added, mw_buffer_text(buffer), mw_buffer_bytes(buffer), is_end, &begin,
                         &found)) {
        if (!next(encoder, mw_buffer_text(buffer), begin, true, fault) ||
            !encoder->sink(encoder->context, &found.token, 1, fault))
            return false;
        mw_buffer_take(buffer, begin + found.bytes);
    }
    if (!next(encoder, mw_buffer_text(buffer), begin, is_end, fault))
        return false;
    mw_buffer_take(buffer, begin);
    return true;
}

static bool add_normal(MwEncoder *encoder, const char *text, size_t bytes, bool is_end,
                       MwFault *fault)
{
    if (encoder->tokenizer->added_normal.length_count == 0)
        return add_segment(encoder, text, bytes, is_end, fault);
    mw_buffer_add(&encoder->normal, text, bytes);
    return find_added(encoder, &encoder->tokenizer->added_normal, &encoder->normal, is_end,
                      add_segment, fault);
}

/* ---- Normal form ---- */

/* Number of bytes, from a byte on, that are ASCII, or that are not. */
static size_t count_alike(const char *text, size_t bytes, bool is_ascii)
{
    size_t count = 0;
    while (count < bytes && ((unsigned char)text[count] < 128) == is_ascii)
        count++;
    return count;
}

static bool add_normalized(MwEncoder *encoder, const char *text, size_t bytes, MwFault *fault)
{
    size_t count;
    char *normal = mw_normal_form(encoder->tokenizer->normal_form, text, bytes, &count);
    if (!normal)
        return mw_fault_set(fault, "there is no normal form of '%.*s'",
                            (int)mw_min((int64_t)bytes, 40), text);
    const bool good = add_normal(encoder, normal, count, false, fault);
    free(normal);
    return good;
}

/* A character of ASCII stays as it is and never joins the one before, so that text can be cut
 * before each. What is not ASCII is normalized together with the character before it. */
static bool normalize(MwEncoder *encoder, const char *text, size_t bytes, bool is_end,
                      MwFault *fault)
{
    MwBuffer *raw = &encoder->raw;
    if (!encoder->tokenizer->normal_form)
        return add_normal(encoder, text, bytes, is_end, fault);
    mw_buffer_add(raw, text, bytes);
    for (size_t left; (left = mw_buffer_bytes(raw)) > 0;) {
        const char *at = mw_buffer_text(raw);
        const size_t ascii = count_alike(at, left, true);
        const size_t other = count_alike(at + ascii, left - ascii, false);
        const size_t plain = ascii > 1 ? ascii - 1 : 0; /* what no character after it can join */
        if (plain && !add_normal(encoder, at, plain, false, fault))
            return false;
        const bool is_known = is_end || ascii + other < left;
        if (is_known && !add_normalized(encoder, at + plain, ascii - plain + other, fault))
            return false;
        mw_buffer_take(raw, is_known ? ascii + other : plain);
        if (!is_known)
            break;
    }
    if (mw_buffer_bytes(raw) > MW_MOST_PIECE_BYTES)
        return mw_fault_set(fault, "the text has more than %d MiB without a character of ASCII",
                            MW_MOST_PIECE_BYTES >> 20);
    return !is_end || add_normal(encoder, NULL, 0, true, fault);
}

/* ---- UTF-8 ---- */

static void add_utf8(MwEncoder *encoder, const char *text, size_t bytes, bool is_end)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t good = 0; /* text[good .. at - 1] is good and not added yet */
    for (size_t at = 0; at < bytes;) {
        uint32_t character;
        const int length = mw_utf8_character(text + at, bytes - at, &character);
        if (length > 0) {
            at += (size_t)length;
            continue;
        }
        mw_buffer_add(&encoder->text, text + good, at - good);
        if (length == 0 && !is_end) { /* the beginning of a character, perhaps */
            mw_buffer_add(&encoder->bytes, text + at, bytes - at);
            return;
        }
        mw_buffer_add(&encoder->text, replacement, strlen(replacement));
        encoder->replaced++;
        at += length ? (size_t)-length : bytes - at;
        good = at;
    }
    mw_buffer_add(&encoder->text, text + good, bytes - good);
}

bool mw_encoder_add(MwEncoder *encoder, const char *text, size_t bytes, bool is_end, MwFault *fault)
{
    MwBuffer *kept = &encoder->bytes;
    if (mw_buffer_bytes(kept)) { /* a few bytes: the rest of the character comes now */
        MwBuffer whole = *kept;
        *kept = (MwBuffer){0};
        mw_buffer_add(&whole, text, bytes);
        add_utf8(encoder, mw_buffer_text(&whole), mw_buffer_bytes(&whole), is_end);
        mw_buffer_free(&whole);
    } else {
        add_utf8(encoder, text, bytes, is_end);
    }
    return find_added(encoder, &encoder->tokenizer->added, &encoder->text, is_end, normalize,
                      fault);
}
