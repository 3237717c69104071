/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tokenize/buffer.h"

#include <stdlib.h>
#include <string.h>

char *mw_buffer_room(MwBuffer *buffer, size_t bytes)
{
    const size_t held = mw_buffer_bytes(buffer);
    if (buffer->end + bytes > buffer->capacity && buffer->begin) {
        memmove(buffer->memory, buffer->memory + buffer->begin, held);
        buffer->begin = 0;
        buffer->end = held;
    }
    if (held + bytes > buffer->capacity) {
        buffer->capacity = 2 * (held + bytes);
        buffer->memory = realloc(buffer->memory, buffer->capacity);
        MW_ASSERT(buffer->memory);
    }
    return buffer->memory + buffer->end;
}

void mw_buffer_add(MwBuffer *buffer, const char *text, size_t bytes)
{
    if (!bytes)
        return;
    memcpy(mw_buffer_room(buffer, bytes), text, bytes);
    buffer->end += bytes;
}

void mw_buffer_take(MwBuffer *buffer, size_t bytes)
{
    buffer->begin += bytes;
    if (buffer->begin == buffer->end)
        buffer->begin = buffer->end = 0;
}

void mw_buffer_free(MwBuffer *buffer)
{
    free(buffer->memory);
    *buffer = (MwBuffer){0};
}
