/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of values in a body. */
#ifndef MW_FRONTEND_OUTLINE_NAME_H
#define MW_FRONTEND_OUTLINE_NAME_H

#include "frontend/outline/outliner.h"

struct MwNamed *mw_lines_new_names(MwArena *arena, int values);
/* Gives the values of a body names, from `parameters`, the names of the inputs of its unit, and
 * turns its lines into statements. */
void mw_lines_name(MwOutliner *outliner, MwOutlineBody *body, const char *const *parameters,
                   MwBody *statements);

/* What a value would best be called: the last component of its name in the flat model, without the
 * number at its end. */
const char *mw_value_word(const MwOutliner *outliner, int value);
/* `word`, or where no value can be called so another word. */
const char *mw_good_word(MwOutliner *outliner, const char *word);
/* Whether a body can use the name for a value. */
bool mw_outliner_is_free(MwOutliner *outliner, const char *name);

#endif
