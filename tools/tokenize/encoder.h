/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text to tokens, piece by piece: what is given is encoded as soon as nothing that may follow
 * changes its tokens, and the rest is kept. So texts of any size take little memory, and the tokens
 * are those of the whole text.
 *
 *     bytes -> UTF-8 -> added tokens -> normal form -> added tokens -> pieces -> words -> tokens
 *
 * Bytes that are no UTF-8 become U+FFFD, one for each maximal part of a character, as in Python's
 * decode(errors="replace"). */
#ifndef MW_TOOLS_TOKENIZE_ENCODER_H
#define MW_TOOLS_TOKENIZE_ENCODER_H

#include "tools/tokenize/tokenizer.h"

typedef struct MwEncoder MwEncoder;

/* Takes tokens in order. */
typedef bool MwTokenSink(void *context, const uint32_t *tokens, int64_t count, MwFault *fault);

/* The text that must be kept at once, at most: a longer piece is a fault. */
enum { MW_MOST_PIECE_BYTES = 1 << 26 };

MwEncoder *mw_encoder_new(const MwTokenizer *tokenizer, MwTokenSink *sink, void *context);
/* More of a document; `is_end`: it ends with that. False after a fault. */
bool mw_encoder_add(MwEncoder *encoder, const char *text, size_t bytes, bool is_end,
                    MwFault *fault);
/* The number of U+FFFD that stand for bytes that are no UTF-8, in all documents. */
int64_t mw_encoder_replaced(const MwEncoder *encoder);
void mw_encoder_free(MwEncoder **encoder);

#endif
