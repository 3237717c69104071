/* SPDX-License-Identifier: MIT */
/* How files store elements: more types than the element types of base/types.def, little-endian, at
 * any address. */
#ifndef MW_RUNTIME_DATA_FILE_TYPE_H
#define MW_RUNTIME_DATA_FILE_TYPE_H

#include "base/tensor.h"
#include "runtime/exec/fault.h"

typedef struct {
    /* 'f' float, 'B' bfloat16, '4' e4m3, '5' e5m2, 'i' integer, 'u' unsigned, 'b' bool */
    char kind;
    int bytes; /* of one element: 1, 2, 4 or 8 */
} MwFileType;

/* The file type whose elements are those of `type` in memory. */
MwFileType mw_file_type_of(MwType type);
static inline bool mw_file_type_equal(MwFileType a, MwFileType b)
{
    return a.kind == b.kind && a.bytes == b.bytes;
}

/* "float32", "bfloat16", "float8_e4m3", "bool8". Returns `buffer`. */
enum { MW_FILE_TYPE_TEXT_BYTES = 24 };
const char *mw_file_type_text(MwFileType type, char buffer[MW_FILE_TYPE_TEXT_BYTES]);
static inline bool mw_file_type_is_float(MwFileType type)
{
    return type.kind == 'f' || type.kind == 'B' || type.kind == '4' || type.kind == '5';
}

/* True if elements can be converted to `to`, apart from integers that are too large for it: floats
 * become floats, integers and bools anything but a bool of an integer. */
bool mw_file_type_fits(MwFileType from, MwType to);
/* Converts `count` elements at `from`, which need not be aligned, to `type`. A fault if an integer
 * is too large for it. */
bool mw_file_type_convert(MwFileType file_type, const char *from, int64_t count, MwType type,
                          void *to, MwFault *fault);

#endif
