/* SPDX-License-Identifier: MIT */
#include "runtime/data/npz.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char extension[] = ".npy";

/* Length of the name of the array that a member is; 0: it is none. */
static size_t name_length(const MwMember *member)
{
    return mw_text_ends_in(member->name, extension) ? strlen(member->name) - strlen(extension) : 0;
}

const char *mw_npz_array(MwArena *arena, const MwMember *member)
{
    const size_t length = name_length(member);
    return length ? mw_arena_strndup(arena, member->name, length) : NULL;
}

bool mw_npz_lacks(const MwFeedFile *archive, const MwMembers *members, const char *what,
                  MwFault *fault)
{
    char list[200] = "";
    for (int i = 0; i < members->count; i++) {
        const size_t length = name_length(&members->at[i]), used = strlen(list);
        if (length)
            snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "", (int)length,
                     members->at[i].name);
    }
    return mw_fault_set(fault, "%s has no array for %s; it has %s", archive->path, what,
                        *list ? list : "none");
}

bool mw_npz_open(MwArena *arena, const MwFeedFile *archive, const char *array, MwFeedFile *file,
                 MwFault *fault)
{
    MwMembers members;
    if (!mw_archive_list(arena, archive, &members, fault))
        return false;
    for (int i = 0; i < members.count; i++) {
        const size_t length = name_length(&members.at[i]);
        if (length == strlen(array) && memcmp(members.at[i].name, array, length) == 0)
            return mw_archive_open(arena, archive, &members.at[i], file, fault);
    }
    char what[120];
    snprintf(what, sizeof what, "the input '%s'", array);
    return mw_npz_lacks(archive, &members, what, fault);
}
