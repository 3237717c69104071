# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with a time limit, at which all that they started ends with them: what went on would
share the GPU, or the cores, with what is run next."""
import os
import pathlib
import signal
import subprocess


def run(words, limit_s, **how):
    """Like subprocess.run with a timeout. `how` are arguments of subprocess.Popen."""
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, **how) as process:
        try:
            printed, errors = process.communicate(timeout=limit_s)
        except BaseException:
            end(process.pid)
            process.wait()
            raise
    return subprocess.CompletedProcess(words, process.returncode, printed, errors)


def parents():
    """{process id: that of its parent} of all processes."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
    return found


def family(first):
    """Process ids of a process and of all that descend from it."""
    children = {}
    for process, parent in parents().items():
        children.setdefault(parent, []).append(process)
    found = [first]
    for process in found:
        found += children.get(process, [])
    return found


def send(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def end(first):
    """Ends a child of ours and all that descends from it. Each is stopped before, so that it starts no
    others and none of them loses its parent."""
    stopped = set()
    while new := set(family(first)) - stopped:
        for process in new:
            send(process, signal.SIGSTOP)
        stopped |= new
    for process in stopped:
        send(process, signal.SIGKILL)


def end_children():
    """Ends all that this process has started."""
    for process, parent in parents().items():
        if parent == os.getpid():
            end(process)
