/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/scratch.h"

#include "tests/unit/feeds.h"

#include "runtime/data/npy.h"
#include "tests/unit/support.h"

#include <stdio.h>
#include <string.h>

MwArena *arena;
const char *folder;

void feeds_setup(void)
{
    arena = mw_arena_new();
    folder = scratch_folder(arena);
}

void feeds_teardown(void)
{
    char *command = mw_arena_printf(arena, "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    mw_arena_free(&arena);
}

const char *file_with(const char *name, const void *data, size_t bytes)
{
    char *path = mw_arena_printf(arena, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0);
    return path;
}

const char *npy_with(const char *name, const MwTensor *tensor, const void *data)
{
    char header[MW_NPY_HEADER_BYTES];
    int bytes = mw_npy_header(tensor, header);
    char *whole = mw_arena_alloc(arena, (size_t)(bytes + mw_tensor_bytes(tensor)));
    memcpy(whole, header, (size_t)bytes);
    memcpy(whole + bytes, data, (size_t)mw_tensor_bytes(tensor));
    return file_with(name, whole, (size_t)(bytes + mw_tensor_bytes(tensor)));
}

MwPlanMesh *mesh_with(MwMeshShape shape, MwSpec spec)
{
    static const MwTensor tokens = {MW_I32, 2, {BATCH, LENGTH}}, x = {MW_F32, 2, {BATCH, WIDTH}};
    static MwPlanBound bytes[] = {{0, 0, BATCH, 256}};
    const MwPlanInput inputs[] = {{"tokens", 0, tokens, spec, .bounds = bytes, .bound_count = 1},
                                  {"targets", 1, tokens, spec, .bounds = bytes, .bound_count = 1},
                                  {"x", 2, x, spec}};
    MwPlanMesh *mesh = MW_NEW(arena, MwPlanMesh, 1);
    mesh->shape = shape;
    mesh->inputs = mw_arena_dup(arena, inputs, sizeof inputs);
    mesh->input_count = MW_COUNT(inputs);
    return mesh;
}

MwSpec spec_of(const char *text)
{
    MwSpec spec;
    int rank;
    ck_assert(mw_spec_parse(text, &spec, &rank));
    return spec;
}

MwPlanMesh *mesh_of_one(void)
{
    return mesh_with((MwMeshShape){1, {1}}, spec_of("[R, R]"));
}

MwFeeds *tried_feeds(const MwPlanMesh *mesh, const char *const *texts, int count, bool is_shuffled,
                     MwFault *fault)
{
    const MwPlan plan = {.meshes = (MwPlanMesh *)(uintptr_t)mesh, .mesh_count = 1};
    const MwFeedsWanted wanted = {texts, count, 7, is_shuffled, "--feed"};
    return mw_feeds_open(arena, mw_arena_dup(arena, &plan, sizeof plan), mesh, &wanted, fault);
}

MwFeeds *opened(const MwPlanMesh *mesh, const char *first, const char *second)
{
    MwFault fault = {0};
    const char *texts[] = {first, second};
    MwFeeds *feeds = tried_feeds(mesh, texts, 2, false, &fault);
    ck_assert_msg(feeds, "%s", fault.text);
    return feeds;
}

void whole_batch(const MwFeeds *feeds, const MwPlanMesh *mesh, int input, int64_t step, int micros,
                 int32_t *to)
{
    const MwPlanInput *in = &mesh->inputs[input];
    int32_t part[BATCH * LENGTH];
    MwFault fault;
    for (int micro = 0; micro < micros; micro++) {
        for (int device = 0; device < mw_mesh_devices(&mesh->shape); device++) {
            int coordinate[MW_MAX_AXES];
            mw_mesh_coordinates(&mesh->shape, device, coordinate);
            const MwBox box = mw_shard_box_of_micro_batch(&in->global, in->spec, &mesh->shape,
                                                          coordinate, micro, micros);
            ck_assert(mw_feeds_input(feeds, input, step, &box, part, &fault));
            for (MwSegment segment = {0}; mw_box_next_segment(&box, &segment);)
                memcpy(to + segment.global, part + segment.local,
                       sizeof *to * (size_t)segment.count);
        }
    }
}
