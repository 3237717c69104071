/* SPDX-License-Identifier: MIT */
#include "runtime/data/feed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool cannot(const MwFeedFile *file, MwFault *fault)
{
    return mw_fault_set(fault, "cannot read %s: %s", file->path, strerror(errno));
}

bool mw_feed_file_allow_more(void)
{
    struct rlimit limit;
    if (errno != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool mw_feed_file_open(MwFeedFile *file, const char *path, MwFault *fault)
{
    struct stat info;
    *file = (MwFeedFile){.path = path};
    do
        file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (file->descriptor < 0 && mw_feed_file_allow_more());
    if (file->descriptor < 0)
        return cannot(file, fault);
    bool good = fstat(file->descriptor, &info) == 0 || cannot(file, fault);
    if (good && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        good = cannot(file, fault);
    } else if (good && !S_ISREG(info.st_mode)) {
        good = mw_fault_set(fault, "cannot read %s: it is not a regular file", path);
    }
    if (good)
        file->bytes = info.st_size;
    else
        mw_feed_file_close(file);
    return good;
}

bool mw_feed_file_read(const MwFeedFile *file, int64_t offset, int64_t bytes, void *to,
                       MwFault *fault)
{
    for (int64_t done = 0; done < bytes;) {
        ssize_t n = pread(file->descriptor, (char *)to + done, (size_t)(bytes - done),
                          (off_t)(file->begin + offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cannot(file, fault);
        if (n == 0)
            return mw_fault_set(
                fault, "%s has become shorter than %lld bytes, its size when it was opened",
                file->path, (long long)file->bytes);
        done += n;
    }
    return true;
}

void mw_feed_file_close(MwFeedFile *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
}
