/* SPDX-License-Identifier: MIT */
#include "runtime/weights/json.h"

#include <string.h>

enum { MOST_DEPTH = 8 };

/* libyajl frees a tree by recursion. */
static bool is_shallow(const char *text)
{
    int depth = 0;
    bool in_string = false;
    for (const char *c = text; *c; c++) {
        if (*c == '\\' && in_string && c[1])
            c++;
        else if (*c == '"')
            in_string = !in_string;
        else if (!in_string && (*c == '[' || *c == '{') && ++depth > MOST_DEPTH)
            return false;
        else if (!in_string && (*c == ']' || *c == '}'))
            depth--;
    }
    return true;
}

yajl_val mw_json_parse(const char *text, size_t bytes)
{
    char why[120];
    return strlen(text) == bytes && is_shallow(text) ? yajl_tree_parse(text, why, sizeof why)
                                                     : NULL;
}

yajl_val mw_json_value(yajl_val object, const char *key)
{
    for (size_t i = 0; i < object->u.object.len; i++)
        if (strcmp(object->u.object.keys[i], key) == 0)
            return object->u.object.values[i];
    return NULL;
}

void mw_json_add_string(MwText *text, const char *value)
{
    mw_text_add(text, "\"");
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            mw_text_printf(text, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            mw_text_printf(text, "\\u%04x", (unsigned char)*c);
        else
            mw_text_add_n(text, c, 1);
    }
    mw_text_add(text, "\"");
}
