/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/json.h"

#include <string.h>

MwJson mw_json_begin(MwArena *arena)
{
    MwJson json = {yajl_gen_alloc(NULL), arena};
    MW_ASSERT(json.gen != NULL);
    yajl_gen_config(json.gen, yajl_gen_beautify, 1);
    yajl_gen_config(json.gen, yajl_gen_indent_string, " ");
    yajl_gen_map_open(json.gen);
    return json;
}

void mw_json_end(MwJson *json, MwText *text)
{
    const unsigned char *bytes;
    size_t length;
    yajl_gen_map_close(json->gen);
    yajl_gen_get_buf(json->gen, &bytes, &length);
    mw_text_add_n(text, (const char *)bytes, length);
    yajl_gen_free(json->gen);
    json->gen = NULL;
}

void mw_json_string(MwJson *json, const char *text)
{
    yajl_gen_string(json->gen, (const unsigned char *)text, strlen(text));
}

void mw_json_field_string(MwJson *json, const char *key, const char *text)
{
    mw_json_string(json, key);
    mw_json_string(json, text);
}

void mw_json_field_int(MwJson *json, const char *key, int64_t value)
{
    mw_json_string(json, key);
    yajl_gen_integer(json->gen, value);
}

void mw_json_field_bool(MwJson *json, const char *key, bool value)
{
    mw_json_string(json, key);
    yajl_gen_bool(json->gen, value);
}

void mw_json_field_double(MwJson *json, const char *key, double value)
{
    MwText digits = {.arena = json->arena};
    mw_text_add_double(&digits, value);
    mw_json_string(json, key);
    yajl_gen_number(json->gen, digits.at, digits.bytes);
}

void mw_json_field_raw(MwJson *json, const char *key, const char *value)
{
    mw_json_string(json, key);
    yajl_gen_number(json->gen, value, strlen(value)); /* writes any text as it is */
}

void mw_json_field_spec(MwJson *json, const char *key, MwSpec spec, int rank)
{
    char text[MW_SPEC_TEXT_BYTES];
    mw_json_field_string(json, key, mw_spec_text(spec, rank, text));
}

void mw_json_field_array(MwJson *json, const char *key)
{
    mw_json_string(json, key);
    yajl_gen_array_open(json->gen);
}

void mw_json_field_shape(MwJson *json, const char *key, const MwTensor *tensor)
{
    mw_json_field_array(json, key);
    for (int d = 0; d < tensor->rank; d++)
        yajl_gen_integer(json->gen, tensor->dim[d]);
    yajl_gen_array_close(json->gen);
}

void mw_json_field_range(MwJson *json, const char *key, int first, int count)
{
    mw_json_field_array(json, key);
    for (int i = 0; i < count; i++)
        yajl_gen_integer(json->gen, first + i);
    yajl_gen_array_close(json->gen);
}
