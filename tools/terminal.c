/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/terminal.h"

#include "base/new_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_COLUMNS = 40, USUAL_COLUMNS = 80, INDENT = 2 };

int mw_terminal_columns(int descriptor)
{
    struct winsize size = {0};
    if (!isatty(descriptor))
        return 0;
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return USUAL_COLUMNS;
    return (int)mw_max(size.ws_col, LEAST_COLUMNS);
}

/* ---- Lines ---- */

/* How much of a line of `length` bytes goes before a break; all where there is no place for one. */
static size_t break_before(const char *line, size_t length, size_t room, size_t indent)
{
    if (length <= room)
        return length;
    for (size_t at = room; at > indent; at--)
        if (line[at] == ' ')
            return at;
    const char *space = memchr(line + room, ' ', length - room);
    return space ? (size_t)(space - line) : length;
}

static void add_wrapped(MwText *to, const char *line, size_t length, int columns)
{
    const size_t indent = mw_min((int64_t)strspn(line, " "), columns / 2) + INDENT;
    size_t part = break_before(line, length, (size_t)columns, indent);
    mw_text_add_n(to, line, part);
    for (; part < length;) {
        line += part;
        length -= part;
        const size_t spaces = strspn(line, " ");
        line += spaces;
        length -= spaces;
        part = break_before(line, length, (size_t)columns - indent, 0);
        mw_text_printf(to, "\n%*s", (int)indent, "");
        mw_text_add_n(to, line, part);
    }
}

MwText mw_terminal_wrap(const MwText *text, int columns)
{
    MwText wrapped = {.arena = text->arena};
    mw_text_add(&wrapped, "");
    for (const char *line = text->at; *line;) {
        const size_t length = strcspn(line, "\n");
        add_wrapped(&wrapped, line, length, columns);
        mw_text_add(&wrapped, line[length] ? "\n" : "");
        line += length + (line[length] == '\n');
    }
    return wrapped;
}

/* ---- Pager ---- */

/* The command of the pager; NULL: none is wanted. */
static const char *pager_command(void)
{
    const char *wanted = getenv("PAGER");
    if (!wanted)
        wanted = "less";
    return *wanted && strcmp(wanted, "cat") != 0 ? wanted : NULL;
}

/* Starts the pager; its standard input is the file descriptor `*to`. Negative: it cannot be. A
 * shell that does not find the pager ends with 127. */
static pid_t start_pager(const char *command, int *to)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("LESS", "FRX", 0); /* less: ends where all fits, shows colours, leaves the text */
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    *to = ends[1];
    if (pid < 0)
        close(ends[1]);
    return pid;
}

/* What the pager does not take, because it has ended, nobody wants to see. */
static void give_text(int to, const MwText *text)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    (void)mw_file_write_bytes(to, text->at, text->bytes);
    close(to);
    signal(SIGPIPE, before);
}

bool mw_terminal_page(const MwText *text)
{
    const char *command = pager_command();
    int to, status;
    if (!command || !isatty(STDOUT_FILENO))
        return false;
    const pid_t pid = start_pager(command, &to);
    if (pid < 0)
        return false;
    void (*before)(int) = signal(SIGINT, SIG_IGN); /* which is for the pager */
    give_text(to, text);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    signal(SIGINT, before);
    return !(WIFEXITED(status) && WEXITSTATUS(status) >= 126);
}
