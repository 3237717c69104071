/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The optimizer of a train statement and the options after it. */
#ifndef MW_FRONTEND_EXPAND_TRAIN_OPTIONS_H
#define MW_FRONTEND_EXPAND_TRAIN_OPTIONS_H

#include "frontend/terms/expander.h"

/* Fills in all of `train` but its span; its loss is the name that the statement gives, or NULL.
 * False after errors. */
bool mw_train_options_read(MwExpander *ex, const MwStatement *statement, MwTrain *train);

#endif
