/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dump of a graph, and the words in it.
 *
 * A dump is a flat .graph file, without blocks, which parses back to the same graph.
 *
 *     model gpt {
 *       repeat layers = 4 input tokens: i32[8, 128] weight wte: f32[256, 128] = normal(0.02)
 *       weight layers.0.mlp.w1: f32[128, 512] = zeros with scope = layers.0.mlp, repeat = [0, 0]
 *       state layers.0.mlp.w1.m: f32[128, 512] = zeros with phase = update x = embedding(tokens,
 *       wte) _12 = einsum(x, layers.0.mlp.w1, equation = "abc,cd->abd") with spec = [S0, R, S1]
 *       out, lse = sdpa(q, k, v, causal = true, scale = 0.125) with spec.0 = [S0, R, S1, R] dx =
 *       mul(d, x) with phase = backward, scope = layers.0.mlp, repeat = [0, 0] output logits
 *       output score = _40 assign layers.0.mlp.w1 = _99 train loss with adamw(lr = 0.0003, betas
 *       = [0.9, 0.95], eps = 1e-08), clip_norm = 1
 *     }
 *
 * One statement a line, in this order: precision, repeats, nodes, outputs, shows, assigns, train.
 *
 *   precision bf16
 *       only where the pass of that name is still to give types; else types are as they stand
 *   repeat NAME = COUNT [with repeat = [R, I]]
 *       the entries of MwGraph.repeats, in order; `repeat` gives the parent and its iteration
 *   RESULTS = OP(OPERANDS, ATTRIBUTES)
 *       one node: OP is a name of ir/ops.def, operands are value names by position, attributes
 *       are given by their names of ir/attrs.def in their order. Integers and floats are always
 *       written; a bool, text or list only where it is not false, "" or [], a type or spec only
 *       where there is one. Names of types stand bare (type = bf16), specs in quotes. Floats are
 *       the shortest that read back, or inf, -inf, nan.
 *   input, weight, state NAME: TYPE [= INITIALISER]
 *       the sources; the initialiser is zeros, ones, normal(V), uniform(V) or constant(V), V
 *       being the attribute `value` (0 for zeros and ones)
 *
 * Annotations of a node, after `with`, each only where it is not the default:
 *
 *   batch = false                 of an input that is no part of the batch (attribute `whole`)
 *   phase = backward | backward_weight | update     (else forward)
 *   scope = PATH                  origin.scope (else "")
 *   repeat = [R, I]               origin.repeat, a place in the list of repeats, and its
 *                                 iteration
 *   layer = L                     origin.layer (else 0)
 *   spec, stage, remat            the pin of its result; spec.K, stage.K, remat.K for result K
 *                                 of a node with several
 *
 * train: the optimizer takes lr and its hyperparameters (ir/optimizers.def); rates = [["GLOB", R],
 * ...], decays = [["GLOB", D], ...], no_decay = ["GLOB", ...], sparse = ["GLOB", ...], only =
 * ["GLOB", ...], clip_norm, ema, schedule = linear | cosine, warmup_steps, total_steps, final_rate,
 * micro_batches, states = TYPE, accumulate = TYPE and offload = WHAT follow it, and name = "LOSS"
 * where there are several losses and the value has another name. Numbers that are zero are left
 * out, except lr, hyperparameters with another default, and the members of lists.
 *
 * show: the metrics that no train statement minimises, as `output` prints outputs.
 *
 * A rate that is a tensor prints as the name of the value, and after the pass update as 0.
 *
 * Source spans do not survive: those of a graph read from a dump point into the dump. */
#ifndef MW_IR_PRINT_H
#define MW_IR_PRINT_H

#include "base/text.h"
#include "ir/ir.h"

void mw_graph_print(MwText *text, const MwGraph *graph);

const char *mw_phase_name(MwPhase phase); /* "forward", "backward", "backward_weight", "update" */
bool mw_phase_parse(const char *name, MwPhase *phase);
const char *mw_schedule_name(MwRateSchedule schedule); /* "constant", "linear", "cosine" */
bool mw_schedule_parse(const char *name, MwRateSchedule *schedule);
const char *mw_offload_name(MwOffload offload); /* "none", "states", "weights" */
bool mw_offload_parse(const char *name, MwOffload *offload);

#endif
