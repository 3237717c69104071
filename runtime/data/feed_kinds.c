/* SPDX-License-Identifier: MIT */
#include "runtime/data/feed_kinds.h"

#include "base/element.h"
#include "base/hash.h"
#include "base/philox.h"

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
    feed->file = *file;
    feed->token_bytes = token_bytes;
    feed->shift = strcmp(feed->input->name, "targets") == 0;
    feed->stream = mw_hash_bytes("feed lm", 7); /* the same for tokens and targets */
    return true;
}

/* ---- Arrays: rows in the order of the file ---- */

/* Elements [from, from + count) of the file. */
static bool read_elements(const MwFeed *feed, int64_t from, int64_t count, char *to, MwFault *fault)
{
    char chunk[CHUNK_BYTES];
    const MwType type = feed->input->global.type;
    const int64_t bytes = feed->npy.bytes;
    for (int64_t done = 0, part; done < count; done += part) {
        part = mw_min(count - done, CHUNK_BYTES / bytes);
        if (!mw_feed_file_read(&feed->file, feed->npy.offset + (from + done) * bytes, part * bytes,
                               chunk, fault) ||
            !mw_npy_convert(&feed->npy, chunk, part, type, to + done * mw_type_bytes(type), fault))
            return false;
    }
    return true;
}

static bool fill_npy(const MwFeed *feed, int64_t step, int64_t first, int64_t count, void *to,
                     MwFault *fault)
{
    const int64_t element_bytes = mw_type_bytes(feed->input->global.type);
    const int64_t all = feed->npy.dim[0] * feed->row;
    int64_t from = ((step - 1) * mw_feed_batch(feed) * feed->row + first) % all;
    for (int64_t done = 0, part; done < count; done += part, from = 0) {
        part = mw_min(count - done, all - from);
        if (!read_elements(feed, from, part, (char *)to + done * element_bytes, fault))
            return false;
    }
    return true;
}

/* True if the file has rows of the input's shape, and at least one batch of them. Of an input that
 * is no part of the batch a row is all of it. */
static bool has_rows(const MwNpy *npy, const MwFeed *feed)
{
    const MwTensor *global = &feed->input->global;
    const int first = feed->input->whole ? 0 : 1, rank = global->rank - first;
    return npy->rank == rank + 1 && npy->dim[0] >= mw_feed_batch(feed) &&
           memcmp(npy->dim + 1, global->dim + first, sizeof *npy->dim * (size_t)rank) == 0;
}

bool mw_feed_npy_header(const MwFeedFile *file, MwNpy *npy, MwFault *fault)
{
    char begin[MW_NPY_MOST_HEADER_BYTES] = "";
    return mw_feed_file_read(file, 0, mw_min(file->bytes, sizeof begin), begin, fault) &&
           mw_npy_read(begin, file->bytes, npy, fault);
}

bool mw_feed_npy(MwFeed *feed, const MwFeedFile *file, MwFault *fault)
{
    const MwTensor *global = &feed->input->global;
    if (!mw_feed_npy_header(file, &feed->npy, fault))
        return false;
    char found[MW_NPY_TEXT_BYTES], needed[MW_TENSOR_TEXT_BYTES];
    if (!has_rows(&feed->npy, feed))
        return mw_fault_set(fault,
                            "the file holds %s; the input %s needs rows of its shape, and at least "
                            "one batch of them",
                            mw_npy_text(&feed->npy, found), mw_tensor_text(global, needed));
    if (!mw_npy_fits(&feed->npy, global->type))
        return mw_fault_set(fault, "the file holds %s, which has values that %s cannot represent",
                            mw_npy_text(&feed->npy, found), mw_type_name(global->type));
    feed->fill = fill_npy;
    feed->file = *file;
    return true;
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
