# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the flat model: the path of a module, and a last component that is local to it."""
from __future__ import annotations

import re
from typing import Any

# Words that cannot be names (docs/language.md, section 1), and names with a fixed meaning.
RESERVED = frozenset(
    "and as assign block collect else false for if import in input model not or output precision "
    "repeat return scan show size state train true with f32 bf16 f16 i32 i64 i8 u8 bool pi "
    "inf nan".split())
# The first parts may be numbers, if the next begins with a letter: 0.weight, but not 0.e5.
LEGAL = re.compile(r"(?!\d+\.[eE]\d*$)(\d+\.)*[A-Za-z_]\w*(\.\w+)*", re.ASCII)


def legal(name: str) -> str:
    """The name itself if the language takes it; else the nearest that it does."""
    name = re.sub(r"[^A-Za-z0-9_.]", "_", name).strip(".") or "_"
    name = re.sub(r"\.\.+", ".", name)
    if name in RESERVED or not LEGAL.fullmatch(name):
        return name + "_" if name in RESERVED else "_" + name
    return name


class Names:
    """Gives every name once."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def reserve(self, name: str) -> str:
        """The name, or the name with the first suffix that makes it new."""
        base = legal(name)
        name, number = base, 0
        while name in self.used:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name


def module_path(meta: dict[str, Any], root: str) -> str:
    """The path of the module that a node of the ATen graph stems from, without `root`, which is
    the user's module in the one that was traced."""
    stack = meta.get("nn_module_stack") or {}
    path = ""
    for innermost in stack.values():
        path = innermost[0]
    path = re.sub(r"@\d+", "", path)
    if path == root:
        return ""
    return path.removeprefix(root + ".")
