/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The documents of text files: each file, each line, or a field of the JSON object in each line. */
#ifndef MW_TOOLS_TOKENIZE_DOCUMENTS_H
#define MW_TOOLS_TOKENIZE_DOCUMENTS_H

#include "runtime/exec/fault.h"

typedef enum { MW_DOCUMENT_FILE, MW_DOCUMENT_LINE, MW_DOCUMENT_JSON } MwDocumentKind;

/* Takes more of a document; `is_end`: it ends with that. */
typedef bool MwDocumentSink(void *context, const char *text, size_t bytes, bool is_end,
                            MwFault *fault);

/* Gives the documents of a file, "-" for standard input, to the sink. Lines end in a line feed,
 * which is no part of them; empty ones are no documents. `field`: of MW_DOCUMENT_JSON. */
bool mw_documents(const char *path, MwDocumentKind kind, const char *field, MwDocumentSink *sink,
                  void *context, MwFault *fault);

#endif
