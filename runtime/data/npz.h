/* SPDX-License-Identifier: MIT */
/* The .npz files of NumPy: archives of arrays, each of which is a .npy file. */
#ifndef MW_RUNTIME_DATA_NPZ_H
#define MW_RUNTIME_DATA_NPZ_H

#include "runtime/data/archive.h"

/* The name of the array that a member is; NULL: it is none. */
const char *mw_npz_array(MwArena *arena, const MwMember *member);
/* Opens the array of a name, as a .npy file. */
bool mw_npz_open(MwArena *arena, const MwFeedFile *archive, const char *array, MwFeedFile *file,
                 MwFault *fault);
/* Says that an archive has no array for `what`, and which it has. */
bool mw_npz_lacks(const MwFeedFile *archive, const MwMembers *members, const char *what,
                  MwFault *fault);

#endif
