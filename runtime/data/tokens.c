/* SPDX-License-Identifier: MIT */
#include "runtime/data/tokens.h"

#include "base/text.h"

#include <string.h>

typedef struct {
    uint32_t magic, version;
    int bits;
} Kind;

static const Kind kinds[] = {{20240520, 1, 16}, {20240801, 7, 32}};

static uint32_t word(const unsigned char *header, int index)
{
    const unsigned char *at = header + 4 * index;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_word(unsigned char *header, int index, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        header[4 * index + i] = (unsigned char)(value >> 8 * i);
}

void mw_tokens_header(int bits, int64_t count, unsigned char header[MW_TOKENS_HEADER_BYTES])
{
    const Kind *kind = &kinds[bits == 32];
    MW_ASSERT(bits == kind->bits);
    memset(header, 0, MW_TOKENS_HEADER_BYTES);
    put_word(header, 0, kind->magic);
    put_word(header, 1, kind->version);
    put_word(header, 2, (uint32_t)count);
    put_word(header, 3, (uint32_t)((uint64_t)count >> 32));
}

static MwNpy array_of(int bits, int64_t count, int64_t offset)
{
    return (MwNpy){.type = {'u', bits / 8}, .rank = 1, .dim = {count}, .offset = offset};
}

/* A file that begins with a header of llm.c. */
static bool read_header(const MwFeedFile *file, const Kind *kind, const unsigned char *header,
                        MwNpy *tokens, MwFault *fault)
{
    const uint32_t version = word(header, 1);
    const uint64_t count = word(header, 2) | (uint64_t)word(header, 3) << 32;
    const uint64_t room =
        (uint64_t)(file->bytes - MW_TOKENS_HEADER_BYTES) * 8 / (uint64_t)kind->bits;
    if (version != kind->version)
        return mw_fault_set(
            fault, "%s is a token file of llm.c (magic %u) of version %u, where %u is known",
            file->path, kind->magic, version, kind->version);
    if (count > room)
        return mw_fault_set(
            fault, "%s is cut off: its header promises %llu tokens of %d bits, it holds %llu",
            file->path, (unsigned long long)count, kind->bits, (unsigned long long)room);
    *tokens = array_of(kind->bits, (int64_t)count, MW_TOKENS_HEADER_BYTES);
    return true;
}

static bool read_array(const MwFeedFile *file, MwNpy *tokens, MwFault *fault)
{
    char begin[MW_NPY_MOST_HEADER_BYTES] = "", text[MW_NPY_TEXT_BYTES];
    if (!mw_feed_file_read(file, 0, mw_min(file->bytes, sizeof begin), begin, fault))
        return false;
    if (!mw_npy_read(begin, file->bytes, tokens, fault))
        return mw_fault_prefix(fault, "%s", file->path);
    return (tokens->rank == 1 && (tokens->type.kind == 'u' || tokens->type.kind == 'i')) ||
           mw_fault_set(fault,
                        "%s holds %s; tokens are integers in one dimension, and rows of them go by "
                        "npy:NAME=FILE",
                        file->path, mw_npy_text(tokens, text));
}

/* The width that the name of a raw file stands for; 0: none. */
static int bits_of_name(const char *path)
{
    return mw_text_ends_in(path, ".bin") || mw_text_ends_in(path, ".u16") ? 16
           : mw_text_ends_in(path, ".u32")                                ? 32
                                                                          : 0;
}

static bool read_raw(const MwFeedFile *file, int bits, MwNpy *tokens, MwFault *fault)
{
    if (file->bytes % (bits / 8))
        return mw_fault_set(fault,
                            "%s has %lld bytes, which is no whole number of tokens of %d bits",
                            file->path, (long long)file->bytes, bits);
    *tokens = array_of(bits, file->bytes / (bits / 8), 0);
    return true;
}

bool mw_tokens_open(const MwFeedFile *file, int bits, MwNpy *tokens, MwFault *fault)
{
    unsigned char header[MW_TOKENS_HEADER_BYTES] = {0};
    if (bits)
        return read_raw(file, bits, tokens, fault);
    if (!mw_feed_file_read(file, 0, mw_min(file->bytes, sizeof header), header, fault))
        return false;
    for (int i = 0; i < MW_COUNT(kinds); i++)
        if (file->bytes >= MW_TOKENS_HEADER_BYTES && word(header, 0) == kinds[i].magic)
            return read_header(file, &kinds[i], header, tokens, fault);
    if (mw_npy_begins((const char *)header))
        return read_array(file, tokens, fault);
    bits = bits_of_name(file->path);
    return bits ? read_raw(file, bits, tokens, fault)
                : mw_fault_set(fault,
                               "%s does not say how wide its tokens are: it has no header of llm.c "
                               "or .npy and is not named .bin, .u16 or .u32. Give tokens16:FILE or "
                               "tokens32:FILE",
                               file->path);
}
