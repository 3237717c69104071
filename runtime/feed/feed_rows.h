/* SPDX-License-Identifier: MIT */
/* The files that hold the rows of an input: arrays of rows, or tokens of which so many are a
 * row. */
#ifndef MW_RUNTIME_FEED_FEED_ROWS_H
#define MW_RUNTIME_FEED_FEED_ROWS_H

#include "runtime/data/feed_file.h"
#include "runtime/data/npy.h"
#include "runtime/feed/feed_text.h"
#include "runtime/feed/row_order.h"
#include "runtime/plan/plan.h"

typedef struct {
    MwFeedFile file;
    MwNpy array;       /* the elements; row r begins at element r times those of a row */
    int64_t first_row; /* the number of its first row, among those of all files */
    int64_t rows;
} MwRowFile;

typedef enum { MW_ROWS_NPY, MW_ROWS_NPZ, MW_ROWS_TOKENS } MwRowKind;

/* What is read, and for which input. */
typedef struct {
    MwRowKind kind;
    int bits;           /* of tokens in files without a header; 0: by header or name */
    int shift;          /* of tokens: distance from the beginning of a row to its first token */
    int greatest_shift; /* of all inputs that the same text feeds */
    const MwPlanInput *input;
} MwRowSource;

typedef struct {
    MwRowSource source;
    MwRowFile *files; /* [file_count] in the order of their rows */
    int file_count;
    MwRowPart *parts; /* [part_count] those of the text */
    int part_count;
    int64_t rows; /* of all files; at least one batch */
    int64_t row;  /* elements of a row */
} MwFeedRows;

/* Opens one more file of a path that outlives it. `array`: it is an archive, whose array of that
 * name is opened; NULL: it is none. */
typedef bool MwFeedOpener(void *context, const char *path, const char *array, MwFeedFile *file,
                          MwFault *fault);

/* Opens the files of an item; who opens them closes them. */
bool mw_feed_rows(MwArena *arena, const MwRowSource *source, const MwFeedItem *item,
                  MwFeedOpener *opener, void *context, MwFeedRows *rows, MwFault *fault);

/* Number of rows of the input's batch; 1 for an input that is no part of it. */
static inline int64_t mw_input_batch(const MwPlanInput *input)
{
    return input->whole ? 1 : input->global.dim[0];
}

/* Whether an open .npy file has rows for the input. */
bool mw_feed_fits(const MwFeedFile *file, const MwPlanInput *input);

/* Reads elements [column, column + count) of the row with a number, and on into the rows after it;
 * all are in one file. */
bool mw_feed_rows_read(const MwFeedRows *rows, int64_t row, int64_t column, int64_t count, void *to,
                       MwFault *fault);
/* The number of rows from one on that its file has. */
int64_t mw_feed_rows_left(const MwFeedRows *rows, int64_t row);
/* Says where an element of a row is: "token 17 of a.bin", "row 3 of x.npy". */
enum { MW_FEED_PLACE_BYTES = 200 };
void mw_feed_rows_place(const MwFeedRows *rows, int64_t row, int64_t column,
                        char text[MW_FEED_PLACE_BYTES]);

#endif
