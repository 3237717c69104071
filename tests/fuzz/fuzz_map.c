/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of maps of names on any text, and what a map that it takes makes of some weights: a
 * fault, or tensors of which each element of the weight that a view covers is one, and no two are
 * the same. */
#include "runtime/weights/weight_map.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const struct {
    const char *name;
    MwTensor shape;
} weights[] = {
    {"wte", {MW_F32, 2, {6, 4}}},
    {"embed.wte", {MW_F32, 2, {6, 4}}},
    {"patchify.w", {MW_F32, 2, {12, 4}}},
    {"patchify.class", {MW_F32, 2, {1, 4}}},
    {"layers.0.norm.scale", {MW_F32, 1, {4}}},
    {"layers.0.mlp.w1", {MW_F32, 2, {4, 8}}},
    {"layers.1.attention.wq", {MW_F32, 3, {4, 2, 2}}},
    {"layers.1.attention.wk", {MW_F32, 3, {4, 1, 2}}},
    {"layers.1.attention.wqkv", {MW_F32, 4, {4, 3, 2, 2}}},
    {"layers.1.mixture.gate", {MW_F32, 3, {3, 4, 2}}},
    {"mixed.0.mixture.gate", {MW_F32, 3, {3, 4, 2}}},
};

static const MwTensor *shape_of(const void *context, const char *name)
{
    (void)context;
    for (int i = 0; i < MW_COUNT(weights); i++)
        if (strcmp(weights[i].name, name) == 0)
            return &weights[i].shape;
    return NULL;
}

static void check_tensor(MwArena *arena, const MwMappedTensor *tensor, const MwTensor *weight)
{
    int64_t elements = 1, covered = 0;
    for (int d = 0; d < tensor->rank; d++)
        elements *= tensor->dim[d];
    MW_ASSERT(elements > 0 && elements <= 1 << 20);
    bool *seen = MW_NEW(arena, bool, elements);
    for (int64_t at = 0; at < mw_tensor_elements(weight);) {
        const MwStoredRun run =
            mw_stored_view_run(&tensor->view, at, mw_tensor_elements(weight) - at);
        MW_ASSERT(run.run > 0);
        at += run.run;
        for (int64_t i = 0; run.is_covered && i < run.run; i++) {
            const int64_t element = run.at + i * run.step;
            MW_ASSERT(element >= 0 && element < elements && !seen[element]);
            seen[element] = true;
            covered++;
        }
    }
    MW_ASSERT(covered == mw_stored_view_elements(&tensor->view));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    MwArena *arena = mw_arena_new();
    MwFault fault = {0};
    const char *text = mw_arena_strndup(arena, (const char *)data, bytes);
    const MwWeightMap *map = mw_weight_map_parse(arena, "fuzz.map", text, &fault);
    MW_ASSERT((map == NULL) == (*fault.text != '\0'));
    for (int i = 0; map && i < MW_COUNT(weights); i++) {
        MwMappedTensor *tensors;
        const int count = mw_weight_map_tensors(
            map, arena, weights[i].name, &(MwWeightShapes){shape_of, NULL}, NULL, &tensors, &fault);
        for (int k = 0; k < count; k++)
            check_tensor(arena, &tensors[k], &weights[i].shape);
        mw_weight_map_skips(map, weights[i].name);
    }
    mw_arena_free(&arena);
    return 0;
}
