/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text on its way from one stage to the next: added at its end and taken from its front. It keeps
 * what was not taken yet. */
#ifndef MW_TOOLS_TOKENIZE_BUFFER_H
#define MW_TOOLS_TOKENIZE_BUFFER_H

#include "base/base.h"

typedef struct {
    char *memory;
    size_t begin, end, capacity;
} MwBuffer;

static inline const char *mw_buffer_text(const MwBuffer *buffer)
{
    return buffer->memory + buffer->begin;
}

static inline size_t mw_buffer_bytes(const MwBuffer *buffer)
{
    return buffer->end - buffer->begin;
}

void mw_buffer_add(MwBuffer *buffer, const char *text, size_t bytes);
/* Makes room for `bytes` more after the text; sets `end` further once they are there. */
char *mw_buffer_room(MwBuffer *buffer, size_t bytes);
void mw_buffer_take(MwBuffer *buffer, size_t bytes);
void mw_buffer_free(MwBuffer *buffer);

#endif
