/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

/* Blocks of at least MAPPED_BYTES are mapped one by one, so that they go back to the system when
 * they are freed, and come zeroed; malloc would keep them after the first such block. What is
 * allocated from other blocks is zeroed then, not the blocks, of which much stays unused. Under a
 * sanitizer all blocks come from malloc, which reports leaks. */
enum {
    ALIGNMENT = 16,
    FIRST_BLOCK_BYTES = 1 << 14,
    LARGEST_BLOCK_BYTES = 1 << 24,
#if defined(__SANITIZE_ADDRESS__)
    MAPPED_BYTES = INT32_MAX
#else
    MAPPED_BYTES = 1 << 22
#endif
};

typedef struct Block {
    struct Block *next;
    size_t bytes; /* of the payload */
    size_t used;
} Block;

struct MwArena {
    Block *blocks; /* the newest first; only it has room */
    size_t next_block_bytes;
    size_t total_bytes;
    /* around: the arena that this one is within, or NULL; within: the newest arena within this
     * one */
    MwArena *around, *within;
    MwArena *newer, *older; /* other arenas within the same one */
};

enum { HEADER_BYTES = (sizeof(Block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool is_mapped(size_t bytes)
{
    return bytes >= MAPPED_BYTES;
}

static void *system_alloc(size_t bytes)
{
    void *memory = is_mapped(bytes) ? map(bytes) : malloc(bytes);
    if (!memory) {
        fprintf(stderr, "error: out of memory: cannot allocate %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static void system_free(void *memory, size_t bytes)
{
    if (is_mapped(bytes))
        munmap(memory, bytes);
    else
        free(memory);
}

static char *block_payload(Block *block)
{
    return (char *)block + HEADER_BYTES;
}

MwArena *mw_arena_new(void)
{
    MwArena *arena = system_alloc(sizeof *arena);
    *arena = (MwArena){.next_block_bytes = FIRST_BLOCK_BYTES};
    return arena;
}

MwArena *mw_arena_new_within(MwArena *around)
{
    MwArena *arena = mw_arena_new();
    arena->around = around;
    arena->older = around->within;
    if (arena->older)
        arena->older->newer = arena;
    around->within = arena;
    return arena;
}

/* Removes an arena from the list of the arena around it. */
static void take_out(MwArena *arena)
{
    if (arena->newer)
        arena->newer->older = arena->older;
    else if (arena->around)
        arena->around->within = arena->older;
    if (arena->older)
        arena->older->newer = arena->newer;
}

void mw_arena_free(MwArena **arena)
{
    if (!*arena)
        return;
    while ((*arena)->within)
        mw_arena_free(&(MwArena *){(*arena)->within});
    take_out(*arena);
    for (Block *block = (*arena)->blocks, *next; block; block = next) {
        next = block->next;
        UNPOISON(block_payload(block), block->bytes);
        system_free(block, HEADER_BYTES + block->bytes);
    }
    free(*arena);
    *arena = NULL;
}

static Block *add_block(MwArena *arena, size_t at_least_bytes)
{
    size_t bytes = arena->next_block_bytes;
    if (bytes < at_least_bytes)
        bytes = at_least_bytes;
    Block *block = system_alloc(HEADER_BYTES + bytes);
    *block = (Block){.next = arena->blocks, .bytes = bytes};
    arena->blocks = block;
    arena->total_bytes += HEADER_BYTES + bytes;
    if (arena->next_block_bytes < LARGEST_BLOCK_BYTES)
        arena->next_block_bytes *= 2;
    POISON(block_payload(block), bytes);
    return block;
}

/* Bytes that are not zeroed. */
static void *take(MwArena *arena, size_t bytes)
{
    MW_ASSERT(bytes < SIZE_MAX / 2);
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    Block *block = arena->blocks;
    if (!block || block->bytes - block->used < rounded)
        block = add_block(arena, rounded);
    char *memory = block_payload(block) + block->used;
    block->used += rounded;
    UNPOISON(memory, bytes);
    return memory;
}

void *mw_arena_alloc(MwArena *arena, size_t bytes)
{
    void *memory = take(arena, bytes);
    return is_mapped(HEADER_BYTES + arena->blocks->bytes) ? memory : memset(memory, 0, bytes);
}

void *mw_arena_dup(MwArena *arena, const void *data, size_t bytes)
{
    void *copy = take(arena, bytes);
    if (bytes)
        memcpy(copy, data, bytes);
    return copy;
}

char *mw_arena_strndup(MwArena *arena, const char *text, size_t length)
{
    char *copy = take(arena, length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *mw_arena_strdup(MwArena *arena, const char *text)
{
    return mw_arena_strndup(arena, text, strlen(text));
}

char *mw_arena_vprintf(MwArena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    MW_ASSERT(length >= 0);
    char *text = take(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *mw_arena_printf(MwArena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = mw_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

size_t mw_arena_bytes(const MwArena *arena)
{
    return arena->total_bytes;
}
