/* SPDX-License-Identifier: MIT */
#include "runtime/data/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = 6 };

/* ---- Reading ---- */

/* The text after 'key': in the header's dictionary; NULL: the key is missing. */
static const char *value_of(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    return at + strspn(at, " ");
}

/* "'<f4'" */
static bool read_type(const char *at, MwNpy *npy)
{
    if (!at || at[0] != '\'' || !strchr("<|=", at[1]) || !at[1] || !at[2] || !strchr("fiub", at[2]))
        return false;
    char *end;
    npy->type.kind = at[2];
    npy->type.bytes = (int)strtol(at + 3, &end, 10);
    bool known = npy->type.kind == 'f'
                     ? npy->type.bytes == 2 || npy->type.bytes == 4 || npy->type.bytes == 8
                     : npy->type.bytes == 1 || npy->type.bytes == 2 || npy->type.bytes == 4 ||
                           npy->type.bytes == 8;
    return *end == '\'' && known;
}

/* "(8, 128)" */
static bool read_shape(const char *at, MwNpy *npy)
{
    if (!at || *at++ != '(')
        return false;
    for (;;) {
        at += strspn(at, " ,");
        if (*at == ')')
            return true;
        if (!isdigit((unsigned char)*at) || npy->rank == MW_MAX_RANK)
            return false;
        char *end;
        npy->dim[npy->rank++] = strtoll(at, &end, 10);
        at = end;
    }
}

/* Size of all elements in bytes; -1: more than an int64_t holds. */
static int64_t data_bytes(const MwNpy *npy)
{
    int64_t bytes = npy->type.bytes;
    for (int d = 0; d < npy->rank; d++)
        if (__builtin_mul_overflow(bytes, npy->dim[d], &bytes))
            return -1;
    return bytes;
}

bool mw_npy_begins(const char *data)
{
    return memcmp(data, magic, MAGIC_BYTES) == 0;
}

/* Copies the dictionary's text to `header`, NUL-terminated; sets the offset of the elements. */
static bool read_header(const char *data, int64_t bytes, MwNpy *npy, char *header)
{
    if (bytes < 12 || !mw_npy_begins(data))
        return false;
    const unsigned char *length = (const unsigned char *)data + 8;
    int width = data[6] == 1 ? 2 : 4;
    int64_t header_bytes = length[0] | length[1] << 8;
    if (width == 4)
        header_bytes |= (int64_t)length[2] << 16 | (int64_t)length[3] << 24;
    npy->offset = 8 + width + header_bytes;
    if (npy->offset > mw_min(bytes, MW_NPY_MOST_HEADER_BYTES))
        return false;
    memcpy(header, data + 8 + width, (size_t)header_bytes);
    header[header_bytes] = '\0';
    return true;
}

bool mw_npy_read(const char *data, int64_t bytes, MwNpy *npy, MwFault *fault)
{
    char header[MW_NPY_MOST_HEADER_BYTES];
    *npy = (MwNpy){0};
    if (!read_header(data, bytes, npy, header))
        return mw_fault_set(fault, "this is not a .npy file");
    if (!read_type(value_of(header, "descr"), npy))
        return mw_fault_set(fault,
                            "its element type is not a little-endian float (f2, f4, f8), integer "
                            "or bool");
    const char *order = value_of(header, "fortran_order");
    if (!order || strncmp(order, "False", 5) != 0)
        return mw_fault_set(fault, "it is in Fortran order; save it with numpy.ascontiguousarray");
    if (!read_shape(value_of(header, "shape"), npy))
        return mw_fault_set(fault, "its header has no shape of at most %d dimensions", MW_MAX_RANK);
    int64_t needed = data_bytes(npy);
    if (needed < 0)
        return mw_fault_set(fault, "its shape is too large for any file");
    if (needed > bytes - npy->offset)
        return mw_fault_set(fault, "it is cut off: its shape needs %lld bytes, it holds %lld",
                            (long long)needed, (long long)(bytes - npy->offset));
    return true;
}

const char *mw_npy_text(const MwNpy *npy, char buffer[MW_NPY_TEXT_BYTES])
{
    char type[MW_FILE_TYPE_TEXT_BYTES];
    int at = snprintf(buffer, MW_NPY_TEXT_BYTES, "%s[", mw_file_type_text(npy->type, type));
    for (int d = 0; d < npy->rank; d++)
        at += snprintf(buffer + at, (size_t)(MW_NPY_TEXT_BYTES - at), "%s%lld", d ? ", " : "",
                       (long long)npy->dim[d]);
    snprintf(buffer + at, (size_t)(MW_NPY_TEXT_BYTES - at), "]");
    return buffer;
}

bool mw_npy_fits(const MwNpy *npy, MwType type)
{
    return mw_file_type_fits(npy->type, type);
}

bool mw_npy_convert(const MwNpy *npy, const char *from, int64_t count, MwType type, void *to,
                    MwFault *fault)
{
    return mw_file_type_convert(npy->type, from, count, type, to, fault);
}

/* ---- Writing ---- */

static const char *const descriptions[MW_TYPE_COUNT] = {
#define TYPE(id, name, bytes, kind, element, scalar, npy, ...) [MW_##id] = npy,
#include "base/types.def"
};

int mw_npy_header(const MwTensor *tensor, char header[MW_NPY_HEADER_BYTES])
{
    const int start = MAGIC_BYTES + 4;
    char *text = header + start;
    size_t room = (size_t)(MW_NPY_HEADER_BYTES - start);
    int length = snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          descriptions[tensor->type]);
    for (int d = 0; d < tensor->rank; d++)
        length += snprintf(text + length, room - (size_t)length, "%lld,%s",
                           (long long)tensor->dim[d], d + 1 < tensor->rank ? " " : "");
    length += snprintf(text + length, room - (size_t)length, "), }");
    int total = (int)mw_round_up(start + length + 1, 64);
    memset(text + length, ' ', (size_t)(total - start - length));
    header[total - 1] = '\n';
    memcpy(header, magic, MAGIC_BYTES);
    header[6] = 1;
    header[7] = 0;
    header[8] = (char)((total - start) & 0xff);
    header[9] = (char)((total - start) >> 8);
    return total;
}
