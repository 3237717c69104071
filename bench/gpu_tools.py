# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of bench/gpu share: the programs that they call, and where things are put."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import processes  # noqa: E402
from runs import FAKE  # noqa: E402


LIMIT_S = 600  # for one program


class Failed(Exception):
    """A program failed, or what it gave is wrong."""


class Tools:
    """The programs of a build, for a GPU or for the fakes of CUDA's libraries."""

    def __init__(self, build, folder, cluster, is_fake, limit_s=LIMIT_S):
        self.build, self.folder, self.cluster, self.is_fake = build, folder, cluster, is_fake
        self.limit_s = limit_s
        self.programs = build / ("tests/fake_cuda" if is_fake else "bench")
        self.environment = {**FAKE[1], "XDG_CACHE_HOME": str(folder)} if is_fake else {}

    def call(self, *words, **environment):
        """Runs a command; what it prints."""
        try:
            done = processes.run(words, self.limit_s, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env={**os.environ, **self.environment, **environment})
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(map(str, words))}\nstill runs after {self.limit_s:.0f} s") from None
        if done.returncode:
            raise Failed(f"{' '.join(map(str, words))}\nexit {done.returncode}\n"
                         f"{(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout

    def meshwright(self, command, graph, out, sizes, *options, backend="cuda"):
        """Plans or compiles a model for one device; the path of what is made."""
        defines = [word for name, value in sizes.items() for word in ("-D", f"{name}={value}")]
        links = {"CC": str(ROOT / "tests/fake_cuda/cc")} if self.is_fake else {}
        self.call(self.build / "tools/meshwright", command, graph, *defines, "--backend", backend,
                  "--cluster", self.cluster, *options, "-o", self.folder / out, **links)
        return self.folder / out

    def predicted_s(self, plan):
        """The seconds that a step is predicted to take."""
        return json.loads(self.call(self.build / "tools/meshwright", "inspect", plan, "--format",
                                    "json"))["step_s"]

    def copy_bandwidth(self, bytes):
        """Bytes a second, those read and those written counted."""
        return float(self.call(self.programs / "bench_copy", "cuda", bytes))

    def bench_plan(self, plan, *options):
        """Lines of bench_plan, each a list of fields."""
        return [line.split("\t") for line in
                self.call(self.programs / "bench_plan", *options, plan).splitlines()]
