/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/import/weights_file.h"

#include "base/new_file.h"
#include "runtime/weights/safetensors.h"

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

bool mw_weights_file_write(int fd, const MwOnnxModel *model)
{
    MwArena *arena = mw_arena_new();
    const MwSafetensorsHeader header = make_header(arena, model);
    bool good = mw_file_write_bytes(fd, header.text, header.bytes);
    mw_arena_free(&arena);
    for (int i = 0; good && i < model->weight_count; i++)
        good = mw_file_write_bytes(fd, model->weights[i].data,
                                   (size_t)mw_tensor_bytes(&model->weights[i].type));
    return good;
}
