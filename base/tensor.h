/* SPDX-License-Identifier: MIT */
/* Element types and tensor types. A rank-0 tensor is a scalar. Layout is row-major everywhere. */
#ifndef MW_BASE_TENSOR_H
#define MW_BASE_TENSOR_H

#include "base/base.h"

enum { MW_MAX_RANK = 8 };

typedef enum { MW_F32, MW_BF16, MW_I32, MW_BOOL, MW_TYPE_COUNT } MwType;

typedef struct {
    MwType type;
    int rank;
    int64_t dim[MW_MAX_RANK]; /* sizes, each at least 1; entries from `rank` on are 0 */
} MwTensor;

const char *mw_type_name(MwType type); /* "f32", "bf16", "i32", "bool" */
/* False if no type has that name. */
bool mw_type_parse(const char *name, MwType *type);
int mw_type_bytes(MwType type);
bool mw_type_is_float(MwType type);

MwTensor mw_tensor(MwType type, int rank, const int64_t *dim);
MwTensor mw_tensor_scalar(MwType type);
int64_t mw_tensor_elements(const MwTensor *tensor);
int64_t mw_tensor_bytes(const MwTensor *tensor);
bool mw_tensor_equal(const MwTensor *a, const MwTensor *b);
bool mw_tensor_same_shape(const MwTensor *a, const MwTensor *b);
/* Inserts a dimension of `size` before dimension `axis`. Returns false if there are MW_MAX_RANK
 * already. */
bool mw_tensor_insert_dim(MwTensor *tensor, int axis, int64_t size);
void mw_tensor_remove_dim(MwTensor *tensor, int axis);

/* "f32[8, 128]"; a scalar is "f32[]". Returns `buffer`. */
enum { MW_TENSOR_TEXT_BYTES = 200 };
const char *mw_tensor_text(const MwTensor *tensor, char buffer[MW_TENSOR_TEXT_BYTES]);

#endif
