/* SPDX-License-Identifier: MIT */
/* NumPy's .npy files, versions 1 to 3, in C order and little-endian (numpy.lib.format). bf16, which
 * NumPy has no type for, is written as the 16-bit integers of its bits. */
#ifndef MW_RUNTIME_NPY_H
#define MW_RUNTIME_NPY_H

#include "base/tensor.h"
#include "runtime/fault.h"

typedef struct {
    char kind; /* 'f' float, 'i' integer, 'u' unsigned, 'b' bool */
    int bytes; /* of one element */
    int rank;
    int64_t dim[MW_MAX_RANK];
    int64_t offset; /* of the elements in the file */
} MwNpy;

/* Reads the header of a file of `bytes` bytes at `data`, and proves that all elements are there. */
bool mw_npy_read(const char *data, int64_t bytes, MwNpy *npy, MwFault *fault);
/* "float32[8, 128]" */
enum { MW_NPY_TEXT_BYTES = 200 };
const char *mw_npy_text(const MwNpy *npy, char buffer[MW_NPY_TEXT_BYTES]);

/* True if every value of such elements has one of type `type`: as mw_npy_convert reads it. */
bool mw_npy_fits(const MwNpy *npy, MwType type);
/* Elements [first, first + count) as `type`; `data` is the whole file. */
void mw_npy_convert(const MwNpy *npy, const char *data, int64_t first, int64_t count, MwType type,
                    void *to);

/* True if the file has the shape of `tensor` and, bit for bit, its elements: what mw_npy_header
 * says. */
bool mw_npy_holds(const MwNpy *npy, const MwTensor *tensor);
/* The header of a file that holds `tensor`. Gives its size, a multiple of 64. */
enum { MW_NPY_HEADER_BYTES = 448 };
int mw_npy_header(const MwTensor *tensor, char header[MW_NPY_HEADER_BYTES]);

#endif
