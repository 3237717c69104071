/* SPDX-License-Identifier: MIT */
/* Whether a checkpoint belongs to the plan's model. */
#ifndef MW_RUNTIME_WEIGHTS_CHECKPOINT_FIT_H
#define MW_RUNTIME_WEIGHTS_CHECKPOINT_FIT_H

#include "runtime/plan/plan.h"
#include "runtime/weights/checkpoint_files.h"

/* True if it has the weights and states of the plan, of the same shapes, and no others; a plan that
 * does not train needs no states. A fault names what differs first. */
bool mw_checkpoint_fits(const MwCheckpoint *checkpoint, const MwPlan *plan, MwFault *fault);

#endif
