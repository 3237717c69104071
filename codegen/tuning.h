/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuned numbers of code generation by name: MW_TUNED_UNIT_NODES and so on. codegen/tuning.def says of each what
 * it trades and what shows that it is good. */
#ifndef MW_CODEGEN_TUNING_H
#define MW_CODEGEN_TUNING_H

enum {
#define TUNED(name, value) MW_TUNED_##name = value,
#include "codegen/tuning.def"
#undef TUNED
};

#endif
