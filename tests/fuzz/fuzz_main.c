/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a fuzz target over a corpus: fuzz_TARGET [-s FILE] FOLDER [MUTATIONS [SEED]]
 *
 * Each file of the folder as it is, then as many mutations of it: bytes changed, ranges dropped,
 * doubled, or replaced by a piece of another file. The same seed gives the same inputs. -s saves
 * each input to FILE before it is tried, so that one that crashes is at hand. A file instead of the
 * folder is tried alone. Prints TAP: one case for each file. */
#include "base/file.h"
#include "base/vec.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT_BYTES = 1 << 16 };

typedef struct {
    const char *name;
    const char *data;
    size_t bytes;
} Input;

typedef struct {
    MwArena *arena;
    MW_VEC(Input) inputs;
    uint64_t random;
    const char *save;
} Corpus;

/* xorshift64*, from 0 to limit - 1 (Marsaglia 2003). */
static size_t next_random(Corpus *corpus, size_t limit)
{
    corpus->random ^= corpus->random >> 12;
    corpus->random ^= corpus->random << 25;
    corpus->random ^= corpus->random >> 27;
    return (size_t)(corpus->random * 2685821657736338717u >> 33) % limit;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const Input *)a)->name, ((const Input *)b)->name);
}

static bool add_file(Corpus *corpus, const char *path)
{
    Input input = {.name = mw_arena_strdup(corpus->arena, path)};
    input.data = mw_file_read(corpus->arena, path, &input.bytes);
    if (input.data)
        mw_vec_push(corpus->arena, &corpus->inputs, input);
    return input.data != NULL;
}

/* The files of a folder, by name, so that every machine runs the same. */
static bool add_path(Corpus *corpus, const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return add_file(corpus, path);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            add_file(corpus, mw_arena_printf(corpus->arena, "%s/%s", path, entry->d_name));
    closedir(folder);
    if (corpus->inputs.count)
        qsort(corpus->inputs.at, (size_t)corpus->inputs.count, sizeof(Input), compare_names);
    return corpus->inputs.count > 0;
}

static void try(const Corpus *corpus, const char *data, size_t bytes)
{
    if (corpus->save && !mw_file_write(corpus->save, data, bytes, 0644))
        perror(corpus->save);
    LLVMFuzzerTestOneInput((const uint8_t *)data, bytes);
}

/* Replaces `dropped` bytes at `at` by `piece`. */
static size_t splice(char *data, size_t bytes, size_t at, size_t dropped, const char *piece,
                     size_t piece_bytes)
{
    if (bytes - dropped + piece_bytes > MAX_INPUT_BYTES)
        return bytes;
    memmove(data + at + piece_bytes, data + at + dropped, bytes - at - dropped);
    memcpy(data + at, piece, piece_bytes);
    return bytes - dropped + piece_bytes;
}

static size_t mutate(Corpus *corpus, char *data, size_t bytes)
{
    const Input *other = &corpus->inputs.at[next_random(corpus, (size_t)corpus->inputs.count)];
    size_t at = next_random(corpus, bytes + 1);
    size_t range = next_random(corpus, (size_t)mw_min((int64_t)(bytes - at), 40) + 1);
    size_t from = next_random(corpus, other->bytes + 1);
    size_t piece = next_random(corpus, (size_t)mw_min((int64_t)(other->bytes - from), 60) + 1);
    char copy[64], byte = (char)next_random(corpus, 256);
    switch (next_random(corpus, 5)) {
    case 0:
        return splice(data, bytes, at, 0, &byte, 1);
    case 1:
        return splice(data, bytes, at, range, "", 0);
    case 2:
        memcpy(copy, data + at, range);
        return splice(data, bytes, at, 0, copy, range);
    case 3:
        return splice(data, bytes, at, range, other->data + from, piece);
    default:
        if (at < bytes)
            data[at] = byte;
        return bytes;
    }
}

static void try_mutations(Corpus *corpus, const Input *input, int count)
{
    char *data = mw_arena_alloc(corpus->arena, MAX_INPUT_BYTES);
    for (int i = 0; i < count; i++) {
        size_t bytes = (size_t)mw_min((int64_t)input->bytes, MAX_INPUT_BYTES);
        memcpy(data, input->data, bytes);
        for (size_t k = next_random(corpus, 4) + 1; k > 0; k--)
            bytes = mutate(corpus, data, bytes);
        try(corpus, data, bytes);
    }
}

int main(int count, char **args)
{
    Corpus corpus = {.arena = mw_arena_new()};
    int at = 1;
    if (count > 2 && strcmp(args[1], "-s") == 0) {
        corpus.save = args[2];
        at = 3;
    }
    if (at >= count || !add_path(&corpus, args[at])) {
        fputs("usage: fuzz_TARGET [-s FILE] FOLDER [MUTATIONS [SEED]]\n", stderr);
        return 2;
    }
    int mutations = at + 1 < count ? atoi(args[at + 1]) : 0;
    corpus.random = (at + 2 < count ? strtoull(args[at + 2], NULL, 10) : 0) * 2 + 1;
    for (int i = 0; i < corpus.inputs.count; i++) {
        try(&corpus, corpus.inputs.at[i].data, corpus.inputs.at[i].bytes);
        try_mutations(&corpus, &corpus.inputs.at[i], mutations);
        printf("ok %d - %s and %d mutations\n", i + 1, corpus.inputs.at[i].name, mutations);
        fflush(stdout);
    }
    printf("1..%d\n", corpus.inputs.count);
    mw_arena_free(&corpus.arena);
    return 0;
}
