# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of plans and executables under meshwright-mpirun, step after step."""
from __future__ import annotations

import csv
import dataclasses
import math
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from meshwright.arrays import save_npy
from meshwright.errors import MeshwrightError, RunError
from meshwright.plans import Plan
from meshwright.tools import find_tool, option_words

POLL_S = 0.02  # between looks at the log
PATIENCE_S = 30.0  # for ranks to end by themselves, with a checkpoint, before they are told to
LAST_PATIENCE_S = 5.0  # and before they are killed


@dataclasses.dataclass(frozen=True)
class Step:
    """What a run says of a step: its losses and what the model shows, by name."""
    number: int
    metrics: dict[str, float]
    seconds: float

    @property
    def loss(self) -> float:
        """The loss; of several, the first; NaN of a model that has none and shows nothing."""
        return next(iter(self.metrics.values()), math.nan)


class Run(Iterator[Step]):
    """A run that is going on: its steps, as they are done. It ends after the last step; before
    that by `close`, by leaving a `with` block, or by Ctrl-C in the loop over its steps. Then the
    step that ranks are in is finished, and a checkpoint is written if there is a folder for it."""

    def __init__(self, command: Sequence[str], folder: tempfile.TemporaryDirectory[str],
                 log: pathlib.Path, first_row: int = 0):
        self.folder, self.log = folder, log
        self.rows = Rows(log, first_row)
        self.output = open(pathlib.Path(folder.name) / "output.txt", "w+b")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        self.command = list(command)

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Step:
        try:
            while True:
                ended = self.has_ended()
                step = self.rows.next()
                if step is not None:
                    return step
                if ended:
                    self.finish()
                    raise StopIteration
                time.sleep(POLL_S)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "process"):
            self.close()

    def wait(self) -> list[Step]:
        """All steps that are left."""
        return list(self)

    def text(self) -> str:
        """What the run has printed so far."""
        if self.output.closed:
            return ""
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def finish(self) -> None:
        """Raises what went wrong, if anything did."""
        status = self.process.wait()
        if status:
            message = message_of(self.text())
            raise RunError(message or f"{' '.join(self.command)}: exit status {status}", status)

    def close(self) -> None:
        """Ends the run if it goes on still, and removes its temporary files."""
        if not self.has_ended():
            self.stop()
        self.process.poll()
        self.rows.close()
        self.output.close()
        self.folder.cleanup()

    def has_ended(self) -> bool:
        """Unlike Popen.poll without a lock, which Ctrl-C in the moment after it is taken would leave
        taken, so that the end of the process is never seen."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return (self.process.returncode is not None
                or os.waitid(os.P_PID, self.process.pid, flags) is not None)

    def stop(self) -> None:
        """Interrupts the run, after which all ranks end in their own time. Who does not end is told
        to, and then killed."""
        for number, patience_s in ((signal.SIGINT, PATIENCE_S), (signal.SIGTERM, LAST_PATIENCE_S),
                                   (signal.SIGKILL, LAST_PATIENCE_S)):
            self.process.send_signal(number)
            try:
                self.process.wait(patience_s)
                return
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                continue  # a second Ctrl-C does not wait any longer


def message_of(text: str) -> str:
    """What a run has printed of its fault: without its steps. All of it, if nothing else is
    left."""
    lines = [line for line in text.splitlines() if line.strip() and not re.match(r"step \d", line)]
    return "\n".join(dict.fromkeys(lines)) or text.strip()


class Rows:
    """The rows of a log, which grows, as steps."""

    def __init__(self, path: pathlib.Path, skipped: int):
        self.path, self.skipped = path, skipped
        self.file: Any = None
        self.names: list[str] = []
        self.rest = ""

    def next(self) -> Step | None:
        """The next step, if its row is complete."""
        if self.file is None:
            if not self.path.exists():
                return None
            self.file = open(self.path, encoding="utf-8")
        if not self.rest.endswith("\n"):
            self.rest += self.file.readline()
        if not self.rest.endswith("\n"):
            return None
        row, self.rest = next(csv.reader([self.rest])), ""
        if not self.names:
            self.names = row
            return self.next()
        if self.skipped:
            self.skipped -= 1
            return self.next()
        return step_of(self.names, row)

    def close(self) -> None:
        """Closes the file."""
        if self.file is not None:
            self.file.close()


def step_of(names: list[str], row: list[str]) -> Step:
    """The step of a row."""
    values = dict(zip(names, row))
    number, seconds = int(values.pop("step")), float(values.pop("seconds"))
    return Step(number, {name: float(value) if value else math.nan
                         for name, value in values.items()}, seconds)


def run(what: Plan | str | os.PathLike[str], data: Mapping[str, Any] | None = None, *,
        feeds: Sequence[str] = (), weights: str | os.PathLike[str] | None = None,
        log: str | os.PathLike[str] | None = None, mpirun: Sequence[str] = (),
        outputs: Mapping[str, str | os.PathLike[str]] | None = None, **options: Any) -> Run:
    """Runs a plan or an executable on as many ranks as it is for; the run is an iterator of its
    steps.

    `data` are arrays of NumPy, tensors of PyTorch, nested lists, or paths of .npy files, by the
    names of inputs: step s takes the s-th batch of their rows. `feeds` are further --feed options.
    The run begins with `weights`, a safetensors file or another that --weights takes: by default
    those that were exported with the model, unless it resumes. `log` is a file that gets the steps
    too, `mpirun` further words for mpirun, `outputs` are {name: file} of --output. Other options
    are those of the executable, with `_` for `-`: steps=100, seed=1, threads=2, checkpoint="run1",
    checkpoint_every=10, resume="run1"."""
    plan = what if isinstance(what, Plan) else plan_at(pathlib.Path(what))
    folder = tempfile.TemporaryDirectory(prefix="meshwright-")
    try:
        place = pathlib.Path(folder.name)
        log_path = pathlib.Path(log) if log is not None else place / "log.csv"
        words = [*launcher(plan.ranks, mpirun), *plan.command(), "--log", str(log_path)]
        words += data_words(place, data or {}, feeds)
        if "resume" not in options:
            words += weight_words(plan, weights)
        for name, file in (outputs or {}).items():
            words += ["--output", f"{name}={file}"]
        words += option_words(options)
        skipped = rows_in(log_path) if "resume" in options else discarded(log_path)
        return Run(words, folder, log_path, skipped)
    except BaseException:
        folder.cleanup()
        raise


def plan_at(path: pathlib.Path) -> Plan:
    """A plan file, or an executable."""
    from meshwright.plans import Program
    if not path.is_file():
        raise MeshwrightError(f"there is no plan or executable {path}")
    with open(path, "rb") as file:
        return Program(path) if file.read(4) == b"\x7fELF" else Plan(path)


def launcher(ranks: int, extra: Sequence[str]) -> list[str]:
    """The words that start ranks; one rank needs none."""
    if ranks == 1 and not extra:
        return []
    return [str(find_tool("meshwright-mpirun")), "-n", str(ranks), *extra]


def data_words(folder: pathlib.Path, data: Mapping[str, Any], feeds: Sequence[str]) -> list[str]:
    """Options that feed arrays, which are written to the folder."""
    words = []
    for name, value in data.items():
        if isinstance(value, (str, os.PathLike)):
            path = pathlib.Path(value).absolute()
        else:
            path = save_npy(folder / f"{name}.npy", value)
        words.append(f"{name}={str(path).replace(',', chr(92) + ',')}")
    every = [*([f"npy:{','.join(words)}"] if words else []), *feeds]
    return [word for feed in every for word in ("--feed", feed)]


def weight_words(plan: Plan, weights: str | os.PathLike[str] | None) -> list[str]:
    """Options by which a run begins with the weights of a file."""
    path = pathlib.Path(weights) if weights is not None else plan.weights
    if path is None:
        return []
    if not path.exists():
        raise MeshwrightError(f"there are no weights {path}")
    return ["--weights", str(path)]


def rows_in(path: pathlib.Path) -> int:
    """The rows of a log that a run goes on with, without the first line."""
    return max(0, len(path.read_text().splitlines()) - 1) if path.exists() else 0


def discarded(path: pathlib.Path) -> int:
    """Removes the log of an earlier run, so that its rows are not taken for this run's."""
    path.unlink(missing_ok=True)
    return 0
