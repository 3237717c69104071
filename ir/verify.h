/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checker of graphs, which runs after every pass on a model in every build.
 *
 * It verifies what every pass relies on: operands precede their users; phases never flow
 * backwards, nor layers in the forward phase; types are those that the shape rules infer;
 * attributes are complete; names are unique and can be read back; the indices in repeats,
 * outputs, assigns, pins and the loss are valid. */
#ifndef MW_IR_VERIFY_H
#define MW_IR_VERIFY_H

#include "ir/ir.h"

/* False after errors, which name `pass`, the pass or part that made the graph. */
bool mw_graph_verify(const MwGraph *graph, const char *pass, MwDiags *diags);

/* False after errors about what models cannot have, because only passes on parts of a batch, stages
 * and devices write it: operators between devices, positions in a part of a tensor. A graph that is
 * to be compiled passes this once, before the first pass. */
bool mw_graph_check_model(const MwGraph *graph, MwDiags *diags);

#endif
