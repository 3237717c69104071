/* SPDX-License-Identifier: MIT */
/* Element types and tensor types. A rank-0 tensor is a scalar. Layout is row-major everywhere. */
#ifndef MW_BASE_TENSOR_H
#define MW_BASE_TENSOR_H

#include "base/base.h"

enum { MW_MAX_RANK = 8 };

/* The element types, of base/types.def, and what products alone have. */
typedef enum {
#define TYPE(id, ...) MW_##id,
#define PRODUCT(id, ...) MW_##id,
#include "base/types.def"
    MW_TYPE_COUNT
} MwType;

typedef enum {
    MW_TYPE_FLOAT,
    MW_TYPE_SIGNED,
    MW_TYPE_UNSIGNED,
    MW_TYPE_BOOL,
    MW_TYPE_PRODUCT
} MwTypeKind;

typedef struct {
    MwType type;
    int rank;
    int64_t dim[MW_MAX_RANK]; /* sizes, each at least 1; entries from `rank` on are 0 */
} MwTensor;

const char *mw_type_name(MwType type); /* "f32", "bf16" */
/* All names of what tensors have, for messages: "f32, bf16, ...". */
const char *mw_type_names(void);
/* False if no type of tensors has that name. */
bool mw_type_parse(const char *name, MwType *type);
/* The same of what the products of a model can be in: floats of more than 8 bits, and what products
 * alone have. */
bool mw_product_parse(const char *name, MwType *type);
/* The type in memory of operands that a product takes as `type`: itself, if tensors have it. */
MwType mw_type_stored(MwType type);
int mw_type_bytes(MwType type);
MwTypeKind mw_type_kind(MwType type);
bool mw_type_is_float(MwType type);
/* Whether elements are floats of 16 bits, with which everything computes in f32. */
bool mw_type_is_half(MwType type);
/* Whether elements are floats of 8 bits: what products take, and nothing else computes with. */
bool mw_type_is_fp8(MwType type);
/* Whether elements are floats of 16 or of 8 bits, to which f32 is rounded when it is stored. */
bool mw_type_is_narrow(MwType type);
bool mw_type_is_integer(MwType type);
/* Whether elements may be indices: integers of 32 or 64 bits. */
bool mw_type_is_index(MwType type);
/* Whether both are integers and the other is longer, so that a cast changes no value. */
bool mw_type_widens(MwType from, MwType to);
/* Whether `value` is a value of the type; of floats, any is, since it is rounded. Of integers of 64
 * bits those count that no other integer rounds to as a double: less than 2^53 in size. */
bool mw_type_holds(MwType type, double value);
/* Returns what a cast of a float makes of it: to an integer it drops the fraction and gives the
 * nearest value of the type (of 64 bits, the nearest double to that), and 0 for NaN; to a bool it
 * compares with 0; to a float it changes nothing. */
double mw_type_clamp(MwType type, double value);

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
