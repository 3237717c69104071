/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/onnx/open.h"

#include <inttypes.h>

/* ---- Points: all sizes as given, then each doubled, each two doubled, and all tripled ---- */

int mw_open_point_count(const MwOpenSizes *open)
{
    const int n = open->size_count;
    return n ? 2 + n + n * (n - 1) / 2 : 1;
}

/* The point at which sizes i and j, i < j, are doubled. */
static int pair_point(int n, int i, int j)
{
    return 1 + n + i * (2 * n - i - 1) / 2 + j - i - 1;
}

int64_t mw_open_value(const MwOpenSizes *open, int point, int i)
{
    const int n = open->size_count, last = mw_open_point_count(open) - 1;
    bool is_doubled = point == 1 + i;
    for (int k = 0; k < n; k++)
        is_doubled |=
            (k < i && point == pair_point(n, k, i)) || (k > i && point == pair_point(n, i, k));
    return open->sizes[i].value * (point == last ? 3 : is_doubled ? 2 : 1);
}

/* ---- Numbers ---- */

static int64_t evaluate(const MwOpenSizes *open, const MwOpenNumber *number, int point)
{
    int64_t value = number->constant;
    for (int i = 0; i < open->size_count; i++) {
        const int64_t size = mw_open_value(open, point, i);
        value += number->linear[i] * size;
        for (int j = i + 1; j < open->size_count; j++)
            value += number->product[i][j] * size * mw_open_value(open, point, j);
    }
    return value;
}

bool mw_open_number(const MwOpenSizes *open, const int64_t *at_points, MwOpenNumber *number)
{
    const int n = open->size_count;
    *number = mw_open_constant(at_points[0]);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            number->product[i][j] = (at_points[pair_point(n, i, j)] - at_points[1 + i] -
                                     at_points[1 + j] + at_points[0]) /
                                    (open->sizes[i].value * open->sizes[j].value);
    for (int i = 0; i < n; i++) {
        number->linear[i] = (at_points[1 + i] - at_points[0]) / open->sizes[i].value;
        for (int j = 0; j < n; j++)
            number->linear[i] -=
                number->product[i < j ? i : j][i < j ? j : i] * open->sizes[j].value;
    }
    number->constant -= evaluate(open, number, 0) - number->constant;
    bool fits = true;
    for (int point = 0; point < mw_open_point_count(open); point++)
        fits &= evaluate(open, number, point) == at_points[point];
    return fits;
}

bool mw_open_is_constant(const MwOpenNumber *number)
{
    bool is = true;
    for (int i = 0; i < MW_OPEN_MOST_SIZES; i++) {
        is &= number->linear[i] == 0;
        for (int j = 0; j < MW_OPEN_MOST_SIZES; j++)
            is &= number->product[i][j] == 0;
    }
    return is;
}

bool mw_open_is_size(const MwOpenNumber *number, int i)
{
    MwOpenNumber rest = *number;
    rest.linear[i]--;
    return number->constant == 0 && mw_open_is_constant(&rest);
}

MwOpenNumber mw_open_difference(const MwOpenNumber *a, const MwOpenNumber *b)
{
    MwOpenNumber number = *a;
    number.constant -= b->constant;
    for (int i = 0; i < MW_OPEN_MOST_SIZES; i++) {
        number.linear[i] -= b->linear[i];
        for (int j = 0; j < MW_OPEN_MOST_SIZES; j++)
            number.product[i][j] -= b->product[i][j];
    }
    return number;
}

bool mw_open_is_never_negative(const MwOpenNumber *number)
{
    bool is = number->constant >= 0;
    for (int i = 0; i < MW_OPEN_MOST_SIZES; i++) {
        is &= number->linear[i] >= 0;
        for (int j = 0; j < MW_OPEN_MOST_SIZES; j++)
            is &= number->product[i][j] >= 0;
    }
    return is;
}

static void print_term(MwText *text, int64_t factor, const char *size, const char *other)
{
    if (factor == 0)
        return;
    mw_text_add(text, text->bytes ? factor < 0 ? " - " : " + " : factor < 0 ? "-" : "");
    const int64_t times = factor < 0 ? -factor : factor;
    if (times != 1 || !size)
        mw_text_printf(text, "%" PRId64 "%s", times, size ? " * " : "");
    mw_text_printf(text, "%s%s%s", size ? size : "", other ? " * " : "", other ? other : "");
}

void mw_open_print(MwText *text, const MwOpenSizes *open, const MwOpenNumber *number)
{
    MwText sum = {.arena = text->arena};
    mw_text_add(&sum, "");
    for (int i = 0; i < open->size_count; i++)
        for (int j = i + 1; j < open->size_count; j++)
            print_term(&sum, number->product[i][j], open->sizes[i].name, open->sizes[j].name);
    for (int i = 0; i < open->size_count; i++)
        print_term(&sum, number->linear[i], open->sizes[i].name, NULL);
    print_term(&sum, number->constant, NULL, NULL);
    mw_text_add(text, sum.bytes ? sum.at : "0");
}

/* ---- Graphs ---- */

static bool is_same_node(const MwNode *a, const MwNode *b)
{
    bool same = a->op == b->op && a->operand_count == b->operand_count &&
                a->result_count == b->result_count && a->attr_count == b->attr_count;
    for (int k = 0; same && k < a->operand_count; k++)
        same = mw_value_equal(a->operands[k], b->operands[k]);
    for (int k = 0; same && k < a->attr_count; k++)
        same = a->attrs[k].key == b->attrs[k].key &&
               (mw_attr_kind(a->attrs[k].key) != MW_KIND_INTS ||
                a->attrs[k].ints.count == b->attrs[k].ints.count);
    return same;
}

const char *mw_open_compare(const MwOpenSizes *open, MwArena *arena)
{
    const MwGraph *first = open->graphs[0];
    for (int point = 1; point < mw_open_point_count(open); point++) {
        const MwGraph *graph = open->graphs[point];
        for (int i = 0; i < first->nodes.count && i < graph->nodes.count; i++) {
            const MwNode *node = &first->nodes.at[i];
            if (!is_same_node(node, &graph->nodes.at[i]))
                return mw_arena_printf(arena, "what computes %s is another for other sizes",
                                       first->values.at[node->first_result].name);
            for (int k = 0; k < node->result_count; k++)
                if (first->values.at[node->first_result + k].tensor.rank !=
                    graph->values.at[node->first_result + k].tensor.rank)
                    return mw_arena_printf(arena, "%s has another rank for other sizes",
                                           first->values.at[node->first_result + k].name);
        }
        if (graph->nodes.count != first->nodes.count)
            return "there are more operators for some sizes than for others";
    }
    return NULL;
}
