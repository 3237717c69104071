/* SPDX-License-Identifier: MIT */
/* One step of a rank as a list of commands, in the order in which the executor issues them, each on
 * a queue of the device, with the events that it waits for and records. The list follows from the
 * plan alone and is the same on all ranks of a mesh, and so is the order of their collectives.
 *
 * Where collectives have a queue of their own, they overlap with kernels unless both access the
 * same bytes (hazards.h). Collectives of tasks without a micro-batch, which reduce gradients before
 * the update, are hoisted: they are issued as soon as the last backward task is done with what they
 * read and with the memory that they write.
 *
 * Copies to and from the host have a queue of their own too, and are ordered and hoisted likewise.
 *
 * A graph is one operation among the commands outside of it, and the events inside are its own. All
 * collectives are one after another, those of graphs and those outside, also on different axes, so
 * that no two wait for other ranks at once.
 *
 * A loop is one command. Where it has collectives on a queue of their own, it is a command for each
 * instruction and run instead, so that the list grows with the runs. */
#ifndef MW_RUNTIME_ORDER_COMMANDS_H
#define MW_RUNTIME_ORDER_COMMANDS_H

#include "runtime/order/command.h"
#include "runtime/plan/traffic.h"

/* `collectives` is the queue of collectives in groups of several members, `copies` that of copies
 * between the device and the host. `has_graphs`: the device captures graphs. */
MwCommandList mw_step_commands(MwArena *arena, const MwPlanMesh *mesh, const MwTraffic *traffic,
                               MwQueue collectives, MwQueue copies, bool has_graphs);

#endif
