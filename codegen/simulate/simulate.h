/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a plan in discrete events: what each mesh does by its tasks and messages, on devices and
 * links that are not here.
 *
 * The devices of a mesh do the same, so that one of them stands for all, and the time does not grow
 * with the ranks. Each program is timed once, from the executor's own list of commands
 * (codegen/plan/predict.h); a task is cut where it sends or waits. Messages are posted and waited
 * for in the slots that runtime/plan/traffic.h defines, and one begins when both of its ends have
 * posted it and the one before of its transfer has ended. On their way they share links (flows.h).
 * A step begins on all meshes at once and ends with its last task and message.
 *
 * Against the timeline: where nothing is random and no messages meet on a link, a plan whose
 * programs receive first and send last has its schedule's timeline, and then the update of the mesh
 * that is done last. Programs that send before their end, or receive after their beginning, take
 * less by what they do in between; a send of what a collective has made may let the program itself
 * take more, as it does in a run. What a plan predicts is a step simulated on its cluster.
 *
 * Without overlap, collectives are in the order of the program, with nothing beside them, and a
 * mesh is interrupted by each message that is on its way to or from it.
 *
 * Not simulated: that kernels and messages slow collectives, or messages kernels; reading
 * inputs and writing checkpoints within a step.
 *
 * Time grows with tasks and messages, a few microseconds each, times log of what is in flight;
 * memory with the programs, and with what is in flight, and with tasks and messages where they are
 * recorded. */
#ifndef MW_CODEGEN_SIMULATE_SIMULATE_H
#define MW_CODEGEN_SIMULATE_SIMULATE_H

#include "codegen/simulate/simulation.h"
#include "runtime/plan/plan.h"

/* The plan is one that the checker accepts. NULL after an error: its times are no times, the
 * cluster is not one for it, or a straggler is no rank. */
const MwSimulation *mw_simulate(MwArena *arena, const MwPlan *plan,
                                const MwSimulateOptions *options, MwDiags *diags);

#endif
