/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LSTM and GRU, as scans of the language. What the gates take of the inputs is computed for all
 * steps before the scan. */
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <string.h>

enum { MAX_GATES = 4 };

/* One direction of a recurrence, and the sizes that all share. */
typedef struct {
    bool is_lstm, reverse;
    int gates, direction, directions;
    MwOnnxDim batch, steps, inputs, width; /* width: of the state */
    MwType type;
} Cell;

typedef struct {
    MwOnnxTerm *states, *last, *memory; /* of all steps, of the last; memory of an LSTM */
} CellResults;

/* ---- Weights ---- */

/* Rows [begin, end) of direction d of a constant [directions, rows, ..]. */
static const MwOnnxTensor *rows_of(MwArena *arena, const MwOnnxTensor *from, int d, int64_t begin,
                                   int64_t end)
{
    MwOnnxTensor *part = mw_arena_dup(arena, from, sizeof *from);
    const int64_t all = from->count / from->dim[0], row = all / from->dim[1];
    part->rank = from->rank - 1;
    part->dim[0] = end - begin;
    for (int i = 1; i < part->rank; i++)
        part->dim[i] = from->dim[i + 1];
    part->count = (end - begin) * row;
    part->data = (const char *)from->data +
                 (size_t)(d * all + begin * row) * (size_t)mw_type_bytes(from->type);
    return part;
}

/* Rows [begin, end) of direction d, as a weight of the module where they are constants. */
static MwOnnxTerm *weight_of(MwOnnxImport *import, const Cell *cell, MwOnnxValue *value,
                             const char *local, const int64_t rows[2])
{
    const char *name =
        cell->reverse && cell->directions > 1 ? mw_onnx_text(import, "%s_reverse", local) : local;
    if (value->constant)
        return mw_onnx_emit_weight(
            import, rows_of(import->arena, value->constant, cell->direction, rows[0], rows[1]),
            name);
    MwOnnxShape shape = {.type = cell->type, .rank = value->shape.rank - 1};
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = value->shape.dim[i + 1];
    shape.dim[0] = mw_onnx_dim(rows[1] - rows[0]);
    MwOnnxTerm *whole = mw_onnx_term(import, value);
    whole->alone = true;
    return mw_onnx_emit1(import, &shape,
                         mw_onnx_text(import, "$0[%d, %lld:%lld]", cell->direction,
                                      (long long)rows[0], (long long)rows[1]),
                         whole);
}

/* The biases of inputs and states, which add up but for those that a reset multiplies: the sum of
 * both, and of the state what is apart. */
typedef struct {
    MwOnnxTerm *sum, *apart; /* NULL: none */
} Biases;

static Biases biases_of(MwOnnxImport *import, const Cell *cell, MwOnnxValue *value)
{
    Biases biases = {0};
    if (!value)
        return biases;
    const int64_t width = cell->width.value, all = cell->gates * width;
    MwOnnxTerm *input = weight_of(import, cell, value, "bias_ih", (const int64_t[]){0, all});
    if (cell->is_lstm) {
        biases.sum = mw_onnx_emit2(
            import, &input->shape, "#0 + #1", input,
            weight_of(import, cell, value, "bias_hh", (const int64_t[]){all, 2 * all}));
        return biases;
    }
    biases.sum = input;
    biases.apart = weight_of(import, cell, value, "bias_hh", (const int64_t[]){all, 2 * all});
    return biases;
}

/* ---- States ---- */

/* What a state begins as: [batch, width]. */
static MwOnnxTerm *initial_of(MwOnnxImport *import, const Cell *cell, MwOnnxValue *value)
{
    const MwOnnxDim dims[] = {cell->batch, cell->width};
    const MwOnnxShape shape = mw_onnx_shape_new(cell->type, 2, dims);
    const MwOnnxTensor *known =
        value ? (value->constant ? value->constant : value->stretched) : NULL;
    const bool is_zero =
        !value || (known && mw_onnx_is_uniform(known) && mw_onnx_number(known, 0) == 0);
    if (is_zero)
        return mw_onnx_emit(import, &shape,
                            mw_onnx_text(import, "constant(0.0, [%s], type = %s)",
                                         mw_onnx_dims_text(import, 2, dims),
                                         mw_type_name(cell->type)),
                            NULL, 0);
    MwOnnxTerm *whole = mw_onnx_term(import, value);
    whole->alone = true;
    return mw_onnx_emit1(import, &shape, mw_onnx_text(import, "$0[%d]", cell->direction), whole);
}

/* ---- The scan ---- */

/* Names of the scan: @0 is all states, @1 the state, @2 the memory, @3 the element; the others are
 * gates. Operands: $0 what gates take of the inputs, $1 the weights of states, $2 and $3 what the
 * state and the memory begin as, $4 the bias of states. */
static const char *const lstm_locals[] = {"states", "state", "memory", "gates", "i", "o", "f", "g"};
static const char lstm_text[] = "@1 = $2\n"
                                "@2 = $3\n"
                                "scan $0 as @3%s {\n"
                                "  @4, @5, @6, @7 = split(@3 + einsum(\"bk,nk->bn\", @1, $1), 4)\n"
                                "  @2 = sigmoid(@6) * @2 + sigmoid(@4) * tanh(@7)\n"
                                "  @1 = sigmoid(@5) * tanh(@2)\n"
                                "  collect @0 = @1\n"
                                "}";

static const char *const gru_locals[] = {"states", "state", "z",   "gates", "z_x",
                                         "r_x",    "n_x",   "z_h", "r_h",   "n_h"};
/* The reset multiplies what the candidate takes of the state, with its bias; PyTorch's form. */
static const char gru_text[] = "@1 = $2\n"
                               "scan $0 as @3%s {\n"
                               "  @4, @5, @6 = split(@3, 3)\n"
                               "  @7, @8, @9 = split(einsum(\"bk,nk->bn\", @1, $1)%s, 3)\n"
                               "  @2 = sigmoid(@4 + @7)\n"
                               "  @1 = (1 - @2) * tanh(@6 + sigmoid(@5 + @8) * @9) + @2 * @1\n"
                               "  collect @0 = @1\n"
                               "}";

/* What the gates take of the inputs, [batch, steps, gates * width]. */
static MwOnnxTerm *gates_of(MwOnnxImport *import, const Cell *cell, const MwOnnxNode *node,
                            MwOnnxTerm *bias)
{
    static const int8_t batch_first[MW_MAX_RANK] = {1, 0, 2, 3, 4, 5, 6, 7};
    const int64_t rows[] = {0, cell->gates * cell->width.value};
    const MwOnnxDim dims[] = {cell->batch, cell->steps, mw_onnx_dim(rows[1])};
    const MwOnnxShape shape = mw_onnx_shape_new(cell->type, 3, dims);
    MwOnnxTerm *const operands[] = {mw_onnx_term_in(import, node->inputs[0], batch_first),
                                    weight_of(import, cell, node->inputs[1], "weight_ih", rows),
                                    bias};
    return mw_onnx_emit(import, &shape,
                        bias ? "einsum(\"bsk,nk->bsn\", $0, $1) + #2"
                             : "einsum(\"bsk,nk->bsn\", $0, $1)",
                        operands, bias ? 3 : 2);
}

static CellResults run_cell(MwOnnxImport *import, const Cell *cell, const MwOnnxNode *node)
{
    const Biases biases = biases_of(import, cell, mw_onnx_input(node, 3));
    const int64_t rows[] = {0, cell->gates * cell->width.value};
    MwOnnxTerm *operands[5] = {gates_of(import, cell, node, biases.sum),
                               weight_of(import, cell, node->inputs[2], "weight_hh", rows),
                               initial_of(import, cell, mw_onnx_input(node, 5)),
                               cell->is_lstm ? initial_of(import, cell, mw_onnx_input(node, 6))
                                             : biases.apart,
                               cell->is_lstm ? NULL : biases.apart};
    for (int i = 0; i < 4; i++)
        if (operands[i])
            operands[i]->alone = true; /* it is computed before the scan */
    const char *how = cell->reverse ? " with reverse = true" : "";
    const char *text = cell->is_lstm
                           ? mw_onnx_text(import, lstm_text, how)
                           : mw_onnx_text(import, gru_text, how, biases.apart ? " + $3" : "");
    const MwOnnxDim all[] = {cell->batch, cell->steps, cell->width},
                    one[] = {cell->batch, cell->width};
    const MwOnnxShape states = mw_onnx_shape_new(cell->type, 3, all),
                      last = mw_onnx_shape_new(cell->type, 2, one);
    MwOnnxTerm *scan = mw_onnx_emit(import, &states, text, operands, operands[3] ? 4 : 3);
    scan->locals = cell->is_lstm ? lstm_locals : gru_locals;
    scan->local_count = cell->is_lstm ? MW_COUNT(lstm_locals) : MW_COUNT(gru_locals);
    scan->parts = scan->local_count;
    return (CellResults){.states = mw_onnx_emit_part(import, &states, scan, 0),
                         .last = mw_onnx_emit_part(import, &last, scan, 1),
                         .memory = mw_onnx_emit_part(import, &last, scan, 2)};
}

/* ---- The operators ---- */

static bool check_attributes(MwOnnxImport *import, const MwOnnxNode *node, const Cell *cell)
{
    static const char *const others[] = {"activations", "activation_alpha", "activation_beta",
                                         "clip"};
    for (int i = 0; i < MW_COUNT(others); i++)
        if (mw_onnx_attribute(node, others[i]))
            return mw_onnx_refuse(import, node, "attribute %s", others[i]);
    if (mw_onnx_int_of(node, "layout", 0) || mw_onnx_int_of(node, "input_forget", 0))
        return mw_onnx_refuse(import, node, "attribute layout or input_forget");
    if (mw_onnx_input(node, 4) || mw_onnx_input(node, 7))
        return mw_onnx_refuse(import, node, "lengths of sequences, or peepholes");
    if (!cell->is_lstm && !mw_onnx_int_of(node, "linear_before_reset", 0))
        return mw_onnx_refuse(import, node, "attribute linear_before_reset = 0");
    return true;
}

/* Whether a value has a rank, and sizes from `first` on. */
static bool has_dims(const MwOnnxValue *value, int rank, const MwOnnxDim *dims)
{
    if (!value)
        return true;
    for (int i = 0; i < rank && value->shape.rank == rank; i++)
        if (!mw_onnx_dim_equal(&value->shape.dim[i], &dims[i]))
            return false;
    return value->shape.rank == rank;
}

static bool check_shapes(MwOnnxImport *import, const MwOnnxNode *node, const Cell *cell)
{
    const MwOnnxDim ways = mw_onnx_dim(cell->directions),
                    rows = mw_onnx_dim(cell->gates * cell->width.value),
                    biases = mw_onnx_dim(2 * cell->gates * cell->width.value);
    const MwOnnxDim w[] = {ways, rows, cell->inputs}, r[] = {ways, rows, cell->width},
                    b[] = {ways, biases}, h[] = {ways, cell->batch, cell->width};
    const bool good = has_dims(node->inputs[1], 3, w) && has_dims(node->inputs[2], 3, r) &&
                      has_dims(mw_onnx_input(node, 3), 2, b) &&
                      has_dims(mw_onnx_input(node, 5), 3, h) &&
                      has_dims(mw_onnx_input(node, 6), 3, h);
    return good || mw_onnx_refuse(import, node, "operands of other shapes");
}

/* The states of each direction, [batch, steps, width], side by side. */
static bool set_states(MwOnnxImport *import, const MwOnnxNode *node, const Cell *cell,
                       const CellResults *results)
{
    static const int8_t order[MW_MAX_RANK] = {2, 0, 1, 3, 4, 5, 6, 7};
    const MwOnnxDim ways = mw_onnx_dim(cell->directions);
    const MwOnnxDim dims[] = {cell->steps, ways, cell->batch, cell->width},
                    placed[] = {cell->batch, cell->steps, ways, cell->width};
    const MwOnnxShape shape = mw_onnx_shape_new(cell->type, 4, dims),
                      of_term = mw_onnx_shape_new(cell->type, 4, placed);
    MwOnnxTerm *term = cell->directions == 1
                           ? mw_onnx_reshape(import, results[0].states, &of_term)
                           : mw_onnx_emit2(import, &of_term, "stack($0, $1, axis = 2)",
                                           results[0].states, results[1].states);
    return mw_onnx_set(import, node, 0, &shape, term, order);
}

/* The last states, or memories, of each direction. */
static bool set_last(MwOnnxImport *import, const MwOnnxNode *node, const Cell *cell, int result,
                     MwOnnxTerm *first, MwOnnxTerm *second)
{
    const MwOnnxDim dims[] = {mw_onnx_dim(cell->directions), cell->batch, cell->width};
    const MwOnnxShape shape = mw_onnx_shape_new(cell->type, 3, dims);
    MwOnnxTerm *term = cell->directions == 1
                           ? mw_onnx_reshape(import, first, &shape)
                           : mw_onnx_emit2(import, &shape, "stack($0, $1)", first, second);
    return mw_onnx_set(import, node, result, &shape, term, NULL);
}

static bool recurrence(MwOnnxImport *import, const MwOnnxNode *node, bool is_lstm)
{
    const MwOnnxShape *x = &node->inputs[0]->shape;
    const bool both = mw_onnx_text_is(node, "direction", "forward", "bidirectional");
    const bool back = mw_onnx_text_is(node, "direction", "forward", "reverse");
    Cell cell = {.is_lstm = is_lstm,
                 .gates = is_lstm ? 4 : 3,
                 .directions = both ? 2 : 1,
                 .type = x->type,
                 .width = mw_onnx_dim(mw_onnx_int_of(node, "hidden_size", 0))};
    if (x->rank != 3 || cell.width.value < 1 || cell.width.value > 1 << 24)
        return mw_onnx_refuse(import, node, "attribute hidden_size, or no sequences");
    cell.steps = x->dim[0];
    cell.batch = x->dim[1];
    cell.inputs = x->dim[2];
    if (!check_attributes(import, node, &cell) || !check_shapes(import, node, &cell))
        return false;
    CellResults results[2] = {{0}};
    for (int d = 0; d < cell.directions; d++) {
        cell.direction = d;
        cell.reverse = back || d == 1;
        results[d] = run_cell(import, &cell, node);
    }
    set_states(import, node, &cell, results);
    set_last(import, node, &cell, 1, results[0].last, results[1].last);
    if (is_lstm)
        set_last(import, node, &cell, 2, results[0].memory, results[1].memory);
    return true;
}

bool mw_onnx_lstm(MwOnnxImport *import, const MwOnnxNode *node)
{
    return recurrence(import, node, true);
}

bool mw_onnx_gru(MwOnnxImport *import, const MwOnnxNode *node)
{
    return recurrence(import, node, false);
}
