# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiler's own problems: models of many equal layers on a mesh, saved by `meshwright plan`.

A case is MODEL-LAYERS-WIDTH-MESH, gpt-48-2048-8x8 say; with -forward at its end, without
training."""
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = {"gpt": "seq=1024 vocab=50304 batch=64", "bert": "seq=512 vocab=30522 batch=128",
         "llama": "seq=2048 vocab=32000 batch=64",
         "vit": "image=224 patch=16 classes=1000 batch=256"}
UNLIMITED = "1000000GB"


def run(command):
    """What a command prints, and its seconds."""
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return done, time.monotonic() - begin


class Case:
    """A model on a mesh, and its problem as a file of `folder`."""

    def __init__(self, name, node, build, folder):
        self.name, self.build, self.folder = name, build, folder
        self.model, layers, width, mesh, *rest = name.split("-")
        nodes, devices = map(int, mesh.split("x"))
        heads = max(1, int(width) // (128 if int(width) >= 4096 else 64))
        sizes = f"layers={layers} width={width} heads={heads} {SIZES[self.model]}"
        if self.model == "llama":
            sizes += f" kv_heads={max(1, heads // 4)} hidden={int(width) * 11 // 4}"
        for path in (ROOT / "models").glob("*.graph"):  # they import one another
            graph = path.read_text()
            if rest == ["forward"]:
                graph = re.sub(r"\n  train .*(\n    .*)*", "", graph)
            (folder / path.name).write_text(graph)
        (folder / "one.cluster").write_text(node.read_text())
        (folder / "nodes.cluster").write_text(
            f"cluster nodes like one.cluster {{\n  nodes = {nodes}\n}}\n")
        self.words = [folder / f"{self.model}.graph", *(f"-D{size}" for size in sizes.split()),
                      "--mesh", f"{nodes}x{devices}", "--cluster", folder / "nodes.cluster",
                      "--stages", "1", "--remat", "none", "--micro-batches", "1",
                      "--stop-after", "sharding"]
        self.problem = folder / "problem.json"

    def shard(self, memory, *words):
        """Seconds of the sharding pass; None if nothing was found."""
        done = run([self.build / "tools/meshwright", "plan", *self.words, "--memory", memory,
                    "--time-passes", *words])[0]
        found = re.search(r"^sharding +([\d.]+) ms", done.stderr, re.MULTILINE)
        return float(found.group(1)) / 1000 if found and done.returncode == 0 else None

    def solve(self, *words):
        """The answer, and seconds; exits where there is none."""
        out = self.folder / "answer.json"
        done, seconds = run([self.build / "tools/meshwright-solve", self.problem, "--quiet",
                             "-o", out, *words])
        if done.returncode not in (0, 4):
            sys.exit(f"bench: {self.name}: {done.stderr or done.stdout}")
        return json.loads(out.read_text()), seconds

    def save(self):
        """Its sharding problem without a limit: the number of nodes, and the least peak."""
        if self.shard(UNLIMITED, "--save-problem", self.problem) is None:
            sys.exit(f"bench: {self.name}: its problem was not made")
        nodes = len(json.loads(self.problem.read_text())["problem"]["nodes"]["costs"])
        least = self.solve("--usage-limit", "1", "--relax", "--time-limit", "20")[0]
        return nodes, least["peak_usage"]
