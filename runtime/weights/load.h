/* SPDX-License-Identifier: MIT */
/* Setting a weight or state of a run to what files hold. */
#ifndef MW_RUNTIME_WEIGHTS_LOAD_H
#define MW_RUNTIME_WEIGHTS_LOAD_H

#include "runtime/weights/checkpoint.h"
#include "runtime/weights/stored_view.h"

/* Sets the shard of this rank of a weight of its mesh: its elements come from the views, which
 * cover it together. */
bool mw_weight_load(const MwCheckpointRun *run, const MwPlanWeight *weight, MwStore *store,
                    const MwStoredView *views, int view_count, MwFault *fault);

#endif
