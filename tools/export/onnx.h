/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `meshwright export MODEL.graph --onnx FILE`: a model with its weights, for inference. */
#ifndef MW_TOOLS_EXPORT_ONNX_H
#define MW_TOOLS_EXPORT_ONNX_H

#include "base/diag.h"
#include "base/vec.h"
#include "frontend/define.h"
#include "runtime/weights/weight_files.h"

typedef struct {
    const char *model, *output;
    MwWeightFilesOptions weights;
    const MwDefine *defines;
    int define_count;
    const char *const *open; /* sizes that the file leaves open */
    int open_count;
    const char *const *values; /* that are exported, instead of the outputs of the model */
    int value_count;
} MwOnnxOptions;

/* Adds errors, and writes nothing, if something is wrong. */
void mw_export_onnx(MwArena *arena, const MwOnnxOptions *options, MwDiags *diags);

#endif
