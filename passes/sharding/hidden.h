/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What computing hides of collectives, where the backend does both at the same time.
 *
 * Two kinds are off the critical path, and run beside what computes its layer:
 *
 *   - sums of gradients, which nothing in the task waits for: once a step, they run beside the last
 *     backward (runtime/order/commands.h)
 *   - gathering of weights, and of what is made of weights alone, which begins before they are used
 *
 * The order of units makes both so, as far as there is memory (codegen/plan/overlap.h). Copies that
 * resharding makes are kernels like others, and not hidden.
 *
 * Each value has a part, by its bytes, of the seconds in which its layer computes in that phase,
 * divided evenly over the devices: a sum in the phase that makes it, and what is gathered in the
 * phase that uses it, of half of them where sums are made there. So what is hidden is a sum of what
 * edges of the problem hide by themselves, the same in every layer of a kind, in a stage of two
 * layers or of fifty. No more is hidden than what the phase computes behind what makes a sum, or
 * before what uses what is gathered. It is an estimate: what one value leaves of its part no other
 * one takes. Values that are large beside the memory of a device count as not hidden, since there
 * is mostly no room for them beside what is used meanwhile. The step of a whole plan is simulated
 * (codegen/plan/predict.h). Credits of what prefetching hides are known from fully sharded data
 * parallelism (Zhao et al., "PyTorch FSDP", VLDB 16(12), 2023, section 3.3).
 *
 * Time and memory grow with the nodes and edges of the graph. */
#ifndef MW_PASSES_SHARDING_HIDDEN_H
#define MW_PASSES_SHARDING_HIDDEN_H

#include "ir/ir.h"
#include "solver/solver.h"

/* [nodes][operands] seconds of computing that run beside one resharding of the operand; 0: none.
 * `problem` is that of the graph, whose nodes have their costs in a step of so many micro-batches;
 * `device_bytes` is the memory of a device. In `arena`. */
const double *const *mw_hidden_beside_s(MwArena *arena, const MwGraph *graph,
                                        const MwProblem *problem, int micro_batches,
                                        int64_t device_bytes);

/* How much longer a step takes for `collective_s` seconds of a collective beside `beside_s` seconds
 * of computing. `share` is what a collective takes of a device: kernels run at 1 - share of their
 * rate meanwhile, and once they have ended the collective goes on alone. A fifth of it counts at
 * least. */
double mw_exposed_s(double collective_s, double beside_s, double share);

#endif
