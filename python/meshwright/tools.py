# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the tools of meshwright, calls them, and writes what they are given.

A tool is looked for in the folder, or beside the file, that the environment variable MESHWRIGHT
names; in PATH; and in the build folder of the checkout that this package lies in."""
import os
import pathlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from meshwright.errors import ToolError

VARIABLE = "MESHWRIGHT"
BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "tools"


def find_tool(name: str = "meshwright") -> pathlib.Path:
    """The path of a tool: meshwright, meshwright-run or meshwright-mpirun."""
    named = os.environ.get(VARIABLE)
    if named:
        place = pathlib.Path(named)
        candidates = [folder / name for folder in (place, place / "tools", place / "build/tools")]
        if place.is_file():
            candidates = [place if place.name == name else place.with_name(name)]
        for path in candidates:
            if is_program(path):
                return path.resolve()
        raise ToolError(f"{VARIABLE} is {named}, but there is no program {candidates[0]}")
    found = shutil.which(name)
    if found:
        return pathlib.Path(found).resolve()
    if is_program(BUILD / name):
        return BUILD / name
    raise ToolError(f"{name} is neither in PATH nor in {BUILD}; build it, or set {VARIABLE} to the "
                    "folder that holds it")


def is_program(path: pathlib.Path) -> bool:
    """Whether it is a file that can be executed."""
    return path.is_file() and os.access(path, os.X_OK)


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Options on the command line, with `-` for `_`; True stands for a flag, and what is False or
    None is left out."""
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def literal(value: object) -> str:
    """A value in the language: a number, a truth value, a text, or a list of them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(literal(element) for element in value)}]"
    return str(value)


def call(words: Sequence[object]) -> str:
    """Runs a command that ends by itself; what it prints on standard output."""
    texts = [str(word) for word in words]
    done = subprocess.run(texts, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace")
    if done.returncode:
        message = (done.stderr or done.stdout).strip()
        raise ToolError(message or f"{' '.join(texts)}: exit status {done.returncode}")
    return done.stdout
