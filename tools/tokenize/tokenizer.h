/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tokenizer.json of Hugging Face: byte-level BPE, as GPT-2, Llama 3 and Qwen have it. What a file
 * asks for and is not implemented is refused by name. */
#ifndef MW_TOOLS_TOKENIZE_TOKENIZER_H
#define MW_TOOLS_TOKENIZE_TOKENIZER_H

#include "tools/tokenize/added.h"
#include "tools/tokenize/pattern.h"

/* What becomes of the matches of a pattern and of the text between them. */
typedef enum {
    MW_SPLIT_ISOLATED, /* each is a piece */
    MW_SPLIT_REMOVED,  /* the text between matches is pieces, matches go */
    MW_SPLIT_MATCHES   /* matches are pieces, the text between them goes */
} MwTextSplitKind;

typedef struct {
    MwPattern *pattern;
    MwTextSplitKind kind;
} MwTextSplit;

enum { MW_MOST_SPLITS = 16 };

typedef struct {
    MwVocabulary vocabulary;
    bool ignore_merges;
    uint32_t greatest_token; /* of the vocabulary and of added tokens */
    int normal_form;         /* options of utf8proc_map; 0: the text stays as it is */
    MwAdded added;           /* found in the text */
    MwAdded added_normal;    /* found in what the normalizer makes of it */
    MwTextSplit
        splits[MW_MOST_SPLITS]; /* one after another, each on the pieces of the one before */
    int split_count;
    bool prefix_space; /* each piece that the last split gets begins with a space */
    int prefix_split;  /* pieces get it before this split */
} MwTokenizer;

/* `name` is that of the file, for messages. False after a fault. */
bool mw_tokenizer_read(MwArena *arena, const char *name, const char *text, size_t bytes,
                       MwTokenizer *tokenizer, MwFault *fault);
/* Frees what is not in the arena. */
void mw_tokenizer_close(MwTokenizer *tokenizer);
/* The token that is a text: an added one, or one of the vocabulary, written as the vocabulary
 * does. MW_NO_TOKEN: there is none. */
uint32_t mw_tokenizer_token(const MwTokenizer *tokenizer, const char *text);
/* Changes the normal form of valid UTF-8, in memory that is freed with free(). NULL: there is no
 * memory for it. */
char *mw_normal_form(int normal_form, const char *text, size_t bytes, size_t *normal_bytes);

#endif
