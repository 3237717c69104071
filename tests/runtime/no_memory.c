/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A system on which some ranks cannot have memory to share: those from the one in the variable
 * NO_MEMORY_FROM on. The linker puts this in the place of the system's call (--wrap). */
#include <errno.h>
#include <stdlib.h>

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

int __wrap_memfd_create(const char *name, unsigned flags)
{
    const char *from = getenv("NO_MEMORY_FROM"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!from || !rank || atoi(rank) < atoi(from))
        return __real_memfd_create(name, flags);
    errno = ENOSYS;
    return -1;
}
