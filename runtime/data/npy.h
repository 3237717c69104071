/* SPDX-License-Identifier: MIT */
/* The .npy files of NumPy, versions 1 to 3, in C order and little-endian (numpy.lib.format). bf16,
 * which NumPy does not have, is stored as 16-bit unsigned integers with the same bits. */
#ifndef MW_RUNTIME_DATA_NPY_H
#define MW_RUNTIME_DATA_NPY_H

#include "runtime/data/file_type.h"

typedef struct {
    MwFileType type; /* no 'B', '4' or '5' */
    int rank;
    int64_t dim[MW_MAX_RANK];
    int64_t offset; /* of the first element in the file */
} MwNpy;

/* Parses the header of a file of `bytes` bytes, and proves that the file has all elements. `data`
 * is the file, or its first MW_NPY_MOST_HEADER_BYTES. */
enum { MW_NPY_MOST_HEADER_BYTES = 4096 };
bool mw_npy_read(const char *data, int64_t bytes, MwNpy *npy, MwFault *fault);
/* True if `data`, of at least 6 bytes, begins as a .npy file does. */
bool mw_npy_begins(const char *data);
/* "float32[8, 128]" */
enum { MW_NPY_TEXT_BYTES = 200 };
const char *mw_npy_text(const MwNpy *npy, char buffer[MW_NPY_TEXT_BYTES]);

/* True if the elements can be converted to `type`, apart from integers that are too large for
 * it. */
bool mw_npy_fits(const MwNpy *npy, MwType type);
/* Converts the elements at `from`, which need not be aligned, to `type`. A fault if one is too
 * large for it. */
bool mw_npy_convert(const MwNpy *npy, const char *from, int64_t count, MwType type, void *to,
                    MwFault *fault);

/* Writes the header of a file for `tensor`. Returns its size, a multiple of 64. */
enum { MW_NPY_HEADER_BYTES = 448 };
int mw_npy_header(const MwTensor *tensor, char header[MW_NPY_HEADER_BYTES]);

#endif
