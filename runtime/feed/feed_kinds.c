/* SPDX-License-Identifier: MIT */
#include "runtime/feed/feed_kinds.h"

#include "base/element.h"
#include "base/hash.h"
#include "base/philox.h"

#include <stdio.h>
#include <string.h>

/* Bytes per read of a file, in a buffer on the stack. Chosen, not measured. */
enum { CHUNK_BYTES = 16384 };

/* ---- Text: windows of tokens at random places ---- */

/* Puts tokens [from, from + count) of the file in `to`, as elements from `first` on. */
static bool read_tokens(const MwFeed *feed, int64_t from, int64_t count, void *to, int64_t first,
                        MwFault *fault)
{
    unsigned char chunk[CHUNK_BYTES];
    const MwType type = feed->input->global.type;
    const int64_t bytes = feed->token_bytes;
    for (int64_t done = 0, part; done < count; done += part) {
        part = mw_min(count - done, CHUNK_BYTES / bytes);
        if (!mw_feed_file_read(&feed->file, (from + done) * bytes, part * bytes, chunk, fault))
            return false;
        for (int64_t i = 0; i < part; i++)
            mw_element_put_integer(type, to, first + done + i,
                                   bytes == 1 ? chunk[i] : chunk[2 * i] | chunk[2 * i + 1] << 8);
    }
    return true;
}

/* The token at which the window of a row begins. */
static int64_t window(const MwFeed *feed, int64_t step, int64_t row)
{
    uint32_t word[4];
    mw_philox(feed->seed, mw_hash_mix(feed->stream, (uint64_t)step), (uint64_t)row, word);
    uint64_t windows = (uint64_t)(feed->file.bytes / feed->token_bytes - feed->row);
    return (int64_t)(((uint64_t)word[0] << 32 | word[1]) % windows);
}

static bool fill_lm(const MwFeed *feed, int64_t step, int64_t first, int64_t count, void *to,
                    MwFault *fault)
{
    for (int64_t done = 0, part; done < count; done += part) {
        int64_t row = (first + done) / feed->row, column = (first + done) % feed->row;
        part = mw_min(count - done, feed->row - column);
        if (!read_tokens(feed, window(feed, step, row) + feed->shift + column, part, to, done,
                         fault))
            return false;
    }
    return true;
}

static void place_in_text(const MwFeed *feed, int64_t step, int64_t element,
                          char text[MW_FEED_PLACE_BYTES])
{
    const int64_t at = window(feed, step, element / feed->row) + feed->shift + element % feed->row;
    snprintf(text, MW_FEED_PLACE_BYTES, "token %lld of %s", (long long)at, feed->file.path);
}

bool mw_feed_lm(MwFeed *feed, const MwFeedFile *file, int token_bytes, MwFault *fault)
{
    char text[MW_TENSOR_TEXT_BYTES];
    const MwTensor *global = &feed->input->global;
    if (!mw_type_is_index(global->type) || global->rank != 2)
        return mw_fault_set(fault,
                            "a text feeds an input i32[batch, length], or of i64; this input is %s",
                            mw_tensor_text(global, text));
    int64_t tokens = file->bytes / token_bytes;
    if (tokens < feed->row + 1)
        return mw_fault_set(fault,
                            "the file has %lld tokens; a row needs %lld and the token after them",
                            (long long)tokens, (long long)feed->row);
    feed->fill = fill_lm;
    feed->place = place_in_text;
    feed->file = *file;
    feed->token_bytes = token_bytes;
    feed->shift = strcmp(feed->input->name, "targets") == 0;
    feed->stream = mw_hash_bytes("feed lm", 7); /* the same for tokens and targets */
    return true;
}

/* ---- Rows of files ---- */

/* Number of rows from `row` of the batch on, at most `most`, that follow one another in a file. */
static int64_t count_adjacent(const MwFeed *feed, int64_t place, int64_t number, int64_t most)
{
    const int64_t left = mw_min(most, mw_feed_rows_left(&feed->rows, number));
    int64_t rows = 1;
    while (rows < left && mw_row_at(&feed->order, place + rows) == number + rows)
        rows++;
    return rows;
}

/* The place of a row of the batch in the run. */
static int64_t place_of(const MwFeed *feed, int64_t step, int64_t row)
{
    return (step - 1) * mw_input_batch(feed->input) + row;
}

static bool fill_rows(const MwFeed *feed, int64_t step, int64_t first, int64_t count, void *to,
                      MwFault *fault)
{
    const int64_t bytes = mw_type_bytes(feed->input->global.type);
    for (int64_t done = 0, part; done < count; done += part) {
        const int64_t column = (first + done) % feed->row;
        const int64_t place = place_of(feed, step, (first + done) / feed->row);
        const int64_t number = mw_row_at(&feed->order, place);
        const int64_t most = mw_ceil_div(column + count - done, feed->row);
        part = mw_min(count - done, count_adjacent(feed, place, number, most) * feed->row - column);
        if (!mw_feed_rows_read(&feed->rows, number, column, part, (char *)to + done * bytes, fault))
            return false;
    }
    return true;
}

static void place_in_rows(const MwFeed *feed, int64_t step, int64_t element,
                          char text[MW_FEED_PLACE_BYTES])
{
    const int64_t number = mw_row_at(&feed->order, place_of(feed, step, element / feed->row));
    mw_feed_rows_place(&feed->rows, number, element % feed->row, text);
}

void mw_feed_in_rows(MwFeed *feed, const MwFeedRows *rows)
{
    feed->fill = fill_rows;
    feed->place = place_in_rows;
    feed->rows = *rows;
}

/* ---- Random numbers ---- */

static bool fill_random(const MwFeed *feed, int64_t step, int64_t first, int64_t count, void *to,
                        MwFault *fault)
{
    (void)fault;
    uint64_t stream = mw_hash_mix(feed->stream, (uint64_t)step);
    const MwType type = feed->input->global.type;
    const MwTypeKind kind = mw_type_kind(type);
    for (int64_t i = 0; i < count; i++) {
        double uniform = mw_uniform_at(feed->seed, stream, (uint64_t)(first + i));
        const double value = kind == MW_TYPE_FLOAT  ? 2 * uniform - 1
                             : kind == MW_TYPE_BOOL ? uniform < 0.5
                                                    : uniform * (double)feed->bound;
        mw_element_put(type, to, i, value);
    }
    return true;
}

/* The least of the input's bounds, which every integer may have; 0: it has none. Integers of 8 bits
 * have that of their type. */
static int64_t least_bound(const MwPlanInput *input)
{
    const MwType type = input->global.type;
    int64_t least = mw_type_is_integer(type) && mw_type_bytes(type) == 1
                        ? (int64_t)mw_type_clamp(type, INT32_MAX) + 1
                        : 0;
    for (int i = 0; i < input->bound_count; i++)
        if (least == 0 || input->bounds[i].below < least)
            least = input->bounds[i].below;
    return least;
}

bool mw_feed_random(MwFeed *feed, int64_t bound, MwFault *fault)
{
    const char *name = feed->input->name;
    const MwType type = feed->input->global.type;
    feed->bound = bound ? bound : least_bound(feed->input);
    if (mw_type_is_integer(type) && feed->bound == 0)
        return mw_fault_set(fault, "its integers need a bound: give random:%s=BOUND", name);
    if (mw_type_is_integer(type) && !mw_type_holds(type, (double)(feed->bound - 1)))
        return mw_fault_set(fault, "integers below %lld are not all of type %s",
                            (long long)feed->bound, mw_type_name(type));
    feed->fill = fill_random;
    feed->stream = mw_hash_mix(mw_hash_bytes("feed random", 11), mw_hash_bytes(name, strlen(name)));
    return true;
}
