/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A train statement for an imported model. */
#ifndef MW_TOOLS_IMPORT_TRAIN_H
#define MW_TOOLS_IMPORT_TRAIN_H

#include "frontend/onnx/import.h"

/* What the command line says of the training, and where it stands in a text that has it. */
typedef struct {
    const MwSource *source;
    uint32_t begin;
} MwTrainText;

/* Adds `train WHAT` to the text of the model; `train` says where. Names in the loss that the model
 * lacks become inputs: targets of a loss, whose type and shape follow from the output beside them.
 * False after an error. */
bool mw_import_train(MwArena *arena, MwOnnxModel *model, const char *what, MwTrainText *train,
                     MwDiags *diags);

/* Lets diagnostics of a text that has what the command line says point to the command line. */
void mw_train_text_move(const MwTrainText *train, const MwSource *text, MwDiags *diags);

#endif
