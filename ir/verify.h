/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checker of graphs, run after every pass in every build.
 *
 * It proves what every pass may rely on: operands precede their users; phases never flow backwards,
 * nor layers in the forward phase; types are those that the shape rules infer; attributes are
 * complete; names are unique and can be read back; repeats, outputs, assigns, pins and the loss
 * refer to what they should. */
#ifndef MW_IR_VERIFY_H
#define MW_IR_VERIFY_H

#include "ir/ir.h"

/* False after errors, which name `pass`, the pass (or part) that the graph comes from. */
bool mw_graph_verify(const MwGraph *graph, const char *pass, MwDiags *diags);

#endif
