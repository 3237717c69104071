/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which values of a graph lie in the memory of the host, and not in that of a device.
 *
 * Nothing says so but the operators to_host and to_device. What to_host gives is on the host, and
 * so is what a node makes of values there, until to_device brings it back; a weight or state is
 * where its new value is. A node of which an operand is on the host has all of them there, save
 * constants and positions, which lie nowhere: the host's processors run it. What is on the host
 * is not resharded. */
#ifndef MW_IR_HOST_H
#define MW_IR_HOST_H

#include "ir/ir.h"

/* [values] in `arena`. */
bool *mw_on_host(MwArena *arena, const MwGraph *graph);

/* [values] in `arena`: the weight on the host of which a state on the device is a copy, which steps
 * set with it; no value: it is none. */
MwValueId *mw_host_weights(MwArena *arena, const MwGraph *graph);

/* Whether the operand of a node lies in no memory, neither here nor there. */
bool mw_host_ignores(const MwGraph *graph, MwValueId operand);

/* Whether a node runs on the host: not a source, nor what copies between device and host. */
bool mw_runs_on_host(const bool *on_host, const MwNode *node);

#endif
