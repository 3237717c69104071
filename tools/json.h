/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields of JSON objects. The writer is libyajl's. */
#ifndef MW_TOOLS_JSON_H
#define MW_TOOLS_JSON_H

#include "base/spec.h"
#include "base/tensor.h"
#include "base/text.h"

#include <yajl/yajl_gen.h>

typedef struct {
    yajl_gen gen;
    MwArena *arena;
} MwJson;

/* Opens an object; ends it and adds its text to `text`. */
MwJson mw_json_begin(MwArena *arena);
void mw_json_end(MwJson *json, MwText *text);

void mw_json_string(MwJson *json, const char *text);
void mw_json_field_string(MwJson *json, const char *key, const char *text);
void mw_json_field_int(MwJson *json, const char *key, int64_t value);
void mw_json_field_bool(MwJson *json, const char *key, bool value);
void mw_json_field_double(MwJson *json, const char *key, double value);
/* `value` is JSON already and is written as it is. */
void mw_json_field_raw(MwJson *json, const char *key, const char *value);
void mw_json_field_spec(MwJson *json, const char *key, MwSpec spec, int rank);
void mw_json_field_shape(MwJson *json, const char *key, const MwTensor *tensor);
/* The numbers first .. first + count - 1. */
void mw_json_field_range(MwJson *json, const char *key, int first, int count);
/* Opens an array. */
void mw_json_field_array(MwJson *json, const char *key);

#endif
