/* SPDX-License-Identifier: MIT */
/* Small JSON texts of files that may be hostile, as trees of libyajl. */
#ifndef MW_RUNTIME_WEIGHTS_JSON_H
#define MW_RUNTIME_WEIGHTS_JSON_H

#include "base/text.h"

#include <yajl/yajl_tree.h>

/* Parses a text of `bytes` bytes that a NUL follows. NULL where it is no JSON, holds a NUL, or is
 * nested more than 8 deep; freed by yajl_tree_free. Memory grows with the text, by up to some 50
 * bytes a byte. */
yajl_val mw_json_parse(const char *text, size_t bytes);
/* The value of a key of an object; NULL: the key is missing. */
yajl_val mw_json_value(yajl_val object, const char *key);

/* Adds a text as a JSON string, in quotes. */
void mw_json_add_string(MwText *text, const char *value);

#endif
