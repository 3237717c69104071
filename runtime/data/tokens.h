/* SPDX-License-Identifier: MIT */
/* Files of tokens, one after another, unsigned and little-endian:
 *
 *     llm.c      256 words of 32 bits: a magic number, a version, the number of tokens, zeros.
 *                Magic 20240520, version 1: tokens of 16 bits; 20240801, version 7: of 32 bits. The
 *                number has 64 bits here, of which the upper 32 are in the word after it: that is 0
 *                in files of llm.c, whose number has 31.
 *     .npy       an array of one dimension of integers
 *     raw        nothing but the tokens, of 16 bits in a file named .bin (nanoGPT) or .u16, of 32
 *                bits in one named .u32 */
#ifndef MW_RUNTIME_DATA_TOKENS_H
#define MW_RUNTIME_DATA_TOKENS_H

#include "runtime/data/feed_file.h"
#include "runtime/data/npy.h"

enum { MW_TOKENS_HEADER_BYTES = 1024 };

/* Finds the tokens of an open file, as an array of one dimension. `bits`: 16 or 32 for a raw file;
 * 0: the header says it, or the name. */
bool mw_tokens_open(const MwFeedFile *file, int bits, MwNpy *tokens, MwFault *fault);
/* Writes the header of llm.c for `count` tokens of 16 or 32 bits. */
void mw_tokens_header(int bits, int64_t count, unsigned char header[MW_TOKENS_HEADER_BYTES]);

#endif
