/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of lowering, for operators that are more than an expression of ir/ops.def. A rule
 * adds to the kernel the instructions of the node being lowered, and sets its results. */
#ifndef MW_CODEGEN_LOWER_LOWER_RULES_H
#define MW_CODEGEN_LOWER_LOWER_RULES_H

#include "codegen/lower/lower_node.h"

typedef void MwLowerRule(MwLower *l);

MwLowerRule mw_lower_dropout;
MwLowerRule mw_lower_uniform;
MwLowerRule mw_lower_cast;
MwLowerRule mw_lower_cast_stochastic;
MwLowerRule mw_lower_scan_next;
MwLowerRule mw_lower_update;
MwLowerRule mw_lower_reduce;
MwLowerRule mw_lower_softmax;
MwLowerRule mw_lower_softmax_grad;
MwLowerRule mw_lower_log_softmax;
MwLowerRule mw_lower_log_softmax_grad;
MwLowerRule mw_lower_logsumexp;
MwLowerRule mw_lower_logsumexp_grad;
MwLowerRule mw_lower_layer_norm;
MwLowerRule mw_lower_layer_norm_grad;
MwLowerRule mw_lower_rms_norm;
MwLowerRule mw_lower_rms_norm_grad;
MwLowerRule mw_lower_embedding;
MwLowerRule mw_lower_pick;
MwLowerRule mw_lower_pick_grad;
MwLowerRule mw_lower_embedding_grad;
MwLowerRule mw_lower_put_rows;
MwLowerRule mw_lower_add_rows;
MwLowerRule mw_lower_rope;
MwLowerRule mw_lower_pad;
MwLowerRule mw_lower_concat;

#endif
