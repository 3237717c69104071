/* SPDX-License-Identifier: MIT */
/* Choices among equals that a device makes by measuring, which the ranks share and a file keeps:
 * where all take what is kept, a run has the same bits as the one before.
 *
 * The file is text: a line "meshwright choices 1", a line that says what the choices are of, a line
 * "KEY VALUE" for each, and the hash of all that. A file that differs counts as missing. */
#ifndef MW_RUNTIME_EXEC_CHOICES_H
#define MW_RUNTIME_EXEC_CHOICES_H

#include "base/vec.h"
#include "runtime/exec/transport.h"

/* `key` is a hash of all that the choice depends on. */
typedef struct {
    uint64_t key;
    int64_t value;
} MwChoice;

struct MwChoices {
    const char *of; /* what they depend on besides: "NVIDIA H200, cuBLASLt 130200"; a line */
    MW_VEC(MwChoice) list;
};

/* False: there is none. */
bool mw_choices_find(const MwChoices *choices, uint64_t key, int64_t *value);
void mw_choices_add(MwArena *arena, MwChoices *choices, uint64_t key, int64_t value);
/* Gives every rank the choices of all ranks; where they differ, those of the lowest rank.
 * Collective over all ranks. */
bool mw_choices_share(MwArena *arena, MwTransport *transport, MwChoices *choices, MwFault *fault);

/* The file of these choices in a folder. */
const char *mw_choices_file(MwArena *arena, const char *folder, const MwChoices *choices);
/* Adds those of the file, if it is whole and of the same. */
void mw_choices_read(MwArena *arena, const char *file, MwChoices *choices);
/* False with errno set. */
bool mw_choices_write(MwArena *arena, const char *file, const MwChoices *choices);

#endif
