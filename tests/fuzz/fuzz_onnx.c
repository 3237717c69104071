/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The importer of ONNX on any bytes: it gives a model whose text the front end reads, or finds
 * errors in, and whose weights have the bytes of their shapes; or an error. */
#include "base/hash.h"
#include "frontend/frontend.h"
#include "frontend/onnx/import.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/diags_text.h"

#include <string.h>

/* Reads the text of a model. It may be wrong in what the language checks, such as sizes. */
static void check_model(MwArena *arena, const MwOnnxModel *model)
{
    MwDiags *diags = mw_diags_new(arena);
    const MwSource source = {"fuzz.graph", model->text, model->bytes};
    MwInterner *interner = mw_interner_new(arena);
    const MwGraph *graph = mw_graph_parse(arena, interner, &source, NULL, 0, diags);
    MW_ASSERT((graph == NULL) == (mw_diags_error_count(diags) > 0));
    diags_text(arena, diags);
    for (int i = 0; i < model->weight_count; i++)
        mw_hash_bytes(model->weights[i].data, (size_t)mw_tensor_bytes(&model->weights[i].type));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwDiags *diags = mw_diags_new(arena);
    const MwOnnxFile file = {.path = "/nowhere/fuzz.onnx", .data = data, .bytes = bytes};
    MwOnnxModel model;
    const bool good = mw_onnx_import(arena, &file, diags, &model);
    MW_ASSERT(good == (mw_diags_error_count(diags) == 0));
    if (good)
        check_model(arena, &model);
    diags_text(arena, diags);
    mw_arena_free(&arena);
    return 0;
}
