/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every operator's code against its meaning in double precision, at odd sizes.
 *
 * All cases stand in one graph, so that the C compiler runs once. The tolerance of a case is of the
 * error relative to the greater of the value and 1. */
#include "base/text.h"
#include "codegen/legal/library.h"
#include "ir/loops.h"
#include "ir/optimizer.h"
#include "tests/kernels/run_graph.h"
#include "tests/unit/diags_text.h"
#include "tests/unit/op_text.h"
#include "tests/unit/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define F32 1e-5    /* results in f32 */
#define BF16 4.1e-3 /* rounded to 8 bits: half a unit in the last place, 2^-8, and a little */
#define BF16_TWICE (2 * BF16) /* attention, which rounds its probabilities as well */
/* For single elements of the gradient of attention, where the output that it takes is rounded;
 * tests/kernels/test_cuda_sdpa.c has 1e-2 for their norms. */
#define BF16_SUMS 2e-2
#define F16 5.2e-4 /* rounded to 11 bits */
#define F16_TWICE (2 * F16)
#define F16_SUMS 2.5e-3
#define E4M3 6.3e-2 /* rounded to 4 bits */
#define E5M2 0.126  /* to 3 */
#define EXACT 0.0

typedef struct {
    const char *op, *operands, *attrs;
    double tolerance;
    Draw draw;
    int signed_operands; /* the first operands, which DRAW_ANY draws all the same */
    double on_gpus; /* the tolerance there, where that of routines.def is greater; 0: it is not */
} Case;

static const Case cases[] = {
    {"input", "f32[3, 5]", "", EXACT},
    {"weight", "f32[17, 3]", "init = normal; value = 0.5", F32},
    {"state", "f32[17]", "init = ones", EXACT},
    {"step", "", "", EXACT},
    {"constant", "", "type = f32; shape = [3, 4]; value = 0.1", F32},
    {"constant", "", "type = i32; shape = [5]; value = -7", EXACT},
    {"constant", "", "type = bool; shape = [2]; value = 1", EXACT},
    {"iota", "", "type = i32; shape = [3, 5, 2]; axis = 1", EXACT},
    {"iota", "", "type = f32; shape = [1000]; axis = 0", EXACT},
    {"add", "f32[17, 3]; f32[17, 3]", "", F32},
    {"add", "f32[4, 1, 3]; f32[17, 1]", "", F32},
    {"add", "i32[1000]; i32[1]", "", EXACT},
    {"add", "bf16[33]; bf16[33]", "", BF16},
    {"sub", "f32[17, 3]; f32[3]", "", F32},
    {"mul", "f32[1, 1000]; f32[3, 1]", "", F32},
    {"div", "f32[17]; f32[17]", "", F32, DRAW_POSITIVE},
    {"maximum", "f32[17]; f32[17]", "", EXACT},
    {"maximum", "i32[17]; i32[17]", "", EXACT},
    {"minimum", "f32[17]; f32[17]", "", EXACT},
    {"pow", "f32[100]; f32[100]", "", F32, DRAW_POSITIVE},
    {"neg", "f32[17]", "", EXACT},
    {"abs", "f32[17]", "", EXACT},
    {"abs", "i32[17]", "", EXACT},
    {"exp", "f32[1000]", "", F32},
    {"log", "f32[1000]", "", F32, DRAW_POSITIVE},
    {"sqrt", "f32[1000]", "", F32, DRAW_POSITIVE},
    {"rsqrt", "f32[1000]", "", F32, DRAW_POSITIVE},
    {"sin", "f32[1000]", "", F32},
    {"cos", "f32[1000]", "", F32},
    {"tanh", "f32[1000]", "", F32},
    {"erf", "f32[1000]", "", F32},
    {"sigmoid", "f32[1000]", "", F32},
    {"relu", "f32[17]", "", EXACT},
    {"gelu", "f32[1000]", "", F32},
    {"gelu", "bf16[1000]", "", BF16},
    {"gelu_tanh", "f32[1000]", "", F32},
    {"silu", "f32[1000]", "", F32},
    {"gelu_grad", "f32[1000]; f32[1000]", "", F32},
    {"gelu_tanh_grad", "f32[1000]; f32[1000]", "", F32},
    {"silu_grad", "f32[1000]; f32[1000]", "", F32},
    {"lt", "f32[17]; f32[17]", "", EXACT},
    {"le", "i32[17, 2]; i32[2]", "", EXACT},
    {"gt", "f32[17]; f32[17]", "", EXACT},
    {"ge", "i32[17]; i32[17]", "", EXACT},
    {"eq", "i32[17]; i32[17]", "", EXACT},
    {"ne", "i32[17]; i32[17]", "", EXACT},
    {"and", "bool[17]; bool[17]", "", EXACT},
    {"or", "bool[17]; bool[17]", "", EXACT},
    {"not", "bool[17]", "", EXACT},
    {"select", "bool[17, 1]; f32[17, 5]; f32[5]", "", EXACT},
    {"identity", "f32[17]", "", EXACT},
    {"to_host", "f32[17]", "", EXACT},
    {"to_device", "bool[3, 5]", "", EXACT},
    {"dropout", "f32[3, 1000]", "rate = 0.3; key = 5", F32},
    {"cast_stochastic", "f32[3, 1000]", "type = bf16; key = 5", EXACT},
    {"cast_stochastic", "f32[3, 1000]", "type = f16; key = 5", EXACT},
    {"cast_stochastic", "f32[3, 1000]", "type = e4m3; key = 5", EXACT},
    {"cast_stochastic", "f32[3, 1000]", "type = e5m2; key = 5", EXACT},
    {"cast_stochastic", "f32[64]", "type = bf16; key = 5", EXACT, DRAW_NAN},
    {"cast_stochastic", "f32[64]", "type = e5m2; key = 5", EXACT, DRAW_NAN},
    {"reduce_sum", "f32[17, 1000]", "axes = [1]", F32},
    {"reduce_sum", "f32[1000, 17]", "axes = [0]", F32},
    {"reduce_sum", "f32[3000, 3]", "axes = [0]; keep = true", F32},
    {"reduce_sum", "f32[5, 7, 11, 13]", "axes = [0, 2]", F32},
    {"reduce_sum", "f32[5, 7, 11, 13]", "axes = [1, 3]", F32},
    {"reduce_sum", "f32[7, 5000]", "axes = [0]", F32},
    {"reduce_sum", "f32[7, 5000]", "axes = [0, 1]", F32},
    {"reduce_sum", "f32[1, 1]", "axes = [0, 1]", F32},
    {"reduce_sum", "f32[3, 1, 5]", "axes = [1]", F32},
    {"reduce_sum", "i32[3, 1000]", "axes = [1]", EXACT},
    {"reduce_sum", "i32[1000, 3]", "axes = [0]", EXACT},
    {"reduce_sum", "bf16[64, 3]", "axes = [0]", BF16},
    {"reduce_sum", "bf16[1000, 3]", "axes = [0]; type = f32", F32},
    {"reduce_sum", "bf16[5, 1000]", "axes = [1]; type = f32", F32},
    {"reduce_sum", "bf16[5, 7, 11]", "axes = [0, 1, 2]; type = f32", F32},
    {"reduce_max", "f32[17, 1000]", "axes = [1]", EXACT},
    {"reduce_max", "f32[1000, 17]", "axes = [0]; keep = true", EXACT},
    {"reduce_max", "f32[3, 17, 5]", "axes = [0, 1, 2]", EXACT},
    {"reduce_max", "i32[3, 17]", "axes = [1]", EXACT},
    {"logsumexp", "f32[17, 1000]", "", F32},
    {"logsumexp", "f32[3, 1]", "", F32},
    {"logsumexp_grad", "f32[3, 17]; f32[3]; f32[3]", "", F32},
    {"softmax", "f32[17, 1000]", "", F32},
    {"softmax", "f32[3, 20000]", "", F32},
    {"softmax", "bf16[3, 17]", "", BF16},
    {"softmax_grad", "f32[17, 3]; f32[17, 3]", "", F32},
    {"log_softmax", "f32[3, 17]", "", F32},
    {"log_softmax_grad", "f32[3, 17]; f32[3, 17]", "", F32},
    {"layer_norm", "f32[3, 1000]", "eps = 1e-5", F32},
    {"layer_norm", "bf16[5, 17]", "eps = 1e-5", BF16},
    {"layer_norm_grad", "f32[3, 17]; f32[3, 17]", "eps = 1e-5", F32},
    {"rms_norm", "f32[3, 17]", "eps = 1e-5", F32},
    {"rms_norm_grad", "f32[3, 17]; f32[3, 17]", "eps = 1e-5", F32},
    {"einsum", "f32[17, 3]; f32[3, 5]", "equation = ab,bc->ac", F32},
    {"einsum", "f32[3, 17]; f32[5, 3]", "equation = ba,cb->ca", F32},
    {"einsum", "f32[2, 3, 5, 7]; f32[2, 4, 5, 7]", "equation = bshd,bthd->bhst", F32},
    {"einsum", "f32[2, 5, 3, 4]; f32[2, 4, 5, 7]", "equation = bhst,bthd->bshd", F32},
    {"einsum", "f32[2, 3, 8]; f32[8, 3, 2, 5]", "equation = bsw,wthd->bsthd", F32},
    {"einsum", "f32[2, 3, 5, 7]; f32[5, 7, 4]", "equation = bshd,hdw->bsw", F32},
    {"einsum", "f32[2, 3, 4]; f32[2, 3, 5]", "equation = bsw,bsv->vw", F32},
    {"einsum", "f32[3, 4, 5]; f32[5, 3, 6]", "equation = abc,cad->dba", F32},
    {"einsum", "f32[17]; f32[17]", "equation = a,a->", F32},
    {"einsum", "f32[17]; f32[5]", "equation = a,b->ba", F32},
    {"einsum", "f32[17, 5]; f32[5]", "equation = ab,b->ab", F32},
    {"einsum", "f32[17, 5]; f32[17, 5]", "equation = ab,ab->a", F32},
    {"einsum", "f32[17, 5, 3]; f32[5, 2]", "equation = abc,bd->ad", F32},
    {"einsum", "f32[3, 5, 7]", "equation = abc->cab", EXACT},
    {"einsum", "f32[3, 5, 7]", "equation = abc->ca", F32},
    {"einsum", "f32[3, 5, 7]", "equation = abc->", F32},
    {"einsum", "bf16[17, 32]; bf16[32, 5]", "equation = ab,bc->ac", BF16},
    {"einsum", "bf16[17, 32]; bf16[32, 5]", "equation = ab,bc->ac; type = f32", F32},
    {"einsum", "bf16[17, 5, 3]; bf16[5, 2]", "equation = abc,bd->ad; type = f32", F32},
    {"einsum", "bf16[17, 5]; bf16[17, 5]", "equation = ab,ab->a; type = f32", F32},
    {"einsum", "bf16[17]; bf16[5]", "equation = a,b->ba; type = f32", F32},
    {"einsum", "bf16[3, 5, 7]", "equation = abc->ca; type = f32", F32},
    {"einsum", "bf16[3, 5, 7]", "equation = abc->cab; type = f32", EXACT},
    {"einsum", "f32[1, 1]; f32[1, 1]", "equation = ab,bc->ac", F32},
    {"einsum", "f32[2, 3, 4, 5]; f32[3, 5, 2, 6]", "equation = abcd,bdae->cebad", F32},
    {"einsum", "f32[3, 64, 72]; f32[3, 72, 48]", "equation = abc,acd->abd", F32},
    {"einsum", "f32[64, 3, 2, 72]; f32[3, 72, 2, 48]", "equation = abcd,bdce->bcae", F32},
    {"einsum", "f32[3, 48, 2, 64]; f32[3, 48, 72]", "equation = abcd,abe->cade", F32},
    {"einsum", "bf16[3, 64, 72]; bf16[3, 72, 48]", "equation = abc,acd->bad; type = f32", F32},
    {"embedding", "i32[3, 17]; f32[8, 5]", "", EXACT},
    {"embedding", "i32[5]; f32[8, 12]", "", EXACT},
    {"embedding", "i32[4]; bf16[8, 33]", "", EXACT},
    {"embedding_grad", "i32[3, 170]; f32[3, 170, 5]", "shape = [8, 5]", F32},
    {"embedding_grad", "i32[30]; f32[30, 1]", "shape = [8, 1]", F32},
    {"embedding_grad", "i32[2]; bf16[2, 7]", "shape = [8, 7]", BF16},
    {"put_rows", "f32[8, 5]; i32[17]; f32[17, 5]", "", EXACT},
    {"put_rows", "f32[8, 12]; i32[6]; f32[6, 12]", "", EXACT},
    {"put_rows", "bf16[8, 16]; i32[9]; bf16[9, 16]", "", EXACT},
    {"put_rows", "f32[8, 1]; i32[5]; f32[5, 1]", "", EXACT},
    {"first_equal", "i32[1000]", "", EXACT},
    {"first_equal", "i32[3]", "", EXACT},
    {"pick", "f32[3, 17, 8]; i32[3, 17]", "", EXACT},
    {"pick_grad", "i32[3, 17]; f32[3, 17]", "shape = [3, 17, 8]", EXACT},
    {"take_along", "f32[3, 17, 8]; i32[3, 17, 2]", "", EXACT},
    {"take_along", "bf16[30, 8]; i32[30, 1]", "", EXACT},
    {"take_along_grad", "i32[3, 17, 5]; f32[3, 17, 5]", "shape = [3, 17, 8]", F32},
    {"take_along_grad", "i32[30, 2]; bf16[30, 2]", "shape = [30, 8]", BF16},
    {"linear_scan", "f32[3, 17, 40]; f32[3, 17, 40]", "axis = 1", F32},
    {"linear_scan", "f32[2, 700]; f32[2, 700]", "axis = 1; reverse = true", F32},
    {"linear_scan", "f32[37, 5, 2]; f32[37, 5, 2]", "axis = 0; reverse = true", F32},
    {"linear_scan", "bf16[2, 9, 33]; bf16[2, 9, 33]", "axis = 1", BF16},
    {"linear_scan", "f16[2, 9, 33]; f16[2, 9, 33]", "axis = 1", F16},
    {"cumsum", "f32[3, 17, 64]", "", F32},
    {"cumsum", "f32[5, 100]", "inverse = true", F32},
    {"cumsum", "bf16[9, 33]", "", BF16},
    {"cumsum", "i32[40, 7]", "", EXACT},
    {"cumsum", "i32[2, 129]", "inverse = true", EXACT},
    {"top_k", "f32[3, 17, 64]", "k = 3", EXACT},
    {"top_k", "bf16[9, 100]", "k = 40; ascending = true", EXACT},
    {"conv", "f32[2, 9, 11, 4]; f32[3, 5, 4, 6]",
     "stride = [1, 2]; padding = [1, 1, 2, 0]; dilation = [1, 1]", F32},
    {"conv", "f32[2, 9, 11, 16]; f32[3, 3, 16, 32]",
     "stride = [1, 1]; padding = [1, 1, 1, 1]; dilation = [1, 1]", F32},
    {"conv", "f32[2, 9, 11, 6]; f32[3, 1, 2, 9]",
     "stride = [1, 1]; padding = [2, 2, 0, 0]; dilation = [2, 1]", F32},
    {"conv", "f32[2, 17, 8]; f32[5, 1, 8]", "stride = [3]; padding = [2, 2]; dilation = [1]", F32},
    {"conv", "f32[1, 5, 6, 7, 2]; f32[2, 3, 2, 2, 3]",
     "stride = [2, 1, 1]; padding = [0, 0, 1, 1, 0, 1]; dilation = [1, 1, 1]", F32},
    {"conv", "bf16[2, 9, 4]; bf16[3, 4, 6]", "stride = [1]; padding = [1, 1]; dilation = [1]",
     BF16},
    {"conv_transpose", "f32[2, 5, 6, 6]; f32[3, 5, 4, 6]",
     "shape = [2, 9, 11, 4]; stride = [2, 2]; padding = [1, 1, 2, 2]; dilation = [1, 1]", F32},
    {"conv_transpose", "f32[2, 17, 8]; f32[5, 1, 8]",
     "shape = [2, 17, 8]; stride = [1]; padding = [2, 2]; dilation = [1]", F32},
    {"conv_filter_grad", "f32[2, 9, 11, 4]; f32[2, 5, 6, 6]",
     "shape = [3, 5, 4, 6]; stride = [2, 2]; padding = [1, 1, 2, 2]; dilation = [1, 1]", F32},
    {"conv_filter_grad", "f32[2, 9, 6]; f32[2, 9, 9]",
     "shape = [3, 2, 9]; stride = [1]; padding = [1, 1]; dilation = [1]", F32},
    {"conv_filter_grad", "bf16[2, 9, 4]; bf16[2, 9, 6]",
     "shape = [3, 4, 6]; type = f32; stride = [1]; padding = [1, 1]; dilation = [1]", F32,
     .on_gpus = BF16},
    {"conv_filter_grad", "bf16[2, 9, 4]; bf16[2, 9, 6]",
     "shape = [3, 4, 6]; type = bf16; stride = [1]; padding = [1, 1]; dilation = [1]", BF16},
    {"max_pool", "f32[2, 9, 11, 70]", "window = [3, 2]; stride = [2, 2]; padding = [1, 1, 0, 1]",
     EXACT},
    {"max_pool_grad", "f32[2, 9, 11, 70]; f32[2, 5, 6, 70]",
     "window = [3, 2]; stride = [2, 2]; padding = [1, 1, 0, 1]", F32},
    {"sum_pool", "f32[2, 9, 3]", "window = [3]; stride = [1]; padding = [1, 2]", F32},
    {"sum_pool_grad", "f32[1, 4, 5, 6, 3]",
     "shape = [1, 5, 5, 7, 3]; window = [2, 1, 2]; stride = [1, 1, 1]; padding = [0, 0, 0, 0, 0, "
     "0]",
     F32},
    {"sdpa", "f32[2, 17, 4, 8]; f32[2, 17, 2, 8]; f32[2, 17, 2, 8]", "causal = true; scale = 0.35",
     F32},
    {"sdpa", "bf16[2, 17, 4, 8]; bf16[2, 17, 2, 8]; bf16[2, 17, 2, 8]",
     "causal = true; scale = 0.35", BF16_TWICE},
    {"sdpa_grad", "bf16[2, 17, 4, 8]; bf16[2, 17, 2, 8]; bf16[2, 17, 2, 8]; bf16[2, 17, 4, 8]",
     "causal = true; scale = 0.35", BF16_SUMS},
    {"sdpa", "f32[2, 5, 3, 8]; f32[2, 70, 3, 8]; f32[2, 70, 3, 8]", "scale = 0.35", F32},
    {"sdpa_grad", "f32[2, 17, 4, 8]; f32[2, 17, 2, 8]; f32[2, 17, 2, 8]; f32[2, 17, 4, 8]",
     "causal = true; scale = 0.35", F32},
    {"sdpa_grad", "f32[1, 70, 2, 16]; f32[1, 5, 2, 16]; f32[1, 5, 2, 16]; f32[1, 70, 2, 16]",
     "scale = 0.25", F32},
    {"sdpa", "f32[2, 130, 2, 8]; f32[2, 130, 1, 8]; f32[2, 130, 1, 8]",
     "causal = true; scale = 2; window = [9]; soft_cap = 1.5", F32},
    {"sdpa", "f32[2, 17, 4, 8]; f32[2, 70, 2, 8]; f32[2, 70, 2, 8]",
     "causal = true; scale = 0.35; offset = [53]", F32},
    {"sdpa", "f32[2, 70, 4, 8]; f32[2, 17, 2, 8]; f32[2, 17, 2, 8]",
     "causal = true; scale = 0.35; offset = [-3]; window = [9]", F32},
    {"sdpa_grad", "f32[2, 17, 4, 8]; f32[2, 70, 2, 8]; f32[2, 70, 2, 8]; f32[2, 17, 4, 8]",
     "causal = true; scale = 0.35; offset = [53]", F32},
    {"sdpa_grad", "bf16[2, 70, 4, 8]; bf16[2, 17, 2, 8]; bf16[2, 17, 2, 8]; bf16[2, 70, 4, 8]",
     "causal = true; scale = 0.35; offset = [-53]", BF16_SUMS},
    {"sdpa_masked", "f32[2, 17, 4, 8]; f32[2, 70, 2, 8]; f32[2, 70, 2, 8]; f32[1, 4, 17, 70]",
     "scale = 0.35; window = [40]", F32},
    {"sdpa_masked", "f32[2, 17, 4, 8]; f32[2, 17, 2, 8]; f32[2, 17, 2, 8]; bool[2, 1, 17, 17]",
     "causal = true; scale = 0.35", F32}, /* some queries see nothing */
    {"sdpa_masked", "bf16[2, 17, 4, 8]; bf16[2, 17, 2, 8]; bf16[2, 17, 2, 8]; bf16[2, 4, 1, 1]",
     "scale = 0.35", BF16_TWICE},
    {"sdpa_masked_grad",
     "f32[2, 17, 4, 8]; f32[2, 17, 2, 8]; f32[2, 17, 2, 8]; f32[2, 17, 4, 8]; bool[2, 1, 17, 17]",
     "causal = true; scale = 0.35; soft_cap = 0.7", F32},
    {"sdpa_masked_grad",
     "f32[2, 17, 4, 8]; f32[2, 70, 2, 8]; f32[2, 70, 2, 8]; f32[2, 17, 4, 8]; f32[1, 4, 17, 70]",
     "scale = 0.35; window = [40]", F32},
    {"sdpa_mask_grad",
     "f32[2, 17, 4, 8]; f32[2, 70, 2, 8]; f32[2, 70, 2, 8]; f32[2, 17, 4, 8]; f32[1, 4, 17, 70]",
     "scale = 0.35; window = [40]; soft_cap = 0.7", F32},
    {"sdpa_mask_grad",
     "f32[2, 70, 4, 8]; f32[2, 70, 2, 8]; f32[2, 70, 2, 8]; f32[2, 70, 4, 8]; f32[2, 1, 1, 70]",
     "scale = 0.35; causal = true", F32},
    {"sdpa_mask_grad",
     "bf16[2, 70, 4, 8]; bf16[2, 9, 2, 8]; bf16[2, 9, 2, 8]; bf16[2, 70, 4, 8]; bf16[1, 1, 70, 9]",
     "scale = 0.35", BF16_SUMS},
    {"rope", "f32[2, 100, 3, 8]", "base = 10000", F32},
    {"rope", "f32[1, 3, 1, 2]", "base = 10000; inverse = true", F32},
    {"reshape", "f32[6, 4]", "shape = [3, 8]", EXACT},
    {"broadcast", "f32[3, 1]", "shape = [2, 3, 5]", EXACT},
    {"transpose", "f32[3, 5, 7]", "perm = [2, 0, 1]", EXACT},
    {"transpose", "i32[1000, 17]", "perm = [1, 0]", EXACT},
    {"slice", "f32[3, 17, 2]", "axis = 1; begin = 5; end = 16", EXACT},
    {"pad", "f32[3, 5, 2]", "axis = 1; begin = 2; end = 1", EXACT},
    {"pad", "i32[7]", "axis = 0; begin = 0; end = 3", EXACT},
    {"split", "f32[3, 17, 2]", "axis = 1; sizes = [1, 11, 5]", EXACT},
    {"concat", "f32[3, 5, 2]; f32[3, 1, 2]; f32[3, 17, 2]", "axis = 1", EXACT},
    {"concat", "bool[5]; bool[3]", "axis = 0", EXACT},
    {"accumulate", "f32[17]; f32[17]", "", F32},
    {"accumulate", "bf16[17]; f32[17]", "", BF16},
    {"accumulate", "f32[17]; bf16[17]", "", F32},
    {"accumulate_max", "f32[17]; f32[17]", "", EXACT},
    {"scale_to", "f32[1000]; f32[1000]", "value = 448", EXACT, DRAW_POSITIVE},
    {"scale_to", "f32[1000]; f32[1000]", "value = 57344", EXACT},
    {"expm1", "f32[1000]", "", F32},
    {"log1p", "f32[1000]", "", F32, DRAW_POSITIVE},
    {"tan", "f32[1000]", "", 1e-4, DRAW_POSITIVE}, /* up to 1e3, by the pole */
    {"atan2", "f32[100, 30]; f32[30]", "", F32},
    {"sign", "f32[17]", "", EXACT},
    {"sign", "i32[17]", "", EXACT},
    {"floor", "f32[100]", "", EXACT},
    {"floor", "bf16[17]", "", EXACT},
    {"ceil", "f32[100]", "", EXACT},
    {"round", "f32[100]", "", EXACT},
    {"floor_div", "f32[100]; f32[100]", "", EXACT},
    {"floor_div", "i32[100]; i32[100]", "", EXACT},
    {"mod", "f32[100]; f32[100]", "", F32},
    {"mod", "bf16[100]; bf16[100]", "", BF16},
    {"mod", "i32[100, 3]; i32[3]", "", EXACT},
    {"stop_gradient", "f32[17]", "", EXACT},
    {"softplus", "f32[1000]", "", F32},
    {"isnan", "f32[64]", "", EXACT, DRAW_NAN},
    /* NaN is passed on by all, and only from where it is. */
    {"maximum", "f32[64]; f32[64]", "", EXACT, DRAW_NAN},
    {"minimum", "f32[64]; f32[64]", "", EXACT, DRAW_NAN},
    {"maximum", "bf16[64]; bf16[64]", "", EXACT, DRAW_NAN},
    {"relu", "f32[64]", "", EXACT, DRAW_NAN},
    {"abs", "f32[64]", "", EXACT, DRAW_NAN},
    {"exp", "f32[64]", "", F32, DRAW_NAN},
    {"log", "f32[64]", "", F32, DRAW_NAN},
    {"sin", "f32[64]", "", F32, DRAW_NAN},
    {"tanh", "f32[64]", "", F32, DRAW_NAN},
    {"erf", "f32[64]", "", F32, DRAW_NAN},
    {"sigmoid", "f32[64]", "", F32, DRAW_NAN},
    {"sign", "f32[64]", "", EXACT, DRAW_NAN},
    {"floor_div", "f32[64]; f32[64]", "", EXACT, DRAW_NAN},
    {"mod", "f32[64]; f32[64]", "", F32, DRAW_NAN},
    {"atan2", "f32[64]; f32[64]", "", F32, DRAW_NAN},
    {"softplus", "f32[64]", "", F32, DRAW_NAN},
    {"silu", "f32[64]", "", F32, DRAW_NAN},
    {"gelu", "f32[64]", "", F32, DRAW_NAN},
    {"gelu_tanh", "f32[64]", "", F32, DRAW_NAN},
    {"gelu_grad", "f32[64]; f32[64]", "", F32, DRAW_NAN},
    {"silu_grad", "f32[64]; f32[64]", "", F32, DRAW_NAN},
    {"reduce_max", "f32[64, 7]", "axes = [1]", EXACT, DRAW_NAN},
    {"reduce_max", "f32[5, 1000]", "axes = [1]", EXACT, DRAW_NAN},
    {"reduce_max", "f32[7, 64]", "axes = [0]", EXACT, DRAW_NAN},
    {"reduce_max", "f32[300, 20]", "axes = [0]", EXACT, DRAW_NAN},
    {"reduce_max", "f32[5, 2, 9]", "axes = [0, 1, 2]", EXACT, DRAW_NAN},
    {"top_k", "f32[64, 37]", "k = 37", EXACT, DRAW_NAN},
    {"top_k", "f32[64, 7]", "k = 5; ascending = true", EXACT, DRAW_NAN},
    {"logsumexp", "f32[64, 7]", "", F32, DRAW_NAN},
    {"logsumexp", "f32[200, 1]", "", F32, DRAW_WIDE},
    {"logsumexp", "f32[100, 3]", "", F32, DRAW_WIDE},
    {"softmax", "f32[64, 7]", "", F32, DRAW_NAN},
    {"log_softmax", "f32[64, 7]", "", F32, DRAW_NAN},
    {"sdpa", "f32[8, 3, 1, 2]; f32[8, 2, 1, 2]; f32[8, 2, 1, 2]", "scale = 0.35", F32, DRAW_NAN},
    {"sdpa", "bf16[16, 3, 1, 8]; bf16[16, 2, 1, 8]; bf16[16, 2, 1, 8]", "scale = 0.35", BF16_TWICE,
     DRAW_NAN},
    {"sdpa_grad", "f32[8, 3, 1, 2]; f32[8, 2, 1, 2]; f32[8, 2, 1, 2]; f32[8, 3, 1, 2]",
     "scale = 0.35", F32, DRAW_NAN},
    {"uniform", "", "shape = [3, 1001]; key = 5", EXACT},
    {"flip", "f32[3, 5, 8]", "axis = 0", EXACT},
    {"flip", "i32[3, 5, 8]", "axis = 1", EXACT},
    {"flip", "bf16[3, 40, 64]", "axis = 2", EXACT},
    {"constant", "", "type = i64; shape = [3]; value = -4294967297", EXACT},
    {"constant", "", "type = u8; shape = [3]; value = 200", EXACT},
    {"iota", "", "type = i64; shape = [2, 5]; axis = 1", EXACT},
    {"iota", "", "type = u8; shape = [300]; axis = 0", EXACT},
    {"iota", "", "type = f16; shape = [70]; axis = 0", EXACT},
    {"add", "f16[33]; f16[33]", "", F16},
    {"add", "i64[1000]; i64[1]", "", EXACT, DRAW_WIDE},
    {"add", "u8[1000]; u8[1000]", "", EXACT},
    {"sub", "i8[17, 3]; i8[3]", "", EXACT},
    {"mul", "u8[17, 3]; u8[3]", "", EXACT},
    {"neg", "i8[256]", "", EXACT},
    {"neg", "u8[256]", "", EXACT},
    {"abs", "i8[256]", "", EXACT},
    {"abs", "i64[17]", "", EXACT, DRAW_WIDE},
    {"sign", "i64[17]", "", EXACT, DRAW_WIDE},
    {"sign", "u8[17]", "", EXACT},
    {"maximum", "i64[17]; i64[17]", "", EXACT, DRAW_WIDE},
    {"minimum", "u8[17]; u8[17]", "", EXACT},
    {"floor_div", "i64[100]; i64[100]", "", EXACT},
    {"floor_div", "i8[100]; i8[100]", "", EXACT},
    {"mod", "i64[100]; i64[100]", "", EXACT},
    {"mod", "u8[100]; u8[100]", "", EXACT},
    {"lt", "i64[17, 2]; i64[2]", "", EXACT, DRAW_WIDE},
    {"ge", "u8[17]; u8[17]", "", EXACT},
    {"eq", "i8[300]; i8[300]", "", EXACT},
    {"select", "bool[17, 1]; u8[17, 5]; u8[5]", "", EXACT},
    {"select", "bool[40]; i64[40]; i64[40]", "", EXACT, DRAW_WIDE},
    {"gelu", "f16[1000]", "", F16},
    {"mul", "f16[1000]; f16[1000]", "", F16, DRAW_WIDE},
    {"maximum", "f16[64]; f16[64]", "", EXACT, DRAW_WIDE},
    {"reduce_sum", "f16[64, 3]", "axes = [0]", F16},
    {"reduce_sum", "f16[1000, 3]", "axes = [0]; type = f32", F32},
    {"reduce_sum", "f16[5, 1000]", "axes = [1]; type = f32", F32},
    {"reduce_sum", "i64[3, 1000]", "axes = [1]", EXACT},
    {"reduce_sum", "i64[1000, 40]", "axes = [0]", EXACT},
    {"reduce_sum", "i64[5, 7, 11]", "axes = [0, 1, 2]", EXACT},
    {"reduce_max", "i64[3, 1000]", "axes = [1]", EXACT, DRAW_WIDE},
    {"reduce_max", "i64[1000, 40]", "axes = [0]", EXACT, DRAW_WIDE},
    {"reduce_max", "i64[5, 7, 11]", "axes = [0, 1, 2]", EXACT, DRAW_WIDE},
    {"reduce_max", "u8[17, 100]", "axes = [1]", EXACT},
    {"reduce_max", "i8[100, 17]", "axes = [0]", EXACT},
    {"reduce_max", "f16[17, 100]", "axes = [1]", EXACT, DRAW_WIDE},
    {"softmax", "f16[3, 17]", "", F16},
    {"layer_norm", "f16[5, 17]", "eps = 1e-5", F16},
    {"einsum", "f16[17, 32]; f16[32, 5]", "equation = ab,bc->ac", F16},
    {"einsum", "f16[17, 32]; f16[32, 5]", "equation = ab,bc->ac; type = f32", F32},
    {"einsum", "f16[17, 5]; f16[17, 5]", "equation = ab,ab->a; type = f32", F32},
    {"einsum", "f16[3, 5, 7]", "equation = abc->cab; type = f32", EXACT},
    /* floats of 8 bits: as they lie, turned, in several dimensions, of sizes that are multiples of
     * 16 or not */
    {"einsum", "e4m3[32, 48]; e4m3[16, 48]", "equation = ab,cb->ac; type = bf16", BF16},
    {"einsum", "e4m3[32, 48]; e4m3[48, 16]", "equation = ab,bc->ac; type = bf16", BF16},
    {"einsum", "e4m3[2, 24, 32]; e5m2[2, 24, 16]", "equation = bsw,bsv->wv; type = f32", F32},
    {"einsum", "e5m2[2, 24, 3, 16]; e4m3[32, 3, 16]", "equation = bshd,whd->bsw; type = bf16",
     BF16},
    {"einsum", "e4m3[2, 32, 48]; e4m3[48, 3, 16]", "equation = bsw,wtd->bstd; type = bf16", BF16},
    {"einsum", "e4m3[17, 32]; e5m2[32, 5]", "equation = ab,bc->ac; type = bf16", BF16},
    {"einsum", "e5m2[17, 32]; e5m2[32, 5]", "equation = ab,bc->ac; type = f32", F32},
    {"einsum", "e4m3[17]; e5m2[5]", "equation = a,b->ba; type = f32", F32},
    {"transpose", "e4m3[40, 70]", "perm = [1, 0]", EXACT},
    {"concat", "e5m2[3, 7]; e5m2[3, 9]", "axis = 1", EXACT},
    {"slice", "e4m3[5, 64]", "axis = 1; begin = 3; end = 60", EXACT},
    {"broadcast", "e5m2[1, 7]", "shape = [3, 7]", EXACT},
    {"embedding", "i64[3, 17]; f32[8, 5]", "", EXACT},
    {"embedding", "i32[3, 17]; i32[8, 5]", "", EXACT},
    {"pick", "i64[3, 17, 8]; i32[3, 17]", "", EXACT},
    {"take_along", "i32[30, 8]; i32[30, 2]", "", EXACT},
    {"embedding", "i64[4]; f16[8, 33]", "", EXACT},
    {"embedding_grad", "i64[2]; f16[2, 7]", "shape = [8, 7]", F16_TWICE},
    {"put_rows", "f16[8, 16]; i64[9]; f16[9, 16]", "", EXACT},
    {"first_equal", "i64[100]", "", EXACT},
    {"pick", "f32[3, 17, 8]; i64[3, 17]", "", EXACT},
    {"pick_grad", "i64[3, 17]; f32[3, 17]", "shape = [3, 17, 8]", EXACT},
    {"take_along", "f16[30, 8]; i64[30, 2]", "", EXACT},
    {"take_along_grad", "i64[30, 2]; f16[30, 2]", "shape = [30, 8]", F16},
    {"cumsum", "f16[9, 33]", "", F16},
    {"cumsum", "i64[40, 70]", "inverse = true", EXACT},
    {"top_k", "f16[9, 100]", "k = 40; ascending = true", EXACT},
    {"conv", "f16[2, 9, 4]; f16[3, 4, 6]", "stride = [1]; padding = [1, 1]; dilation = [1]", F16},
    {"conv_transpose", "f16[2, 9, 8]; f16[5, 1, 8]",
     "shape = [2, 9, 8]; stride = [1]; padding = [2, 2]; dilation = [1]", F16},
    {"conv_filter_grad", "f16[2, 9, 4]; f16[2, 9, 6]",
     "shape = [3, 4, 6]; type = f32; stride = [1]; padding = [1, 1]; dilation = [1]", F32,
     .on_gpus = F16},
    {"max_pool", "f16[2, 9, 11, 7]", "window = [3, 2]; stride = [2, 2]; padding = [1, 1, 0, 1]",
     EXACT},
    {"sum_pool_grad", "f16[2, 9, 3]",
     "shape = [2, 9, 3]; window = [3]; stride = [1]; padding = [1, 1]", F16},
    {"sdpa", "f16[2, 17, 4, 8]; f16[2, 17, 2, 8]; f16[2, 17, 2, 8]", "causal = true; scale = 0.35",
     F16_TWICE},
    {"sdpa_grad", "f16[2, 17, 4, 8]; f16[2, 17, 2, 8]; f16[2, 17, 2, 8]; f16[2, 17, 4, 8]",
     "causal = true; scale = 0.35", F16_SUMS},
    {"sdpa_masked", "f16[2, 17, 4, 8]; f16[2, 17, 2, 8]; f16[2, 17, 2, 8]; f16[2, 4, 1, 1]",
     "scale = 0.35", F16_TWICE},
    {"transpose", "i64[100, 17]", "perm = [1, 0]", EXACT, DRAW_WIDE},
    {"transpose", "u8[100, 17]", "perm = [1, 0]", EXACT},
    {"pad", "i64[7]", "axis = 0; begin = 2; end = 3", EXACT, DRAW_WIDE},
    {"concat", "u8[5]; u8[3]", "axis = 0", EXACT},
    {"flip", "i8[3, 40, 64]", "axis = 2", EXACT},
    {"broadcast", "u8[3, 1]", "shape = [2, 3, 8]", EXACT},
    {"max_pool_pick", "f32[2, 9, 11, 70]; f32[2, 9, 11, 70]",
     "window = [3, 2]; stride = [2, 2]; padding = [1, 1, 0, 1]", EXACT},
    {"max_pool_pick", "f16[2, 9, 7]; f16[2, 9, 7]", "window = [3]; stride = [2]; padding = [1, 1]",
     EXACT},
    {"embedding_grad", "i32[3, 170]; i32[3, 170, 5]", "shape = [8, 5]", EXACT},
    {"embedding_grad", "i64[170]; i64[170, 8]", "shape = [8, 8]", EXACT, DRAW_WIDE},
    {"softmax", "f32[3, 40000]", "", F32},
    {"logsumexp", "bf16[2, 50000]", "", BF16},
    {"add_rows", "f32[8, 5]; i32[3, 170]; f32[3, 170, 5]", "", F32},
    {"add_rows", "f32[800, 12]; i32[6]; f32[6, 12]", "", F32},
    {"add_rows", "bf16[8, 16]; i32[1]; bf16[1, 16]", "", BF16},
    {"embedding_grad", "i32[1]; f32[1, 7]", "shape = [8, 7]", F32},
    {"add_rows", "i32[8, 5]; i32[17]; i32[17, 5]", "", EXACT},
    {"add_rows", "f32[8, 1]; i64[30]; f32[30, 1]", "", F32},
};

/* Optimizers with an operator, which come first. */
enum {
    STEPS = 0
#define OPTIMIZER(...) +1
#include "ir/optimizers.def"
};
enum {
    OPTIMIZER_CASES = 4 * STEPS,
    CAST_CASES = MW_TYPE_COUNT * MW_TYPE_COUNT,
    CASES = MW_COUNT(cases) + OPTIMIZER_CASES + CAST_CASES
};

/* "f32[17]; f32[17]; ...; f32[]; i32[]" */
static const char *optimizer_operands(MwArena *arena, const MwOptimizerInfo *info,
                                      const char *weight)
{
    MwText text = {.arena = arena};
    mw_text_printf(&text, "%s[17]; f32[17]", weight);
    for (int k = 0; k < info->state_count; k++)
        mw_text_add(&text, "; f32[17]");
    mw_text_add(&text, info->takes_step ? "; f32[]; i32[]" : "; f32[]");
    return text.at;
}

/* Numbers that count, within their limits; or, as far as that is allowed, zeros. */
static const char *optimizer_attrs(MwArena *arena, const MwOptimizerInfo *info, bool are_zero)
{
    MwText text = {.arena = arena};
    mw_text_add(&text, "");
    for (int i = 0; i < info->option_count; i++) {
        const MwAttrKey key = info->options[i].key;
        mw_text_printf(&text, "%s%s = ", i ? "; " : "", mw_attr_name(key));
        if (mw_attr_kind(key) == MW_KIND_FLOAT)
            mw_text_add_double(&text, 0.1 + 0.2 * i);
        else
            mw_text_add(&text, "true");
    }
    return are_zero ? "" : text.at;
}

/* The steps of every optimizer with an operator: weights in f32 and bf16, with hyperparameters and
 * without. Weights and gradients have both signs; states are positive, because some are squares. */
static Case optimizer_case(MwArena *arena, int i)
{
    const MwOptimizerInfo *info = mw_optimizer_info((MwOptimizer)(i / 4));
    const bool is_bf16 = i & 1, are_zero = i & 2;
    return (Case){.op = mw_op_info(info->op)->name,
                  .operands = optimizer_operands(arena, info, is_bf16 ? "bf16" : "f32"),
                  .attrs = optimizer_attrs(arena, info, are_zero),
                  .tolerance = is_bf16 ? BF16 : F32,
                  .draw = DRAW_POSITIVE,
                  .signed_operands = 2};
}

/* Casts between all types, of numbers of all sizes. */
static Case cast_case(MwArena *arena, int i)
{
    static const double tolerances[MW_TYPE_COUNT] = {
        [MW_F32] = F32, [MW_BF16] = BF16, [MW_F16] = F16, [MW_E4M3] = E4M3, [MW_E5M2] = E5M2};
    const MwType from = mw_type_stored((MwType)(i / MW_TYPE_COUNT)),
                 to = mw_type_stored((MwType)(i % MW_TYPE_COUNT));
    return (Case){.op = "cast",
                  .operands = mw_arena_printf(arena, "%s[1000]", mw_type_name(from)),
                  .attrs = mw_arena_printf(arena, "type = %s", mw_type_name(to)),
                  .tolerance = from == to ? EXACT : tolerances[to],
                  .draw = DRAW_WIDE};
}

static Case case_at(MwArena *arena, int i)
{
    const int beyond = i - MW_COUNT(cases);
    if (beyond < 0)
        return cases[i];
    return beyond < OPTIMIZER_CASES ? optimizer_case(arena, beyond)
                                    : cast_case(arena, beyond - OPTIMIZER_CASES);
}

START_TEST(every_operator_has_a_case)
{
    MwArena *arena = mw_arena_new();
    for (int op = 0; op < MW_OP_COUNT; op++) {
        /* tests/dist has what is of several devices, tests/kernels/test_fused.c has loops */
        bool found = mw_op_is_distributed((MwOp)op) || mw_op_is_scan((MwOp)op) ||
                     mw_op_info((MwOp)op)->lowering == MW_LOWER_DERIVED;
        for (int i = 0; i < CASES; i++)
            found = found || strcmp(case_at(arena, i).op, mw_op_info((MwOp)op)->name) == 0;
        ck_assert_msg(found, "no case for %s", mw_op_info((MwOp)op)->name);
    }
    mw_arena_free(&arena);
}
END_TEST

/* Adds an input for each of the operands of a case. */
static void add_inputs(TestGraph *test, const Case *c, MwValueId *in)
{
    for (const char *at = c->operands; *at;) {
        size_t length = strcspn(at, ";");
        *in++ = test_source(test, MW_OP_INPUT, NULL, mw_arena_strndup(test->arena, at, length));
        at += length + strspn(at + length, "; ");
    }
}

/* The ids of put_rows are different: of equal ones the first is kept. */
static MwNodeId add_put_rows(TestGraph *test, const Case *c)
{
    MwValueId in[3], choice[3];
    add_inputs(test, c, in);
    const int count = (int)mw_value_tensor(test->graph, in[1])->dim[0];
    const char *places = mw_arena_printf(test->arena, "type = i32; shape = [%d]; axis = 0", count);
    const char *type = mw_type_name(mw_value_tensor(test->graph, in[1])->type);
    const char *none =
        mw_arena_printf(test->arena, "type = %s; shape = [%d]; value = -1", type, count);
    const MwValueId both[] = {test_apply(test, NULL, "first_equal", &in[1], 1, ""),
                              test_apply(test, NULL, "iota", NULL, 0, places)};
    choice[0] = test_apply(test, NULL, "eq", both, 2, "");
    choice[1] = in[1];
    choice[2] = test_apply(test, NULL, "constant", NULL, 0, none);
    in[1] = test_apply(test, NULL, "select", choice, 3, "");
    return mw_value(test->graph, test_apply(test, NULL, c->op, in, 3, c->attrs))->node;
}

/* Copies to the host and back are a pair: what leaves a step is on the device. */
static MwNodeId add_round_trip(TestGraph *test, const Case *c)
{
    MwValueId in[3];
    add_inputs(test, c, in);
    in[0] = test_apply(test, NULL, "to_host", in, 1, "");
    return mw_value(test->graph, test_apply(test, NULL, "to_device", in, 1, ""))->node;
}

/* The gradients of attention take what attention gave. The operands of a case are q, k, v, the
 * gradient of the output, and the mask if there is one. */
static MwNodeId add_attention_grad(TestGraph *test, const Case *c)
{
    const bool is_masked = strcmp(c->op, "sdpa_grad") != 0;
    MwValueId in[5], all[7];
    add_inputs(test, c, in);
    memcpy(all, in, sizeof *in * 3);
    if (is_masked)
        all[3] = all[6] = in[4];
    MwValueId out =
        test_apply(test, NULL, is_masked ? "sdpa_masked" : "sdpa", all, 3 + is_masked, c->attrs);
    all[3] = out;
    all[4] = (MwValueId){out.index + 1};
    all[5] = in[3];
    return mw_value(test->graph, test_apply(test, NULL, c->op, all, 6 + is_masked, c->attrs))->node;
}

/* Adds the case's node; gives the number of outputs. */
static int add_case(GraphRun *run, const Case *c)
{
    MwGraph *graph = run->test.graph;
    int before = graph->nodes.count;
    bool is_grad = strncmp(c->op, "sdpa", 4) == 0 && strstr(c->op, "_grad");
    MwNodeId id = is_grad                          ? add_attention_grad(&run->test, c)
                  : strcmp(c->op, "put_rows") == 0 ? add_put_rows(&run->test, c)
                  : strncmp(c->op, "to_", 3) == 0
                      ? add_round_trip(&run->test, c)
                      : test_node(&run->test, c->op, c->operands, c->attrs);
    ck_assert_msg(id.index >= 0, "%s: %s", c->op, diags_text(run->test.arena, run->test.diags));
    for (int n = before, operand = 0; n < graph->nodes.count; n++)
        if (graph->nodes.at[n].op == MW_OP_INPUT)
            mw_vec_push(graph->arena, &run->draw,
                        operand++ < c->signed_operands ? DRAW_ANY : c->draw);
    for (int k = 0; k < mw_node(graph, id)->result_count; k++)
        graph_run_output(run, mw_node_result(graph, id, k));
    return mw_node(graph, id)->result_count;
}

/* A backend may lack the routine of a library operator. */
static bool can_run(const GraphBackend *backend, const char *name)
{
    MwOp op;
    ck_assert(mw_op_parse(name, &op));
    return mw_op_info(op)->lowering != MW_LOWER_LIBRARY ||
           mw_routine_is_on(mw_library_routine(op), mw_backend_named(backend->name)->id);
}

START_TEST(code_agrees_with_the_interpreter)
{
    GraphRun run = graph_run_new(_i);
    const bool is_gpu = strcmp(run.backend->name, "cuda") == 0;
    int count[CASES], failed = 0, output = 0;
    Case all[CASES];
    for (int i = 0; i < CASES; i++) {
        all[i] = case_at(run.test.arena, i);
        count[i] = can_run(run.backend, all[i].op) ? add_case(&run, &all[i]) : 0;
    }
    graph_run_step(&run);
    for (int i = 0; i < CASES; i++) {
        for (int k = 0; k < count[i]; k++) {
            double error = graph_run_error(&run, output++);
            if (error <= (is_gpu ? fmax(all[i].tolerance, all[i].on_gpus) : all[i].tolerance))
                continue;
            printf("# %s(%s; %s) result %d: error %g\n", all[i].op, all[i].operands, all[i].attrs,
                   k, error);
            failed++;
        }
    }
    graph_run_free(&run);
    fflush(stdout);
    ck_assert_int_eq(failed, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operators");
    TCase *tests = tcase_create("operators");
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, every_operator_has_a_case);
    tcase_add_loop_test(tests, code_agrees_with_the_interpreter, 0, graph_backend_count);
    return run_suite(suite);
}
