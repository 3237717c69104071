/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/export/tensors.h"

#include "runtime/weights/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a rule of the map makes of a weight. */
typedef struct {
    MwMappedTensor mapped;
    MwFileType type;
    int weight; /* index in the store of the checkpoint */
} Piece;

typedef struct {
    MwArena *arena;
    const MwExportSource *source;
    MwStore *store;   /* of the checkpoint */
    MwTensor *shapes; /* [tensors of the store] */
    MW_VEC(Piece) pieces;
    MwFault *fault;
} Export;

/* ---- Weights ---- */

/* A state of an optimizer has the name of a weight and one part more. */
static bool is_state(MwStore *store, const char *name)
{
    const char *dot = strrchr(name, '.');
    char *owner = dot ? strndup(name, (size_t)(dot - name)) : NULL;
    const bool found = owner && mw_store_find(store, owner) >= 0;
    free(owner);
    return found;
}

static bool read_shapes(Export *export)
{
    const int count = mw_store_count(export->store);
    export->shapes = MW_NEW(export->arena, MwTensor, count);
    for (int i = 0; i < count; i++) {
        const MwSafetensor *tensor = mw_store_tensor(export->store, i, export->fault);
        if (!tensor)
            return false;
        export->shapes[i].rank = tensor->rank;
        memcpy(export->shapes[i].dim, tensor->dim, sizeof tensor->dim);
    }
    return true;
}

static const MwTensor *shape_of(const void *context, const char *name)
{
    const Export *export = context;
    const int index = mw_store_find(export->store, name);
    return index >= 0 ? &export->shapes[index] : NULL;
}

static void add_same(Export *export, int weight, MwFileType type)
{
    const MwTensor *shape = &export->shapes[weight];
    Piece *piece = mw_vec_add(export->arena, &export->pieces);
    piece->weight = weight;
    piece->type = type;
    piece->mapped = (MwMappedTensor){.name = mw_store_name(export->store, weight),
                                     .rank = shape->rank,
                                     .view = mw_stored_view_same(-1, mw_tensor_elements(shape))};
    memcpy(piece->mapped.dim, shape->dim, sizeof shape->dim);
}

/* Adds the pieces of a weight; `*found` is false where the map has none. */
static bool add_mapped(Export *export, int weight, MwFileType type, bool *found)
{
    MwStore *like = export->source->like;
    const MwWeightShapes shapes = {shape_of, export};
    MwMappedTensor *tensors;
    const int count = mw_weight_map_tensors(export->source->map, export->arena,
                                            mw_store_name(export->store, weight), &shapes, like,
                                            &tensors, export->fault);
    for (int i = 0; i < count; i++) {
        if (like) /* it was read when the tensor was found */
            type = mw_store_tensor(like, tensors[i].view.stored, export->fault)->type;
        mw_vec_push(export->arena, &export->pieces, ((Piece){tensors[i], type, weight}));
    }
    *found = count > 0;
    return count >= 0;
}

static bool add_pieces(Export *export)
{
    MwSomeNames lacking = {.text = {.arena = export->arena}};
    for (int i = 0; i < mw_store_count(export->store); i++) {
        const char *name = mw_store_name(export->store, i);
        const MwSafetensor *weight = mw_store_tensor(export->store, i, export->fault);
        bool found = true;
        if (!weight)
            return false;
        if (is_state(export->store, name))
            continue;
        if (!export->source->map)
            add_same(export, i, weight->type);
        else if (!add_mapped(export, i, weight->type, &found))
            return false;
        if (!found)
            mw_some_names_add(&lacking, name);
    }
    return !lacking.count || mw_fault_set(export->fault, "the map has no tensor for %s",
                                          mw_some_names_text(&lacking));
}

/* ---- Tensors ---- */

static int compare_pieces(const void *a, const void *b)
{
    const Piece *x = a, *y = b;
    const int order = strcmp(x->mapped.name, y->mapped.name);
    return order ? order : x->mapped.line - y->mapped.line;
}

static bool is_whole(const MwExportTensor *tensor)
{
    int64_t covered = 0, elements = 1;
    for (int i = 0; i < tensor->parts.count; i++)
        covered += mw_stored_view_elements(&tensor->parts.at[i].view);
    for (int d = 0; d < tensor->tensor.rank; d++)
        elements *= tensor->tensor.dim[d];
    return covered == elements;
}

/* Joins the pieces of each tensor that the first of its lines makes. */
static bool join_pieces(Export *export, MwExportTensors *tensors)
{
    const Piece *first = NULL;
    for (int i = 0; i < export->pieces.count; i++) {
        const Piece *piece = &export->pieces.at[i];
        if (!first || strcmp(first->mapped.name, piece->mapped.name) != 0) {
            first = piece;
            MwExportTensor *tensor = mw_vec_add(export->arena, tensors);
            tensor->tensor = (MwSafetensor){
                .name = piece->mapped.name, .type = piece->type, .rank = piece->mapped.rank};
            memcpy(tensor->tensor.dim, piece->mapped.dim, sizeof piece->mapped.dim);
        }
        if (piece->mapped.line == first->mapped.line)
            mw_vec_push(export->arena, &mw_vec_last(tensors).parts,
                        ((MwExportPart){piece->weight, piece->mapped.view}));
    }
    for (int i = 0; i < tensors->count; i++)
        if (!is_whole(&tensors->at[i]))
            return mw_fault_set(export->fault, "the checkpoint has a part of %s alone",
                                tensors->at[i].tensor.name);
    return true;
}

bool mw_export_tensors(MwArena *arena, const MwExportSource *source, MwExportTensors *tensors,
                       MwFault *fault)
{
    Export export = {.arena = arena, .source = source, .store = source->weights, .fault = fault};
    if (!read_shapes(&export) || !add_pieces(&export))
        return false;
    if (export.pieces.count)
        qsort(export.pieces.at, (size_t) export.pieces.count, sizeof *export.pieces.at,
              compare_pieces);
    return join_pieces(&export, tensors);
}
