/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that is killed before its Nth call that renames or removes something, N in the variable
 * FRAGILE_AT. The linker puts these in the place of the system's calls (--wrap). With NO_EXCHANGE
 * set, the system cannot exchange two names. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int __real_rename(const char *from, const char *to);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __real_unlink(const char *path);
int __real_rmdir(const char *path);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_unlink(const char *path);
int __wrap_rmdir(const char *path);

static void count_call(void)
{
    static int calls;
    const char *at = getenv("FRAGILE_AT");
    if (at && ++calls == atoi(at))
        raise(SIGKILL);
}

int __wrap_rename(const char *from, const char *to)
{
    count_call();
    return __real_rename(from, to);
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    count_call();
    if (!getenv("NO_EXCHANGE"))
        return __real_renameat2(from_fd, from, to_fd, to, flags);
    errno = ENOSYS;
    return -1;
}

int __wrap_unlink(const char *path)
{
    count_call();
    return __real_unlink(path);
}

int __wrap_rmdir(const char *path)
{
    count_call();
    return __real_rmdir(path);
}
