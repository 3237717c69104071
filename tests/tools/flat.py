# SPDX-License-Identifier: GPL-3.0-or-later
"""The flat form of a model, as importers give it: from a dump, whose statements say their scopes, the same statements
with names that are the scope and a word."""
import re

SOURCE = re.compile(r"  (input|weight|state) ")
NAMING = re.compile(r"  ([A-Za-z_][\w.]*(?:, [A-Za-z_][\w.]*)*) = ")
WORD = re.compile(r'"[^"]*"|[A-Za-z_][\w.]*')


def split_notes(line):
    """A line of a dump without its annotations, its scope, and the annotations that are no facts of the dump."""
    if line.startswith("  train"):
        return line, "", ""
    body, _, notes = line.partition(" with ")
    scope = re.search(r"\bscope = ([^\s,]+)", notes)
    kept = re.search(r"\bbatch = false", notes)
    return body, scope.group(1) if scope else "", " with " + kept.group() if kept else ""


def flat_name(name, scope):
    """What a value is called: its scope and a word of its own."""
    local = name[len(scope) + 1:] if name.startswith(scope + ".") else name
    local = "result" if name == scope else local.replace(".", "_")
    return f"{scope}.{local}" if scope else local


def flat_form(dump):
    names, lines = {}, []
    for line in dump.splitlines():
        if re.match(r"  repeat \S+ = ", line):
            continue
        body, scope, kept = split_notes(line)
        naming = NAMING.match(body)
        if naming and not SOURCE.match(body):
            for name in naming.group(1).split(", "):
                names[name] = flat_name(name, scope)
        lines.append(body + kept)

    def rename(line):
        return line if SOURCE.match(line) else WORD.sub(lambda word: names.get(word.group(), word.group()), line)

    if len(set(names.values())) != len(names):
        raise ValueError("two values of one name")
    return "\n".join(map(rename, lines)) + "\n"
