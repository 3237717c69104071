/* SPDX-License-Identifier: MIT */
#include "runtime/data/file_type.h"

#include "base/element.h"

#include <stdio.h>
#include <string.h>

MwFileType mw_file_type_of(MwType type)
{
    static const char kinds[] = {[MW_TYPE_FLOAT] = 'f',
                                 [MW_TYPE_SIGNED] = 'i',
                                 [MW_TYPE_UNSIGNED] = 'u',
                                 [MW_TYPE_BOOL] = 'b'};
    const char kind = type == MW_BF16   ? 'B'
                      : type == MW_E4M3 ? '4'
                      : type == MW_E5M2 ? '5'
                                        : kinds[mw_type_kind(type)];
    return (MwFileType){kind, mw_type_bytes(type)};
}

const char *mw_file_type_text(MwFileType type, char buffer[MW_FILE_TYPE_TEXT_BYTES])
{
    const char *kind = type.kind == 'f'   ? "float"
                       : type.kind == 'B' ? "bfloat"
                       : type.kind == 'i' ? "int"
                       : type.kind == 'u' ? "uint"
                                          : "bool";
    if (type.kind == '4' || type.kind == '5')
        kind = "float";
    snprintf(buffer, MW_FILE_TYPE_TEXT_BYTES, "%s%d%s", kind, type.bytes * 8,
             type.kind == '4'   ? "_e4m3"
             : type.kind == '5' ? "_e5m2"
                                : "");
    return buffer;
}

bool mw_file_type_fits(MwFileType from, MwType to)
{
    return mw_type_is_float(to) ||
           (!mw_file_type_is_float(from) && (mw_type_is_integer(to) || from.kind == 'b'));
}

/* The bits of the element at `at`, which need not be aligned; those of an integer are extended to
 * 64. */
static uint64_t element_bits(MwFileType type, const char *at)
{
    const int unused = 64 - 8 * type.bytes;
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)type.bytes);
    return type.kind == 'i' ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits;
}

static double element(MwFileType type, const char *at)
{
    const uint64_t bits = element_bits(type, at);
    float single;
    double value;
    if (type.kind == 'B')
        return (double)mw_half_to_f32(MW_BF16, (uint16_t)bits);
    if (type.kind == '4' || type.kind == '5')
        return (double)mw_fp8_to_f32(type.kind == '4' ? MW_E4M3 : MW_E5M2, (uint8_t)bits);
    if (type.kind != 'f')
        return type.kind == 'i' ? (double)(int64_t)bits : (double)bits;
    memcpy(&single, &bits, sizeof single);
    memcpy(&value, &bits, sizeof value);
    return type.bytes == 2 ? (double)mw_f16_to_f32((uint16_t)bits)
                           : (type.bytes == 4 ? (double)single : value);
}

/* Stores an integer or bool as element i of integers or bools. False if their type lacks it. */
static bool put_integer(MwFileType file_type, const char *from, MwType type, void *to, int64_t i)
{
    const uint64_t bits = element_bits(file_type, from);
    mw_element_put_integer(type, to, i, (int64_t)bits);
    return type == MW_BOOL || (mw_element_integer(type, to, i) == (int64_t)bits &&
                               (file_type.kind == 'i' || bits <= INT64_MAX));
}

bool mw_file_type_convert(MwFileType file_type, const char *from, int64_t count, MwType type,
                          void *to, MwFault *fault)
{
    if (mw_file_type_equal(file_type, mw_file_type_of(type)) && type != MW_BOOL) {
        memcpy(to, from, (size_t)(count * file_type.bytes));
        return true;
    }
    for (int64_t i = 0; i < count; i++, from += file_type.bytes) {
        if (mw_type_is_float(type))
            mw_element_put(type, to, i, element(file_type, from));
        else if (!put_integer(file_type, from, type, to, i))
            return mw_fault_set(fault, "the data holds %.0f, which %s cannot represent",
                                element(file_type, from), mw_type_name(type));
    }
    return true;
}
