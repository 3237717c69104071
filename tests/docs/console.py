# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the console blocks of Markdown files and compares what they show with what happens.

    console.py [--update] TOOLS FILE...

In a block that begins with ```console, a line '$ COMMAND' is followed by what COMMAND prints
(standard output and error together); a line '...' stands for any lines. Commands run in one
temporary folder per file, which holds links to models/, clusters/ and docs/, with TOOLS first in
PATH; `mpirun` there is scripts/mpirun.
Prints TAP, one case a command; one that fails is no good. --update rewrites the files with what
happens now (commands whose expectation holds '...' keep theirs)."""
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(^```console\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def steps(block):
    """The block as [command, expected text] pairs."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:].rstrip("\n"), ""])
        elif found:
            found[-1][1] += line
    return found


def matches(expected, actual):
    pattern = "".join(
        r"(?:.*\n)*?" if line == "...\n" else re.escape(line)
        for line in expected.splitlines(keepends=True)
    )
    return re.fullmatch(pattern, actual) is not None


def run(command, folder, tools):
    paths = [tools, os.path.join(ROOT, "scripts"), os.environ["PATH"]]
    env = dict(os.environ, PATH=os.pathsep.join(paths), LC_ALL="C")
    done = subprocess.run(
        "set -o pipefail; " + command, shell=True, executable="/bin/bash", cwd=folder, env=env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=120,
    )
    shown = done.stdout
    if done.returncode:
        shown += f"exit {done.returncode}"
    return shown if shown.endswith("\n") or not shown else shown + "\n", done.returncode == 0


def check_file(path, tools, update, report):
    with open(path) as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("models", "clusters", "docs"):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))

        def check_block(match):
            block = ""
            for command, expected in steps(match.group(2)):
                actual, good = run(command, folder, tools)
                if good and update and "...\n" not in expected.splitlines(keepends=True):
                    expected = actual
                good = good and matches(expected, actual)
                report(good, f"{os.path.basename(path)}: {command}", expected, actual)
                block += f"$ {command}\n{expected}"
            return match.group(1) + block + match.group(3)

        new = BLOCK.sub(check_block, text)
    if update and new != text:
        with open(path, "w") as file:
            file.write(new)


def main(args):
    update = "--update" in args
    tools, *files = [arg for arg in args if arg != "--update"]
    results = []

    def report(good, name, expected, actual):
        results.append(good)
        print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")
        if not good:
            for title, text in (("expected", expected), ("but got", actual)):
                print(f"# {title}:")
                print("".join(f"#   {line}\n" for line in text.splitlines()), end="")

    for path in files:
        check_file(path, os.path.abspath(tools), update, report)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
