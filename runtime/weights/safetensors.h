/* SPDX-License-Identifier: MIT */
/* The safetensors format (https://github.com/huggingface/safetensors): 8 bytes with the length of
 * the header, little-endian; the header, a JSON object from names to types, shapes and the bytes
 * that each tensor takes of the rest; and the elements of all tensors, row-major, without gaps. */
#ifndef MW_RUNTIME_WEIGHTS_SAFETENSORS_H
#define MW_RUNTIME_WEIGHTS_SAFETENSORS_H

#include "base/text.h"
#include "runtime/data/feed_file.h"
#include "runtime/data/file_type.h"

typedef struct {
    const char *name;
    MwFileType type;
    int rank;
    int64_t dim[MW_MAX_RANK];
    int64_t offset; /* of the first element in the file, in bytes */
} MwSafetensor;

/* Reads the header of a file: `*tensors` in the order of their elements, in `arena`. Returns their
 * number, or -1 after a fault, which does not name the file. Tensors are proved to lie in the file,
 * to have the bytes of their shapes, and not to overlap. */
int mw_safetensors_read(MwArena *arena, const MwFeedFile *file, MwSafetensor **tensors,
                        MwFault *fault);

/* The header of a file for tensors whose elements follow it in this order; sets their offsets.
 * The text is not NUL-terminated; its length is a multiple of 64. */
typedef struct {
    const char *text;
    size_t bytes;
} MwSafetensorsHeader;

MwSafetensorsHeader mw_safetensors_header(MwArena *arena, MwSafetensor *tensors, int count);

/* An index of several files, model.safetensors.index.json: begins it with the bytes of all
 * elements, adds a tensor with the name of its file, and ends it. */
void mw_safetensors_index_begin(MwText *text, int64_t bytes);
void mw_safetensors_index_add(MwText *text, const char *tensor, const char *file);
void mw_safetensors_index_end(MwText *text);

/* Size of the elements in bytes; -1: more than an int64_t holds. */
int64_t mw_safetensor_bytes(const MwSafetensor *tensor);
/* True if it has the type and the shape of `tensor`. */
bool mw_safetensor_holds(const MwSafetensor *stored, const MwTensor *tensor);
/* "float32[8, 128]". Returns `buffer`. */
enum { MW_SAFETENSOR_TEXT_BYTES = 200 };
const char *mw_safetensor_text(const MwSafetensor *tensor, char buffer[MW_SAFETENSOR_TEXT_BYTES]);

#endif
