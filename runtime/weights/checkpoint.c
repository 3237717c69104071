/* SPDX-License-Identifier: MIT */
#include "runtime/weights/checkpoint.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/new_file.h"
#include "base/text.h"
#include "runtime/data/gather.h"
#include "runtime/weights/layout.h"
#include "runtime/weights/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that this rank writes. */
typedef struct {
    const char *name; /* in the folder; NULL: there is none */
    MwSafetensorsHeader header;
    char *data; /* its elements */
    int64_t bytes;
} File;

/* What the ranks tell each other of their files when a save ends. */
typedef struct {
    uint64_t hash[MW_SAVED_COUNT];
    int failed;
    MwFault fault;
} Written;

struct MwSaver {
    MwCheckpointRun run;
    const char *dir;
    uint64_t seed;
    MwSaveLayout layout;
    File files[MW_SAVED_COUNT];
    char *part, *scratch; /* room for the largest shard that this rank sends, and receives */
    MwArena *arena;
    /* the save that is open */
    bool is_open;
    MwCheckpoint checkpoint;
    Written written;
    pthread_t thread;
    atomic_bool is_writing;
};

/* ---- Setting up ---- */

/* The header of the file of this rank. */
static MwSafetensorsHeader make_header(const MwSaver *saver, MwSavedKind kind)
{
    const MwSaveLayout *layout = &saver->layout;
    MwSafetensor *tensors = MW_NEW(saver->arena, MwSafetensor, layout->weight_count);
    int count = 0;
    for (int i = 0; i < layout->weight_count; i++) {
        const MwSavedWeight *saved = &layout->weights[i];
        const MwTensor *global = &saved->weight->global;
        if (saved->kind != kind || saved->rank != saver->run.transport->rank)
            continue;
        MwSafetensor *tensor = &tensors[count++];
        *tensor = (MwSafetensor){.name = saved->weight->name,
                                 .type = mw_file_type_of(global->type),
                                 .rank = global->rank};
        memcpy(tensor->dim, global->dim, sizeof global->dim);
    }
    return mw_safetensors_header(saver->arena, tensors, count);
}

/* Memory that is taken from the system when it is used first, so that a run that is not saved
 * before its end does not need it before. */
static char *take_memory(int64_t bytes, MwFault *fault)
{
    char *memory = malloc((size_t)mw_max(bytes, (int64_t)1));
    if (!memory)
        mw_fault_set(fault, "cannot allocate %" PRId64 " bytes to collect a checkpoint", bytes);
    return memory;
}

/* The size of the shards of a weight. */
static int64_t part_bytes(const MwSavedWeight *saved)
{
    return mw_tensor_bytes(&saved->mesh->buffers[saved->weight->buffer].tensor);
}

static MwShardedTensor sharded(const MwSavedWeight *saved)
{
    return (MwShardedTensor){saved->mesh,
                             &saved->weight->global,
                             mw_plan_held(saved->weight),
                             saved->weight->spec,
                             0,
                             1};
}

static bool take_all_memory(MwSaver *saver, MwFault *fault)
{
    const int rank = saver->run.transport->rank;
    int64_t part = 0, scratch = 0;
    for (int i = 0; i < saver->layout.weight_count; i++) {
        const MwSavedWeight *saved = &saver->layout.weights[i];
        const MwShardedTensor tensor = sharded(saved);
        if (mw_sharded_is_sent(&tensor, rank))
            part = mw_max(part, part_bytes(saved));
        if (saved->rank == rank)
            scratch = mw_max(scratch, part_bytes(saved));
    }
    for (int kind = 0; kind < MW_SAVED_COUNT; kind++) {
        File *file = &saver->files[kind];
        if (file->name && !(file->data = take_memory(file->bytes, fault)))
            return false;
    }
    saver->part = take_memory(part, fault);
    saver->scratch = saver->part ? take_memory(scratch, fault) : NULL;
    return saver->scratch != NULL;
}

MwSaver *mw_saver_new(MwArena *arena, const MwCheckpointRun *run, const char *dir, uint64_t seed,
                      MwFault *fault)
{
    const int rank = run->transport->rank;
    MwSaver *saver = mw_arena_dup(arena,
                                  &(MwSaver){.run = *run,
                                             .arena = arena,
                                             .dir = dir,
                                             .seed = seed,
                                             .layout = mw_save_layout(arena, run->plan)},
                                  sizeof(MwSaver));
    for (int kind = 0; kind < MW_SAVED_COUNT; kind++) {
        File *file = &saver->files[kind];
        file->bytes = saver->layout.bytes[kind][rank];
        if (file->bytes == 0)
            continue;
        file->name =
            mw_saved_file_name(arena, &saver->layout, kind, saver->layout.file[kind][rank]);
        file->header = make_header(saver, kind);
    }
    if (rank != 0 && access(dir, W_OK) != 0) {
        mw_fault_set(fault, "cannot write to %s, which all ranks write to: %s", dir,
                     strerror(errno));
        return NULL;
    }
    if (take_all_memory(saver, fault))
        return saver;
    mw_saver_free(&saver);
    return NULL;
}

/* ---- Collecting ---- */

static bool collect_weight(MwSaver *saver, const MwSavedWeight *saved, MwFault *fault)
{
    const MwCheckpointRun *run = &saver->run;
    const int rank = run->transport->rank;
    const MwShardedTensor tensor = sharded(saved);
    char *data = saver->files[saved->kind].data;
    if (mw_sharded_is_sent(&tensor, rank) &&
        !run->device->table->copy_out(run->device, saver->part,
                                      mw_executor_buffer(run->executor, saved->weight->buffer),
                                      part_bytes(saved), fault))
        return false;
    return mw_gather(&tensor, run->transport, saved->rank, saver->part,
                     saved->rank == rank ? data + saved->offset : NULL, saver->scratch, fault);
}

/* ---- Writing ---- */

enum { CHUNK_BYTES = 1 << 22 }; /* written, and hashed while the caches have it, at once */

static bool write_bytes(int fd, const char *from, int64_t bytes, MwHashStream *hash)
{
    for (int64_t at = 0; at < bytes; at += CHUNK_BYTES) {
        const size_t part = (size_t)mw_min(bytes - at, (int64_t)CHUNK_BYTES);
        if (!mw_file_write_bytes(fd, from + at, part))
            return false;
        mw_hash_stream_add(hash, from + at, part);
    }
    return true;
}

static bool write_file(const MwSaver *saver, const File *file, uint64_t *hash, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    const char *path = mw_arena_printf(arena, "%s/%s", saver->checkpoint.folder, file->name);
    MwHashStream *stream = mw_hash_stream_new(arena);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool good = fd >= 0 &&
                write_bytes(fd, file->header.text, (int64_t)file->header.bytes, stream) &&
                write_bytes(fd, file->data, file->bytes, stream) && fsync(fd) == 0;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (!good)
        mw_fault_set(fault, "cannot write %s: %s", path, strerror(errno));
    *hash = mw_hash_stream_end(stream);
    mw_arena_free(&arena);
    return good;
}

static void *write_files(void *context)
{
    MwSaver *saver = context;
    Written *written = &saver->written;
    *written = (Written){0};
    for (int kind = 0; kind < MW_SAVED_COUNT; kind++) {
        const File *file = &saver->files[kind];
        if (file->name && !written->failed)
            written->failed = !write_file(saver, file, &written->hash[kind], &written->fault);
    }
    atomic_store(&saver->is_writing, false);
    return NULL;
}

/* Starts the thread, which leaves signals to the others. */
static bool start_writing(MwSaver *saver, MwFault *fault)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    atomic_store(&saver->is_writing, true);
    const int error = pthread_create(&saver->thread, NULL, write_files, saver);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    saver->is_open = error == 0;
    return error == 0 || mw_fault_set(fault, "cannot start a thread: %s", strerror(error));
}

/* What rank 0 tells all others when a save begins. */
typedef struct {
    bool good;
    MwCheckpoint checkpoint;
    MwFault fault;
} Begun;

static bool make_folder(MwSaver *saver, int64_t step, MwFault *fault)
{
    MwTransport *transport = saver->run.transport;
    MwArena *arena = mw_arena_new();
    Begun own = {0}, *all = MW_NEW(arena, Begun, transport->size);
    if (transport->rank == 0)
        own.good = mw_checkpoint_begin(saver->dir, saver->run.plan->model, step, saver->seed,
                                       &own.checkpoint, &own.fault);
    bool good = transport->table->allgather(transport, &own, sizeof own, all, fault);
    if (good && !all[0].good) {
        *fault = all[0].fault;
        good = false;
    }
    saver->checkpoint = all[0].checkpoint;
    mw_arena_free(&arena);
    return good;
}

bool mw_saver_begin(MwSaver *saver, int64_t step, MwFault *fault)
{
    MW_ASSERT(!saver->is_open);
    if (!make_folder(saver, step, fault))
        return false;
    for (int i = 0; i < saver->layout.weight_count; i++)
        if (!collect_weight(saver, &saver->layout.weights[i], fault))
            return false;
    return start_writing(saver, fault);
}

bool mw_saver_is_open(const MwSaver *saver)
{
    return saver->is_open;
}

bool mw_saver_is_writing(const MwSaver *saver)
{
    return saver->is_open && atomic_load(&saver->is_writing);
}

/* ---- The end of a save, on rank 0 ---- */

/* Writes which file holds which tensor. Sets the hash of the text. */
static bool write_index(const MwSaver *saver, MwSavedKind kind, const char *path, uint64_t *hash)
{
    const MwSaveLayout *layout = &saver->layout;
    MwArena *arena = mw_arena_new();
    MwText text = {.arena = arena};
    int64_t bytes = 0;
    for (int r = 0; r < saver->run.plan->rank_count; r++)
        bytes += layout->bytes[kind][r];
    mw_safetensors_index_begin(&text, bytes);
    for (int i = 0; i < layout->weight_count; i++) {
        const MwSavedWeight *saved = &layout->weights[i];
        if (saved->kind != kind)
            continue;
        const int file = layout->file[kind][saved->rank];
        mw_safetensors_index_add(&text, saved->weight->name,
                                 mw_saved_file_name(arena, layout, kind, file));
    }
    mw_safetensors_index_end(&text);
    *hash = mw_hash_bytes(text.at, text.bytes);
    const bool good = mw_file_write(path, text.at, text.bytes, 0644);
    mw_arena_free(&arena);
    return good;
}

/* Lists the files of all ranks, and writes and lists the indices of those that are several. */
static bool list_files(const MwSaver *saver, MwArena *arena, const Written *all,
                       MwCheckpointFile *files, int *count, MwFault *fault)
{
    const MwSaveLayout *layout = &saver->layout;
    for (int kind = 0; kind < MW_SAVED_COUNT; kind++) {
        for (int r = 0; r < saver->run.plan->rank_count; r++)
            if (layout->bytes[kind][r])
                files[(*count)++] = (MwCheckpointFile){
                    all[r].hash[kind],
                    mw_saved_file_name(arena, layout, kind, layout->file[kind][r])};
        if (layout->files[kind] < 2)
            continue;
        MwCheckpointFile *index = &files[(*count)++];
        index->name = mw_saved_index_name(arena, kind);
        const char *path = mw_arena_printf(arena, "%s/%s", saver->checkpoint.folder, index->name);
        if (!write_index(saver, kind, path, &index->hash))
            return mw_fault_set(fault, "cannot write %s: %s", path, strerror(errno));
    }
    return true;
}

static bool commit(MwSaver *saver, const Written *all, MwFault *fault)
{
    MwArena *arena = mw_arena_new();
    const int most = MW_SAVED_COUNT * (saver->run.plan->rank_count + 1);
    MwCheckpointFile *files = MW_NEW(arena, MwCheckpointFile, most);
    int count = 0;
    const bool good = list_files(saver, arena, all, files, &count, fault) &&
                      mw_checkpoint_commit(saver->dir, &saver->checkpoint, files, count, fault);
    mw_arena_free(&arena);
    return good;
}

bool mw_saver_end(MwSaver *saver, MwFault *fault)
{
    MwTransport *transport = saver->run.transport;
    MwArena *arena = mw_arena_new();
    Written *all = MW_NEW(arena, Written, transport->size);
    pthread_join(saver->thread, NULL);
    saver->is_open = false;
    bool good =
        transport->table->allgather(transport, &saver->written, sizeof saver->written, all, fault);
    for (int r = 0; good && r < transport->size; r++) {
        if (all[r].failed) {
            *fault = all[r].fault;
            good = false;
        }
    }
    if (transport->rank == 0 && !(good = good && commit(saver, all, fault)))
        mw_checkpoint_drop(&saver->checkpoint);
    mw_arena_free(&arena);
    return good;
}

void mw_saver_free(MwSaver **saver)
{
    if (!*saver)
        return;
    if ((*saver)->is_open)
        pthread_join((*saver)->thread, NULL);
    for (int kind = 0; kind < MW_SAVED_COUNT; kind++)
        free((*saver)->files[kind].data);
    free((*saver)->part);
    free((*saver)->scratch);
    *saver = NULL;
}
