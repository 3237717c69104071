/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LSTM, GRU and RNN, as scans of the language. What the gates take of the inputs is computed for
 * all steps before the scan. */
#include "frontend/onnx/operators.h"
#include "frontend/onnx/shapes.h"

#include <string.h>
#include <strings.h>

enum { MAX_GATES = 4 };

/* Where the reset of a GRU multiplies: what the candidate takes of the state, or the state. */
typedef enum { LSTM, GRU_RESET_AFTER, GRU_RESET_BEFORE, RNN } CellKind;

/* One direction of a recurrence, and the sizes that all share. */
typedef struct {
    CellKind kind;
    const char *activation; /* of an RNN: a function of the language */
    bool reverse;
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
    if (cell->kind != GRU_RESET_AFTER) {
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

/* Names of the scans: @0 is all states, @1 the state, of an LSTM @2 the memory; the element and the
 * gates follow. Operands: $0 what gates take of the inputs, $1 the weights of states, $2 what the
 * state begins as, $3 what the memory begins as, the bias of states, or more weights of states. */
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

static const char *const before_locals[] = {"states", "state", "z",   "gates", "z_x",
                                            "r_x",    "n_x",   "z_h", "r_h"};
/* It multiplies the state; the form of the paper (Cho et al. 2014). */
static const char before_text[] =
    "@1 = $2\n"
    "scan $0 as @3%s {\n"
    "  @4, @5, @6 = split(@3, 3)\n"
    "  @7, @8 = split(einsum(\"bk,nk->bn\", @1, $1), 2)\n"
    "  @2 = sigmoid(@4 + @7)\n"
    "  @1 = (1 - @2) * tanh(@6 + einsum(\"bk,nk->bn\", sigmoid(@5 + @8) * @1, $3)) + @2 * @1\n"
    "  collect @0 = @1\n"
    "}";

static const char *const rnn_locals[] = {"states", "state", "sum"};
static const char rnn_text[] = "@1 = $2\n"
                               "scan $0 as @2%s {\n"
                               "  @1 = %s(@2 + einsum(\"bk,nk->bn\", @1, $1))\n"
                               "  collect @0 = @1\n"
                               "}";

/* The statements of a cell, and their names. */
static const char *scan_text(MwOnnxImport *import, const Cell *cell, bool has_bias,
                             MwOnnxTerm *scan)
{
    const char *how = cell->reverse ? " with reverse = true" : "";
    switch (cell->kind) {
    case LSTM:
        scan->locals = lstm_locals;
        scan->local_count = MW_COUNT(lstm_locals);
        return mw_onnx_text(import, lstm_text, how);
    case GRU_RESET_AFTER:
        scan->locals = gru_locals;
        scan->local_count = MW_COUNT(gru_locals);
        return mw_onnx_text(import, gru_text, how, has_bias ? " + $3" : "");
    case GRU_RESET_BEFORE:
        scan->locals = before_locals;
        scan->local_count = MW_COUNT(before_locals);
        return mw_onnx_text(import, before_text, how);
    case RNN:
        scan->locals = rnn_locals;
        scan->local_count = MW_COUNT(rnn_locals);
        return mw_onnx_text(import, rnn_text, how, cell->activation);
    }
    MW_UNREACHABLE();
}

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

/* $3 of the statements; NULL: they have none. */
static MwOnnxTerm *fourth_of(MwOnnxImport *import, const Cell *cell, const MwOnnxNode *node,
                             const Biases *biases)
{
    const int64_t rows[] = {2 * cell->width.value, 3 * cell->width.value};
    switch (cell->kind) {
    case LSTM:
        return initial_of(import, cell, mw_onnx_input(node, 6));
    case GRU_RESET_AFTER:
        return biases->apart;
    case GRU_RESET_BEFORE:
        return weight_of(import, cell, node->inputs[2], "weight_hn", rows);
    case RNN:
        return NULL;
    }
    MW_UNREACHABLE();
}

static CellResults run_cell(MwOnnxImport *import, const Cell *cell, const MwOnnxNode *node)
{
    const Biases biases = biases_of(import, cell, mw_onnx_input(node, 3));
    const int gates = cell->kind == GRU_RESET_BEFORE ? 2 : cell->gates;
    const int64_t rows[] = {0, gates * cell->width.value};
    MwOnnxTerm *operands[4] = {gates_of(import, cell, node, biases.sum),
                               weight_of(import, cell, node->inputs[2], "weight_hh", rows),
                               initial_of(import, cell, mw_onnx_input(node, 5)),
                               fourth_of(import, cell, node, &biases)};
    for (int i = 0; i < 4; i++)
        if (operands[i])
            operands[i]->alone = true; /* it is computed before the scan */
    const MwOnnxDim all[] = {cell->batch, cell->steps, cell->width},
                    one[] = {cell->batch, cell->width};
    const MwOnnxShape states = mw_onnx_shape_new(cell->type, 3, all),
                      last = mw_onnx_shape_new(cell->type, 2, one);
    MwOnnxTerm *scan = mw_onnx_emit(import, &states, NULL, operands, operands[3] ? 4 : 3);
    scan->text = scan_text(import, cell, operands[3] != NULL, scan);
    scan->parts = scan->local_count;
    return (CellResults){.states = mw_onnx_emit_part(import, &states, scan, 0),
                         .last = mw_onnx_emit_part(import, &last, scan, 1),
                         .memory = mw_onnx_emit_part(import, &last, scan, 2)};
}

/* ---- The operators ---- */

/* Whether text i of a list is `text`, in capital letters or not. */
static bool is_text(const MwOnnx__AttributeProto *list, int i, const char *text)
{
    const ProtobufCBinaryData *given = &list->strings[i];
    return given->len == strlen(text) &&
           strncasecmp((const char *)given->data, text, given->len) == 0;
}

/* Whether the activations of all directions are the usual ones; of an RNN, one that the language
 * has. */
static bool check_activations(const MwOnnxNode *node, Cell *cell)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    static const struct {
        const char *onnx, *function;
    } of_rnn[] = {{"Tanh", "tanh"}, {"Relu", "relu"}, {"Sigmoid", "sigmoid"}};
    const MwOnnx__AttributeProto *list = mw_onnx_attribute(node, "activations");
    const int each = cell->kind == LSTM ? 3 : cell->kind == RNN ? 1 : 2;
    cell->activation = "tanh";
    if (!list)
        return true;
    if (list->n_strings != (size_t)(each * cell->directions))
        return false;
    if (cell->kind != RNN) {
        for (int i = 0; i < each * cell->directions; i++)
            if (!is_text(list, i, usual[i % each]))
                return false;
        return true;
    }
    for (int row = 0; row < MW_COUNT(of_rnn); row++)
        if (is_text(list, 0, of_rnn[row].onnx) &&
            is_text(list, cell->directions - 1, of_rnn[row].onnx)) {
            cell->activation = of_rnn[row].function;
            return true;
        }
    return false;
}

static bool check_attributes(MwOnnxImport *import, const MwOnnxNode *node, Cell *cell)
{
    static const char *const others[] = {"activation_alpha", "activation_beta", "clip"};
    if (!check_activations(node, cell))
        return mw_onnx_refuse(import, node, "attribute activations");
    for (int i = 0; i < MW_COUNT(others); i++)
        if (mw_onnx_attribute(node, others[i]))
            return mw_onnx_refuse(import, node, "attribute %s", others[i]);
    if (mw_onnx_int_of(node, "layout", 0) || mw_onnx_int_of(node, "input_forget", 0))
        return mw_onnx_refuse(import, node, "attribute layout or input_forget");
    if (mw_onnx_input(node, 4) || mw_onnx_input(node, 7))
        return mw_onnx_refuse(import, node, "lengths of sequences, or peepholes");
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

static bool recurrence(MwOnnxImport *import, const MwOnnxNode *node, CellKind kind, int gates)
{
    const MwOnnxShape *x = &node->inputs[0]->shape, *r = &node->inputs[2]->shape;
    const bool both = mw_onnx_text_is(node, "direction", "forward", "bidirectional");
    const bool back = mw_onnx_text_is(node, "direction", "forward", "reverse");
    const int64_t width = r->rank == 3 ? r->dim[2].value : 0;
    Cell cell = {.kind = kind,
                 .gates = gates,
                 .directions = both ? 2 : 1,
                 .type = x->type,
                 .width = mw_onnx_dim(mw_onnx_int_of(node, "hidden_size", width))};
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
    if (kind == LSTM)
        set_last(import, node, &cell, 2, results[0].memory, results[1].memory);
    return true;
}

bool mw_onnx_lstm(MwOnnxImport *import, const MwOnnxNode *node)
{
    return recurrence(import, node, LSTM, 4);
}

bool mw_onnx_gru(MwOnnxImport *import, const MwOnnxNode *node)
{
    const bool after = mw_onnx_int_of(node, "linear_before_reset", 0) != 0;
    return recurrence(import, node, after ? GRU_RESET_AFTER : GRU_RESET_BEFORE, 3);
}

bool mw_onnx_rnn(MwOnnxImport *import, const MwOnnxNode *node)
{
    return recurrence(import, node, RNN, 1);
}
