/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/import/weights_file.h"

#include "base/file.h"
#include "base/new_file.h"
#include "runtime/weights/safetensors.h"

#include <errno.h>
#include <string.h>

/* The tensors of a model, in the order in which they are written. */
static MwSafetensorsHeader make_header(MwArena *arena, const MwOnnxModel *model)
{
    MwSafetensor *tensors = MW_NEW(arena, MwSafetensor, model->weight_count);
    for (int i = 0; i < model->weight_count; i++) {
        const MwOnnxWeight *weight = &model->weights[i];
        tensors[i].name = weight->name;
        tensors[i].type = mw_file_type_of(weight->type.type);
        tensors[i].rank = weight->type.rank;
        for (int d = 0; d < weight->type.rank; d++)
            tensors[i].dim[d] = weight->type.dim[d];
    }
    return mw_safetensors_header(arena, tensors, model->weight_count);
}

bool mw_weights_file_write(const char *path, const MwOnnxModel *model, MwDiags *diags)
{
    MwArena *arena = mw_arena_new();
    const MwSafetensorsHeader header = make_header(arena, model);
    MwNewFile file;
    bool open = mw_new_file_open(&file, path);
    bool good = open && mw_file_write_bytes(file.fd, header.text, header.bytes);
    for (int i = 0; good && i < model->weight_count; i++)
        good = mw_file_write_bytes(file.fd, model->weights[i].data,
                                   (size_t)mw_tensor_bytes(&model->weights[i].type));
    if (open && !good)
        mw_new_file_drop(&file);
    good = good && mw_new_file_keep(&file, 0644);
    if (!good)
        mw_diag_error(diags, mw_span_none(), "cannot write %s: %s", path, strerror(errno));
    mw_arena_free(&arena);
    return good;
}
