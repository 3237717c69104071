# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and executables of models: how they are made, and what they hold."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
from typing import TYPE_CHECKING, Any

from meshwright.errors import MeshwrightError
from meshwright.tools import call, find_tool, literal, option_words

if TYPE_CHECKING:
    from meshwright.runs import Run

Sizes = dict[str, object]


@dataclasses.dataclass(frozen=True)
class Plan:
    """A plan file. `weights` is the safetensors file that its runs begin with, if it is known."""
    path: pathlib.Path
    weights: pathlib.Path | None = None

    @functools.cached_property
    def report(self) -> Report:
        """What it holds."""
        return inspect(self.path)

    @property
    def ranks(self) -> int:
        """How many ranks it is for."""
        return int(self.report["ranks"])

    def command(self) -> list[str]:
        """What a rank executes."""
        return [str(find_tool("meshwright-run")), str(self.path)]

    def run(self, data: dict[str, Any] | None = None, **options: Any) -> Run:
        """Runs it: see `meshwright.run`."""
        from meshwright.runs import run
        return run(self, data, **options)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


@dataclasses.dataclass(frozen=True)
class Program(Plan):
    """An executable: the plan, its kernels and the executor in one file."""

    def command(self) -> list[str]:
        return [str(self.path.resolve())]


class Report(dict[str, Any]):
    """What `meshwright inspect` says of a plan or an executable: the object of `--format json`
    (docs/inspect.md), whose keys are attributes too. As text it is the table that the tool prints,
    in a notebook the page of `--format html`."""

    def __init__(self, path: pathlib.Path):
        super().__init__(json.loads(call([find_tool(), "inspect", path, "--format", "json"])))
        self.path = path

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the report has no '{name}': it has {', '.join(self)}") from None

    def __str__(self) -> str:
        return call([find_tool(), "inspect", self.path])

    def __repr__(self) -> str:
        return f"<Report of {self.path}: {self['ranks']} ranks, {self['step_s']:.3g} s a step>"

    def _repr_html_(self) -> str:
        page = call([find_tool(), "inspect", self.path, "--format", "html"])
        quoted = page.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{quoted}" style="width: 100%; height: 600px; border: 0"></iframe>'


def inspect(what: Plan | str | os.PathLike[str]) -> Report:
    """What a plan or an executable holds, and why."""
    return Report(what.path if isinstance(what, Plan) else pathlib.Path(what))


def plan(model: Any, output: str | os.PathLike[str] | None = None, **options: Any) -> Plan:
    """Plans a model: a path of a .graph file, or what `export` returned. The arguments are those
    of `compile`. Without `output` the plan lies beside the model."""
    return Plan(*make("plan", model, output, ".plan", options))


def compile(model: Any, output: str | os.PathLike[str] | None = None, **options: Any) -> Program:
    """Compiles a model to an executable, which lies beside it unless `output` says otherwise.

    `ranks` is a number of ranks of this machine, in place of `cluster`, a .cluster file; `sizes`
    are {name: value} of -D, `pins` {glob: spec} of --pin. Other options are those of `meshwright
    compile`, with `_` for `-`: micro_batches=4, memory="16GB", precision="bf16"."""
    return Program(*make("compile", model, output, "", options))


def make(command: str, model: Any, output: str | os.PathLike[str] | None, ending: str,
         options: dict[str, Any]) -> tuple[pathlib.Path, pathlib.Path | None]:
    """Runs `plan` or `compile`: the path of what it wrote, and that of the model's weights."""
    source = pathlib.Path(getattr(model, "path", model))
    path = pathlib.Path(output) if output is not None else source.with_suffix(ending)
    if path == source:
        raise MeshwrightError(f"{source} would be overwritten: say where the {command} goes")
    call([find_tool(), command, source, "-o", path, *words_of(**options)])
    return path, getattr(model, "weights", None)


def words_of(ranks: int | None = None, cluster: object = None, sizes: Sizes | None = None,
             pins: dict[str, str] | None = None, **others: object) -> list[str]:
    """The arguments on the command line."""
    if ranks is not None and cluster is not None:
        raise MeshwrightError("give either ranks, of this machine, or a cluster")
    words = [f"--cluster=local:{ranks}"] if ranks is not None else []
    words += [f"--cluster={cluster}"] if cluster is not None else []
    for name, value in (sizes or {}).items():
        words += ["-D", f"{name}={value if isinstance(value, str) else literal(value)}"]
    for glob, spec in (pins or {}).items():
        words += ["--pin", f"{glob}={spec}"]
    return words + option_words(others)
