/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an export gives: an ONNX model, and the weights whose elements are not in it yet. */
#ifndef MW_CODEGEN_ONNX_FILE_H
#define MW_CODEGEN_ONNX_FILE_H

#include "base/onnx/onnx.pb-c.h"
#include "base/tensor.h"
#include "base/vec.h"

/* A weight or state whose elements the caller adds. */
typedef struct {
    const char *name;            /* in the model */
    MwTensor whole;              /* in the model */
    int64_t perm[MW_MAX_RANK];   /* dimension i in the file is dimension perm[i] of the model */
    MwOnnx__TensorProto *tensor; /* in the file; without elements */
} MwOnnxInitial;

typedef struct {
    MwOnnx__ModelProto *model;
    MW_VEC(MwOnnxInitial) initials;
} MwOnnxExport;

#endif
