/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/token_file.h"

#include "runtime/data/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool cannot(const MwTokenFile *file, MwFault *fault)
{
    return mw_fault_set(fault, "cannot write %s: %s", file->path, strerror(errno));
}

static bool flush(MwTokenFile *file, MwFault *fault)
{
    const bool good = mw_file_write_bytes(file->file.fd, file->buffer, file->held);
    file->held = 0;
    return good || cannot(file, fault);
}

bool mw_token_file_open(MwTokenFile *file, const char *path, int bits, MwFault *fault)
{
    *file = (MwTokenFile){.path = path, .bits = bits};
    if (!mw_new_file_open(&file->file, path))
        return cannot(file, fault);
    file->buffer = malloc(MW_TOKEN_BUFFER_BYTES);
    MW_ASSERT(file->buffer);
    memset(file->buffer, 0, MW_TOKENS_HEADER_BYTES); /* until the number of tokens is known */
    file->held = MW_TOKENS_HEADER_BYTES;
    return true;
}

bool mw_token_file_add(MwTokenFile *file, const uint32_t *tokens, int64_t count, MwFault *fault)
{
    const int width = file->bits / 8;
    for (int64_t i = 0; i < count; i++) {
        if (file->held + (size_t)width > MW_TOKEN_BUFFER_BYTES && !flush(file, fault))
            return false;
        for (int b = 0; b < width; b++)
            file->buffer[file->held++] = (unsigned char)(tokens[i] >> 8 * b);
    }
    file->count += count;
    return true;
}

bool mw_token_file_close(MwTokenFile *file, bool complete, MwFault *fault)
{
    unsigned char header[MW_TOKENS_HEADER_BYTES];
    mw_tokens_header(file->bits, file->count, header);
    bool good = !complete || flush(file, fault);
    if (complete && good && pwrite(file->file.fd, header, sizeof header, 0) != sizeof header)
        good = cannot(file, fault);
    free(file->buffer);
    if (!complete || !good) {
        mw_new_file_drop(&file->file);
        return good;
    }
    return mw_new_file_keep(&file->file, 0644) || cannot(file, fault);
}
