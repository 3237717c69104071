# SPDX-License-Identifier: GPL-3.0-or-later
"""The training's part of bench/gpu: steps of GPT-2 by an executable of ours and, where it is installed,
by PyTorch, in turn."""
import array
import csv
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass

from gpu_tools import ROOT, Failed

ROUNDS, WARM_UP = 3, 5  # of the tiny model, one each
CHECKED_STEPS = 3
# Of losses after a step from the same checkpoint, relative.
TOLERANCE = {"f32": 1e-5, "tf32": 2e-3, "bf16": 1e-2}


@dataclass
class Gpt2:
    name: str
    sizes: dict  # of models/gpt.graph
    saves: bool  # its checkpoint is small enough to be handed over
    rounds: int = ROUNDS
    warm_up: int = WARM_UP
    round_ms: int = 5  # of its instructions

    def weights(self):
        layers, width = self.sizes["layers"], self.sizes["width"]
        layer = 12 * width * width + 13 * width
        return layers * layer + (self.sizes["vocab"] + self.sizes["seq"] + 2) * width

    def flops(self):
        """Of a step, by PaLM's count."""
        sizes = self.sizes
        token = (6 * (self.weights() - sizes["seq"] * sizes["width"])
                 + 12 * sizes["layers"] * sizes["width"] * sizes["seq"])
        return token * sizes["batch"] * sizes["seq"]


def gpt2s(tiny, batch):
    """`batch` may be None. The vocabulary is that of GPT-2, filled up to a multiple of 128."""
    if tiny:
        yield Gpt2("GPT-2 tiny", dict(vocab=64, seq=16, layers=2, width=32, heads=4, batch=4),
                   True, 1, 1, 0)
        return
    sizes = dict(vocab=50304, seq=1024)
    yield Gpt2("GPT-2 124M", dict(sizes, layers=12, width=768, heads=12, batch=batch or 16), True)
    yield Gpt2("GPT-2 1.5B", dict(sizes, layers=48, width=1600, heads=25, batch=batch or 8),
               False, 1)


def write_npy(path, rows, columns, values):
    """A .npy file of i32."""
    header = repr({"descr": "<i4", "fortran_order": False, "shape": (rows, columns)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
                     + array.array("i", values).tobytes())


def outside():
    """The environment for programs of others: without the libraries of a bundle (scripts/bundle_run)."""
    outer = os.environ.get("OUTER_LD_LIBRARY_PATH")
    return {**os.environ, **({} if outer is None else {"LD_LIBRARY_PATH": outer})}


class Training:
    """One model at one precision."""

    def __init__(self, tools, model, precision, steps):
        self.tools, self.model, self.precision, self.steps = tools, model, precision, steps
        self.folder = tools.folder / model.name.replace(" ", "-")
        self.folder.mkdir()
        self.write_data()
        self.options = ["--precision", precision]
        self.program = tools.meshwright("compile", self.write_graph(), self.folder / "program",
                                        model.sizes, *self.options)

    def write_graph(self):
        """GPT-2 as it was published has the other gelu; and here nobody wants the logits."""
        text = (ROOT / "models/gpt.graph").read_text()
        for pattern, other in ((r"\bgelu\(", "gelu_tanh("), (r"\n  output logits\n", "\n")):
            text, count = re.subn(pattern, other, text)
            assert count == 1, pattern
        graph = self.folder / "gpt2.graph"
        graph.write_text(text)
        return graph

    def write_data(self):
        """Tokens that can be learnt, some batches of them."""
        sizes, draw = self.model.sizes, random.Random(1)
        rows, seq, some = 8 * sizes["batch"], sizes["seq"], min(sizes["vocab"], 256)
        text = [draw.randrange(some) for _ in range(rows * (seq + 1))]
        for name, shift in (("tokens", 0), ("targets", 1)):
            values = [text[row * (seq + 1) + column + shift]
                      for row in range(rows) for column in range(seq)]
            write_npy(self.folder / f"{name}.npy", rows, seq, values)

    def path(self, name):
        return self.folder / name

    # ---- Ours ----

    def run(self, steps, *options):
        """Losses and seconds of a run's steps."""
        log = self.path("log.csv")
        log.unlink(missing_ok=True)
        self.tools.call(self.program, "--feed", f"npy:tokens={self.path('tokens.npy')},"
                        f"targets={self.path('targets.npy')}", "--steps", steps, "--log", log,
                        *options)
        with open(log) as file:
            rows = list(csv.DictReader(file))
        return [float(row["loss"]) for row in rows], [float(row["seconds"]) for row in rows]

    def check_alone(self, losses):
        """The first loss is that of guessing, and they fall."""
        guess = math.log(self.model.sizes["vocab"])
        if not (abs(losses[0] - guess) < 0.05 * guess and losses[-1] < losses[0]):
            raise Failed(f"losses {losses}, where guessing has {guess}")

    # ---- PyTorch ----

    def start_torch(self, python, *options):
        sizes = self.model.sizes
        words = [python, ROOT / "bench/gpt2_torch.py", "--precision", self.precision,
                 *(word for name in ("layers", "width", "heads", "vocab", "batch")
                   for word in (f"--{name}", sizes[name])),
                 "--tokens", self.path("tokens.npy"), "--targets", self.path("targets.npy"),
                 *options]
        if self.tools.is_fake:
            words += ["--device", "cpu", "--no-compile"]
        return subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, env=outside())

    @staticmethod
    def torch_steps(torch, steps):
        """Losses and seconds."""
        try:
            torch.stdin.write(f"{steps}\n")
            torch.stdin.flush()
            return json.loads(torch.stdout.readline())
        except (BrokenPipeError, ValueError):
            raise Failed("gpt2_torch.py ended") from None

    def check_with(self, python):
        """PyTorch at work, and how far its losses are from ours after both went on from a checkpoint;
        without one it begins on its own."""
        if not self.model.saves:
            return self.start_torch(python), None
        saved = self.path("saved")
        self.run(1, "--checkpoint", saved)
        torch = self.start_torch(python, "--resume", next(saved.glob("step-*")))
        ours, _ = self.run(1 + CHECKED_STEPS, "--resume", saved)
        theirs, _ = self.torch_steps(torch, CHECKED_STEPS)
        shutil.rmtree(saved)
        error = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
        if not error <= TOLERANCE[self.precision]:
            torch.kill()
            raise Failed(f"losses {ours}, those of PyTorch {theirs}")
        return torch, error

    # ---- Its kernels ----

    def profile(self):
        """Where the time of a step goes: (program, seconds, seconds predicted, label, calls) of
        instructions that are alike, the longest first."""
        plan = self.tools.meshwright("plan", self.path("gpt2.graph"), self.path("plan"),
                                     self.model.sizes, *self.options)
        feeds = [f"random:{name}={self.model.sizes['vocab']}" for name in ("tokens", "targets")]
        lines = self.tools.bench_plan(plan, "--instructions", "--round", self.model.round_ms,
                                      *(word for feed in feeds for word in ("--feed", feed)))
        rows = [(line[1], float(line[2]), float(line[3]), line[4], int(line[5]))
                for line in lines if line[0] == "instruction"]
        return sorted(rows, key=lambda row: -row[1])

    # ---- Both ----

    def measure(self, python):
        """A row; PyTorch's figures are in it where `python` has it."""
        torch, error = self.check_with(python) if python else (None, None)
        ours, theirs, warm_up = [], [], self.model.warm_up
        try:
            for _ in range(self.model.rounds):
                losses, seconds = self.run(warm_up + self.steps)
                self.check_alone(losses)
                ours += seconds[warm_up:]
                if torch:
                    theirs += self.torch_steps(torch, warm_up + self.steps)[1][warm_up:]
        finally:
            if torch:
                torch.kill()
                torch.wait()
        sizes, step_s = self.model.sizes, statistics.median(ours)
        row = {"name": f"{self.model.name} {self.precision}", "sizes": sizes, "step_s": step_s,
               "tokens_s": sizes["batch"] * sizes["seq"] / step_s,
               "flops_s": self.model.flops() / step_s,
               "predicted_s": self.tools.predicted_s(self.program)}
        if theirs:
            row.update(torch_step_s=statistics.median(theirs), torch_loss_error=error)
        return row


def find_torch(python):
    """The interpreter, if it has PyTorch."""
    done = subprocess.run([python, "-c", "import torch"], capture_output=True, env=outside())
    return python if done.returncode == 0 else None


def time_training(tools, models, precision, steps, python, profiles):
    """A row for each model: what was measured, or `failed`."""
    for model in models:
        try:
            training = Training(tools, model, precision, steps)
            row = training.measure(python)
            yield {**row, "profile": training.profile()} if profiles else row
        except Failed as failed:
            yield {"name": f"{model.name} {precision}", "failed": str(failed)}
