/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes and shapes: numbers, or where they depend on open sizes nodes that compute them from the
 * shapes of inputs. */
#include "codegen/onnx/writer.h"

#include <string.h>

/* ---- Numbers of the graph ---- */

static const char *const no_polynomial = "its sizes are no products and sums of the open sizes";

MwOpenNumber mw_writer_dim(MwWriter *writer, MwValueId value, int d)
{
    int64_t at_points[MW_OPEN_MOST_POINTS];
    MwOpenNumber number;
    for (int point = 0; point < mw_open_point_count(writer->open); point++)
        at_points[point] = mw_value_tensor(writer->open->graphs[point], value)->dim[d];
    if (mw_open_number(writer->open, at_points, &number))
        return number;
    if (writer->node)
        mw_writer_refuse(writer, no_polynomial);
    else
        mw_diag_error(writer->diags, mw_value_node(writer->graph, value)->origin.span, "'%s': %s",
                      mw_value(writer->graph, value)->name, no_polynomial);
    return mw_open_constant(at_points[0]);
}

const MwNode *mw_writer_node_at(const MwWriter *writer, int point)
{
    return &writer->open->graphs[point]->nodes.at[writer->node - writer->graph->nodes.at];
}

MwOpenNumber mw_writer_attr(MwWriter *writer, MwAttrKey key, int at)
{
    int64_t at_points[MW_OPEN_MOST_POINTS];
    MwOpenNumber number;
    for (int point = 0; point < mw_open_point_count(writer->open); point++) {
        const MwAttr *attr = mw_node_attr(mw_writer_node_at(writer, point), key);
        at_points[point] = mw_attr_kind(key) == MW_KIND_INTS ? attr->ints.at[at] : attr->i;
    }
    if (mw_open_number(writer->open, at_points, &number))
        return number;
    mw_writer_refuse(writer, no_polynomial);
    return mw_open_constant(at_points[0]);
}

/* ---- Numbers in the file ---- */

/* What is made of sizes alone is part of the model itself, and written once: returns the place of
 * its name, and sets what puts nodes to do so there until `end_shared`. */
typedef struct {
    MwWrittenNodes *target;
    const char **name;
} Shared;

static Shared begin_shared(MwWriter *writer, const char *kind, const MwOpenNumber *numbers,
                           int count)
{
    MwText key = {.arena = writer->arena};
    mw_text_add(&key, kind);
    mw_text_add_n(&key, (const char *)numbers, sizeof *numbers * (size_t)count);
    const Shared shared = {writer->target, (const char **)mw_key_map_at(
                                               writer->arena, &writer->shared, key.at, key.bytes)};
    writer->target = &writer->nodes;
    return shared;
}

/* The slot may have moved while nodes were added, so it is looked up again. */
static const char *end_shared(MwWriter *writer, Shared shared, const char *kind,
                              const MwOpenNumber *numbers, int count, const char *name)
{
    const char **kept = begin_shared(writer, kind, numbers, count).name;
    *kept = mw_arena_strdup(writer->arena, name);
    writer->target = shared.target;
    return *kept;
}

/* The dimension of an input that is size i, as i64[1]; the size of no input is an error. */
static const char *put_new_size(MwWriter *writer, int i)
{
    for (int n = 0; n < writer->graph->nodes.count; n++) {
        const MwNode *node = &writer->graph->nodes.at[n];
        const MwValueId value = {node->first_result};
        const int rank = mw_value_tensor(writer->graph, value)->rank;
        for (int d = 0; node->op == MW_OP_INPUT && writer->needed[n] && d < rank; d++) {
            const MwOpenNumber size = mw_writer_dim(writer, value, d);
            if (!mw_open_is_size(&size, i))
                continue;
            const char *name =
                mw_writer_put1(writer, "Shape", mw_writer_in(writer, value, MW_ORDER_OWN));
            mw_writer_int(writer, "start", d);
            mw_writer_int(writer, "end", d + 1);
            return name;
        }
    }
    mw_diag_error(writer->diags, mw_span_none(),
                  "size '%s' is that of no input, so it cannot stay open",
                  writer->open->sizes[i].name);
    return mw_writer_integers(writer, &writer->open->sizes[i].value, 1);
}

static const char *put_size(MwWriter *writer, int i)
{
    MwOpenNumber size = {0};
    size.linear[i] = 1;
    const Shared shared = begin_shared(writer, "size", &size, 1);
    const char *name = *shared.name ? *shared.name : put_new_size(writer, i);
    return end_shared(writer, shared, "size", &size, 1, name);
}

static const char *add_term(MwWriter *writer, const char *sum, const char *term, int64_t factor)
{
    if (factor == 0)
        return sum;
    if (factor != 1 || !term) {
        const char *times = mw_writer_integers(writer, &factor, 1);
        term = term ? mw_writer_put2(writer, "Mul", term, times) : times;
    }
    return sum ? mw_writer_put2(writer, "Add", sum, term) : term;
}

/* i64[1] */
static const char *put_number(MwWriter *writer, const MwOpenNumber *number)
{
    const int n = writer->open->size_count;
    const char *sizes[MW_OPEN_MOST_SIZES], *sum = NULL;
    if (mw_open_is_constant(number))
        return mw_writer_integers(writer, &number->constant, 1);
    for (int i = 0; i < n; i++) {
        bool is_used = number->linear[i] != 0;
        for (int j = 0; j < n; j++)
            is_used |= number->product[i][j] || number->product[j][i];
        sizes[i] = is_used ? put_size(writer, i) : NULL;
    }
    for (int i = 0; i < n; i++) {
        sum = add_term(writer, sum, sizes[i], number->linear[i]);
        for (int j = i + 1; j < n; j++)
            if (number->product[i][j])
                sum = add_term(writer, sum, mw_writer_put2(writer, "Mul", sizes[i], sizes[j]),
                               number->product[i][j]);
    }
    return add_term(writer, sum, NULL, number->constant);
}

const char *mw_writer_numbers(MwWriter *writer, const MwOpenNumber *numbers, int count)
{
    int64_t *constants = MW_NEW(writer->arena, int64_t, count);
    bool is_constant = true;
    for (int i = 0; i < count; i++) {
        is_constant &= mw_open_is_constant(&numbers[i]);
        constants[i] = numbers[i].constant;
    }
    if (is_constant)
        return mw_writer_integers(writer, constants, count);
    const Shared shared = begin_shared(writer, "numbers", numbers, count);
    const char *name = *shared.name, **parts = MW_NEW(writer->arena, const char *, count);
    for (int i = 0; !name && i < count; i++)
        parts[i] = put_number(writer, &numbers[i]);
    if (!name && count == 1)
        name = parts[0];
    if (!name) {
        name = mw_writer_put(writer, "Concat", parts, count);
        mw_writer_int(writer, "axis", 0);
    }
    return end_shared(writer, shared, "numbers", numbers, count, name);
}

const char *mw_writer_shape(MwWriter *writer, MwValueId value, bool infers)
{
    MwOpenNumber sizes[MW_MAX_RANK];
    const int rank = mw_value_tensor(writer->graph, value)->rank;
    int open = 0, last = 0;
    for (int d = 0; d < rank; d++) {
        sizes[d] = mw_writer_dim(writer, value, d);
        if (!mw_open_is_constant(&sizes[d])) {
            open++;
            last = d;
        }
    }
    if (infers && open == 1)
        sizes[last] = mw_open_constant(-1);
    return mw_writer_numbers(writer, sizes, rank);
}

const char *mw_writer_range(MwWriter *writer, MwOpenNumber count)
{
    const Shared shared = begin_shared(writer, "range", &count, 1);
    const char *name = *shared.name;
    if (!name) {
        const char *end = mw_writer_numbers(writer, &count, 1);
        end = mw_open_is_constant(&count)
                  ? mw_writer_number(writer, MW_I64, (double)count.constant)
                  : mw_writer_put2(writer, "Squeeze", end,
                                   mw_writer_integers(writer, (int64_t[]){0}, 1));
        name = mw_writer_put3(writer, "Range", mw_writer_number(writer, MW_I64, 0), end,
                              mw_writer_number(writer, MW_I64, 1));
    }
    return end_shared(writer, shared, "range", &count, 1, name);
}
