/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choices of a device: ranks take those of the lowest rank that has one, and a file gives back what
 * was written to it, unless it is damaged or of something else.
 *
 *     mpirun -n RANKS test_choices FOLDER */
#include "base/file.h"
#include "runtime/exec/choices.h"
#include "runtime/mpi/transport.h"

#include <stdio.h>
#include <string.h>

enum { ALL = 7, LAST = 1000 };

/* Rank r has a choice for r + 1 keys from r on, and one for a key that all have. */
static bool are_shared(MwArena *arena, MwTransport *transport)
{
    MwChoices choices = {.of = "x"};
    MwFault fault;
    const int rank = transport->rank, size = transport->size;
    bool good = true;
    for (int k = rank; k <= 2 * rank; k++)
        mw_choices_add(arena, &choices, (uint64_t)(ALL + 1 + k), rank);
    mw_choices_add(arena, &choices, ALL, -1 - rank);
    if (!mw_choices_share(arena, transport, &choices, &fault))
        return false;
    int64_t value = 0;
    good &= mw_choices_find(&choices, ALL, &value) && value == -1;
    for (int k = 0; k <= 2 * (size - 1); k++) {
        const int lowest = (k + 1) / 2; /* rank with r <= k <= 2 r */
        good &= mw_choices_find(&choices, (uint64_t)(ALL + 1 + k), &value) && value == lowest;
    }
    return good && choices.list.count == 2 * size;
}

static bool none_is_shared(MwArena *arena, MwTransport *transport)
{
    MwChoices choices = {.of = "x"};
    MwFault fault;
    return mw_choices_share(arena, transport, &choices, &fault) && choices.list.count == 0;
}

static int count_read(MwArena *arena, const char *file, const char *of)
{
    MwChoices choices = {.of = of};
    mw_choices_read(arena, file, &choices);
    return choices.list.count;
}

static bool are_kept(MwArena *arena, const char *folder)
{
    MwChoices choices = {.of = "a GPU"}, read = {.of = "a GPU"};
    const char *file = mw_choices_file(arena, folder, &choices);
    int64_t value;
    for (int i = 0; i < LAST; i++)
        mw_choices_add(arena, &choices, UINT64_MAX - (uint64_t)i, i - LAST / 2);
    bool good = mw_choices_write(arena, file, &choices);
    mw_choices_read(arena, file, &read);
    for (int i = 0; i < LAST; i++)
        good = good && mw_choices_find(&read, UINT64_MAX - (uint64_t)i, &value) &&
               value == i - LAST / 2;
    return good && read.list.count == LAST && count_read(arena, file, "another GPU") == 0 &&
           count_read(arena, "/proc/none", "a GPU") == 0;
}

/* Every byte that differs, and every length that is too short. */
static bool damage_is_seen(MwArena *arena, const char *folder)
{
    MwChoices choices = {.of = "a GPU"};
    const char *file = mw_choices_file(arena, folder, &choices);
    size_t bytes;
    bool good = true;
    mw_choices_add(arena, &choices, 12345, 6);
    if (!mw_choices_write(arena, file, &choices))
        return false;
    char *text = mw_file_read(arena, file, &bytes);
    for (size_t i = 0; i < bytes; i++) {
        text[i] ^= 1;
        good =
            good && mw_file_write(file, text, bytes, 0600) && count_read(arena, file, "a GPU") == 0;
        text[i] ^= 1;
        good = good && mw_file_write(file, text, i, 0600) && count_read(arena, file, "a GPU") == 0;
    }
    return good && mw_file_write(file, text, bytes, 0600) && count_read(arena, file, "a GPU") == 1;
}

static int failed;

static void report(const MwTransport *transport, int number, const char *name, bool good)
{
    if (!good)
        failed = 1;
    if (transport->rank == 0)
        printf("%sok %d - %s\n", good ? "" : "not ", number, name);
}

int main(int argc, char **argv)
{
    MwArena *arena = mw_arena_new();
    MwFault fault;
    MwTransport *transport = mw_transport_mpi_new(arena, true, &fault);
    if (argc != 2 || !transport)
        return 2;
    report(transport, 1, "the lowest rank chooses", are_shared(arena, transport));
    report(transport, 2, "there may be none", none_is_shared(arena, transport));
    if (transport->rank == 0) {
        report(transport, 3, "a file keeps them", are_kept(arena, argv[1]));
        report(transport, 4, "damage is seen", damage_is_seen(arena, argv[1]));
        printf("1..4\n");
    }
    mw_transport_free(&transport, NULL);
    mw_arena_free(&arena);
    return failed;
}
