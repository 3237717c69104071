/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/graphs.h"

#include <stdlib.h>
#include <string.h>

TestGraph test_graph_new(void)
{
    MwArena *arena = mw_arena_new();
    MwInterner *interner = mw_interner_new(arena);
    return (TestGraph){arena, mw_diags_new(arena), mw_graph_new(arena, interner, "test")};
}

void test_graph_free(TestGraph *test)
{
    mw_arena_free(&test->arena);
}

MwValueId test_add(TestGraph *test, const MwNodeSpec *spec)
{
    MwNodeId node = mw_graph_add(test->graph, spec, test->diags);
    mw_diags_print(test->diags, stderr);
    MW_ASSERT(node.index >= 0);
    return mw_node_result(test->graph, node, 0);
}

MwTensor test_type(const char *text)
{
    const char *bracket = strchr(text, '[');
    MwTensor tensor = {0};
    char name[16] = "";
    memcpy(name, text, (size_t)(bracket - text));
    bool known = mw_type_parse(name, &tensor.type);
    MW_ASSERT(known);
    for (const char *at = bracket + 1; *at && *at != ']'; at += *at == ',') {
        char *end;
        tensor.dim[tensor.rank++] = strtoll(at, &end, 10);
        at = end;
    }
    return tensor;
}

MwValueId test_source(TestGraph *test, MwOp op, const char *name, const char *type)
{
    MwTensor tensor = test_type(type);
    MwAttr attrs[] = {mw_attr_text(MW_ATTR_INIT, mw_intern(test->graph->interner, "zeros")),
                      mw_attr_float(MW_ATTR_VALUE, 0)};
    int attr_count = op == MW_OP_INPUT || op == MW_OP_STEP ? 0 : 2;
    return test_add(
        test,
        &(MwNodeSpec){
            .op = op, .given = &tensor, .name = name, .attrs = attrs, .attr_count = attr_count});
}

MwValueId test_op3(TestGraph *test, MwOp op, MwValueId a, MwValueId b, MwValueId c)
{
    MwValueId operands[] = {a, b, c};
    int count = 0;
    while (count < 3 && mw_has_value(operands[count]))
        count++;
    return test_add(test, &(MwNodeSpec){.op = op, .operands = operands, .operand_count = count});
}

MwValueId test_einsum(TestGraph *test, const char *equation, MwValueId a, MwValueId b)
{
    MwValueId operands[] = {a, b};
    MwAttr attr = mw_attr_text(MW_ATTR_EQUATION, mw_intern(test->graph->interner, equation));
    return test_add(test, &(MwNodeSpec){.op = MW_OP_EINSUM,
                                        .operands = operands,
                                        .operand_count = mw_has_value(b) ? 2 : 1,
                                        .attrs = &attr,
                                        .attr_count = 1});
}

MwValueId test_op1_attr(TestGraph *test, MwOp op, MwValueId a, MwAttr attr)
{
    return test_add(test, &(MwNodeSpec){.op = op,
                                        .operands = &a,
                                        .operand_count = mw_has_value(a),
                                        .attrs = &attr,
                                        .attr_count = 1});
}

void test_train(MwGraph *graph, MwValueId loss)
{
    const char *name = mw_intern(graph->interner, "loss");
    mw_vec_push(graph->arena, &graph->metrics, ((MwOutput){name, loss}));
    mw_vec_push(graph->arena, &graph->trains,
                ((MwTrain){.loss = name, .optimizer = MW_OPTIMIZER_DESCENT}));
}
