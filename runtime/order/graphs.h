/* SPDX-License-Identifier: MIT */
/* Which commands of a step a device captures as graphs.
 *
 * The whole step is one graph where the host does nothing in it but queue work: there are no
 * messages, and accumulators begin with zeros. Elsewhere a graph has instructions of one task that
 * follow each other, from the first on the compute queue to the last there, collectives between
 * them included. Traffic, inputs and outputs end a graph, and so does a collective of another task,
 * which is hoisted to where it overlaps with this one and would not if both were in one graph.
 *
 * Tasks that do the same at the same addresses, which are those of micro-batches in the same slots
 * whose position no kernel needs, share what is captured.
 *
 * Time grows with the commands of a step, and with the graphs times those that are captured. These
 * have at most MW_GRAPH_COMMANDS commands together, where the step is not one graph; what is left
 * is no graph. */
#ifndef MW_RUNTIME_ORDER_GRAPHS_H
#define MW_RUNTIME_ORDER_GRAPHS_H

#include "runtime/order/command.h"
#include "runtime/plan/traffic.h"

/* A kernel in a graph takes some KB of the host's memory and less than one of the GPU's: a few
 * hundred MB. Chosen, not measured. */
enum { MW_GRAPH_COMMANDS = 1 << 16 };

/* Finds the graphs of a list, whose commands are in the order in which they are issued, and adds
 * the commands that begin and end them. `collectives` is as in mw_step_commands. */
void mw_graphs_find(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                    MwQueue collectives, MwCommandList *list);

#endif
