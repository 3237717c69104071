# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a table of tuned numbers (FOLDER/tuning.def), and builds in which the environment changes one.

A build has, in the place of FOLDER/tuning.h, a header whose numbers are variables; MW_TUNED=FOLDER.NAME=VALUE
sets one of them before main."""
import dataclasses
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r'^TUNED_(COUNT|RATIO)\((\w+), ([^,]+),\s*"([^"]*)"', re.MULTILINE)
HEADER = """/* Made by bench/tuned_rows.py. */
#pragma once
#include <stdlib.h>
#include <string.h>

__attribute__((weak)) double mw_tuned_%(folder)s[] = {%(values)s};

void mw_tuned_%(folder)s_read(void);
__attribute__((weak, constructor)) void mw_tuned_%(folder)s_read(void)
{
    static const char *const names[] = {%(names)s};
    const char *change = getenv("MW_TUNED");
    for (size_t i = 0; change && i < sizeof names / sizeof *names; i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(change, names[i], length) == 0 && change[length] == '=')
            mw_tuned_%(folder)s[i] = strtod(change + length + 1, NULL);
    }
}

%(macros)s"""


@dataclasses.dataclass
class Row:
    folder: str
    kind: str
    name: str
    text: str  # the value as the table has it
    unit: str

    @property
    def value(self):
        return eval(self.text, {})  # an arithmetic expression of C that is one of Python, too

    def times(self, factor):
        """The value multiplied; a count is at least 1, a share stays below 1."""
        value = self.value * factor
        if self.kind == "COUNT":
            return max(1, round(value))
        return min(value, (1 + self.value) / 2) if self.unit.startswith("share") else value

    def change(self, value):
        """What MW_TUNED is to be."""
        return f"{self.folder}.{self.name}={value!r}"


def read_rows(folder):
    """{name: row}, in the order of the table."""
    found = ROW.findall((ROOT / folder / "tuning.def").read_text())
    return {name: Row(folder, kind, name, text, unit) for kind, name, text, unit in found}


def choose_rows(folder, names):
    """The rows that `names` lists between commas; None: all."""
    rows = read_rows(folder)
    wanted = names.split(",") if names else list(rows)
    if unknown := [name for name in wanted if name not in rows]:
        raise SystemExit(f"bench: {folder}/tuning.def has no row {', '.join(unknown)}")
    return [rows[name] for name in wanted]


def environment(change):
    return {**os.environ, "MW_TUNED": change} if change else None


def write_header(include, folder):
    rows = read_rows(folder).values()
    macros = [f"#define MW_TUNED_{row.name} ({'(int)' if row.kind == 'COUNT' else ''}"
              f"mw_tuned_{folder}[{index}])\n" for index, row in enumerate(rows)]
    text = HEADER % {"folder": folder, "values": ", ".join(row.text for row in rows),
                     "names": ", ".join(f'"{folder}.{row.name}"' for row in rows),
                     "macros": "".join(macros)}
    header = include / folder / "tuning.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    if not header.exists() or header.read_text() != text:
        header.write_text(text)


def build(folders, build_folder, cuda=False, targets=()):
    """Builds `targets` (all) with the numbers of `folders` as variables."""
    for folder in folders:
        write_header(build_folder / "include", folder)
    if not (build_folder / "build.ninja").exists():
        # -iquote comes before the folders of -I, so that these headers stand in for those of the tree.
        subprocess.run(["meson", "setup", build_folder, f"-Dcuda={'enabled' if cuda else 'disabled'}",
                        f"-Dc_args=-iquote{build_folder}/include"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build_folder, *targets], check=True, stdout=subprocess.DEVNULL)
