/* SPDX-License-Identifier: MIT */
/* NumPy's .npy files, versions 1 to 3, in C order and little-endian (numpy.lib.format). bf16, which
 * NumPy has no type for, is written as the 16-bit integers of its bits. */
#ifndef MW_RUNTIME_DATA_NPY_H
#define MW_RUNTIME_DATA_NPY_H

#include "base/tensor.h"
#include "runtime/exec/fault.h"

typedef struct {
    char kind; /* 'f' float, 'i' integer, 'u' unsigned, 'b' bool */
    int bytes; /* of one element */
    int rank;
    int64_t dim[MW_MAX_RANK];
    int64_t offset; /* of the elements in the file */
} MwNpy;

/* Reads the header of a file of `bytes` bytes, and proves that all elements are there. `data` is the
 * file or its first MW_NPY_MOST_HEADER_BYTES. */
enum { MW_NPY_MOST_HEADER_BYTES = 4096 };
bool mw_npy_read(const char *data, int64_t bytes, MwNpy *npy, MwFault *fault);
/* "float32[8, 128]" */
enum { MW_NPY_TEXT_BYTES = 200 };
const char *mw_npy_text(const MwNpy *npy, char buffer[MW_NPY_TEXT_BYTES]);

/* True if such elements can be read as `type`: all values, or all that are not too large for it. */
bool mw_npy_fits(const MwNpy *npy, MwType type);
/* The elements at `from`, which need not be aligned, as `type`. A fault if one is too large for it. */
bool mw_npy_convert(const MwNpy *npy, const char *from, int64_t count, MwType type, void *to,
                    MwFault *fault);

/* True if the file has the shape of `tensor` and, bit for bit, its elements: what mw_npy_header
 * says. */
bool mw_npy_holds(const MwNpy *npy, const MwTensor *tensor);
/* The header of a file that holds `tensor`. Gives its size, a multiple of 64. */
enum { MW_NPY_HEADER_BYTES = 448 };
int mw_npy_header(const MwTensor *tensor, char header[MW_NPY_HEADER_BYTES]);

#endif
