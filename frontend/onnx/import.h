/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ONNX models to flat models of the language.
 *
 * The text that comes of it is one model without blocks and repeats. The names of its weights,
 * states and values are paths: that of the module that they belong to, and a last part of their
 * own, as in transformer.h.0.attn.c_attn.weight. docs/import.md says what is imported. */
#ifndef MW_FRONTEND_ONNX_IMPORT_H
#define MW_FRONTEND_ONNX_IMPORT_H

#include "base/diag.h"
#include "base/tensor.h"
#include "frontend/define.h"

/* The elements of a weight or state, under its name in the model. */
typedef struct {
    const char *name;
    MwTensor type;
    const void *data; /* row-major */
} MwOnnxWeight;

/* An output of the model, with its sizes as texts: "batch", "12". */
typedef struct {
    const char *name;
    MwType type;
    int rank;
    const char *dims[MW_MAX_RANK];
} MwOnnxOutput;

typedef struct {
    const char *text; /* of the model */
    size_t bytes;
    int weight_count;
    MwOnnxWeight *weights; /* in the order in which the text declares them */
    const char *map;       /* of names: what the initializers of the file are of the weights */
    size_t map_bytes;
    int output_count;
    MwOnnxOutput *outputs;
    bool has_fixed_batch; /* the file leaves the batch open, but its number decides something */
} MwOnnxModel;

typedef struct {
    const char *path; /* the name in messages, and what external data lie beside */
    const void *data; /* the bytes of the file */
    size_t bytes;
    const MwDefine *defines; /* values of sizes that the file leaves open */
    int define_count;
} MwOnnxFile;

/* Imports a file. Everything of the model lives in `arena`. False after errors, which list all
 * operators that are not imported. */
bool mw_onnx_import(MwArena *arena, const MwOnnxFile *file, MwDiags *diags, MwOnnxModel *model);

#endif
