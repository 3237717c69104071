/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a file of tokens with the header of llm.c (runtime/data/tokens.h). */
#ifndef MW_TOOLS_TOKENIZE_TOKEN_FILE_H
#define MW_TOOLS_TOKENIZE_TOKEN_FILE_H

#include "base/new_file.h"
#include "runtime/exec/fault.h"

enum { MW_TOKEN_BUFFER_BYTES = 1 << 18 };

typedef struct {
    const char *path;
    MwNewFile file;
    int bits; /* of a token: 16 or 32 */
    int64_t count;
    size_t held;           /* bytes of `buffer` */
    unsigned char *buffer; /* [MW_TOKEN_BUFFER_BYTES] */
} MwTokenFile;

/* The file appears at its path when it is closed. */
bool mw_token_file_open(MwTokenFile *file, const char *path, int bits, MwFault *fault);
/* Tokens fit their width. */
bool mw_token_file_add(MwTokenFile *file, const uint32_t *tokens, int64_t count, MwFault *fault);
/* `complete`: keeps the file; otherwise nothing is left of it. */
bool mw_token_file_close(MwTokenFile *file, bool complete, MwFault *fault);

#endif
