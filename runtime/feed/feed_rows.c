/* SPDX-License-Identifier: MIT */
#include "runtime/feed/feed_rows.h"

#include "runtime/data/tokens.h"

#include <stdio.h>
#include <string.h>

/* Bytes per read of a file, in a buffer on the stack. Chosen, not measured. */
enum { CHUNK_BYTES = 16384 };

/* ---- Opening ---- */

/* True if an array has rows of the input's shape. Of an input that is no part of the batch a row is
 * all of it. */
static bool has_rows(const MwNpy *array, const MwPlanInput *input)
{
    const int first = input->whole ? 0 : 1, rank = input->global.rank - first;
    return array->rank == rank + 1 && memcmp(array->dim + 1, input->global.dim + first,
                                             sizeof *array->dim * (size_t)rank) == 0;
}

static bool refuse_shape(const MwRowSource *source, const MwRowFile *file, MwFault *fault)
{
    char found[MW_NPY_TEXT_BYTES], needed[MW_TENSOR_TEXT_BYTES];
    return mw_fault_set(fault,
                        "%s holds %s; the input %s needs rows of its shape, and at least one batch "
                        "of them",
                        file->file.path, mw_npy_text(&file->array, found),
                        mw_tensor_text(&source->input->global, needed));
}

static bool read_header(const MwFeedFile *file, MwNpy *array, MwFault *fault)
{
    char begin[MW_NPY_MOST_HEADER_BYTES] = "";
    return mw_feed_file_read(file, 0, mw_min(file->bytes, sizeof begin), begin, fault) &&
           (mw_npy_read(begin, file->bytes, array, fault) ||
            mw_fault_prefix(fault, "%s", file->path));
}

static bool open_array(const MwRowSource *source, MwRowFile *file, MwFault *fault)
{
    char found[MW_NPY_TEXT_BYTES];
    const MwType type = source->input->global.type;
    if (!read_header(&file->file, &file->array, fault))
        return false;
    if (!has_rows(&file->array, source->input))
        return refuse_shape(source, file, fault);
    if (!mw_npy_fits(&file->array, type))
        return mw_fault_set(fault, "%s holds %s, which has values that %s cannot represent",
                            file->file.path, mw_npy_text(&file->array, found), mw_type_name(type));
    file->rows = file->array.dim[0];
    return true;
}

bool mw_feed_fits(const MwFeedFile *file, const MwPlanInput *input)
{
    MwFault ignored;
    MwNpy array;
    return read_header(file, &array, &ignored) && has_rows(&array, input) &&
           mw_npy_fits(&array, input->global.type);
}

static bool open_tokens(const MwRowSource *source, int64_t row, MwRowFile *file, MwFault *fault)
{
    char text[MW_TENSOR_TEXT_BYTES];
    const MwTensor *global = &source->input->global;
    if (source->input->whole || !mw_type_is_index(global->type) || global->rank != 2)
        return mw_fault_set(fault,
                            "tokens feed an input i32[batch, length], or of i64; this one is %s",
                            mw_tensor_text(global, text));
    if (!mw_tokens_open(&file->file, source->bits, &file->array, fault))
        return false;
    file->rows = mw_max(0, file->array.dim[0] - source->greatest_shift) / row;
    return true;
}

/* Whether the files have a batch of rows. */
static bool check_batch(const MwFeedRows *rows, MwFault *fault)
{
    const MwRowSource *source = &rows->source;
    const long long batch = mw_input_batch(source->input);
    if (rows->rows >= batch)
        return true;
    if (source->kind != MW_ROWS_TOKENS && rows->file_count == 1)
        return refuse_shape(source, &rows->files[0], fault);
    return mw_fault_set(fault,
                        "%s%s %lld rows of %lld %s; the input needs at least one batch of them, "
                        "which is %lld",
                        rows->files[0].file.path,
                        rows->file_count > 1 ? " and those after it have" : " has",
                        (long long)rows->rows, (long long)rows->row,
                        source->kind == MW_ROWS_TOKENS ? "tokens" : "elements", batch);
}

static bool open_part(MwFeedRows *rows, const MwFeedPaths *part, MwFeedOpener *opener,
                      void *context, MwFault *fault)
{
    const int64_t before = rows->rows;
    const char *array = rows->source.kind == MW_ROWS_NPZ ? rows->source.input->name : NULL;
    for (int i = 0; i < part->count; i++) {
        MwRowFile *file = &rows->files[rows->file_count++];
        file->first_row = rows->rows;
        if (!opener(context, part->paths[i], array, &file->file, fault))
            return false;
        if (rows->source.kind == MW_ROWS_TOKENS
                ? !open_tokens(&rows->source, rows->row, file, fault)
                : !open_array(&rows->source, file, fault))
            return false;
        rows->rows += file->rows;
    }
    rows->parts[rows->part_count++] = (MwRowPart){rows->rows - before, part->weight};
    return part->weight == 0 || rows->rows > before ||
           mw_fault_set(fault, "%s has no rows, and a weight of its own", part->paths[0]);
}

bool mw_feed_rows(MwArena *arena, const MwRowSource *source, const MwFeedItem *item,
                  MwFeedOpener *opener, void *context, MwFeedRows *rows, MwFault *fault)
{
    int files = 0;
    for (int i = 0; i < item->parts.count; i++)
        files += item->parts.at[i].count;
    if (item->parts.count > MW_MIXTURE_BLOCK && item->parts.at[0].weight > 0)
        return mw_fault_set(fault, "a mixture has at most %d files", MW_MIXTURE_BLOCK);
    *rows = (MwFeedRows){.source = *source,
                         .files = MW_NEW(arena, MwRowFile, files),
                         .parts = MW_NEW(arena, MwRowPart, item->parts.count),
                         .row = mw_tensor_elements(&source->input->global) /
                                mw_input_batch(source->input)};
    for (int i = 0; i < item->parts.count; i++)
        if (!open_part(rows, &item->parts.at[i], opener, context, fault))
            return false;
    return check_batch(rows, fault);
}

/* ---- Reading ---- */

/* The file that has the row with a number. */
static const MwRowFile *file_of(const MwFeedRows *rows, int64_t row)
{
    int low = 0, high = rows->file_count - 1;
    while (low < high) { /* the last file that begins at the row or before it */
        const int middle = (low + high + 1) / 2;
        if (rows->files[middle].first_row <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return &rows->files[low];
}

int64_t mw_feed_rows_left(const MwFeedRows *rows, int64_t row)
{
    const MwRowFile *file = file_of(rows, row);
    return file->first_row + file->rows - row;
}

/* The element of the file's array that an element of a row is. */
static int64_t element_of(const MwFeedRows *rows, const MwRowFile *file, int64_t row,
                          int64_t column)
{
    return (row - file->first_row) * rows->row + rows->source.shift + column;
}

static void place_text(const MwFeedRows *rows, const MwRowFile *file, int64_t element,
                       char text[MW_FEED_PLACE_BYTES])
{
    if (rows->source.kind == MW_ROWS_TOKENS)
        snprintf(text, MW_FEED_PLACE_BYTES, "token %lld of %s", (long long)element,
                 file->file.path);
    else
        snprintf(text, MW_FEED_PLACE_BYTES, "row %lld of %s", (long long)(element / rows->row),
                 file->file.path);
}

void mw_feed_rows_place(const MwFeedRows *rows, int64_t row, int64_t column,
                        char text[MW_FEED_PLACE_BYTES])
{
    const MwRowFile *file = file_of(rows, row);
    place_text(rows, file, element_of(rows, file, row, column), text);
}

/* Converts elements of the file that were read; a fault names the first that cannot be. */
static bool convert(const MwFeedRows *rows, const MwRowFile *file, int64_t from, const char *chunk,
                    int64_t count, void *to, MwFault *fault)
{
    const MwType type = rows->source.input->global.type;
    const int bytes = file->array.type.bytes;
    if (mw_npy_convert(&file->array, chunk, count, type, to, fault))
        return true;
    for (int64_t i = 0; i < count; i++) {
        if (!mw_npy_convert(&file->array, chunk + i * bytes, 1, type, to, fault)) {
            char text[MW_FEED_PLACE_BYTES];
            place_text(rows, file, from + i, text);
            return mw_fault_prefix(fault, "%s", text);
        }
    }
    MW_UNREACHABLE();
}

bool mw_feed_rows_read(const MwFeedRows *rows, int64_t row, int64_t column, int64_t count, void *to,
                       MwFault *fault)
{
    char chunk[CHUNK_BYTES];
    const MwRowFile *file = file_of(rows, row);
    const int64_t bytes = file->array.type.bytes, from = element_of(rows, file, row, column);
    const int64_t element_bytes = mw_type_bytes(rows->source.input->global.type);
    for (int64_t done = 0, part; done < count; done += part) {
        part = mw_min(count - done, CHUNK_BYTES / bytes);
        if (!mw_feed_file_read(&file->file, file->array.offset + (from + done) * bytes,
                               part * bytes, chunk, fault) ||
            !convert(rows, file, from + done, chunk, part, (char *)to + done * element_bytes,
                     fault))
            return false;
    }
    return true;
}
