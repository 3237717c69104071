/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A train statement for an imported model. */
#ifndef MW_TOOLS_IMPORT_TRAIN_H
#define MW_TOOLS_IMPORT_TRAIN_H

#include "frontend/onnx/import.h"

/* Adds `train WHAT` to the text of the model. Names in the loss that the model lacks become inputs:
 * targets of a loss, whose type and shape follow from the output beside them. False after an
 * error. */
bool mw_import_train(MwArena *arena, MwOnnxModel *model, const char *what, MwDiags *diags);

#endif
