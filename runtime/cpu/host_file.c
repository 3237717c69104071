/* SPDX-License-Identifier: MIT */
#include "runtime/cpu/host_file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *default_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* A file of that size without a name; -1, with errno. */
static int make_file(const char *folder, int64_t bytes)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/meshwright-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int file = mkstemp(path);
    if (file < 0)
        return -1;
    unlink(path);
    const int error = posix_fallocate(file, 0, bytes);
    if (!error)
        return file;
    close(file);
    errno = error;
    return -1;
}

void *mw_host_file_map(const char *folder, int64_t bytes, MwFault *fault)
{
    const char *in = folder ? folder : default_folder();
    void *memory = MAP_FAILED;
    const int file = make_file(in, bytes);
    if (file >= 0)
        memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        mw_fault_set(fault, "cannot map a file of %lld bytes in %s: %s", (long long)bytes, in,
                     strerror(errno));
    if (file >= 0)
        close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

void mw_host_file_unmap(void *memory, int64_t bytes)
{
    if (memory)
        munmap(memory, (size_t)bytes);
}
