/* SPDX-License-Identifier: MIT */
/* The length of the header and the numbers of dimensions are bounded; everything else in it is
 * compared with the file. */
#include "runtime/weights/safetensors.h"

#include "runtime/data/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The reference implementation allows headers of 100 MB. A tensor takes about 100 bytes of a
 * header, and some 1000 bytes once it is parsed. */
enum { LENGTH_BYTES = 8, MOST_HEADER_BYTES = 1 << 25, MOST_DEPTH = 8, ALIGNMENT = 64 };

static const struct {
    const char *name;
    MwFileType type;
} types[] = {
    {"F32", {'f', 4}},  {"F16", {'f', 2}},     {"BF16", {'B', 2}},    {"F64", {'f', 8}},
    {"I32", {'i', 4}},  {"I64", {'i', 8}},     {"I16", {'i', 2}},     {"I8", {'i', 1}},
    {"U8", {'u', 1}},   {"U16", {'u', 2}},     {"U32", {'u', 4}},     {"U64", {'u', 8}},
    {"BOOL", {'b', 1}}, {"F8_E4M3", {'4', 1}}, {"F8_E5M2", {'5', 1}},
};

/* ---- Tensors ---- */

static const char *type_name(MwFileType type)
{
    for (int i = 0; i < MW_COUNT(types); i++)
        if (mw_file_type_equal(types[i].type, type))
            return types[i].name;
    MW_UNREACHABLE();
}

int64_t mw_safetensor_bytes(const MwSafetensor *tensor)
{
    int64_t bytes = tensor->type.bytes;
    for (int d = 0; d < tensor->rank; d++)
        if (__builtin_mul_overflow(bytes, tensor->dim[d], &bytes))
            return -1;
    return bytes;
}

bool mw_safetensor_holds(const MwSafetensor *stored, const MwTensor *tensor)
{
    return mw_file_type_equal(stored->type, mw_file_type_of(tensor->type)) &&
           stored->rank == tensor->rank &&
           memcmp(stored->dim, tensor->dim, sizeof *stored->dim * (size_t)stored->rank) == 0;
}

const char *mw_safetensor_text(const MwSafetensor *tensor, char buffer[MW_SAFETENSOR_TEXT_BYTES])
{
    char type[MW_FILE_TYPE_TEXT_BYTES];
    int at =
        snprintf(buffer, MW_SAFETENSOR_TEXT_BYTES, "%s[", mw_file_type_text(tensor->type, type));
    for (int d = 0; d < tensor->rank; d++)
        at += snprintf(buffer + at, (size_t)(MW_SAFETENSOR_TEXT_BYTES - at), "%s%" PRId64,
                       d ? ", " : "", tensor->dim[d]);
    snprintf(buffer + at, (size_t)(MW_SAFETENSOR_TEXT_BYTES - at), "]");
    return buffer;
}

/* ---- Reading ---- */

static bool read_type(const MwTreeNode *entry, MwSafetensor *tensor, MwFault *fault)
{
    const MwTreeNode *value = mw_tree_get(entry, "dtype");
    const char *name = value && value->kind == MW_NODE_STRING ? value->text : NULL;
    for (int i = 0; name && i < MW_COUNT(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            tensor->type = types[i].type;
            return true;
        }
    }
    return mw_fault_set(fault, name ? "it has the unknown type '%.40s'" : "it has no type%s",
                        name ? name : "");
}

/* Reads an array of at most `most` numbers from 0 on. */
static bool read_numbers(const MwTreeNode *array, int most, int64_t *numbers, int *count)
{
    if (!array || array->kind != MW_NODE_ARRAY || array->count > most)
        return false;
    *count = 0;
    for (const MwTreeNode *at = array->first; at; at = at->next)
        if (!mw_tree_number(at, INT64_MAX, &numbers[(*count)++]))
            return false;
    return true;
}

/* `data` is the offset of the first byte after the header, `room` the number of bytes there. */
static bool read_place(const MwTreeNode *entry, int64_t data, int64_t room, MwSafetensor *tensor,
                       MwFault *fault)
{
    int64_t range[2];
    int count = 0;
    if (!read_numbers(mw_tree_get(entry, "shape"), MW_MAX_RANK, tensor->dim, &tensor->rank))
        return mw_fault_set(fault, "its shape is no list of at most %d sizes", MW_MAX_RANK);
    const bool is_range = read_numbers(mw_tree_get(entry, "data_offsets"), 2, range, &count);
    if (!is_range || count != 2 || range[0] > range[1])
        return mw_fault_set(fault, "its data_offsets are no range of bytes");
    if (range[1] > room)
        return mw_fault_set(fault,
                            "the file is cut off: the tensor ends at byte %" PRId64
                            " of the data, of which there are %" PRId64,
                            range[1], room);
    if (range[1] - range[0] != mw_safetensor_bytes(tensor)) {
        char text[MW_SAFETENSOR_TEXT_BYTES];
        return mw_fault_set(fault, "it is %s and has %" PRId64 " bytes",
                            mw_safetensor_text(tensor, text), range[1] - range[0]);
    }
    tensor->offset = data + range[0];
    return true;
}

static int compare_offsets(const void *a, const void *b)
{
    const MwSafetensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    const int64_t one = mw_safetensor_bytes(x), other = mw_safetensor_bytes(y);
    return (one > other) - (one < other); /* a tensor of no elements is before one that has some */
}

/* Sorts the tensors by place; a fault if two overlap. */
static bool sort_tensors(MwSafetensor *tensors, int count, MwFault *fault)
{
    qsort(tensors, (size_t)count, sizeof *tensors, compare_offsets);
    for (int i = 1; i < count; i++)
        if (tensors[i].offset < tensors[i - 1].offset + mw_safetensor_bytes(&tensors[i - 1]))
            return mw_fault_set(fault, "the bytes of %.100s and %.100s overlap",
                                tensors[i - 1].name, tensors[i].name);
    return true;
}

static int read_tensors(MwArena *arena, const MwTreeNode *header, int64_t data, int64_t room,
                        MwSafetensor **tensors, MwFault *fault)
{
    int count = 0;
    *tensors = MW_NEW(arena, MwSafetensor, header->count);
    for (const MwTreeNode *entry = header->first; entry; entry = entry->next) {
        MwSafetensor *tensor = &(*tensors)[count];
        if (strcmp(entry->key, "__metadata__") == 0)
            continue;
        tensor->name = mw_arena_strdup(arena, entry->key);
        const bool good =
            entry->kind == MW_NODE_OBJECT
                ? read_type(entry, tensor, fault) && read_place(entry, data, room, tensor, fault)
                : mw_fault_set(fault, "it is no object");
        if (!good) {
            mw_fault_prefix(fault, "tensor %.100s", entry->key);
            return -1;
        }
        count++;
    }
    return sort_tensors(*tensors, count, fault) ? count : -1;
}

/* The text of the header in `arena`; NULL after a fault. */
static char *read_text(MwArena *arena, const MwFeedFile *file, uint64_t *length, MwFault *fault)
{
    unsigned char bytes[LENGTH_BYTES];
    *length = 0;
    if (file->bytes < LENGTH_BYTES) {
        mw_fault_set(fault, "this is not a safetensors file: it is shorter than 8 bytes");
        return NULL;
    }
    if (!mw_feed_file_read(file, 0, LENGTH_BYTES, bytes, fault))
        return NULL;
    for (int i = 0; i < LENGTH_BYTES; i++)
        *length |= (uint64_t)bytes[i] << (8 * i);
    if (*length > MOST_HEADER_BYTES || (int64_t)*length > file->bytes - LENGTH_BYTES) {
        mw_fault_set(fault,
                     "this is not a safetensors file, or it is cut off: its header would have "
                     "%" PRIu64 " bytes, of the %" PRId64 " that the file has",
                     *length, file->bytes);
        return NULL;
    }
    char *text = mw_arena_alloc(arena, *length + 1);
    return mw_feed_file_read(file, LENGTH_BYTES, (int64_t)*length, text, fault) ? text : NULL;
}

int mw_safetensors_read(MwArena *arena, const MwFeedFile *file, MwSafetensor **tensors,
                        MwFault *fault)
{
    uint64_t length;
    int count = -1;
    const char *text = read_text(arena, file, &length, fault);
    if (!text)
        return -1;
    const int64_t data = LENGTH_BYTES + (int64_t)length;
    MwArena *parsed = mw_arena_new_within(arena);
    const MwTreeNode *header = mw_json_tree(parsed, "header", text, length, MOST_DEPTH, fault);
    if (!header)
        mw_fault_prefix(fault, "this is not a safetensors file");
    else if (header->kind != MW_NODE_OBJECT)
        mw_fault_set(fault, "this is not a safetensors file: its header is no JSON object");
    else
        count = read_tensors(arena, header, data, file->bytes - data, tensors, fault);
    mw_arena_free(&parsed);
    return count;
}

/* ---- Writing ---- */

static void add_tensor(MwText *text, const MwSafetensor *tensor, int64_t begin)
{
    mw_text_add(text, ",");
    mw_json_add_string(text, tensor->name);
    mw_text_printf(text, ":{\"dtype\":\"%s\",\"shape\":[", type_name(tensor->type));
    for (int d = 0; d < tensor->rank; d++)
        mw_text_printf(text, "%s%" PRId64, d ? "," : "", tensor->dim[d]);
    mw_text_printf(text, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", begin,
                   begin + mw_safetensor_bytes(tensor));
}

MwSafetensorsHeader mw_safetensors_header(MwArena *arena, MwSafetensor *tensors, int count)
{
    MwText text = {.arena = arena};
    int64_t begin = 0;
    mw_text_add_n(&text, "\0\0\0\0\0\0\0\0", LENGTH_BYTES);
    /* "pt" is what Hugging Face's transformers ask for */
    mw_text_add(&text, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < count; i++) {
        add_tensor(&text, &tensors[i], begin);
        tensors[i].offset = begin; /* after the header, whose length is not known yet */
        begin += mw_safetensor_bytes(&tensors[i]);
    }
    mw_text_add(&text, "}");
    while (text.bytes % ALIGNMENT)
        mw_text_add(&text, " ");
    for (int i = 0; i < LENGTH_BYTES; i++)
        text.at[i] = (char)((text.bytes - LENGTH_BYTES) >> (8 * i));
    for (int i = 0; i < count; i++)
        tensors[i].offset += (int64_t)text.bytes;
    return (MwSafetensorsHeader){text.at, text.bytes};
}

void mw_safetensors_index_begin(MwText *text, int64_t bytes)
{
    mw_text_printf(text, "{\n  \"metadata\": {\"total_size\": %" PRId64 "},\n  \"weight_map\": {",
                   bytes);
}

void mw_safetensors_index_add(MwText *text, const char *tensor, const char *file)
{
    mw_text_add(text, text->at[text->bytes - 1] == '{' ? "\n    " : ",\n    ");
    mw_json_add_string(text, tensor);
    mw_text_add(text, ": ");
    mw_json_add_string(text, file);
}

void mw_safetensors_index_end(MwText *text)
{
    mw_text_add(text, "\n  }\n}\n");
}
