/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/op_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Integers separated by anything else; gives how many. */
static int read_ints(const char *text, const char *stop, int64_t *at, int most)
{
    int count = 0;
    while (text < stop) {
        if (!isdigit((unsigned char)*text) && *text != '-') {
            text++;
            continue;
        }
        char *end;
        MW_ASSERT(count < most);
        at[count++] = strtoll(text, &end, 10);
        text = end;
    }
    return count;
}

static const char *part_end(const char *text)
{
    const char *semicolon = strchr(text, ';');
    return semicolon ? semicolon : text + strlen(text);
}

static void read_attr_value(TestGraph *test, MwAttr *attr, const char *text, const char *stop)
{
    const char *word = mw_arena_strndup(test->arena, text, (size_t)(stop - text));
    MwType type;
    switch (mw_attr_kind(attr->key)) {
    case MW_KIND_INT:
        attr->i = strtoll(word, NULL, 10);
        break;
    case MW_KIND_BOOL:
        attr->i = strcmp(word, "true") == 0;
        break;
    case MW_KIND_FLOAT:
        attr->f = strtod(word, NULL);
        break;
    case MW_KIND_TEXT:
        attr->text = mw_intern(test->graph->interner, word);
        break;
    case MW_KIND_INTS: {
        int64_t *ints = MW_NEW(test->arena, int64_t, 16);
        attr->ints.count = read_ints(text, stop, ints, 16);
        attr->ints.at = ints;
        break;
    }
    case MW_KIND_TYPE:
        MW_ASSERT(mw_type_parse(word, &type));
        attr->i = type;
        break;
    case MW_KIND_SPEC:
        MW_ASSERT(mw_spec_parse(word, &attr->spec, &attr->spec_rank));
        break;
    }
}

enum { MAX_ATTRS = 8, MAX_OPERANDS = 16 };

static int read_attrs(TestGraph *test, const char *text, MwAttr *attrs)
{
    int count = 0;
    while (*text) {
        while (*text == ' ' || *text == ';')
            text++;
        const char *stop = part_end(text), *equals = strstr(text, " = ");
        MW_ASSERT(equals != NULL && equals < stop && count < MAX_ATTRS);
        const char *key = mw_arena_strndup(test->arena, text, (size_t)(equals - text));
        MW_ASSERT(mw_attr_parse(key, &attrs[count].key));
        read_attr_value(test, &attrs[count++], equals + 3, stop);
        text = stop;
    }
    return count;
}

static MwNodeId add_node(TestGraph *test, MwNodeSpec *spec, const char *op, const char *attrs)
{
    MwAttr list[MAX_ATTRS];
    MW_ASSERT(mw_op_parse(op, &spec->op));
    spec->attrs = list;
    spec->attr_count = read_attrs(test, attrs, list);
    return mw_graph_add(test->graph, spec, test->diags);
}

MwNodeId test_node(TestGraph *test, const char *op, const char *operands, const char *attrs)
{
    MwValueId values[MAX_OPERANDS];
    MwNodeSpec spec = {.operands = values};
    MwTensor given;
    MwOp parsed;
    MW_ASSERT(mw_op_parse(op, &parsed));
    if (*operands && mw_op_info(parsed)->operands == 0) {
        given = test_type(operands);
        spec.given = &given;
        return add_node(test, &spec, op, attrs);
    }
    for (const char *at = operands, *end; *at; at = end + (*end == ';')) {
        end = part_end(at);
        MW_ASSERT(spec.operand_count < MAX_OPERANDS);
        const char *type = mw_arena_strndup(test->arena, at, (size_t)(end - at));
        values[spec.operand_count++] = test_source(test, MW_OP_INPUT, NULL, type + (*type == ' '));
    }
    return add_node(test, &spec, op, attrs);
}

bool test_try(TestGraph *test, const char *op, const MwValueId *operands, int operand_count,
              const char *attrs)
{
    MwNodeSpec spec = {.operands = operands, .operand_count = operand_count};
    MwDiags *diags = test->diags;
    test->diags = mw_diags_new(test->arena);
    MwNodeId node = add_node(test, &spec, op, attrs);
    test->diags = diags;
    return node.index >= 0;
}

MwValueId test_apply(TestGraph *test, const char *name, const char *op, const MwValueId *operands,
                     int operand_count, const char *attrs)
{
    MwNodeSpec spec = {.operands = operands, .operand_count = operand_count, .name = name};
    MwNodeId node = add_node(test, &spec, op, attrs);
    MW_ASSERT(node.index >= 0);
    return mw_node_result(test->graph, node, 0);
}
